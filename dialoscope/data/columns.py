"""Which column of a file holds what."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Self

from dialoscope.core.errors import DataError

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
"""Our names for what a row can hold."""

RATING_COLUMNS = ("id", "system", "aspect", "rater", "rating", "ratings")
SCORE_COLUMNS = ("id", "system", "metric", "score")
BESIDE_COLUMNS = tuple(dict.fromkeys((*RATING_COLUMNS, *SCORE_COLUMNS)))
"""The same for files that stand beside the replies, with ratings or with other people's scores.

One mapping may be meant for both.
"""

ERROR = "error"
"""Where `dialoscope respond` says why a system gave no reply."""

_SILENT = ("corpus", "meta", "split", "variant", "changes", "similarity", ERROR)
"""Columns that corpora carry along, and that nobody expects to be read."""

_LIKELY_RESPONSES = ("reply", "output", "prediction", "generated", "answer", "completion", "text")

_SHOWN = 30
"""Columns named in a message; some tables have thousands."""


@dataclass(frozen=True, slots=True)
class Names:
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
    every: tuple[str, ...] = COLUMNS
    """Our names of what a row of this kind of file can hold."""
    wanted: frozenset[str] = frozenset(COLUMNS)
    """Our names of what is to be read at all."""
    mapped: frozenset[str] = frozenset()
    """Names the user gave, which must therefore occur."""
    known: frozenset[str] = frozenset((*COLUMNS, *_SILENT))

    @classmethod
    def of(
        cls,
        columns: Mapping[str, str],
        wanted: Collection[str] = COLUMNS,
        every: tuple[str, ...] = COLUMNS,
    ) -> Self:
        """The usual names, except for those in `columns`; only `wanted` ones must occur."""
        for ours in columns:
            if ours not in every:
                raise DataError(
                    f"There is no column {ours!r} to map{did_you_mean(ours, every)}: {', '.join(every)}."
                )
        theirs = {ours: columns.get(ours, ours) for ours in dict.fromkeys((*COLUMNS, *every))}
        mapped = frozenset(columns[ours] for ours in wanted if ours in columns)
        known = frozenset((*theirs.values(), *_SILENT))
        return cls(**theirs, every=every, wanted=frozenset(wanted), mapped=mapped, known=known)

    def lists(self) -> tuple[str, ...]:
        """The columns whose cells may hold several texts."""
        return self.context, self.references, self.turns, self.speakers, self.queries, self.responses

    def ignored(self, columns: Iterable[str]) -> list[str]:
        """The columns that nothing will be read from."""
        return [name for name in columns if name not in self.known and not self.holds_rating(name)]

    def holds_rating(self, column: str) -> bool:
        """Whether this is a column of one aspect, such as `ratings.coherence`."""
        return column.startswith(self.ratings + ".")

    def aspect_of(self, column: str) -> str:
        """The aspect rated in such a column."""
        return column[len(self.ratings) + 1 :]


def did_you_mean(name: str, among: Collection[str] = COLUMNS) -> str:
    """A guess at the column meant, to put behind a name that is none; empty without a good guess."""
    close = get_close_matches(name.lower(), among, n=1, cutoff=0.7)
    return f" (did you mean {close[0]!r}?)" if close else ""


def listed(columns: Iterable[str]) -> str:
    """Column names as part of a message."""
    names = list(columns)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return (", ".join(name or "(unnamed)" for name in names[:_SHOWN]) or "none") + more


def no_response(columns: Iterable[str]) -> str:
    """Why a row without a reply cannot be judged, and the likeliest way out."""
    names = list(columns)
    guesses = [name for name in names if name.lower() in _LIKELY_RESPONSES]
    likely = guesses[0] if guesses else "COLUMN"
    return f"no column `response` among {listed(names)}; say which holds the reply: --map response={likely}"
