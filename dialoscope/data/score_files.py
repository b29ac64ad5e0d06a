"""Scores by other people's code: a row for each score, or for each reply with a column for each metric."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dialoscope.core.records import Score
from dialoscope.data.cells import Cells
from dialoscope.data.columns import SCORE_COLUMNS, SIDE_COLUMNS, ColumnNames, list_columns
from dialoscope.data.problems import BadRow
from dialoscope.data.side_files import (
    read_number,
    read_optional_name,
    read_required_name,
    read_side_files,
)


def read_scores(
    *paths: str | Path,
    columns: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002 - the word users know
) -> tuple[Score, ...]:
    """Return the scores in these files, to be joined to the replies of a run by their ids.

    Rows are of either shape: `id`, `system`, `metric`, `score`, one for each score; or `id`, `system` and
    a column of numbers for each metric. Without a system the id alone must identify the reply.
    """
    names = _MetricColumnNames.of(columns or {}, SCORE_COLUMNS, SIDE_COLUMNS)
    return tuple(read_side_files(paths, format, names, "score", _ScoreReader(names).read))


class _MetricColumnNames(ColumnNames):
    """The names of columns where each that has no other meaning is a metric's."""

    __slots__ = ()

    def find_ignored(self, columns: Iterable[str]) -> list[str]:
        """Return an empty list: all columns are read."""
        return []


@dataclass(frozen=True)
class _ScoreReader:
    """Reads rows of either shape, and refuses scores that occurred before."""

    names: ColumnNames
    places: dict[tuple[str, str, str], str] = field(default_factory=dict)

    def read(self, cells: Cells, number: int, location: str) -> Iterable[Score]:
        """Return the scores in a row."""
        names = self.names
        reply = (
            read_required_name(cells, names.id, "id"),
            read_optional_name(cells, names.system, "`system`"),
        )
        scores = [
            Score(*reply, metric, read_number(value, f"the score of {metric!r}"))
            for metric, value in self._values(cells).items()
        ]
        for score in scores:
            self._check_unique(score, location)
        return scores

    def _values(self, cells: Cells) -> Mapping[str, object]:
        """Return the scores in a row by metric."""
        names = self.names
        if names.score in cells and names.metric in cells:
            return {read_required_name(cells, names.metric, "metric"): cells[names.score]}
        values = {column: value for column, value in cells.items() if column not in self._other_columns}
        if not values:
            raise BadRow(
                f"no score among {list_columns(cells)}; "
                "give `metric` and `score`, or a column for each metric"
            )
        return values

    @property
    def _other_columns(self) -> frozenset[str]:
        """The columns that are no metric's; a column `score` or `metric` without the other is."""
        return self.names.recognised - {self.names.score, self.names.metric}

    def _check_unique(self, score: Score, location: str) -> None:
        first = self.places.setdefault((score.id, score.system, score.metric), location)
        if first != location:
            raise BadRow(
                f"a second score of {score.metric!r} of reply {score.id!r}"
                f"{f' by system {score.system!r}' if score.system else ''}, after {first}; keep one"
            )
