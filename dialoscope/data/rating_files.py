"""Ratings in files of their own: a row for each rating, or for each reply with all its ratings."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from dialoscope.core.records import Rating
from dialoscope.data.cells import Cells, read_name
from dialoscope.data.columns import RATING_COLUMNS, SIDE_COLUMNS, ColumnNames, list_columns
from dialoscope.data.problems import BadRow
from dialoscope.data.ratings import check_size
from dialoscope.data.ratings import read_ratings as ratings_of_reply
from dialoscope.data.side_files import (
    read_number,
    read_optional_name,
    read_required_name,
    read_side_files,
)

_LIKELY_RATERS = ("annotator", "worker", "judge", "evaluator", "assessor", "coder", "user", "participant")
"""Columns that name raters in other people's files; otherwise all raters would be taken for one."""


def read_ratings(
    *paths: str | Path,
    columns: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002 - the word users know
) -> tuple[Rating, ...]:
    """Return the ratings in these files, to be joined to the replies of a run by their ids.

    Rows are of either shape: `id`, `system`, `aspect`, `rater`, `rating`, one for each rating; or `id`,
    `system` and `ratings`, as files with replies have them. Without a system the id alone must identify the
    reply.
    """
    names = ColumnNames.of(columns or {}, RATING_COLUMNS, SIDE_COLUMNS)
    return tuple(read_side_files(paths, format, names, "rating", _RatingReader(names).read))


class _Key(NamedTuple):
    """The key of a rating, which must be unique."""

    id: str
    system: str
    aspect: str
    rater: str


@dataclass(frozen=True)
class _RatingReader:
    """Reads rows of either shape, and refuses ratings that occurred before."""

    names: ColumnNames
    places: dict[_Key, str] = field(default_factory=dict)
    unnamed: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """The number of raters without a name that each reply has had, by aspect."""

    def read(self, cells: Cells, number: int, location: str) -> Iterable[Rating]:
        """Return the ratings in a row."""
        ratings = (
            self._read_reply(cells, number) if self.names.ratings in cells else (self._read_single(cells),)
        )
        for rating in ratings:
            self._check_unique(rating, location)
        return ratings

    def _read_reply(self, cells: Cells, number: int) -> tuple[Rating, ...]:
        """Return all ratings of a reply, or all that one rater gave it."""
        names = self.names
        name = read_name(cells[names.id], "`id`") if names.id in cells else str(number)
        rater, scores = self._read_rater(cells), cells[names.ratings]
        if rater and isinstance(scores, dict):
            scores = {aspect: {rater: score} for aspect, score in scores.items()}
        system = read_optional_name(cells, names.system, "`system`")
        return () if scores is None else ratings_of_reply(scores, name, system)

    def _read_single(self, cells: Cells) -> Rating:
        names = self.names
        if names.rating not in cells:
            raise BadRow(
                f"neither `rating` nor `ratings` among {list_columns(cells)}; say which column holds the "
                "number: --map rating=COLUMN"
            )
        reply = (
            read_required_name(cells, names.id, "id"),
            read_optional_name(cells, names.system, "`system`"),
        )
        aspect, rater = read_required_name(cells, names.aspect, "aspect"), self._read_rater(cells)
        if not rater:
            self.unnamed[*reply, aspect] += 1
            rater = str(self.unnamed[*reply, aspect])
        rating = read_number(cells[names.rating], "`rating`")
        return Rating(*reply, aspect, rater, None if rating is None else check_size(rating, "`rating`"))

    def _read_rater(self, cells: Cells) -> str:
        if self.names.rater not in cells:
            for column in cells:
                if column.lower().removesuffix("id").rstrip("_- ") in _LIKELY_RATERS:
                    raise BadRow(f"no column `rater`; if it is {column!r}, say so: --map rater={column}")
        return read_optional_name(cells, self.names.rater, "`rater`")

    def _check_unique(self, rating: Rating, location: str) -> None:
        key = _Key(rating.id, rating.system, rating.aspect, rating.rater)
        first = self.places.setdefault(key, location)
        if first != location:
            raise BadRow(
                f"a second rating of {key.aspect!r} by rater {key.rater!r} of reply {key.id!r}"
                f"{f' by system {key.system!r}' if key.system else ''}, after {first}; keep one, "
                "or name the raters in a column `rater`"
            )
