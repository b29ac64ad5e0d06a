"""Statistics of replies, one row for each reply, from which every score is computed.

Statistics can be split and concatenated anywhere: a score never depends on how the replies were batched,
sharded or ordered.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from dialoscope.core.arrays import Floats, Ints

T = TypeVar("T")


class SharedWork:
    """Base class of data whose users share their results, so that each is computed once."""

    _results: dict[Hashable, Any]

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of the first call with this key, which `make` computes."""
        if key not in self._results:
            self._results[key] = make()
        result: T = self._results[key]
        return result


class Tally(Protocol):
    """One row of statistics for each reply."""

    def __len__(self) -> int: ...

    def take(self, rows: Ints) -> Self:
        """Return the statistics of these replies, in this order."""
        ...

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the rows of all parts, one part after the other."""
        ...


@dataclass(frozen=True, eq=False)
class ReplyValues:
    """One number for each reply; NaN where it is undefined."""

    values: Floats  # (replies,)

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Ints) -> "ReplyValues":
        """Return the values of these replies."""
        return ReplyValues(self.values[rows])

    @classmethod
    def joined(cls, parts: Sequence["ReplyValues"]) -> "ReplyValues":
        """Return all values, one part after the other."""
        return cls(np.concatenate([part.values for part in parts]) if parts else np.empty(0))


@dataclass(frozen=True, eq=False)
class Sums:
    """Counts that are summed over a group of replies; NaN where they are undefined."""

    rows: NDArray[np.float32] | Floats  # (replies, statistics)
    """Single precision holds the counts of one reply exactly: they are whole and below 2**24."""

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: Ints) -> "Sums":
        """Return the counts of these replies."""
        return Sums(self.rows[rows])

    @classmethod
    def joined(cls, parts: Sequence["Sums"]) -> "Sums":
        """Return all counts, one part after the other."""
        return cls(np.concatenate([part.rows for part in parts]) if parts else np.empty((0, 0)))


@dataclass(frozen=True, eq=False)
class Tokens:
    """The words of texts, one text after the other, as integers that are equal for equal words."""

    ids: Ints
    lengths: Ints
    """The number of words in each text."""

    @cached_property
    def starts(self) -> Ints:
        """The position at which each text begins, then the position at which the last one ends."""
        return np.concatenate(([0], np.cumsum(self.lengths)))

    @property
    def owner(self) -> Ints:
        """The index of the text that each word belongs to."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def take(self, rows: Ints) -> "Tokens":
        """Return these texts, in this order; texts may be repeated."""
        lengths = self.lengths[rows]
        return Tokens(self.ids[ranges(self.starts[:-1][rows], lengths)], lengths)

    @classmethod
    def joined(cls, parts: Sequence["Tokens"]) -> "Tokens":
        """Return all texts, one part after the other."""
        if not parts:
            return cls(np.empty(0, np.int64), np.empty(0, np.int64))
        return cls(
            np.concatenate([part.ids for part in parts]), np.concatenate([part.lengths for part in parts])
        )


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """Return the integers start, start+1, … of each range, one range after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - ends + lengths, lengths) + np.arange(total)


def begins_run(*columns: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each row differs from the one before it in any of the columns; the first always does."""
    is_first = np.ones(len(columns[0]), bool)
    is_first[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return is_first
