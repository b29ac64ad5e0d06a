"""Statistics of replies, one row for each reply, from which every score is computed.

Statistics can be split and concatenated anywhere: a score never depends on how the replies were batched,
sharded or ordered.
"""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from dialoscope.core.arrays import Floats, Ints

T = TypeVar("T")


class SharedWork:
    """Base class of data whose users share their results, so that each is computed once."""

    _results: dict[Hashable, Any]

    def once(self, key: Hashable, make: Callable[..., T], *arguments: object) -> T:
        """Return the result of the first call with this key: that of `make` with the arguments."""
        if key not in self._results:
            self._results[key] = make(*arguments)
        result: T = self._results[key]
        return result


class Ragged(NamedTuple):
    """A column with any number of values for each reply."""

    values: NDArray[Any]
    """The values of all replies, one reply after the other."""
    lengths: Ints
    """The number of values of each reply."""


Column = NDArray[Any] | Ragged
"""An array of the shape (replies,) or (replies, width), or a ragged one."""


class Tally(Protocol):
    """One row of statistics for each reply: all that a run does with them.

    `ColumnTally` provides this for statistics that are numpy arrays with a row for each reply.
    """

    has_files: ClassVar[bool] = False
    """Whether a part of the statistics is stored in files of their own."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def take(self, rows: Ints) -> Self:
        """The statistics of these replies, in this order."""

    @classmethod
    @abstractmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The rows of all parts, one part after the other."""

    @abstractmethod
    def columns(self) -> Mapping[str, Column]:
        """The columns that a saved run stores, by name."""

    @classmethod
    @abstractmethod
    def from_columns(cls, columns: Mapping[str, Column], files: Mapping[str, Path]) -> Self:
        """The statistics that were stored as these columns, which come in the order of `columns()`.

        A single column may come under another name. Columns of another kind are refused with a `ValueError`.
        """

    def write_files(self, folder: Path, number: int) -> None:
        """Write what does not fit into columns, if `has_files`; file names end in the number."""
        return


@dataclass(frozen=True, eq=False)
class ColumnTally(Tally):
    """Statistics that are numpy arrays: each field of the dataclass has one row for each reply."""

    def __len__(self) -> int:
        return len(next(iter(self.columns().values())))

    def take(self, rows: Ints) -> Self:
        """The rows of these replies."""
        return type(self)(*(column[rows] for column in self.columns().values()))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """All rows, one part after the other."""
        if not parts:
            return cls(*(np.empty(0) for _ in fields(cls)))
        columns = zip(*(part.columns().values() for part in parts), strict=True)
        return cls(*map(np.concatenate, columns))

    def columns(self) -> Mapping[str, NDArray[Any]]:
        """The fields."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_columns(cls, columns: Mapping[str, Column], files: Mapping[str, Path]) -> Self:
        """The fields as they were stored."""
        if len(columns) != len(fields(cls)) or any(isinstance(column, Ragged) for column in columns.values()):
            raise ValueError(f"statistics of the kind {cls.__name__} have other columns")
        return cls(*columns.values())


@dataclass(frozen=True, eq=False)
class ReplyValues(ColumnTally):
    """One number for each reply; NaN where it is undefined."""

    values: Floats  # (replies,)

    @classmethod
    def from_columns(cls, columns: Mapping[str, Column], files: Mapping[str, Path]) -> Self:
        """The values, as floating-point numbers."""
        return cls(_floats(cls, columns, dimensions=1))


@dataclass(frozen=True, eq=False)
class Sums(ColumnTally):
    """Counts that add up: those of a group of replies are the sums of their rows; NaN where undefined."""

    rows: NDArray[np.float32] | Floats  # (replies, statistics)
    """Single precision holds the counts of one reply exactly: they are whole and below 2**24."""

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """All counts, one part after the other."""
        return super().joined(parts) if parts else cls(np.empty((0, 0)))

    @classmethod
    def from_columns(cls, columns: Mapping[str, Column], files: Mapping[str, Path]) -> Self:
        """The counts, in double precision."""
        return cls(_floats(cls, columns, dimensions=2))


@dataclass(frozen=True, eq=False)
class Tokens(Tally):
    """The words of some texts, one text after the other, as numbers that are equal for equal words."""

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

    def columns(self) -> Mapping[str, Column]:
        """The words of each text, in one column."""
        return {"words": Ragged(self.ids, self.lengths)}

    @classmethod
    def from_columns(cls, columns: Mapping[str, Column], files: Mapping[str, Path]) -> "Tokens":
        """The words of each text."""
        (words,) = columns.values()
        if not isinstance(words, Ragged):
            raise ValueError("the column of words is not ragged")
        return cls(words.values, words.lengths)


def _floats(tally: type[Tally], columns: Mapping[str, Column], *, dimensions: int) -> Floats:
    """The only column, if it has so many dimensions."""
    (column,) = columns.values()
    if isinstance(column, Ragged) or column.ndim != dimensions:
        raise ValueError(f"statistics of the kind {tally.__name__} have a column of another shape")
    return np.asarray(column, float)


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
