"""Ratings in files of their own: a row for each rating, or for each reply with all its ratings."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from dialoscope.core.records import Rating
from dialoscope.data.cells import Cells, read_name
from dialoscope.data.columns import BESIDE_COLUMNS, RATING_COLUMNS, Names, listed
from dialoscope.data.problems import BadRow
from dialoscope.data.ratings import check_size
from dialoscope.data.ratings import read_ratings as ratings_of_reply
from dialoscope.data.side_files import needed_name, optional_name, read_beside, read_number

_LIKELY_RATERS = ("annotator", "worker", "judge", "evaluator", "assessor", "coder", "user", "participant")
"""Columns that name raters in other people's files; to overlook one would make one rater of many."""


def read_ratings(
    *paths: str | Path,
    columns: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002 - the word users know
) -> tuple[Rating, ...]:
    """The ratings in these files, to be joined to the replies of a run by their ids.

    Rows are of either shape: `id`, `system`, `aspect`, `rater`, `rating`, one for each rating; or `id`,
    `system` and `ratings`, as files with replies have them. Without a system the id alone must tell.
    """
    names = Names.of(columns or {}, RATING_COLUMNS, BESIDE_COLUMNS)
    return tuple(read_beside(paths, format, names, "rating", _Shapes(names).rows))


class _Given(NamedTuple):
    """What can be rated once only."""

    id: str
    system: str
    aspect: str
    rater: str


@dataclass(frozen=True)
class _Shapes:
    """Reads rows of either shape, and remembers what it has met."""

    names: Names
    places: dict[_Given, str] = field(default_factory=dict)
    unnamed: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """How many raters without a name each reply has had, by aspect."""

    def rows(self, cells: Cells, number: int, place: str) -> Iterable[Rating]:
        """The ratings in a row, none of which was met before."""
        found = self._of_reply(cells, number) if self.names.ratings in cells else (self._single(cells),)
        for rating in found:
            self._admit(rating, place)
        return found

    def _of_reply(self, cells: Cells, number: int) -> tuple[Rating, ...]:
        """All ratings of a reply, or all that one rater gave it."""
        names = self.names
        name = read_name(cells[names.id], "`id`") if names.id in cells else str(number)
        rater, given = self._rater(cells), cells[names.ratings]
        if rater and isinstance(given, dict):
            given = {aspect: {rater: score} for aspect, score in given.items()}
        system = optional_name(cells, names.system, "`system`")
        return () if given is None else ratings_of_reply(given, name, system)

    def _single(self, cells: Cells) -> Rating:
        names = self.names
        if names.rating not in cells:
            raise BadRow(
                f"neither `rating` nor `ratings` among {listed(cells)}; say which column holds the number: "
                "--map rating=COLUMN"
            )
        reply = needed_name(cells, names.id, "id"), optional_name(cells, names.system, "`system`")
        aspect, rater = needed_name(cells, names.aspect, "aspect"), self._rater(cells)
        if not rater:
            self.unnamed[*reply, aspect] += 1
            rater = str(self.unnamed[*reply, aspect])
        rating = read_number(cells[names.rating], "`rating`")
        return Rating(*reply, aspect, rater, None if rating is None else check_size(rating, "`rating`"))

    def _rater(self, cells: Cells) -> str:
        if self.names.rater not in cells:
            for column in cells:
                if column.lower().removesuffix("id").rstrip("_- ") in _LIKELY_RATERS:
                    raise BadRow(f"no column `rater`; if it is {column!r}, say so: --map rater={column}")
        return optional_name(cells, self.names.rater, "`rater`")

    def _admit(self, rating: Rating, place: str) -> None:
        given = _Given(rating.id, rating.system, rating.aspect, rating.rater)
        first = self.places.setdefault(given, place)
        if first != place:
            raise BadRow(
                f"a second rating of {given.aspect!r} by rater {given.rater!r} of reply {given.id!r}"
                f"{f' by system {given.system!r}' if given.system else ''}, after {first}; keep one, "
                "or name the raters in a column `rater`"
            )
