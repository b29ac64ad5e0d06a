"""Two systems side by side: how far apart they are on the contexts that both answered, and how sure that is.

Whatever says something of replies can be looked at so: every metric of a run, and what people said of them.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dialoscope.metrics import AdditiveMetric, Metric, PoolMetric
from dialoscope.metrics.base import ratio
from dialoscope.results.resampling import (
    MOST_BLOCKS,
    Draws,
    Exchangeable,
    Interval,
    block_sums,
    blocks_of,
    bootstrap_pairs,
    jackknife_error,
    jackknife_interval,
    jackknife_p,
    percentile_interval,
    randomisation_p,
    randomisation_ps,
)
from dialoscope.results.uncertainty import Side, most_blocks
from dialoscope.tally import Floats, Ints

if TYPE_CHECKING:
    from dialoscope.results.result import Result

RATED = "rated:"
"""What stands before an aspect that people rated, so that it is not taken for a metric of that name."""
SAME = 1e-9
"""Values that differ by less than this part of them are equal."""


class Summed(NamedTuple):
    """How a number is made from sums over replies."""

    rows: Callable[[Side], Floats]
    """What is added up, a row for each reply."""
    finish: Callable[[Floats], Floats]


class Pooled(NamedTuple):
    """How a number is made from everything that a system said."""

    without: Callable[[Side, Ints], Floats]
    """The number with each block of replies left out in turn."""
    blocks: Callable[[int], int]
    """How many blocks so many replies are put into."""


@dataclass(frozen=True)
class Measure:
    """What systems are compared by: a metric of a run, or what people said of an aspect."""

    name: str
    signature: str
    higher_is_better: bool | None
    score: Callable[[Side], float]
    each: Callable[[Side], Floats] | None
    """The value of each reply; nothing where a system's number is not made from these."""
    made: Summed | Pooled


def measures(result: "Result") -> tuple[Measure, ...]:
    """The metrics of a run, and then the aspects that people rated."""
    rated = [_rated(aspect, result) for aspect in result.ratings.aspects]
    return (*(of_metric(one, result.label(one)) for one in result.metrics), *rated)


def of_metric(one: Metric[Any], name: str) -> Measure:
    """A metric, by what it is called in a run."""

    def each(side: Side) -> Floats:
        return one.score_each(side.tally(one))

    return Measure(
        name,
        one.signature,
        one.higher_is_better,
        score=lambda side: one.score(side.tally(one)),
        each=each if isinstance(one, AdditiveMetric) and one.of_replies else None,
        made=_made(one),
    )


def _made(one: Metric[Any]) -> Summed | Pooled:
    if isinstance(one, AdditiveMetric):
        return Summed(lambda side: one.rows(side.tally(one)), one.finish)
    assert isinstance(one, PoolMetric)  # noqa: S101 - there are no others
    return Pooled(
        lambda side, blocks: one.scores_without(side.tally(one), blocks),
        lambda replies: most_blocks(one, replies),
    )


def _rated(aspect: str, result: "Result") -> Measure:
    """The mean rating of a reply is its value; that more is better is taken for granted."""
    means = result.ratings.means(aspect, len(result.replies))

    def rows(side: Side) -> Floats:
        values = means[side.rows]
        return np.stack([np.nan_to_num(values), np.isfinite(values).astype(float)], axis=1)

    def finish(sums: Floats) -> Floats:
        return ratio(sums[:, 0], sums[:, 1])

    def score(side: Side) -> float:
        values = means[side.rows]
        known = values[np.isfinite(values)].tolist()
        return math.fsum(known) / len(known) if known else math.nan

    return Measure(
        f"{RATED}{aspect}",
        "the mean of what raters gave a reply",
        True,
        score=score,
        each=lambda side: means[side.rows],
        made=Summed(rows, finish),
    )


class Effect(NamedTuple):
    """What a difference looks like context by context."""

    size: float
    """The mean difference in standard deviations of the differences; NaN where they do not vary."""
    higher: int
    """Contexts in which the second system is higher."""
    equal: int
    lower: int


@dataclass(frozen=True, eq=False)
class Difference:
    """How far the second of two systems is from the first."""

    first: float
    """Its value on the contexts that both answered."""
    second: float
    p: float
    """How surprising the difference would be if there were none; NaN where that cannot be said."""
    resampled: "Bootstrapped | Jackknifed"
    effect: Effect | None
    """Nothing where the numbers of systems are not made from those of replies."""

    @property
    def value(self) -> float:
        """Second less first."""
        return self.second - self.first


@dataclass(frozen=True, eq=False)
class Bootstrapped:
    """The numbers of two systems in draws of the same contexts."""

    first: Floats
    second: Floats
    blocks: int

    def interval(self, confidence: float, weight: float = 1.0) -> Interval:
        """Where the second less so many times the first would fall with other contexts."""
        return percentile_interval(self.second - weight * self.first, confidence)

    @property
    def error(self) -> float:
        """The standard error of the difference; NaN where a draw is undefined."""
        apart = self.second - self.first
        return float(apart.std(ddof=1)) if len(apart) > 1 else math.nan


@dataclass(frozen=True, eq=False)
class Jackknifed:
    """The numbers of two systems with blocks of the same contexts left out in turn."""

    values: tuple[float, float]
    first: Floats
    second: Floats

    @property
    def blocks(self) -> int:
        """How many were left out."""
        return len(self.first)

    def interval(self, confidence: float, weight: float = 1.0) -> Interval:
        """Where the second less so many times the first would fall with other contexts."""
        value = self.values[1] - weight * self.values[0]
        return jackknife_interval(value, self.second - weight * self.first, confidence)

    @property
    def error(self) -> float:
        """The standard error of the difference; NaN where it cannot be told."""
        return jackknife_error(self.second - self.first)


