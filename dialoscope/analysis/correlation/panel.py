"""What metrics and people said of the replies of a run, side by side."""

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
"""What a metric says of a system: its own value for all replies together, or the mean over the replies."""


@dataclass(frozen=True, eq=False)
class Panel:
    """Replies by id and system, so that the order of a file does not show in what is drawn at random."""

    result: Result
    rows: Ints
    """Where each reply stands in the run."""
    item: Ints
    system: Ints
    columns: tuple[Column, ...]
    """The metrics that have a value for a reply."""
    aspects: tuple[str, ...]
    x: Floats  # (replies, columns)
    y: Floats  # (replies, aspects): mean ratings

    @classmethod
    def of(cls, result: Result, ratings: Ratings, aspects: Sequence[str], scores: Scores | None) -> "Panel":
        """All metrics of a run, and scores by others, with the aspects that are named."""
        found = columns(result, scores)
        index = result.replies
        rows = index.rows_by_name()
        return cls(
            result,
            rows,
            _numbered(index.item[rows]),
            index.system_by_name()[rows],
            found,
            tuple(aspects),
            _side_by_side([_finite(one.values[rows]) for one in found], len(rows)),
            _side_by_side(
                [round_last_digits(ratings.means(aspect, len(rows))[rows]) for aspect in aspects], len(rows)
            ),
        )

    @property
    def systems(self) -> list[str]:
        """By name."""
        return sorted(self.result.systems)

    @cached_property
    def of_systems(self) -> tuple[Column, ...]:
        """Every metric, those that have no value for a reply as well; their columns are empty."""
        nothing = np.empty(0)
        alone = [
            Column(name, one.signature, nothing, one.higher_is_better)
            for name in system_level_metrics(self.result)
            for one in [self.result.named(name)]
        ]
        return (*self.columns, *alone)

    def place(self, name: str) -> int:
        """That of a metric, by its name, among those with a value for a reply."""
        known = [column.name for column in self.columns]
        if name in known:
            return known.index(name)
        shown = ", ".join(map(printable, known))
        try:
            label = self.result.label(self.result.named(name))
        except DialoscopeError as unknown:
            raise DialoscopeError(f"This run has no {printable(name)}; it has: {shown}.") from unknown
        if label not in known:
            raise DialoscopeError(f"{label} has no value for a reply; these have: {shown}.")
        return known.index(label)

    def rated_systems(self, values: str) -> "Systems":
        """What metrics and people say of each system."""
        if values not in VALUES:
            raise DialoscopeError(f"system_value is '{values}'; it must be one of: {', '.join(VALUES)}.")
        return Systems(self, values)


@dataclass(frozen=True, eq=False)
class Systems:
    """The same, system by system."""

    panel: Panel
    values: str

    @cached_property
    def x(self) -> Floats:
        """Of each metric, (systems, metrics)."""
        found = [[self._score(column, place) for column in self.panel.of_systems] for place in self._places]
        return np.array(found, float).reshape(len(self._places), len(self.panel.of_systems))

    @cached_property
    def y(self) -> Floats:
        """Mean ratings, (systems, aspects)."""
        return np.array([_means(self.panel.y[self._rows(place)]) for place in self._places])

    @property
    def _places(self) -> range:
        return range(len(self.panel.systems))

    def _rows(self, place: int) -> Ints:
        return np.flatnonzero(self.panel.system == place)

    def _by_itself(self, one: Column) -> bool:
        """Whether the metric has a value of its own for a system, other than a mean."""
        return bool(one.signature) and (self.values == "own" or not len(one.values))

    def _score(self, one: Column, place: int) -> float:
        if self._by_itself(one):
            return self.panel.result.score(one.name, self.panel.systems[place])
        return float(_means(_finite(one.values)[self.panel.rows[self._rows(place)], None])[0])


def _finite(values: Floats) -> Floats:
    """Without what has no bounds, and of a size whose squares are numbers still."""
    return scale_to_safe_range(np.where(np.isfinite(values), values, np.nan))


def _numbered(items: Ints) -> Ints:
    """The same groups, numbered by when they first come."""
    _, first, which = np.unique(items, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[which]


def _side_by_side(found: Sequence[Floats], rows: int) -> Floats:
    return np.stack(found, axis=1) if found else np.empty((rows, 0))


def _means(columns: Floats) -> Floats:
    """Of what is known of each column; NaN where nothing is."""
    known = ~np.isnan(columns)
    return _ratio(np.where(known, columns, 0.0).sum(axis=0), known.sum(axis=0))


def _ratio(part: Floats, whole: Floats) -> Floats:
    """Part over whole; NaN where there is no whole."""
    return np.where(whole > 0, part / np.maximum(whole, 1), np.nan)
