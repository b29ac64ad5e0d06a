"""The ratings of the replies of a run, in columns."""

from array import array
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.errors import DialoscopeError
from dialoscope.core.records import Rating
from dialoscope.core.safe_text import printable
from dialoscope.core.suggestions import closest_names
from dialoscope.runs.joining import find

if TYPE_CHECKING:
    from dialoscope.runs.result import ReplyIndex


class AspectRatings(NamedTuple):
    """The ratings of one aspect, a row for each rating that has a value."""

    reply: Ints
    rater: Ints
    """The index of the rater in `raters`."""
    value: Floats
    raters: tuple[str, ...]
    """The raters who gave a value; numbers in their order, then names."""
    missing: int
    """Ratings without a value."""


@dataclass(frozen=True, eq=False)
class Ratings:
    """One row for each rating; NaN where a rater gave no value."""

    reply: Ints
    """The row of the rated reply in the run."""
    aspect: tuple[str, ...]
    rater: tuple[str, ...]
    value: Floats
    notes: tuple[str, ...] = ()
    """Notes on the ratings, such as the number that belong to no reply, and their scale."""

    @classmethod
    def of(cls, replies: "ReplyIndex", records: "Ratings | Iterable[Rating]") -> "Ratings":
        """The ratings of a file, each at its reply."""
        if isinstance(records, Ratings):
            return records
        held = tuple(records)
        matches = find(replies, held, "rating")
        builder = RatingsBuilder()
        for row, rating in zip(matches.reply.tolist(), held, strict=True):
            if row >= 0:
                builder.add(row, (rating,))
        return replace(builder.build(), notes=matches.notes)

    @property
    def aspects(self) -> tuple[str, ...]:
        """The rated aspects, in the order of their first ratings."""
        return tuple(dict.fromkeys(self.aspect))

    def named(self, aspect: str) -> str:
        """The name of a rated aspect; upper and lower case do not matter."""
        if aspect in self.aspects:
            return aspect
        alike = [name for name in self.aspects if name.casefold() == aspect.casefold()]
        if len(alike) == 1:
            return alike[0]
        if not self.aspects:
            raise DialoscopeError("There are no ratings; give a file of them with --ratings (ratings=).")
        closest = closest_names(aspect, self.aspects)
        guess = f" (did you mean '{printable(closest[0])}'?)" if closest else ""
        names = ", ".join(map(printable, self.aspects))
        raise DialoscopeError(f"Nobody rated '{printable(aspect)}'{guess}; what was rated: {names}.")

    def __len__(self) -> int:
        return len(self.reply)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ratings) and (
            (self.aspect, self.rater, self.reply.tolist())
            == (other.aspect, other.rater, other.reply.tolist())
            and np.array_equal(self.value, other.value, equal_nan=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def of_aspect(self, aspect: str) -> AspectRatings:
        """The ratings of one aspect that have a value."""
        of = np.flatnonzero(np.array(self.aspect, dtype=object) == aspect)
        rows = of[np.isfinite(self.value[of])]
        whose = [self.rater[row] for row in rows.tolist()]
        raters = sorted(set(whose), key=_numbers_first)
        index = {name: at for at, name in enumerate(raters)}
        rater = np.array([index[name] for name in whose], np.int64)
        return AspectRatings(self.reply[rows], rater, self.value[rows], tuple(raters), len(of) - len(rows))

    def without(self, raters: Collection[str], aspect: str) -> "Ratings":
        """The ratings without those of an aspect by these raters."""
        pairs = zip(self.aspect, self.rater, strict=True)
        return self._select([of != aspect or rater not in raters for of, rater in pairs])

    def of_replies(self, replies: Ints) -> "Ratings":
        """The ratings of these replies."""
        return self._select(np.isin(self.reply, replies).tolist())

    def with_replies(self, rows: Ints) -> "Ratings":
        """The ratings with the replies in this order, and those of each reply sorted by aspect and rater."""
        reply = np.argsort(rows)[self.reply]
        keys = list(zip(reply.tolist(), self.aspect, self.rater, strict=True))
        return replace(self, reply=reply)._at(sorted(range(len(keys)), key=keys.__getitem__))

    def _select(self, chosen: Sequence[bool]) -> "Ratings":
        return self._at(np.flatnonzero(chosen).tolist())

    def _at(self, rows: Sequence[int]) -> "Ratings":
        aspect, rater = (tuple(column[row] for row in rows) for column in (self.aspect, self.rater))
        chosen = np.array(rows, np.int64)
        return Ratings(self.reply[chosen], aspect, rater, self.value[chosen], self.notes)

    def means(self, aspect: str, replies: int) -> Floats:
        """The mean rating of each of so many replies; NaN where nobody rated it."""
        rows = (np.array(self.aspect, dtype=object) == aspect) & np.isfinite(self.value)
        sums = np.bincount(self.reply[rows], self.value[rows], replies)
        counts = np.bincount(self.reply[rows], minlength=replies)
        return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


@dataclass
class RatingsBuilder:
    """Collects ratings while the replies stream by."""

    reply: "array[int]" = field(default_factory=lambda: array("q"))
    value: "array[float]" = field(default_factory=lambda: array("d"))
    aspect: list[str] = field(default_factory=list)
    rater: list[str] = field(default_factory=list)

    def add(self, reply: int, ratings: Iterable[Rating]) -> None:
        """Add the ratings of the reply in this row."""
        for rating in ratings:
            self.reply.append(reply)
            self.value.append(float("nan") if rating.value is None else rating.value)
            self.aspect.append(rating.aspect)
            self.rater.append(rating.rater)

    def build(self) -> Ratings:
        """The collected ratings."""
        return Ratings(
            np.array(self.reply, np.int64), tuple(self.aspect), tuple(self.rater), np.array(self.value, float)
        )


def _numbers_first(name: str) -> tuple[bool, int, str]:
    number = name.isdecimal() and name.isascii()
    return not number, int(name) if number else 0, name
