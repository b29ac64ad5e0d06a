"""How far a number can be trusted: resampling of statistics, never of text. Arrays in, numbers out.

What is resampled is the item, that is all replies to one context: replies to the same context are not
independent of each other, and two systems are compared on the items both of them answered.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from dialoscope.tally import Floats, Ints

MOST_BLOCKS = 2000
"""More items than this are put into so many blocks at random, and the blocks are resampled.

The width of an interval then has a relative error of 1/sqrt(2 · 2000) = 1.6 %, less than that of the
draws themselves, and a million replies cost no more than two thousand.
"""


class Draws(NamedTuple):
    """How often to resample, and from which seed."""

    times: int
    seed: int


class Interval(NamedTuple):
    """Where the number would fall with other items of the same kind; NaN where that cannot be said."""

    low: float
    high: float


UNKNOWN = Interval(math.nan, math.nan)


def blocks_of(items: Ints, most: int, seed: int) -> Ints:
    """The block of each row: all rows of an item are in one block, and every block is as good as another."""
    kinds, item = np.unique(items, return_inverse=True)
    if len(kinds) <= most:
        return item.astype(np.int64)
    return (np.random.default_rng(seed).permutation(len(kinds)) % most)[item]


def block_sums(rows: Floats, blocks: Ints, count: int) -> Floats:
    """The sums of the rows of each block."""
    sums = np.zeros((count, rows.shape[1]))
    for column in range(rows.shape[1]):
        sums[:, column] = np.bincount(blocks, weights=rows[:, column], minlength=count)
    return sums


def bootstrap_weights(blocks: int, draws: Draws) -> Iterator[Floats]:
    """How often each block is drawn when as many as there are are drawn with replacement, a row a draw.

    A hundred draws at a time, which keeps them small; always the same for one seed.
    """
    rng = np.random.default_rng(draws.seed)
    for first in range(0, draws.times, 100):
        many = min(100, draws.times - first)
        choice = rng.integers(blocks, size=(many, blocks)) + np.arange(many)[:, None] * blocks
        yield np.bincount(choice.ravel(), minlength=many * blocks).reshape(many, blocks).astype(float)


def bootstrap_sums(sums: Floats, draws: Draws) -> Floats:
    """The sums over blocks drawn with replacement, one row for each draw."""
    return np.concatenate([weights @ sums for weights in bootstrap_weights(len(sums), draws)])


def percentile_interval(drawn: Floats, confidence: float) -> Interval:
    """The middle part of the draws; unknown when any draw is undefined."""
    if not len(drawn) or np.isnan(drawn).any():
        return UNKNOWN
    tail = (1 - confidence) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return Interval(float(low), float(high))


def jackknife_interval(value: float, left_out: Floats, confidence: float) -> Interval:
    """Value ± Student's t times the jackknife's standard error.

    For numbers that depend on how much is drawn, such as the share of different n-grams: drawing with
    replacement repeats replies and so lowers them all, which no bootstrap interval survives.
    """
    error = jackknife_error(left_out)
    if math.isnan(error) or (error == 0 and not np.all(left_out == value)):
        return (
            UNKNOWN  # leave-outs that agree with each other but not with the whole say nothing of its error
        )
    from scipy.special import stdtrit

    half = float(stdtrit(len(left_out) - 1, (1 + confidence) / 2)) * error
    return Interval(value - half, value + half)


def jackknife_error(left_out: Floats) -> float:
    """The standard error; unknown from fewer than two blocks, or when any score is undefined."""
    count = len(left_out)
    if count < 2 or np.isnan(left_out).any():
        return math.nan
    return math.sqrt((count - 1) / count * float(np.square(left_out - left_out.mean()).sum()))


def jackknife_p(difference: float, left_out: Floats) -> float:
    """How surprising the difference would be if there were none (two-sided t-test).

    No exchange of systems within k blocks can be rarer than 2 in 2**k, however small the error looks.
    """
    error = jackknife_error(left_out)
    if math.isnan(error) or math.isnan(difference):
        return math.nan
    if difference == 0:
        return 1.0
    from scipy.special import stdtr

    found = float(2 * stdtr(len(left_out) - 1, -abs(difference) / error)) if error > 0 else 0.0
    return max(found, 2.0 ** (1 - len(left_out)))


def randomisation_p(
    first: Floats, second: Floats, finish: Callable[[Floats], Floats], draws: int, seed: int
) -> float:
    """How surprising the difference of two systems is if it made no matter which of them said what.

    Paired approximate randomisation (Noreen, 1989): the statistics of the two are exchanged in a random
    half of the blocks. Rows of `first` and `second` are the sums of the same blocks.
    """
    sums, gap = np.stack([first.sum(axis=0), second.sum(axis=0)]), second - first
    seen = abs(float(np.subtract(*finish(sums))))
    if math.isnan(seen):
        return math.nan
    rng = np.random.default_rng(seed)
    as_far = 0
    for first_draw in range(0, draws, 100):  # a hundred at a time keeps the choices small
        many = min(100, draws - first_draw)
        exchanged = rng.integers(2, size=(many, len(first))).astype(float) @ gap
        apart = np.abs(finish(sums[0] + exchanged) - finish(sums[1] - exchanged))
        if np.isnan(apart).any():
            return math.nan
        # Sums that were added up in another order may differ in the last digit.
        as_far += int(np.sum(apart >= seen * (1 - 1e-9)))
    return (as_far + 1) / (draws + 1)
