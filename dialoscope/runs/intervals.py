"""Intervals for the metrics of a run: which kind of resampling suits which kind of metric."""

from collections.abc import Hashable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.errors import DialoscopeError
from dialoscope.core.tally import Tally
from dialoscope.metrics import Metric
from dialoscope.metrics.shared.base import SumForm, score_from_rows
from dialoscope.runs.resampling import (
    MOST_BLOCKS,
    UNKNOWN,
    Interval,
    Resamples,
    block_sums,
    blocks_of,
    bootstrap_sums,
    jackknife_interval,
    percentile_interval,
)

if TYPE_CHECKING:
    from dialoscope.runs.result import ReplyIndex, Result


MEANS = ("replies", "contexts")
"""Means are over replies, so that a context with more of them counts more, or over contexts, all alike."""


class Side(NamedTuple):
    """The replies of one system."""

    tallies: Mapping[Hashable, Tally]
    """The statistics of all replies of the run."""
    rows: Ints
    """The rows of the system's replies."""
    items: Ints
    """The context of each of these replies, as a number."""
    replies: "ReplyIndex"
    """All replies of the run."""
    mean: str = MEANS[0]
    """Whether means are over replies or over contexts."""
    name: str = ""
    """The name of the system."""

    @classmethod
    def of(cls, result: "Result", system: str, mean: str = MEANS[0]) -> "Side":
        """The replies of a system of a run."""
        if mean not in MEANS:
            raise DialoscopeError(f"mean is '{mean}'; it must be one of: {', '.join(MEANS)}.")
        rows = result.rows(system)
        return cls(result.tallies, rows, result.replies.item[rows], result.replies, mean, system)

    def tally(self, of: Metric[Any]) -> Any:  # noqa: ANN401 - as the metric has it
        """The statistics that a metric is made from."""
        return self.tallies[of.statistics].take(self.rows)

    def score(self, of: Metric[Any]) -> float:
        """The value of the system."""
        form = of.sum_form
        if self.mean == MEANS[0] or form is None or of.depends_on == "replies":
            return of.score(self.tally(of))
        return score_from_rows(self.sums(of, form), form.finish)

    def sums(self, of: Metric[Any], form: SumForm) -> Floats:
        """The terms that a metric adds up, a row for each reply, weighted."""
        rows = form.rows(self.tally(of))
        return rows if of.depends_on == "replies" else self.weight(rows)

    def weight(self, rows: Floats) -> Floats:
        """The rows weighted so that replies count alike, or contexts do."""
        if self.mean == MEANS[0] or not len(rows):
            return rows
        _, item, counts = np.unique(self.items, return_inverse=True, return_counts=True)
        return rows * (len(rows) / len(counts) / counts[item])[:, None]

    def restrict_to(self, other: "Side") -> "Side":
        """The replies to contexts that the other system replied to as well."""
        return self.select(np.isin(self.items, other.items))

    def select(self, chosen: NDArray[Any]) -> "Side":
        """The side with some of the replies."""
        return self._replace(rows=self.rows[chosen], items=self.items[chosen])


SUBSAMPLES = 20
"""Random choices of equally many replies to each context, over which numbers are averaged."""


def with_equal_numbers(sides: Sequence[Side], seed: int) -> list[tuple[Side, ...]]:
    """The sides with as many replies to each context as the side with the fewest, by random choice.

    The sides themselves, once, where they have equally many to begin with.
    """
    items = reduce(np.intersect1d, [side.items for side in sides])
    common = [side.select(np.isin(side.items, items)) for side in sides]
    counts = np.stack([np.unique(side.items, return_counts=True)[1] for side in common])
    fewest = counts.min(axis=0, initial=np.iinfo(np.int64).max)
    if (counts == fewest).all():
        return [tuple(common)]
    return [
        tuple(_choose_replies(side, fewest, [seed, choice]) for side in common)
        for choice in range(SUBSAMPLES)
    ]


def _choose_replies(side: Side, most: Ints, seed: Sequence[int]) -> Side:
    """Choose so many replies to each item at random, whatever order they and the systems came in."""
    rng = np.random.default_rng([*seed, crc32(side.name.encode("utf-8", "replace"))])
    by_name = side.replies.place_by_name[side.rows]
    key = np.empty(len(by_name))
    key[np.argsort(by_name)] = rng.random(len(by_name))
    item = np.unique(side.items, return_inverse=True)[1]
    order = np.lexsort((key, item))
    position = np.arange(len(order)) - np.searchsorted(item[order], item[order])
    return side.select(np.sort(order[position < most[item[order]]]))


def intervals(
    side: Side, metrics: Sequence[Metric[Any]], draws: Resamples, confidence: float
) -> dict[Metric[Any], Interval]:
    """The intervals of the values over other items of the same kind.

    The interval of a metric does not depend on which other metrics there are: all of them see the same
    resamples of the items, and sums are exact in whatever order they are added up.
    """
    forms = {metric: metric.sum_form for metric in metrics}
    additive = {metric: form for metric, form in forms.items() if form is not None}
    bootstrapped = _bootstrap_intervals(side, additive, draws, confidence)
    return {
        metric: bootstrapped[metric]
        if metric in bootstrapped
        else _jackknife_interval(side, metric, draws.seed, confidence)
        for metric in metrics
    }


def _bootstrap_intervals(
    side: Side, forms: Mapping[Metric[Any], SumForm], draws: Resamples, confidence: float
) -> dict[Metric[Any], Interval]:
    """The intervals of all metrics that are sums, which are resampled together."""
    blocks = blocks_of(side.items, MOST_BLOCKS, draws.seed)
    count = int(blocks.max(initial=-1)) + 1
    if count < 2 or not forms:
        return dict.fromkeys(forms, UNKNOWN)
    sums = [block_sums(side.sums(metric, form), blocks, count) for metric, form in forms.items()]
    resampled = bootstrap_sums(np.concatenate(sums, axis=1), draws)
    parts = np.split(resampled, np.cumsum([part.shape[1] for part in sums])[:-1], axis=1)
    return {
        metric: percentile_interval(form.finish(part), confidence, count)
        for (metric, form), part in zip(forms.items(), parts, strict=True)
    }


def _jackknife_interval(side: Side, metric: Metric[Any], seed: int, confidence: float) -> Interval:
    tally = side.tally(metric)
    if not metric.has_interval(tally):
        return UNKNOWN
    value = metric.score(tally)
    count = count_blocks(metric, len(side.rows))
    left_out = metric.scores_without(tally, blocks_of(side.items, count, seed))
    interval = jackknife_interval(value, left_out, confidence, metric.scores_without_others(tally, count))
    # No interval exceeds the bounds, except by the rounding error of the value itself.
    low, high = min(metric.bounds.low, value), max(metric.bounds.high, value)
    return Interval(*np.clip(interval, low, high).tolist())


def count_blocks(metric: Metric[Any], replies: int) -> int:
    """The number of blocks of a jackknife, which scores all replies for each: fewer where they are many."""
    return max(20, min(metric.most_blocks, 1_000_000 // max(1, replies)))
