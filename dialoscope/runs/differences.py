"""The difference of two systems on the contexts that both answered, with its interval and test.

Systems are compared by measures: the metrics of a run, and the aspects that people rated.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dialoscope.core.arrays import Floats, Ints
from dialoscope.metrics import Metric
from dialoscope.metrics.shared.base import SumForm, ratio, score_from_rows
from dialoscope.runs.intervals import Side, count_blocks, with_equal_numbers
from dialoscope.runs.resampling import (
    MOST_BLOCKS,
    UNKNOWN,
    Interval,
    PairedSums,
    Resamples,
    block_sums,
    blocks_of,
    fewest_blocks,
    halve_pairs,
    halves_interval,
    halves_p,
    jackknife_error,
    jackknife_interval,
    jackknife_p,
    studentised_bounds,
)

if TYPE_CHECKING:
    from dialoscope.runs.result import Result

RATED = "rated:"
"""The prefix of an aspect that people rated, which distinguishes it from a metric of that name."""
SAME = 1e-9
"""Values that differ by less than this part of them are equal."""


class SideSums(NamedTuple):
    """A number that is a function of sums over replies."""

    rows: Callable[[Side], Floats]
    """The values that are added up, a row for each reply."""
    finish: Callable[[Floats], Floats]


class SideLeaveOuts(NamedTuple):
    """A number that is a function of all replies of a system."""

    without: Callable[[Side, Ints], Floats]
    """The number with each block of replies left out in turn."""
    blocks: Callable[[int], int]
    """The number of blocks for a number of replies."""


@dataclass(frozen=True)
class Measure:
    """A number by which systems are compared: a metric of a run, or the ratings of an aspect."""

    name: str
    signature: str
    higher_is_better: bool | None
    score: Callable[[Side], float]
    each: Callable[[Side], Floats] | None
    """The value of each reply; None where a system's number is not made from these."""
    form: SideSums | SideLeaveOuts
    depends_on: str | None = None
    """The amount that must be equal for both systems: words or replies."""
    amount: Callable[[Side], int] = lambda side: len(side.rows)
    """The number of words or replies of a system."""
    widest: float = math.inf
    """The largest possible difference."""


def measures(result: "Result") -> tuple[Measure, ...]:
    """The metrics of a run, and then the aspects that people rated."""
    rated = [_rating_measure(aspect, result) for aspect in result.ratings.aspects]
    return (*(of_metric(metric, result.label(metric)) for metric in result.metrics), *rated)


def of_metric(metric: Metric[Any], name: str) -> Measure:
    """The measure of a metric, with the name that it has in a run."""
    form = metric.sum_form
    return Measure(
        name,
        metric.signature,
        metric.higher_is_better,
        score=lambda side: side.score(metric),
        each=(lambda side: metric.score_each(side.tally(metric))) if form and metric.of_replies else None,
        form=_of_leave_outs(metric) if form is None else _of_metric_sums(metric, form),
        depends_on=metric.depends_on,
        amount=lambda side: metric.amount(side.tally(metric)),
        widest=metric.bounds.high - metric.bounds.low,
    )


def _of_metric_sums(metric: Metric[Any], form: SumForm) -> SideSums:
    return SideSums(lambda side: side.sums(metric, form), form.finish)


def _of_leave_outs(metric: Metric[Any]) -> SideLeaveOuts:
    return SideLeaveOuts(
        lambda side, blocks: metric.scores_without(side.tally(metric), blocks),
        lambda replies: count_blocks(metric, replies),
    )


def _rating_measure(aspect: str, result: "Result") -> Measure:
    """The measure whose value of a reply is its mean rating; more is assumed to be better."""
    means = result.ratings.means(aspect, len(result.replies))

    def rows(side: Side) -> Floats:
        values = means[side.rows]
        return side.weight(np.stack([np.nan_to_num(values), np.isfinite(values).astype(float)], axis=1))

    def finish(sums: Floats) -> Floats:
        return ratio(sums[:, 0], sums[:, 1])

    return Measure(
        f"{RATED}{aspect}",
        "the mean of what raters gave a reply",
        True,
        score=lambda side: score_from_rows(rows(side), finish),
        each=lambda side: means[side.rows],
        form=SideSums(rows, finish),
    )


class Effect(NamedTuple):
    """The distribution of the differences over contexts."""

    size: float
    """The mean difference in standard deviations of the differences; NaN where they do not vary."""
    higher: int
    """Contexts in which the second system is higher."""
    equal: int
    lower: int


