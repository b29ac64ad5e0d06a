"""How far a number can be trusted: resampling of statistics, never of text. Arrays in, numbers out.

What is resampled is the item, that is all replies to one context: replies to the same context are not
independent of each other, and two systems are compared on the items both of them answered.
"""

import math
from collections.abc import Callable, Iterator, Sequence
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
    sums = round_for_exact_sums(sums)
    return np.concatenate([weights @ sums for weights in bootstrap_weights(len(sums), draws)])


def round_for_exact_sums(sums: Floats) -> Floats:
    """Round each column so that sums over draws of as many blocks are exact in any order of adding up.

    Processors, and numbers of threads, add up in different orders, and the last digits of an interval would
    show it. Multiples of one power of 2 below 2**52, times the times that a block is drawn, are whole numbers
    that a float holds. What is lost is less than 2**-40 of the largest sum of a block.
    """
    largest = np.abs(sums).max(axis=0, initial=0)
    exponents = np.frexp(np.where(np.isfinite(largest), largest, 0))[1] - (52 - len(sums).bit_length())
    return np.asarray(np.ldexp(np.rint(np.ldexp(sums, -exponents)), exponents))


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


class Exchangeable(NamedTuple):
    """The sums of two systems over the same blocks, and how a number is made of sums."""

    first: Floats
    """(blocks, statistics), as the second."""
    second: Floats
    finish: Callable[[Floats], Floats]


def bootstrap_pairs(pairs: Sequence[Exchangeable], draws: Draws) -> list[tuple[Floats, Floats]]:
    """The numbers of two systems in draws of the same blocks, each pair as if it were alone."""
    pairs = [
        pair._replace(first=round_for_exact_sums(pair.first), second=round_for_exact_sums(pair.second))
        for pair in pairs
    ]
    found = np.empty((len(pairs), 2, draws.times))
    first = 0
    for weights in bootstrap_weights(len(pairs[0].first), draws) if pairs else ():
        last = first + len(weights)
        for place, pair in enumerate(pairs):
            found[place, 0, first:last] = pair.finish(weights @ pair.first)
            found[place, 1, first:last] = pair.finish(weights @ pair.second)
        first = last
    return [(one[0], one[1]) for one in found]


def randomisation_p(pair: Exchangeable, draws: Draws) -> float:
    """How surprising the difference of two systems is if it made no matter which of them said what.

    Paired approximate randomisation (Noreen, 1989): the statistics of the two are exchanged in a random
    half of the blocks.
    """
    return randomisation_ps([pair], draws)[0]


def randomisation_ps(pairs: Sequence[Exchangeable], draws: Draws) -> list[float]:
    """The same for several numbers of the same blocks, from the same exchanges."""
    if not pairs:
        return []
    rng = np.random.default_rng(draws.seed)
    blocks = len(pairs[0].first)
    at_once = max(100, 200_000 // blocks)  # few enough to keep the choices small
    as_far = np.zeros(len(pairs))
    for first in range(0, draws.times, at_once):
        choice = rng.integers(2, size=(min(at_once, draws.times - first), blocks)).astype(float)
        as_far += [_as_far(pair, choice) for pair in pairs]
    return [(count + 1) / (draws.times + 1) for count in as_far.tolist()]


def _as_far(pair: Exchangeable, choice: Floats) -> float:
    """After how many of these exchanges the two are as far apart as before; NaN where that cannot be said."""
    sums = np.stack([pair.first.sum(axis=0), pair.second.sum(axis=0)])
    exchanged = choice @ (pair.second - pair.first)
    seen = abs(float(np.subtract(*pair.finish(sums))))
    apart = np.abs(pair.finish(sums[0] + exchanged) - pair.finish(sums[1] - exchanged))
    if math.isnan(seen) or np.isnan(apart).any():
        return math.nan
    # Sums that were added up in another order may differ in the last digit.
    return float(np.sum(apart >= seen * (1 - 1e-9)))
