"""Scores of replies and of systems, with the statistics they are made from."""

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dialoscope.errors import DialoscopeError, MissingExtra
from dialoscope.metrics import AdditiveMetric, Metric, metric
from dialoscope.results import resampling
from dialoscope.results.provenance import Provenance
from dialoscope.results.ratings import Ratings
from dialoscope.results.resampling import Interval
from dialoscope.results.table import Cell, Table
from dialoscope.tally import Floats, Ints, Tally

if TYPE_CHECKING:
    import pandas
    import polars

DRAWS = 1000
CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class ReplyIndex:
    """Which replies were scored; texts are not kept."""

    ids: tuple[str, ...]
    systems: tuple[str, ...]
    """The names of the systems, in the order they first came."""
    system: Ints
    """The place of each reply's system among them."""
    item: Ints
    """The same number for all replies to one context (or with one id, where there is no context)."""

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, eq=False)
class Result:
    """Everything a run found."""

    replies: ReplyIndex
    metrics: tuple[Metric[Any], ...]
    tallies: Mapping[Hashable, Tally]
    """Statistics of all replies, by `Metric.statistics`."""
    ratings: Ratings
    provenance: Provenance

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the systems."""
        return self.replies.systems

    def values(self, of: Metric[Any] | str) -> Floats:
        """The metric's value for each reply; NaN where it is undefined."""
        one = self._metric(of)
        return one.score_each(self.tallies[one.statistics])

    def score(self, of: Metric[Any] | str, system: str) -> float:
        """The metric's value for a system."""
        one = self._metric(of)
        return one.score(self.tallies[one.statistics].take(self.rows(system)))

    def rows(self, system: str) -> Ints:
        """The places of a system's replies."""
        if system not in self.systems:
            raise DialoscopeError(
                f"There is no system '{system}' in this run; it has: {', '.join(self.systems)}."
            )
        return np.flatnonzero(self.replies.system == self.systems.index(system))

    def interval(
        self, of: Metric[Any] | str, system: str, confidence: float = CONFIDENCE, draws: int = DRAWS
    ) -> Interval:
        """Where the system's value would fall with other contexts of the same kind."""
        one = self._metric(of)
        return self._intervals(system, [one], confidence, draws)[one]

    def significance(self, of: Metric[Any] | str, system: str, other: str, draws: int = DRAWS) -> float:
        """How surprising the difference of two systems would be if there were none.

        From the items that both answered; NaN where these are fewer than two or the metric is undefined.
        """
        one = self._metric(of)
        first, second = self._common_rows(system, other)
        tally = self.tallies[one.statistics].take(np.concatenate([first, second])).prepared()
        blocks = self._blocks(np.concatenate([first, second]), _most_blocks(one, tally))
        if len(np.unique(blocks)) < 2:
            return math.nan
        both = np.arange(len(first)), np.arange(len(first), len(blocks))
        if isinstance(one, AdditiveMetric):
            rows, count = one.rows(tally), int(blocks.max()) + 1
            ours, theirs = (resampling.block_sums(rows[side], blocks[side], count) for side in both)
            return resampling.randomisation_p(ours, theirs, one.finish, draws, self.provenance.seed)

        def difference(kept: Ints) -> float:
            ours, theirs = (kept[np.isin(kept, side)] for side in both)
            return one.score(tally.take(ours)) - one.score(tally.take(theirs))

        return resampling.jackknife_p(
            difference(np.arange(len(blocks))), resampling.jackknife(difference, blocks)
        )

    def table(
        self, *, confidence: float = CONFIDENCE, draws: int = DRAWS, significance: bool = False
    ) -> Table:
        """Systems × metrics with intervals and, on request, the significance of the distance to the best."""
        intervals = {
            system: self._intervals(system, list(self.metrics), confidence, draws) for system in self.systems
        }
        cells = [
            cell
            for one in self.metrics
            for cell in self._row(
                one, {system: intervals[system][one] for system in self.systems}, significance, draws
            )
        ]
        return Table(tuple(cells), self.systems, tuple(map(str, self.metrics)), confidence)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the run into a folder, all or nothing."""
        from dialoscope.results.store import save

        return save(self, Path(folder), overwrite=overwrite)

    @classmethod
    def load(cls, folder: str | Path) -> "Result":
        """Read a run that was saved."""
        from dialoscope.results.store import load

        return load(Path(folder))

    def to_columns(self) -> dict[str, Any]:
        """id, system, and a column of values for each metric."""
        names = np.array(self.systems, dtype=object)
        columns = {str(one): self.values(one) for one in self.metrics if one.of_replies}
        return {"id": list(self.replies.ids), "system": names[self.replies.system].tolist(), **columns}

    def to_pandas(self) -> "pandas.DataFrame":
        """The reply-level scores as a pandas data frame."""
        try:
            import pandas
        except ImportError as missing:
            raise MissingExtra("to_pandas", "pandas", "pandas") from missing
        return pandas.DataFrame(self.to_columns())

    def to_polars(self) -> "polars.DataFrame":
        """The reply-level scores as a polars data frame, undefined as null."""
        try:
            import polars
        except ImportError as missing:
            raise MissingExtra("to_polars", "polars", "polars") from missing
        return polars.DataFrame(self.to_columns(), nan_to_null=True)

    def __str__(self) -> str:
        return self.table().text()

    def __eq__(self, other: object) -> bool:
        """The same replies, the same metrics, the same numbers; when and by whom does not matter."""
        if not isinstance(other, Result):
            return NotImplemented
        return (
            (self.replies.ids, self.systems, self.metrics)
            == (other.replies.ids, other.systems, other.metrics)
            and np.array_equal(self.replies.system, other.replies.system)
            and all(
                np.array_equal(self.values(one), other.values(one), equal_nan=True) for one in self.metrics
            )
            and all(
                np.array_equal(self.score(one, system), other.score(one, system), equal_nan=True)
                for one in self.metrics
                for system in self.systems
            )
        )

    __hash__ = None  # type: ignore[assignment]

    def _metric(self, of: Metric[Any] | str) -> Metric[Any]:
        wanted = metric(of) if isinstance(of, str) else of
        if wanted not in self.metrics:
            raise DialoscopeError(f"This run has no {wanted}; it has: {', '.join(map(str, self.metrics))}.")
        return wanted

    def _row(
        self, one: Metric[Any], intervals: Mapping[str, Interval], significance: bool, draws: int
    ) -> list[Cell]:
        scores = {system: self.score(one, system) for system in self.systems}
        best = _best(one, scores)
        undefined = np.isnan(self.values(one)) if one.of_replies else np.zeros(len(self.replies), bool)
        cells = []
        for system, value in scores.items():
            rows = self.rows(system)
            tested = significance and best is not None and value != scores[best]
            cells.append(
                Cell(
                    system=system,
                    metric=str(one),
                    value=value,
                    low=intervals[system].low,
                    high=intervals[system].high,
                    replies=len(rows),
                    undefined=int(undefined[rows].sum()),
                    best=best is not None and value == scores[best],
                    p=self.significance(one, system, str(best), draws) if tested else None,
                    signature=one.signature,
                )
            )
        return cells

    def _intervals(
        self, system: str, metrics: list[Metric[Any]], confidence: float, draws: int
    ) -> dict[Metric[Any], Interval]:
        """Those of all metrics at once: sums are drawn together."""
        rows = self.rows(system)
        additive = [one for one in metrics if isinstance(one, AdditiveMetric)]
        intervals: dict[Metric[Any], Interval] = {}
        if additive:
            intervals.update(self._bootstrap_intervals(rows, additive, confidence, draws))
        for one in metrics:
            if not isinstance(one, AdditiveMetric):
                intervals[one] = self._jackknife_interval(rows, one, confidence)
        return intervals

    def _bootstrap_intervals(
        self, rows: Ints, metrics: list[AdditiveMetric[Any]], confidence: float, draws: int
    ) -> dict[Metric[Any], Interval]:
        blocks = self._blocks(rows, resampling.MOST_BLOCKS)
        count = int(blocks.max()) + 1
        if count < 2:
            return dict.fromkeys(metrics, resampling.UNKNOWN)
        sums = [
            resampling.block_sums(one.rows(self.tallies[one.statistics].take(rows)), blocks, count)
            for one in metrics
        ]
        drawn = resampling.bootstrap_sums(np.concatenate(sums, axis=1), draws, self.provenance.seed)
        parts = np.split(drawn, np.cumsum([part.shape[1] for part in sums])[:-1], axis=1)
        return {
            one: resampling.percentile_interval(one.finish(part), confidence)
            for one, part in zip(metrics, parts, strict=True)
        }

    def _jackknife_interval(self, rows: Ints, one: Metric[Any], confidence: float) -> Interval:
        tally = self.tallies[one.statistics].take(rows).prepared()
        blocks = self._blocks(rows, _most_blocks(one, tally))
        left_out = resampling.jackknife(lambda kept: one.score(tally.take(kept)), blocks)
        value = one.score(tally)
        interval = resampling.jackknife_interval(value, left_out, confidence)
        # Nothing lies beyond the bounds, save what rounding has put there.
        low, high = min(one.bounds.low, value), max(one.bounds.high, value)
        return Interval(*np.clip(interval, low, high).tolist())

    def _blocks(self, rows: Ints, most: int) -> Ints:
        return resampling.blocks_of(self.replies.item[rows], most, self.provenance.seed)

    def _common_rows(self, system: str, other: str) -> tuple[Ints, Ints]:
        """The replies of two systems to the items that both answered."""
        first, second = self.rows(system), self.rows(other)
        items = self.replies.item
        return first[np.isin(items[first], items[second])], second[np.isin(items[second], items[first])]


def _best(one: Metric[Any], scores: Mapping[str, float]) -> str | None:
    """The system with the best value, where one end is the better one and there is a choice."""
    defined = {system: value for system, value in scores.items() if not math.isnan(value)}
    if one.higher_is_better is None or len(scores) < 2 or not defined:
        return None
    return (max if one.higher_is_better else min)(defined, key=lambda system: defined[system])


def _most_blocks(one: Metric[Any], tally: Tally) -> int:
    """How many blocks to resample; fewer where there is much text, as a jackknife scores it for each."""
    if isinstance(one, AdditiveMetric):
        return resampling.MOST_BLOCKS
    return max(10, min(resampling.MOST_GROUPS, 10_000_000 // (10 * max(1, len(tally)))))
