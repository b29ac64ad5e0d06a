"""Resampling of statistics, never of text, for intervals and tests. Arrays in, numbers out.

What is resampled is the item, that is all replies to one context: replies to the same context are not
independent of each other, and two systems are compared on the items both of them answered. Three ways, each
where simulation with a known truth found it best (docs/statistics.md):

- the value of one system: a bootstrap of items, with percentiles that allow for their number;
- a difference, or a correlation: random halves of the items, which give an interval and a test that agree;
- a number that depends on the amount of text, such as Distinct: a jackknife of blocks of items.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from dialoscope.core.arrays import Floats, Ints

MOST_BLOCKS = 2000
"""More items than this are put into so many blocks at random, and the blocks are resampled.

The width of an interval then has a relative error of 1/sqrt(2 · 2000) = 1.6 %, less than that of the
draws themselves, and a million replies cost no more than two thousand.
"""
HALVES = 10_000
"""Random halves for a test, by default: a p of .05 then has a standard error of .003."""
MOST_UNDEFINED = 0.05
"""There is neither interval nor p where more than this share of the halves has no value."""
SAME = 1e-12
"""Values that differ by less than this part of the largest of them are equal."""


class Resamples(NamedTuple):
    """The number of resamples, and their seed."""

    times: int
    seed: int


class Interval(NamedTuple):
    """The interval of a number over other items of the same kind; NaN where it is unknown."""

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


def round_for_exact_sums(sums: Floats) -> Floats:
    """Round each column so that sums over draws of as many blocks are exact in any order of adding up.

    Processors, and numbers of threads, add up in different orders, and the last digits of an interval would
    show it. Multiples of one power of 2 below 2**52, times the times that a block is drawn, are whole numbers
    that a float holds. What is lost is less than 2**-40 of the largest sum of a block.
    """
    largest = np.abs(sums).max(axis=0, initial=0)
    exponents = np.frexp(np.where(np.isfinite(largest), largest, 0))[1] - (52 - len(sums).bit_length())
    return np.asarray(np.ldexp(np.rint(np.ldexp(sums, -exponents)), exponents))


# The value of one system: a bootstrap


def bootstrap_weights(blocks: int, draws: Resamples) -> Iterator[Floats]:
    """The frequency of each block in samples of all blocks with replacement, a row for each sample.

    A hundred samples at a time, which keeps them small; always the same for one seed.
    """
    rng = np.random.default_rng(draws.seed)
    for first in range(0, draws.times, 100):
        many = min(100, draws.times - first)
        choice = rng.integers(blocks, size=(many, blocks)) + np.arange(many)[:, None] * blocks
        yield np.bincount(choice.ravel(), minlength=many * blocks).reshape(many, blocks).astype(float)


def bootstrap_sums(sums: Floats, draws: Resamples) -> Floats:
    """The sums over blocks drawn with replacement, one row for each draw."""
    sums = round_for_exact_sums(sums)
    return np.concatenate([weights @ sums for weights in bootstrap_weights(len(sums), draws)])


def percentile_interval(drawn: Floats, confidence: float, blocks: int) -> Interval:
    """The middle part of bootstrap draws of so many blocks, the larger the fewer blocks there are.

    Draws of n blocks vary by the factor √((n - 1)/n) less than samples do, and are as narrow as a normal
    distribution where a sample of n has Student's tails. Each tail is therefore not (1 - confidence)/2 but
    Φ(√(n/(n - 1)) t), with t of n - 1 degrees of freedom (Hesterberg, 2015,
    https://doi.org/10.1080/00031305.2015.1089789). Unknown when any draw is undefined, and when all draws are
    the same: what never varied does not show how much it could.
    """
    if not len(drawn) or np.isnan(drawn).any():
        return UNKNOWN
    tail = _expand_tail((1 - confidence) / 2, blocks)
    low, high = map(float, np.quantile(drawn, [tail, 1 - tail]))
    return Interval(low, high) if high - low > SAME * max(abs(low), abs(high)) else UNKNOWN


def _expand_tail(tail: float, blocks: int) -> float:
    from scipy.special import ndtr, stdtrit

    return float(ndtr(math.sqrt(blocks / (blocks - 1)) * stdtrit(blocks - 1, tail)))


# A difference, or a correlation: random halves


def half_weights(blocks: int, draws: Resamples) -> Iterator[Floats]:
    """The blocks that are in each half (1) and those that are not (0), a row for each half.

    A coin is thrown for each block, and after each half comes the other. Where there are no more sets of
    blocks than halves are asked for, all of them are given, save the empty one. A hundred at a time, which
    keeps them small; always the same for one seed.
    """
    if blocks < 63 and 2**blocks - 1 <= draws.times:
        sets = np.arange(1, 2**blocks)
        for first in range(0, len(sets), 100):
            yield ((sets[first : first + 100, None] >> np.arange(blocks)) & 1).astype(float)
        return
    rng = np.random.default_rng(draws.seed)
    for first in range(0, draws.times, 100):
        many = min(100, draws.times - first)
        coins = rng.integers(2, size=((many + 1) // 2, blocks)).astype(float)
        yield np.stack([coins, 1 - coins], axis=1).reshape(-1, blocks)[:many]


def fewest_halves(confidence: float) -> int:
    """The number of halves below which there is no interval with this confidence: 40 at 95 %."""
    return math.floor(round(2 / (1 - confidence), 6))


def fewest_blocks(confidence: float) -> int:
    """The number of blocks below which halves show nothing with this confidence: 6 at 95 %."""
    return next(blocks for blocks in range(2, 70) if _rank_of_end(2**blocks - 1, confidence) > 0)


def halves_interval(values: Floats, confidence: float, *, flat: bool = False) -> Floats:
    """The ends of the interval, (2, …), from the values in random halves, (halves, …).

    If contributions of blocks are as often too high as too low, each gap between the values of two halves is
    as likely as another to hold the true value (Hartigan, 1969, https://doi.org/10.2307/2286069). The
    interval excludes 0 where `halves_p` is below 1 - confidence, and only there. Halves without a value could
    be on either side, and count on both. What is the same in all halves has no interval, save where that is
    asked for: two columns may be equal by what they are.
    """
    values = np.sort(_round_to_zero(values), axis=0)  # undefined ones come last
    defined = (~np.isnan(values)).sum(axis=0)
    rank = _rank_of_end(len(values), confidence) - (len(values) - defined)
    has_interval = (rank > 0) & (defined >= (1 - MOST_UNDEFINED) * len(values))
    places = np.stack([np.where(has_interval, rank - 1, 0), np.where(has_interval, defined - rank, 0)])
    ends: Floats = np.take_along_axis(values, places, axis=0) if len(values) else np.zeros(places.shape)
    varies = ends[1] - ends[0] > SAME * np.abs(ends).max(axis=0)
    return np.where(has_interval & (flat | varies), ends, np.nan)


def halves_p(values: Floats) -> Floats:
    """Two-sided p-values, (…), from the values in random halves, (halves, …): the share with the other sign.

    For means it is the p-value of approximate randomisation (Noreen, 1989), in which blocks change their
    sign: the two halves that a choice of signs makes then have different signs themselves.
    """
    values = _round_to_zero(values)
    undefined = np.isnan(values)
    other = np.minimum((values <= 0).sum(axis=0), (values >= 0).sum(axis=0)) + undefined.sum(axis=0)
    p = np.minimum(2 * (other + 1) / (len(values) + 1), 1.0)
    return np.where(undefined.mean(axis=0) > MOST_UNDEFINED if len(values) else True, np.nan, p)


def _rank_of_end(halves: Any, confidence: float) -> Any:  # noqa: ANN401 - numbers or arrays
    """The rank of the ends from below and from above; 0 if there are too few halves."""
    return (np.ceil(round(1 - confidence, 12) * (halves + 1) / 2 - 1e-9) - 1).astype(np.int64)


def _round_to_zero(values: Floats) -> Floats:
    """The values with 0 in place of those that differ from it by rounding alone."""
    largest = np.abs(np.where(np.isfinite(values), values, 0)).max(axis=0, initial=0)
    return np.where(np.abs(values) <= SAME * largest, 0.0, values)


# A number that depends on the amount of text: a jackknife


def jackknife_interval(
    value: float, left_out: Floats, confidence: float, others: Floats | None = None
) -> Interval:
    """Value ± Student's t times the jackknife's standard error.

    For numbers that depend on the amount of text, such as the share of different n-grams: sampling with
    replacement repeats replies and so lowers them all, so that no bootstrap interval is valid. `others` are
    the values with blocks left out of a second sample, whose error adds to that of the first.
    """
    samples = [left_out] if others is None or not len(others) else [left_out, others]
    errors = list(map(jackknife_error, samples))
    error = math.hypot(*errors)
    if math.isnan(error) or error <= SAME * abs(value):
        return UNKNOWN  # what does not vary from block to block does not show how much it could
    from scipy.special import stdtrit

    freedom = error**4 / sum(e**4 / (len(sample) - 1) for e, sample in zip(errors, samples, strict=True))
    half = float(stdtrit(freedom, (1 + confidence) / 2)) * error
    return Interval(value - half, value + half)


def jackknife_error(left_out: Floats) -> float:
    """The standard error; unknown from fewer than two blocks, or when any score is undefined."""
    count = len(left_out)
    if count < 2 or np.isnan(left_out).any():
        return math.nan
    return math.sqrt((count - 1) / count * float(np.square(left_out - left_out.mean()).sum()))


def jackknife_p(difference: float, left_out: Floats, blocks: int) -> float:
    """The p-value of no difference (two-sided t-test).

    No exchange of systems within k blocks can be rarer than 2 in 2**k, however small the error looks;
    `blocks` are those that have a part in the difference.
    """
    error = jackknife_error(left_out)
    if math.isnan(error) or math.isnan(difference):
        return math.nan
    if difference == 0:
        return 1.0
    from scipy.special import stdtr

    p = float(2 * stdtr(len(left_out) - 1, -abs(difference) / error)) if error > 0 else 0.0
    return min(max(p, 2.0 ** (1 - blocks)), 1.0)


def studentised_bounds(value: float, left_out: Floats, confidence: float, draws: Resamples) -> Interval:
    """One-sided bounds: with this confidence the number is no lower than the first, no higher than the other.

    A bootstrap of the jackknife's pseudo-values, each draw in units of its own standard error (bootstrap-t).
    Where contributions are skewed, bounds from percentiles or from Student's t fail about twice as often.
    """
    error, blocks = jackknife_error(left_out), len(left_out)
    if math.isnan(error):
        return UNKNOWN
    if np.abs(left_out - value).max() <= SAME * abs(value):  # the same in every block, such as no difference
        return Interval(value, value)
    worth = (blocks - 1) * (left_out.mean() - left_out)
    sums = np.concatenate(
        [weights @ np.stack([worth, worth**2], axis=1) for weights in bootstrap_weights(blocks, draws)]
    )
    means = sums[:, 0] / blocks
    spread = np.sqrt(np.maximum(sums[:, 1] / blocks - means**2, 0) / (blocks - 1))
    varies = spread > SAME * np.abs(worth).max()
    far = np.where(means == 0, 0, np.copysign(math.inf, means))
    units = np.where(varies, means / np.where(varies, spread, 1), far)
    index = round(confidence * (len(units) - 1))
    low, high = np.sort(units)[[-1 - index, index]].tolist()
    return Interval(value - high * error, value - low * error)


class PairedSums(NamedTuple):
    """The sums of two systems over the same blocks, and the function that makes a number of sums."""

    first: Floats
    """(blocks, statistics), as the second."""
    second: Floats
    finish: Callable[[Floats], Floats]

    def left_out(self) -> tuple[Floats, Floats]:
        """The numbers of the two with each block left out in turn."""
        first, second = (self.finish(sums.sum(axis=0) - sums) for sums in (self.first, self.second))
        return first, second


def halve_pairs(pairs: Sequence[PairedSums], draws: Resamples) -> list[tuple[Floats, Floats]]:
    """The numbers of two systems in random halves of the same blocks, each pair as if it were alone."""
    rounded = [
        pair._replace(first=round_for_exact_sums(pair.first), second=round_for_exact_sums(pair.second))
        for pair in pairs
    ]
    parts: list[list[tuple[Floats, Floats]]] = [[] for _ in pairs]
    for weights in half_weights(len(pairs[0].first), draws) if pairs else ():
        for part, pair in zip(parts, rounded, strict=True):
            part.append((pair.finish(weights @ pair.first), pair.finish(weights @ pair.second)))
    return [tuple(map(np.concatenate, zip(*part, strict=True))) for part in parts]  # type: ignore[misc]