class LeaveOuts(NamedTuple):
    """The numbers of two systems with each block of the same contexts left out in turn."""

    first: Floats
    second: Floats


@dataclass(frozen=True, eq=False)
class Difference:
    """The difference of the second of two systems from the first."""

    first: float
    """The value of the first system on the contexts that both answered."""
    second: float
    halves: Floats | None
    """The difference in random halves of the contexts; None where it depends on the amount of text."""
    left_out: LeaveOuts
    effect: Effect | None
    """None where the numbers of systems are not made from those of replies."""
    chosen: bool = False
    """Whether equally many replies to each context were chosen, since one system had more."""
    amounts: tuple[int, int] = (0, 0)
    """The numbers of words, or of replies, that it depends on, of the first and the second system."""

    @property
    def value(self) -> float:
        """Second minus first."""
        return float(_less(self.second, self.first))

    @property
    def blocks(self) -> int:
        """The number of contexts, or of blocks of them."""
        return len(self.left_out.first)

    @property
    def contexts(self) -> int:
        """The number of contexts, or of blocks of them, that have a part in the difference."""
        if self.effect is not None:
            return sum(self.effect[1:])
        first, second = (
            _less(each, whole) for each, whole in zip(self.left_out, (self.first, self.second), strict=True)
        )
        return int(np.count_nonzero((first != 0) | (second != 0))) or self.blocks

    @property
    def error(self) -> float:
        """The standard error of the difference; NaN where it is unknown."""
        return jackknife_error(self._apart())

    @property
    def p(self) -> float:
        """The two-sided p-value of no difference; NaN where it is unknown."""
        if math.isnan(self.value):
            return math.nan
        if self.halves is None:
            return jackknife_p(self.value, self._apart(), self.contexts)
        return float(halves_p(self.halves))

    def interval(self, confidence: float) -> Interval:
        """The interval of the difference over other contexts."""
        if self.halves is None:
            enough = self.contexts >= fewest_blocks(confidence)
            return jackknife_interval(self.value, self._apart(), confidence) if enough else UNKNOWN
        return Interval(*halves_interval(self.halves, confidence).tolist())

    def bounds(self, confidence: float, draws: Resamples, weight: float = 1.0) -> Interval:
        """One-sided lower and upper bounds of the second minus `weight` times the first."""
        value = float(_less(self.second, weight * self.first))
        return studentised_bounds(value, self._apart(weight), confidence, draws)

    def _apart(self, weight: float = 1.0) -> Floats:
        return _less(self.left_out.second, weight * self.left_out.first)


def _less(second: Floats | float, first: Floats | float) -> Floats:
    """Second minus first, and 0 where they differ by rounding alone."""
    apart = np.subtract(second, first)
    return np.where(np.abs(apart) <= SAME * np.maximum(np.abs(first), np.abs(second)), 0.0, apart)


class Both(NamedTuple):
    """Two systems, each with its replies to the contexts that both answered."""

    first: Side
    second: Side
    items: Ints
    """The contexts that both answered."""

    @classmethod
    def of(cls, first: Side, second: Side) -> "Both":
        """Both systems with their replies to the contexts that both answered."""
        return cls(
            first.restrict_to(second), second.restrict_to(first), np.intersect1d(first.items, second.items)
        )

    def item_blocks(self, most: int, seed: int) -> Ints:
        """The block of each item."""
        return blocks_of(self.items, most, seed)

    def with_equal_numbers(self, seed: int) -> "list[Both]":
        """Random choices of equally many replies to each item; the replies themselves where they are so."""
        if not len(self.items):
            return [self]
        return [Both(a, b, self.items) for a, b in with_equal_numbers([self.first, self.second], seed)]


def differences(measures: Sequence[Measure], both: Both, draws: Resamples) -> list[Difference]:
    """The difference of two systems by each measure; it does not depend on the other measures."""
    equal = both.with_equal_numbers(draws.seed) if any(measure.depends_on for measure in measures) else [both]
    choices = {measure: equal if measure.depends_on else [both] for measure in measures}
    forms = {measure: measure.form for measure in measures if isinstance(measure.form, SideSums)}
    of_sums = _from_halves(forms, choices, len(both.items), draws)
    return [
        of_sums[measure]
        if isinstance(measure.form, SideSums)
        else _from_leave_outs(measure, measure.form, choices[measure], draws.seed)
        for measure in measures
    ]


