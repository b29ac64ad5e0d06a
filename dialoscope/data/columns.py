"""The columns of files: our names for them, and each file's own."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from dialoscope.core.errors import DataError
from dialoscope.core.suggestions import closest_names

COLUMNS = (
    "id",
    "system",
    "context",
    "response",
    "references",
    "ratings",
    "turns",
    "speakers",
    "group",
    "queries",
    "responses",
)
"""Our names of the columns of a file of replies."""

RATING_COLUMNS = ("id", "system", "aspect", "rater", "rating", "ratings")
SCORE_COLUMNS = ("id", "system", "metric", "score")
SIDE_COLUMNS = tuple(dict.fromkeys((*RATING_COLUMNS, *SCORE_COLUMNS)))
"""Our names of the columns of files that are joined to the replies: ratings, or the scores of other metrics.

One mapping may be meant for both.
"""

ERROR = "error"
"""The column in which `dialoscope respond` says why a system gave no reply."""

_SILENT = ("corpus", "meta", "split", "variant", "changes", "similarity", ERROR)
"""Columns that corpora carry along, and that are ignored without a warning."""

_LIKELY_RESPONSES = ("reply", "output", "prediction", "generated", "answer", "completion", "text")

_SHOWN = 30
"""Maximum number of columns named in a message; some tables have thousands."""


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """The file's own name of each of our columns."""

    id: str = "id"
    system: str = "system"
    context: str = "context"
    response: str = "response"
    references: str = "references"
    ratings: str = "ratings"
    turns: str = "turns"
    speakers: str = "speakers"
    group: str = "group"
    queries: str = "queries"
    responses: str = "responses"
    aspect: str = "aspect"
    rater: str = "rater"
    rating: str = "rating"
    metric: str = "metric"
    score: str = "score"
    columns: tuple[str, ...] = COLUMNS
    """Our names of all columns that this kind of file can have."""
    used: frozenset[str] = frozenset(COLUMNS)
    """Our names of the columns that are read."""
    mapped: frozenset[str] = frozenset()
    """The file's names that the user gave; these columns must therefore exist."""
    recognised: frozenset[str] = frozenset((*COLUMNS, *_SILENT))
    """The file's names of columns that are read, or ignored without a warning."""

    @classmethod
    def of(
        cls,
        mapping: Mapping[str, str],
        used: Collection[str] = COLUMNS,
        columns: tuple[str, ...] = COLUMNS,
    ) -> Self:
        """Return the usual names, except for those in `mapping`; only `used` ones must exist."""
        for name in mapping:
            if name not in columns:
                raise DataError(
                    f"There is no column {name!r} to map{suggest_column(name, columns)}: "
                    f"{', '.join(columns)}."
                )
        names = {name: mapping.get(name, name) for name in dict.fromkeys((*COLUMNS, *columns))}
        mapped = frozenset(mapping[name] for name in used if name in mapping)
        recognised = frozenset((*names.values(), *_SILENT))
        return cls(**names, columns=columns, used=frozenset(used), mapped=mapped, recognised=recognised)

    def multi_text_columns(self) -> tuple[str, ...]:
        """Return the columns whose cells may hold several texts."""
        return self.context, self.references, self.turns, self.speakers, self.queries, self.responses

    def find_ignored(self, columns: Iterable[str]) -> list[str]:
        """Return the columns that are not read."""
        return [name for name in columns if name not in self.recognised and not self.is_rating(name)]

    def is_rating(self, column: str) -> bool:
        """Whether this column holds the ratings of one aspect, such as `ratings.coherence`."""
        return column.startswith(self.ratings + ".")

    def aspect_of(self, column: str) -> str:
        """Return the aspect that such a column holds the ratings of."""
        return column[len(self.ratings) + 1 :]


def check_mapped(missing: Collection[str], columns: Iterable[str], file: str) -> None:
    """Refuse a file in which columns are missing that the user named."""
    if missing:
        raise DataError(
            f"{file} has no column {list_columns(sorted(missing))}. Its columns are: {list_columns(columns)}."
        )


def suggest_column(name: str, columns: Collection[str] = COLUMNS) -> str:
    """Return a suggestion to put behind the name of a column that does not exist; empty without one."""
    closest = closest_names(name.lower(), columns, cutoff=0.7)
    return f" (did you mean {closest[0]!r}?)" if closest else ""


def list_columns(columns: Iterable[str]) -> str:
    """Return the names of columns as part of a message."""
    names = list(columns)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return (", ".join(name or "(unnamed)" for name in names[:_SHOWN]) or "none") + more


def explain_no_response(columns: Iterable[str]) -> str:
    """Return the message for rows without a reply, with the column that most likely holds it."""
    names = list(columns)
    guesses = [name for name in names if name.lower() in _LIKELY_RESPONSES]
    likely = guesses[0] if guesses else "COLUMN"
    return (
        f"no column `response` among {list_columns(names)}; say which holds the reply: "
        f"--map response={likely}"
    )
