"""Scores of replies and of systems, with the statistics they are made from."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.errors import DialoscopeError, MissingExtra
from dialoscope.core.tally import SharedWork, Tally
from dialoscope.data.source import as_path, describe_value
from dialoscope.metrics import Metric
from dialoscope.metrics import metric as read_metric
from dialoscope.metrics.shared.base import Notes, PrecisionRecall, labels
from dialoscope.runs import intervals
from dialoscope.runs.differences import Both, differences, of_metric
from dialoscope.runs.provenance import Provenance
from dialoscope.runs.rating_columns import Ratings
from dialoscope.runs.resampling import HALVES, Interval, Resamples, fewest_halves
from dialoscope.runs.table import Cell, MetricTrust, Table, best_of

if TYPE_CHECKING:
    import pandas
    import polars

    from dialoscope.runs.explanations import PartsExplanation, TurnExplanation

Intervals = Mapping[str, Mapping[Metric[Any], Interval]]
"""Intervals by system and metric."""

DRAWS = 1000
CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class ReplyIndex:
    """The replies that were scored, without their texts."""

    ids: tuple[str, ...]
    systems: tuple[str, ...]
    """The names of the systems, in the order they first came."""
    system: Ints
    """The index of each reply's system in `systems`."""
    item: Ints
    """The same number for all replies to one context (or with one id, where there is no context)."""

    def __len__(self) -> int:
        return len(self.ids)

    def rows_by_name(self) -> Ints:
        """The replies by id and system: sums in this order do not depend on the order they came in."""
        names = [self.systems[number] for number in self.system.tolist()]
        keys = list(zip(self.ids, names, strict=True))
        return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)

    @cached_property
    def place_by_name(self) -> Ints:
        """The position of each reply in that order."""
        return np.argsort(self.rows_by_name())

    def system_by_name(self) -> Ints:
        """The position of each reply's system among the sorted names."""
        return np.argsort(np.argsort(np.array(self.systems, dtype=object)))[self.system]