class Both(NamedTuple):
    """Two systems, each with its replies to the contexts that both answered."""

    first: Side
    second: Side
    items: Ints
    """Those that both answered."""

    @classmethod
    def of(cls, first: Side, second: Side) -> "Both":
        """What they have in common."""
        return cls(
            first.answered_by(second), second.answered_by(first), np.intersect1d(first.items, second.items)
        )

    def blocks(self, most: int, seed: int) -> "list[Ints]":
        """The block of each reply, of the first system and of the second."""
        blocks = blocks_of(np.concatenate([self.first.items, self.second.items]), most, seed)
        return np.split(blocks, [len(self.first.rows)])


def differences(
    measures: Sequence[Measure], both: Both, draws: Draws, exchanges: int | None = None
) -> list[Difference]:
    """What each measure says of two systems; as many exchanges as draws for a test where none are named."""
    summed = [one for one in measures if isinstance(one.made, Summed)]
    found = dict(zip(summed, _of_sums(summed, both, draws, exchanges or draws.times), strict=True))
    return [found[one] if one in found else _of_pool(one, both, draws.seed) for one in measures]


def p_value(one: Measure, both: Both, draws: Draws) -> float:
    """The test of a difference alone; NaN where nothing can be said."""
    if len(both.items) < 2:
        return math.nan
    if isinstance(one.made, Summed):
        return randomisation_p(_sums(one.made, both, both.blocks(MOST_BLOCKS, draws.seed)), draws)
    found = _left_out(one.made, both, draws.seed)
    return jackknife_p(one.score(both.second) - one.score(both.first), found.second - found.first)


def _of_sums(measures: Sequence[Measure], both: Both, draws: Draws, exchanges: int) -> list[Difference]:
    """Paired bootstrap and approximate randomisation, those of all measures from the same draws."""
    blocks = both.blocks(MOST_BLOCKS, draws.seed)
    count = min(len(both.items), MOST_BLOCKS)
    pairs = [_sums(one.made, both, blocks) for one in measures if isinstance(one.made, Summed)]
    tests, drawn = [math.nan] * len(pairs), [(np.empty(0), np.empty(0))] * len(pairs)
    if count > 1:
        tests = randomisation_ps(pairs, Draws(exchanges, draws.seed))
        drawn = bootstrap_pairs(pairs, draws)
    return [
        Difference(
            one.score(both.first), one.score(both.second), p, Bootstrapped(*ends, count), _effect(one, both)
        )
        for one, p, ends in zip(measures, tests, drawn, strict=True)
    ]


def _sums(made: Summed, both: Both, blocks: Sequence[Ints]) -> Exchangeable:
    count = min(len(both.items), MOST_BLOCKS)
    first, second = (
        _ordered_sums(made.rows(side), part, count)
        for side, part in zip((both.first, both.second), blocks, strict=True)
    )
    return Exchangeable(first, second, made.finish)


def _ordered_sums(rows: Floats, blocks: Ints, count: int) -> Floats:
    """The sums of the rows of each block, added up from the lowest, so that the order of rows cannot show."""
    order = np.lexsort((*rows.T, blocks))
    return block_sums(rows[order], blocks[order], count)


def _of_pool(one: Measure, both: Both, seed: int) -> Difference:
    """A paired jackknife: drawing with replacement would repeat replies."""
    assert isinstance(one.made, Pooled)  # noqa: S101 - the other kind has sums
    values = one.score(both.first), one.score(both.second)
    left_out = _left_out(one.made, both, seed)
    p = jackknife_p(values[1] - values[0], left_out.second - left_out.first)
    return Difference(*values, p, Jackknifed(values, *left_out), _effect(one, both))


class _LeftOut(NamedTuple):
    """The numbers of two systems with each block left out in turn."""

    first: Floats
    second: Floats


def _left_out(made: Pooled, both: Both, seed: int) -> _LeftOut:
    """Nothing where there is but one block."""
    if len(both.items) < 2:
        return _LeftOut(np.empty(0), np.empty(0))
    blocks = both.blocks(made.blocks(max(len(both.first.rows), len(both.second.rows))), seed)
    return _LeftOut(*map(made.without, (both.first, both.second), blocks))


def _effect(one: Measure, both: Both) -> Effect | None:
    if one.each is None:
        return None
    first, second = (
        _item_means(one.each(side), np.searchsorted(both.items, side.items), len(both.items))
        for side in (both.first, both.second)
    )
    known = ~np.isnan(first) & ~np.isnan(second)
    first, second = first[known], second[known]
    apart = second - first
    same = np.abs(apart) <= SAME * np.maximum(np.abs(first), np.abs(second))
    spread = float(apart.std(ddof=1)) if len(apart) > 1 else 0.0
    varies = spread > SAME * float(np.abs(apart).max(initial=0))
    return Effect(
        math.fsum(apart.tolist()) / len(apart) / spread if varies else math.nan,
        higher=int(np.sum(~same & (apart > 0))),
        equal=int(np.sum(same)),
        lower=int(np.sum(~same & (apart < 0))),
    )


def _item_means(values: Floats, place: Ints, items: int) -> Floats:
    """The mean of the values of each item; NaN where none is defined."""
    known = ~np.isnan(values)
    sums = _ordered_sums(np.stack([values[known], np.ones(known.sum())], axis=1), place[known], items)
    return ratio(sums[:, 0], sums[:, 1])
