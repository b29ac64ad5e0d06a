"""Scores by other people's code: a row for each score, or for each reply with a column for each metric."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dialoscope.core.records import Score
from dialoscope.data.cells import Cells
from dialoscope.data.columns import BESIDE_COLUMNS, SCORE_COLUMNS, Names, listed
from dialoscope.data.problems import BadRow
from dialoscope.data.side_files import needed_name, optional_name, read_beside, read_number


def read_scores(
    *paths: str | Path,
    columns: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002 - the word users know
) -> tuple[Score, ...]:
    """The scores in these files, to be joined to the replies of a run by their ids.

    Rows are of either shape: `id`, `system`, `metric`, `score`, one for each score; or `id`, `system` and
    a column of numbers for each metric. Without a system the id alone must tell.
    """
    names = _MetricNames.of(columns or {}, SCORE_COLUMNS, BESIDE_COLUMNS)
    return tuple(read_beside(paths, format, names, "score", _Shapes(names).rows))


class _MetricNames(Names):
    """The names of columns where each that has no other meaning is a metric's."""

    __slots__ = ()

    def ignored(self, columns: Iterable[str]) -> list[str]:
        """None of them."""
        return []


@dataclass(frozen=True)
class _Shapes:
    """Reads rows of either shape, and remembers what it has met."""

    names: Names
    places: dict[tuple[str, str, str], str] = field(default_factory=dict)

    def rows(self, cells: Cells, number: int, place: str) -> Iterable[Score]:
        """The scores in a row, none of which was met before."""
        names = self.names
        reply = needed_name(cells, names.id, "id"), optional_name(cells, names.system, "`system`")
        found = [
            Score(*reply, metric, read_number(value, f"the score of {metric!r}"))
            for metric, value in self._values(cells).items()
        ]
        for score in found:
            self._admit(score, place)
        return found

    def _values(self, cells: Cells) -> Mapping[str, object]:
        """By metric."""
        names = self.names
        if names.score in cells and names.metric in cells:
            return {needed_name(cells, names.metric, "metric"): cells[names.score]}
        values = {column: value for column, value in cells.items() if column not in self._others}
        if not values:
            raise BadRow(
                f"no score among {listed(cells)}; give `metric` and `score`, or a column for each metric"
            )
        return values

    @property
    def _others(self) -> frozenset[str]:
        """Columns that are no metric's; one called `score` or `metric` alone is."""
        return self.names.known - {self.names.score, self.names.metric}

    def _admit(self, score: Score, place: str) -> None:
        first = self.places.setdefault((score.id, score.system, score.metric), place)
        if first != place:
            raise BadRow(
                f"a second score of {score.metric!r} of reply {score.id!r}"
                f"{f' by system {score.system!r}' if score.system else ''}, after {first}; keep one"
            )