def _from_halves(
    forms: Mapping[Measure, SideSums],
    choices: Mapping[Measure, Sequence[Both]],
    items: int,
    draws: Resamples,
) -> dict[Measure, Difference]:
    """The differences by measures that are sums, from the same random halves of the contexts."""
    count = min(items, MOST_BLOCKS)
    pairs = [_sum_pairs(form, choices[measure], count, draws.seed) for measure, form in forms.items()]
    halves = halve_pairs(pairs, draws) if count > 1 else [(np.empty(0), np.empty(0))] * len(pairs)
    left_out = [LeaveOuts(*pair.left_out()) if count > 1 else _NO_LEAVE_OUTS for pair in pairs]
    return {
        measure: _difference(measure, choices[measure], _less(second, first), leave_outs)
        for measure, (first, second), leave_outs in zip(forms, halves, left_out, strict=True)
    }


def _difference(
    measure: Measure, choices: Sequence[Both], halves: Floats | None, left_out: LeaveOuts
) -> Difference:
    """The difference, with numbers of both systems that are means over choices of replies."""
    sides = _sides(choices)
    first, second = (math.fsum(map(measure.score, side)) / len(side) for side in sides)
    a, b = (round(math.fsum(map(measure.amount, side)) / len(side)) for side in sides)
    return Difference(first, second, halves, left_out, _effect(measure, choices), len(choices) > 1, (a, b))


def _sides(choices: Sequence[Both]) -> tuple[Sequence[Side], Sequence[Side]]:
    """The first system, and the second, in each choice."""
    return [both.first for both in choices], [both.second for both in choices]


def _sum_pairs(form: SideSums, choices: Sequence[Both], count: int, seed: int) -> PairedSums:
    """The sums of both systems in each block, means over choices of replies."""
    items = choices[0].items
    blocks = choices[0].item_blocks(MOST_BLOCKS, seed)
    first, second = (
        np.mean(
            [
                _sum_in_order(form.rows(side), blocks[np.searchsorted(items, side.items)], count)
                for side in sides
            ],
            axis=0,
        )
        for sides in _sides(choices)
    )
    return PairedSums(first, second, form.finish)


def _sum_in_order(rows: Floats, blocks: Ints, count: int) -> Floats:
    """The sums of the rows of each block, added up from the lowest, so that the order of rows cannot show."""
    order = np.lexsort((*rows.T, blocks))
    return block_sums(rows[order], blocks[order], count)


def _from_leave_outs(measure: Measure, form: SideLeaveOuts, choices: Sequence[Both], seed: int) -> Difference:
    """A paired jackknife: resampling with replacement would repeat replies."""
    pairs = [_leave_out(form, both, seed) for both in choices]
    means = LeaveOuts(*(np.mean(side, axis=0) for side in zip(*pairs, strict=True)))
    return _difference(measure, choices, None, means)


def _leave_out(form: SideLeaveOuts, both: Both, seed: int) -> LeaveOuts:
    """The numbers of both systems without each block; empty if there is only one block."""
    if len(both.items) < 2:
        return _NO_LEAVE_OUTS
    blocks = both.item_blocks(form.blocks(max(len(both.first.rows), len(both.second.rows))), seed)
    first, second = (
        form.without(side, blocks[np.searchsorted(both.items, side.items)])
        for side in (both.first, both.second)
    )
    return LeaveOuts(first, second)


_NO_LEAVE_OUTS = LeaveOuts(np.empty(0), np.empty(0))


def _effect(measure: Measure, choices: Sequence[Both]) -> Effect | None:
    if measure.each is None:
        return None
    items = choices[0].items
    first, second = (
        _average_defined(
            [
                _item_means(measure.each(side), np.searchsorted(items, side.items), len(items))
                for side in sides
            ]
        )
        for sides in _sides(choices)
    )
    defined = ~np.isnan(first) & ~np.isnan(second)
    first, second = first[defined], second[defined]
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


def _item_means(values: Floats, item: Ints, items: int) -> Floats:
    """The mean of the values of each item; NaN where none is defined."""
    defined = ~np.isnan(values)
    sums = _sum_in_order(np.stack([values[defined], np.ones(defined.sum())], axis=1), item[defined], items)
    return ratio(sums[:, 0], sums[:, 1])


def _average_defined(means: Sequence[Floats]) -> Floats:
    """The mean of each item over choices of replies; NaN where none is defined."""
    defined = ~np.isnan(means)
    return ratio(np.where(defined, means, 0.0).sum(axis=0), defined.sum(axis=0))
