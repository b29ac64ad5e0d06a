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
from dialoscope.metrics import AdditiveMetric, Metric, PoolMetric
from dialoscope.metrics.shared.base import summed_score
from dialoscope.runs.resampling import (
    MOST_BLOCKS,
    UNKNOWN,
    Draws,
    Interval,
    block_sums,
    blocks_of,
    bootstrap_sums,
    jackknife_interval,
    percentile_interval,
)

if TYPE_CHECKING:
    from dialoscope.runs.result import ReplyIndex, Result


MEANS = ("replies", "contexts")
"""What a mean is over: replies, so that a context with more of them counts more, or contexts, all alike."""


class Side(NamedTuple):
    """The replies of one system."""

    tallies: Mapping[Hashable, Tally]
    """The statistics of all replies of the run."""
    rows: Ints
    """Which of them are the system's."""
    items: Ints
    """What each of these replies to."""
    replies: "ReplyIndex"
    """All replies of the run."""
    mean: str = MEANS[0]
    """What means are over."""
    name: str = ""
    """The system."""

    @classmethod
    def of(cls, result: "Result", system: str, mean: str = MEANS[0]) -> "Side":
        """A system of a run."""
        if mean not in MEANS:
            raise DialoscopeError(f"mean is '{mean}'; it must be one of: {', '.join(MEANS)}.")
        rows = result.rows(system)
        return cls(result.tallies, rows, result.replies.item[rows], result.replies, mean, system)

    def tally(self, of: Metric[Any]) -> Any:  # noqa: ANN401 - as the metric has it
        """The statistics that a metric is made from."""
        return self.tallies[of.statistics].take(self.rows)

    def score(self, of: Metric[Any]) -> float:
        """The value of the system."""
        if self.mean == MEANS[0] or not isinstance(of, AdditiveMetric) or of.depends_on == "replies":
            return of.score(self.tally(of))
        return summed_score(self.sums(of), of.finish)

    def sums(self, of: AdditiveMetric[Any]) -> Floats:
        """What a metric adds up, a row for each reply, weighed."""
        rows = of.rows(self.tally(of))
        return rows if of.depends_on == "replies" else self.weighed(rows)

    def weighed(self, rows: Floats) -> Floats:
        """Rows of replies, so that replies count alike, or the contexts that they are to."""
        if self.mean == MEANS[0] or not len(rows):
            return rows
        _, item, counts = np.unique(self.items, return_inverse=True, return_counts=True)
        return rows * (len(rows) / len(counts) / counts[item])[:, None]

    def answered_by(self, other: "Side") -> "Side":
        """Only the replies to what the other system replied to as well."""
        return self.some(np.isin(self.items, other.items))

    def some(self, kept: NDArray[Any]) -> "Side":
        """Only some of the replies."""
        return self._replace(rows=self.rows[kept], items=self.items[kept])


SUBSAMPLES = 20
"""Random choices of equally many replies to each context, over which numbers are averaged."""


def equally_many(sides: Sequence[Side], seed: int) -> list[tuple[Side, ...]]:
    """The sides with as many replies to each context as the side with the fewest, by random choice.

    The sides themselves, once, where they have equally many to begin with.
    """
    items = reduce(np.intersect1d, [side.items for side in sides])
    common = [side.some(np.isin(side.items, items)) for side in sides]
    counts = np.stack([np.unique(side.items, return_counts=True)[1] for side in common])
    fewest = counts.min(axis=0, initial=np.iinfo(np.int64).max)
    if (counts == fewest).all():
        return [tuple(common)]
    return [tuple(_chosen(side, fewest, [seed, choice]) for side in common) for choice in range(SUBSAMPLES)]


def _chosen(side: Side, most: Ints, seed: Sequence[int]) -> Side:
    """So many replies to each item at random, whatever order they and the systems came in."""
    rng = np.random.default_rng([*seed, crc32(side.name.encode("utf-8", "replace"))])
    by_name = side.replies.place_by_name[side.rows]
    key = np.empty(len(by_name))
    key[np.argsort(by_name)] = rng.random(len(by_name))
    item = np.unique(side.items, return_inverse=True)[1]
    order = np.lexsort((key, item))
    position = np.arange(len(order)) - np.searchsorted(item[order], item[order])
    return side.some(np.sort(order[position < most[item[order]]]))


def intervals(
    side: Side, metrics: Sequence[Metric[Any]], draws: Draws, confidence: float
) -> dict[Metric[Any], Interval]:
    """Where the values would fall with other items of the same kind."""
    additive = [one for one in metrics if isinstance(one, AdditiveMetric)]
    pools = [one for one in metrics if isinstance(one, PoolMetric)]
    return {
        **_bootstrap_intervals(side, additive, draws, confidence),
        **{one: _jackknife_interval(side, one, draws.seed, confidence) for one in pools},
    }


def _bootstrap_intervals(
    side: Side, metrics: Sequence[AdditiveMetric[Any]], draws: Draws, confidence: float
) -> dict[Metric[Any], Interval]:
    """Those of all metrics at once: their sums are drawn together."""
    blocks = blocks_of(side.items, MOST_BLOCKS, draws.seed)
    count = int(blocks.max(initial=-1)) + 1
    if count < 2 or not metrics:
        return dict.fromkeys(metrics, UNKNOWN)
    sums = [block_sums(side.sums(one), blocks, count) for one in metrics]
    drawn = bootstrap_sums(np.concatenate(sums, axis=1), draws)
    parts = np.split(drawn, np.cumsum([part.shape[1] for part in sums])[:-1], axis=1)
    return {
        one: percentile_interval(one.finish(part), confidence, count)
        for one, part in zip(metrics, parts, strict=True)
    }


def _jackknife_interval(side: Side, one: PoolMetric[Any], seed: int, confidence: float) -> Interval:
    tally = side.tally(one)
    if not one.has_interval(tally):
        return UNKNOWN
    value = one.score(tally)
    left_out = one.scores_without(tally, blocks_of(side.items, most_blocks(one, len(side.rows)), seed))
    others = one.scores_without_others(tally, most_blocks(one, len(side.rows)))
    interval = jackknife_interval(value, left_out, confidence, others)
    # Nothing lies beyond the bounds, save what rounding has put there.
    low, high = min(one.bounds.low, value), max(one.bounds.high, value)
    return Interval(*np.clip(interval, low, high).tolist())


def most_blocks(one: Metric[Any], replies: int) -> int:
    """How many blocks to resample: a jackknife counts everything for each, so that many replies get fewer."""
    most = getattr(one, "most_blocks", MOST_BLOCKS)
    return most if isinstance(one, AdditiveMetric) else max(20, min(most, 1_000_000 // max(1, replies)))
