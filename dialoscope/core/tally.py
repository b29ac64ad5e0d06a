"""Statistics of replies, one row for each reply, from which every number is made.

A column of statistics can be cut and joined anywhere: what a number is made from never depends on how
the replies were batched, sharded or ordered.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from dialoscope.core.arrays import Floats, Ints

T = TypeVar("T")


class Shared:
    """Something that work is done on by several, each piece of it once."""

    _made: dict[Hashable, Any]

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` returned the first time this key was asked for."""
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made


class Tally(Protocol):
    """One row of statistics for each reply."""

    def __len__(self) -> int: ...

    def take(self, rows: Ints) -> Self:
        """The statistics of these replies, in this order."""
        ...

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The rows of all parts, one part after the other."""
        ...


@dataclass(frozen=True, eq=False)
class Values:
    """One number for each reply; NaN where it is undefined."""

    values: Floats  # (replies,)

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Ints) -> "Values":
        """The values of these replies."""
        return Values(self.values[rows])

    @classmethod
    def joined(cls, parts: Sequence["Values"]) -> "Values":
        """All values, one part after the other."""
        return cls(np.concatenate([part.values for part in parts]) if parts else np.empty(0))


@dataclass(frozen=True, eq=False)
class Sums:
    """Counts that add up: those of a group of replies are the sums of their rows; NaN where undefined."""

    rows: NDArray[np.float32] | Floats  # (replies, statistics)
    """Single precision holds the counts of one reply exactly: they are whole and below 2**24."""

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: Ints) -> "Sums":
        """The counts of these replies."""
        return Sums(self.rows[rows])

    @classmethod
    def joined(cls, parts: Sequence["Sums"]) -> "Sums":
        """All counts, one part after the other."""
        return cls(np.concatenate([part.rows for part in parts]) if parts else np.empty((0, 0)))


@dataclass(frozen=True, eq=False)
class Tokens:
    """The words of some texts, one text after the other, as numbers that are equal for equal words."""

    ids: Ints
    lengths: Ints
    """How many words each text has."""

    @cached_property
    def starts(self) -> Ints:
        """Where each text begins, and one more: where the last ends."""
        return np.concatenate(([0], np.cumsum(self.lengths)))

    @property
    def owner(self) -> Ints:
        """The text that each word belongs to."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def take(self, rows: Ints) -> "Tokens":
        """These texts, in this order, with repetition."""
        lengths = self.lengths[rows]
        return Tokens(self.ids[ranges(self.starts[:-1][rows], lengths)], lengths)

    @classmethod
    def joined(cls, parts: Sequence["Tokens"]) -> "Tokens":
        """All texts, one part after the other."""
        if not parts:
            return cls(np.empty(0, np.int64), np.empty(0, np.int64))
        return cls(
            np.concatenate([part.ids for part in parts]), np.concatenate([part.lengths for part in parts])
        )


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """The integers start, start+1, … of each stretch, one stretch after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - ends + lengths, lengths) + np.arange(total)


def begins_run(*columns: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each row differs from the one before it in any of the columns; the first always does."""
    new = np.ones(len(columns[0]), bool)
    new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return new
