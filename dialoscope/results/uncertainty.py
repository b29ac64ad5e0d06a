"""Intervals for the metrics of a run: which kind of resampling suits which kind of metric."""

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dialoscope.metrics import AdditiveMetric, Metric, PoolMetric
from dialoscope.results.resampling import (
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
from dialoscope.tally import Ints, Tally

if TYPE_CHECKING:
    from dialoscope.results.result import Result


class Side(NamedTuple):
    """The replies of one system."""

    tallies: Mapping[Hashable, Tally]
    """The statistics of all replies of the run."""
    rows: Ints
    """Which of them are the system's."""
    items: Ints
    """What each of these replies to."""

    @classmethod
    def of(cls, result: "Result", system: str) -> "Side":
        """A system of a run."""
        rows = result.rows(system)
        return cls(result.tallies, rows, result.replies.item[rows])

    def tally(self, of: Metric[Any]) -> Any:  # noqa: ANN401 - as the metric has it
        """The statistics that a metric is made from."""
        return self.tallies[of.statistics].take(self.rows)

    def answered_by(self, other: "Side") -> "Side":
        """Only the replies to what the other system replied to as well."""
        common = np.isin(self.items, other.items)
        return Side(self.tallies, self.rows[common], self.items[common])


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
    sums = [block_sums(one.rows(side.tally(one)), blocks, count) for one in metrics]
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
    return most if isinstance(one, AdditiveMetric) else max(10, min(most, 1_000_000 // max(1, replies)))