@dataclass(frozen=True, eq=False, repr=False)
class Result(SharedWork):
    """All numbers of a run, and the statistics that they are made from."""

    replies: ReplyIndex
    metrics: tuple[Metric[Any], ...]
    tallies: Mapping[Hashable, Tally]
    """Statistics of all replies, by `Metric.statistics`."""
    ratings: Ratings
    provenance: Provenance
    _results: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)
    """Intervals and tables by their settings, so that a table that was shown is not made again for a file."""

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the systems."""
        return self.replies.systems

    def values(self, of: Metric[Any] | str) -> Floats:
        """The metric's value for each reply; NaN where it is undefined."""
        metric = self.named(of)
        return metric.score_each(self.tallies[metric.statistics])

    def score(self, of: Metric[Any] | str, system: str) -> float:
        """The metric's value for a system."""
        metric = self.named(of)
        return metric.score(self.tallies[metric.statistics].take(self.rows(system)))

    def notes(self, of: Metric[Any] | str, system: str) -> Notes:
        """The notes that are shown with the value of a system."""
        metric = self.named(of)
        return metric.notes(self.tallies[metric.statistics].take(self.rows(system)))

    def curve(self, of: Metric[Any] | str, system: str) -> PrecisionRecall:
        """Precision and recall of a system for every weight between the two, if the metric has them."""
        curve = self.notes(of, system).curve
        if curve is None:
            raise DialoscopeError(f"{self.named(of)} has no curve of precision and recall; prd has one.")
        return curve

    def explanations(self, of: Metric[Any] | str) -> "list[TurnExplanation] | list[PartsExplanation]":
        """The turn of its context that lowers the value of each reply most, the strongest first.

        For a metric that is made of parts: what each part adds to the value of each reply, lowest values
        first.
        """
        from dialoscope.runs.explanations import explain

        return explain(self, self.named(of))

    def rows(self, system: str) -> Ints:
        """The row numbers of a system's replies."""
        if system not in self.systems:
            raise DialoscopeError(
                f"There is no system '{system}' in this run; it has: {', '.join(self.systems)}."
            )
        return np.flatnonzero(self.replies.system == self.systems.index(system))

    def interval(
        self, of: Metric[Any] | str, system: str, confidence: float = CONFIDENCE, draws: int = DRAWS
    ) -> Interval:
        """The interval of the system's value over other contexts of the same kind."""
        check_resampling(confidence, draws)
        metric, resamples = self.named(of), Resamples(draws, self.provenance.seed)
        return intervals.intervals(self._side(system), [metric], resamples, confidence)[metric]

    def significance(self, of: Metric[Any] | str, system: str, other: str, draws: int = HALVES) -> float:
        """The p-value of no difference between two systems, as in `compare`.

        From so many random halves of the items that both answered, of which 95 % confidence needs six; NaN
        where the metric is undefined.
        """
        check_resampling(CONFIDENCE, draws)
        return self._comparison(self.named(of), self._side(system), self._side(other), draws).p

    def table(
        self,
        *,
        confidence: float = CONFIDENCE,
        draws: int = DRAWS,
        significance: bool = False,
        trust: "TrustSource | None" = None,
        mean: str = intervals.MEANS[0],
    ) -> Table:
        """Systems × metrics with intervals.

        On request with the significance of the difference to the best system, and with the correlation of
        each metric with people (`trust=dialoscope.trust()`). Means are over "replies", or over "contexts",
        which then count alike however many replies they have.
        """
        check_resampling(confidence, draws)
        settings = confidence, draws, significance, mean
        table = self.once(("table", *settings), self._make_table, *settings)
        if trust is None:
            return table
        by_metric = {self.label(metric): trust.of(metric) for metric in self.metrics}
        return replace(table, cells=tuple(_add_trust(cell, by_metric[cell.metric]) for cell in table.cells))

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the run into a folder, all or nothing."""
        from dialoscope.runs.store import save

        return save(self, Path(folder), overwrite=overwrite)

    @classmethod
    def load(cls, folder: str | Path) -> "Result":
        """Read a run that was saved."""
        from dialoscope.runs.store import load

        return load(as_path(folder))

    @staticmethod
    def check(*results: object) -> None:
        """Refuse anything but results, such as the folder of one."""
        for result in results:
            if not isinstance(result, Result):
                raise DialoscopeError(
                    f"This is not a Result, but {describe_value(result)}. Load a saved run with "
                    "ds.Result.load(folder), or score replies with ds.evaluate(replies)."
                )

    def to_columns(self) -> dict[str, Any]:
        """id, system, and a column of values for each metric."""
        names = np.array(self.systems, dtype=object)
        columns = {self.label(metric): self.values(metric) for metric in self.metrics if metric.of_replies}
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

    def __repr__(self) -> str:
        return (
            f"<Result: {len(self.replies)} replies, {len(self.systems)} systems, {len(self.metrics)} metrics>"
        )

    def _repr_markdown_(self) -> str:
        """The representation in a notebook."""
        return self.table().markdown()

    def __eq__(self, other: object) -> bool:
        """The same replies, the same metrics, the same numbers; when and by whom does not matter."""
        if not isinstance(other, Result):
            return NotImplemented
        ours, theirs = (
            (
                result.replies.ids,
                result.systems,
                result.metrics,
                result.replies.system.tolist(),
                result.replies.item.tolist(),
            )
            for result in (self, other)
        )
        return (
            ours == theirs
            and self.ratings == other.ratings
            and all(
                np.array_equal(self._numbers(metric), other._numbers(metric), equal_nan=True)
                for metric in self.metrics
            )
        )

    __hash__ = None  # type: ignore[assignment]

    def _numbers(self, metric: Metric[Any]) -> Floats:
        """All values of a metric, those of the replies and those of the systems."""
        return np.concatenate([self.values(metric), [self.score(metric, system) for system in self.systems]])

    def named(self, of: Metric[Any] | str) -> Metric[Any]:
        """The metric of this run with this name, with or without its fitted scale."""
        if isinstance(of, Metric) and of in self.metrics:
            return of
        named = {label: metric for metric, label in self._labels.items()}
        wanted = of if isinstance(of, Metric) else named[of] if of in named else read_metric(of)
        fitted = [metric for metric in self.metrics if metric.unfitted == wanted]
        if wanted not in self.metrics and len(fitted) == 1:
            return fitted[0]
        if wanted not in self.metrics:
            raise DialoscopeError(f"This run has no {wanted}; it has: {', '.join(named)}.")
        return wanted

    def label(self, metric: Metric[Any]) -> str:
        """The name of a metric of this run in tables and files."""
        return self._labels[metric]

    @cached_property
    def _labels(self) -> Mapping[Metric[Any], str]:
        return labels(self.metrics)

    def _make_table(self, confidence: float, draws: int, significance: bool, mean: str) -> Table:
        labels = tuple(self._labels[metric] for metric in self.metrics)
        sides = {system: self._side(system, mean) for system in self.systems}
        resamples = Resamples(draws, self.provenance.seed)
        by_system = self.once(
            ("intervals", confidence, draws, mean),
            lambda: {
                system: intervals.intervals(side, self.metrics, resamples, confidence)
                for system, side in sides.items()
            },
        )
        rows = [
            self._row(metric, sides, by_system, draws if significance else None) for metric in self.metrics
        ]
        cells = tuple(cell for row in rows for cell in row)
        return Table(cells, self.systems, labels, confidence, mean if _are_uneven(sides.values()) else "")

    def _comparison(
        self, metric: Metric[Any], side: intervals.Side, other: intervals.Side, draws: int
    ) -> "_Comparison":
        both = Both.of(side, other)
        resamples = Resamples(draws, self.provenance.seed)
        (difference,) = differences([of_metric(metric, self.label(metric))], both, resamples)
        return _Comparison(difference.p, len(both.items))

    def _side(self, system: str, mean: str = intervals.MEANS[0]) -> intervals.Side:
        return intervals.Side.of(self, system, mean)

    def _row(
        self,
        metric: Metric[Any],
        sides: Mapping[str, intervals.Side],
        intervals: Intervals,
        draws: int | None,
    ) -> list[Cell]:
        """The cells of a metric, tested against the best system if a number of draws is given."""
        scores = {system: side.score(metric) for system, side in sides.items()}
        best = best_of(scores, metric.higher_is_better)
        undefined = np.isnan(self.values(metric)) if metric.of_replies else np.zeros(len(self.replies), bool)
        cells = []
        for system, value in scores.items():
            tested = draws is not None and best is not None and value != scores[best]
            comparison = (
                self._comparison(metric, sides[system], sides[str(best)], max(draws or 0, HALVES))
                if tested
                else None
            )
            rows, tally = self.rows(system), sides[system].tally(metric)
            notes = metric.notes(tally)
            cells.append(
                Cell(
                    system=system,
                    metric=self.label(metric),
                    value=value,
                    low=intervals[system][metric].low,
                    high=intervals[system][metric].high,
                    replies=len(rows),
                    items=len(np.unique(self.replies.item[rows])),
                    undefined=int(undefined[rows].sum()),
                    best=best is not None and value == scores[best],
                    p=comparison.p if comparison else None,
                    compared=comparison.items if comparison else None,
                    signature=metric.signature,
                    beside=notes.numbers,
                    depends_on=metric.depends_on or "",
                    amount=metric.amount(tally),
                    caution=notes.warning or self._warn_of_own_scale(metric),
                )
            )
        return cells

    def _warn_of_own_scale(self, metric: Metric[Any]) -> str:
        """A warning about a scale that is fitted to one system alone."""
        if len(self.systems) > 1 or str(metric) not in self.provenance.fitted:
            return ""
        return (
            f"{self.label(metric)} has a scale fitted to this system alone; to compare another with it, "
            "score that one with --scales-from and this run (scales_from=)."
        )


class TrustSource(Protocol):
    """Knows the correlation of metrics with people."""

    def of(self, metric: Metric[Any]) -> MetricTrust:
        """The correlation of a metric, or why it is not known."""
        ...


def _add_trust(cell: Cell, trust: MetricTrust) -> Cell:
    return replace(cell, trust=trust.numbers, trust_told=trust.told)


class _Comparison(NamedTuple):
    """The result of a test of two systems."""

    p: float
    """The p-value of no difference; NaN where it is unknown."""
    items: int
    """The number of items that both of them answered."""


def _are_uneven(sides: Iterable[intervals.Side]) -> bool:
    """Whether some context has more replies of a system than another."""
    counts = {int(count) for side in sides for count in np.unique(side.items, return_counts=True)[1]}
    return len(counts) > 1


def check_halves(confidence: float, draws: int) -> None:
    """Refuse too few random halves for an interval of this confidence."""
    check_resampling(confidence, draws)
    needed = fewest_halves(confidence)
    if draws < needed:
        raise DialoscopeError(
            f"{draws} random halves are too few for a confidence of {confidence:g}; ask for {needed} or more "
            "(draws=, --draws)."
        )


def check_resampling(confidence: float, draws: int) -> None:
    """Refuse a confidence or number of resamples without an interval."""
    if not 0 < confidence < 1 or draws < 1:
        raise DialoscopeError("confidence must lie between 0 and 1, such as 0.95, and draws be at least 1.")
