"""The values of metrics and the mean ratings of the replies of a run, side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dialoscope.analysis.coefficients import round_last_digits
from dialoscope.analysis.metric_columns import Column, columns, scale_to_safe_range, system_level_metrics
from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.errors import DialoscopeError
from dialoscope.core.safe_text import printable
from dialoscope.runs.rating_columns import Ratings
from dialoscope.runs.result import Result
from dialoscope.runs.score_columns import Scores

VALUES = ("own", "mean")
"""The value of a metric for a system: its own for all replies together, or the mean over the replies."""


@dataclass(frozen=True, eq=False)
class Panel:
    """Replies by id and system, so that the order of a file does not show in what is drawn at random."""

    result: Result
    rows: Ints
    """The row of each reply in the run."""
    item: Ints
    system: Ints
    columns: tuple[Column, ...]
    """The metrics that have a value for a reply."""
    aspects: tuple[str, ...]
    x: Floats  # (replies, columns)
    y: Floats  # (replies, aspects): mean ratings

    @classmethod
    def of(cls, result: Result, ratings: Ratings, aspects: Sequence[str], scores: Scores | None) -> "Panel":
        """The panel of all metrics of a run, scores by other programs, and the named aspects."""
        reply_columns = columns(result, scores)
        index = result.replies
        rows = index.rows_by_name()
        return cls(
            result,
            rows,
            _renumber(index.item[rows]),
            index.system_by_name()[rows],
            reply_columns,
            tuple(aspects),
            _side_by_side([_finite(column.values[rows]) for column in reply_columns], len(rows)),
            _side_by_side(
                [round_last_digits(ratings.means(aspect, len(rows))[rows]) for aspect in aspects], len(rows)
            ),
        )

    @property
    def systems(self) -> list[str]:
        """The names of the systems, sorted."""
        return sorted(self.result.systems)

    @cached_property
    def of_systems(self) -> tuple[Column, ...]:
        """Every metric, including those without a value for a reply, whose columns are empty."""
        nothing = np.empty(0)
        alone = [
            Column(name, metric.signature, nothing, metric.higher_is_better)
            for name in system_level_metrics(self.result)
            for metric in [self.result.named(name)]
        ]
        return (*self.columns, *alone)

    def index_of(self, name: str) -> int:
        """The index of a metric among those with a value for a reply, by its name."""
        names = [column.name for column in self.columns]
        if name in names:
            return names.index(name)
        shown = ", ".join(map(printable, names))
        try:
            label = self.result.label(self.result.named(name))
        except DialoscopeError as unknown:
            raise DialoscopeError(f"This run has no {printable(name)}; it has: {shown}.") from unknown
        if label not in names:
            raise DialoscopeError(f"{label} has no value for a reply; these have: {shown}.")
        return names.index(label)

    def by_system(self, values: str) -> "Systems":
        """The values of metrics, and mean ratings, of each system."""
        if values not in VALUES:
            raise DialoscopeError(f"system_value is '{values}'; it must be one of: {', '.join(VALUES)}.")
        return Systems(self, values)


@dataclass(frozen=True, eq=False)
class Systems:
    """The values of metrics, and mean ratings, of each system."""

    panel: Panel
    values: str

    @cached_property
    def x(self) -> Floats:
        """The values of the metrics, (systems, metrics)."""
        scores = [[self._score(column, index) for column in self.panel.of_systems] for index in self._places]
        return np.array(scores, float).reshape(len(self._places), len(self.panel.of_systems))

    @cached_property
    def y(self) -> Floats:
        """Mean ratings, (systems, aspects)."""
        return np.array([_means(self.panel.y[self._rows(index)]) for index in self._places])

    @property
    def _places(self) -> range:
        return range(len(self.panel.systems))

    def _rows(self, index: int) -> Ints:
        return np.flatnonzero(self.panel.system == index)

    def _has_own_value(self, column: Column) -> bool:
        """Whether the metric has a value of its own for a system, other than a mean."""
        return bool(column.signature) and (self.values == "own" or not len(column.values))

    def _score(self, column: Column, index: int) -> float:
        if self._has_own_value(column):
            return self.panel.result.score(column.name, self.panel.systems[index])
        return float(_means(_finite(column.values)[self.panel.rows[self._rows(index)], None])[0])


def _finite(values: Floats) -> Floats:
    """The values with NaN in place of infinity, scaled so that their squares are finite."""
    return scale_to_safe_range(np.where(np.isfinite(values), values, np.nan))


def _renumber(items: Ints) -> Ints:
    """The same groups, numbered by their first row."""
    _, first, which = np.unique(items, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[which]


def _side_by_side(arrays: Sequence[Floats], rows: int) -> Floats:
    return np.stack(arrays, axis=1) if arrays else np.empty((rows, 0))


def _means(columns: Floats) -> Floats:
    """The mean of the defined values of each column; NaN where there is none."""
    defined = ~np.isnan(columns)
    sums, counts = np.where(defined, columns, 0.0).sum(axis=0), defined.sum(axis=0)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
