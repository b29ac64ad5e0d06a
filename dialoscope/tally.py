"""Statistics of replies, one row for each reply, from which every number is made.

A column of statistics can be cut and joined anywhere: what a number is made from never depends on how
the replies were batched, sharded or ordered.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Tally(Protocol):
    """One row of statistics for each reply."""

    def __len__(self) -> int: ...

    def take(self, rows: Ints) -> Self:
        """The statistics of these replies, in this order."""
        ...

    def prepared(self) -> Self:
        """The same statistics in the form that is quickest to score again and again."""
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

    def prepared(self) -> "Values":
        """As it is."""
        return self

    @classmethod
    def joined(cls, parts: Sequence["Values"]) -> "Values":
        """All values, one part after the other."""
        return cls(np.concatenate([part.values for part in parts]) if parts else np.empty(0))


@dataclass(frozen=True, eq=False)
class Sums:
    """Counts that add up: those of a group of replies are the sums of their rows."""

    rows: Floats  # (replies, statistics)

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: Ints) -> "Sums":
        """The counts of these replies."""
        return Sums(self.rows[rows])

    def prepared(self) -> "Sums":
        """As it is."""
        return self

    @classmethod
    def joined(cls, parts: Sequence["Sums"]) -> "Sums":
        """All counts, one part after the other."""
        return cls(np.concatenate([part.rows for part in parts]) if parts else np.empty((0, 0)))


@dataclass(frozen=True, eq=False)
class Bags:
    """For each reply the things in it, with repetition; a group's bag is the union of theirs."""

    things: Ints
    """A number for each thing, the same in every bag."""
    sizes: Ints
    """How many things each reply has."""

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def owner(self) -> Ints:
        """The reply that each thing belongs to."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def take(self, rows: Ints) -> "Bags":
        """The bags of these replies."""
        starts = np.cumsum(self.sizes) - self.sizes
        sizes = self.sizes[rows]
        ends = np.cumsum(sizes)
        places = np.repeat(starts[rows] - ends + sizes, sizes) + np.arange(int(sizes.sum()))
        return Bags(self.things[places], sizes)

    def prepared(self) -> "Bags":
        """With the numbers 0, 1, 2, … for the things, so that they are counted without sorting."""
        _, numbers = np.unique(self.things, return_inverse=True)
        return Bags(numbers.astype(np.int32), self.sizes)

    def counts(self) -> Ints:
        """How often each different thing occurs in all bags together."""
        if not len(self.things):
            return np.empty(0, np.int64)
        if self.things.dtype == np.int32:  # prepared
            counts = np.bincount(self.things)
            return counts[counts > 0]
        return np.unique(self.things, return_counts=True)[1]

    @classmethod
    def joined(cls, parts: Sequence["Bags"]) -> "Bags":
        """All bags, one part after the other."""
        if not parts:
            return cls(np.empty(0, np.int64), np.empty(0, np.int64))
        return cls(
            np.concatenate([part.things for part in parts]), np.concatenate([part.sizes for part in parts])
        )
