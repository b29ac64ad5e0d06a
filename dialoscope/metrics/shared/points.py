"""Vectors of texts by an encoder: the statistics of metrics that compare distributions.

Few points are held in memory. Many are in a file that is read in chunks; they are then represented by their
moments, or by a sample of them that does not depend on their order.
"""

import io
import os
import tempfile
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import chain, islice, repeat
from operator import add
from pathlib import Path
from typing import IO, Any, ClassVar, NamedTuple, NoReturn, Protocol
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.errors import BackendError
from dialoscope.core.records import Example, is_blank
from dialoscope.core.safe_text import printable
from dialoscope.core.tally import Column, Ragged, SharedWork, Tally, begins_run, ranges
from dialoscope.metrics.shared.frechet import Moments, each_left_out
from dialoscope.models.protocols import Corpus, Encoder, Pair, Vectors
from dialoscope.text.batch import Batch
from dialoscope.text.tokens import hash_texts

HELD = 2**28
"""The maximum number of bytes of vectors in memory; larger tables are in a file."""

CHUNK = 8192
"""The number of texts encoded, and of points read, at a time."""

SAMPLE = 10_000
"""The maximum number of points in memory; more are represented by moments and a sample."""

NONE = 0
"""The key of a missing point."""


class Cloud(Protocol):
    """Points of one side of a comparison."""

    @property
    def count(self) -> int:
        """The number of points."""

    @property
    def held(self) -> bool:
        """Whether the sample is all of them."""

    @property
    def items(self) -> Ints:
        """The item that each point of the sample belongs to."""

    @property
    def points(self) -> Floats:
        """A sample of up to `SAMPLE` points, in an order that depends on their texts only."""

    @property
    def halves(self) -> tuple[Moments, Moments]:
        """The moments of two halves; points of one item are in the same half."""

    def blocks(self, of_replies: Ints) -> Ints:
        """The block of the reply that each point of the sample belongs to; -1 where it belongs to none."""

    def left_out(self, of_replies: Ints) -> Iterator[Moments]:
        """Yield the moments with the points of each block of replies left out in turn."""


@dataclass(frozen=True, eq=False)
class PointTable:
    """The vectors of different texts, in the order of their keys."""

    keys: Ints
    """Ascending, and all different."""
    held: "Vectors | VectorFile"
    """(points, dims), in memory where they are few."""

    @property
    def dims(self) -> int:
        """The number of dimensions."""
        return int(self.held.shape[1])

    @classmethod
    def from_parts(cls, keys: Ints, parts: Iterator[Vectors]) -> "PointTable":
        """Make a table of these keys, whose vectors come in parts."""
        first = next(parts, np.zeros((0, 0), np.float32))
        if 4 * len(keys) * first.shape[1] <= HELD:
            return cls(keys, np.concatenate([first, *parts]))
        try:
            with tempfile.TemporaryFile() as file:
                for part in chain((first,), parts):
                    file.write(np.ascontiguousarray(part, "<f4").tobytes())
                file.flush()
                return cls(keys, VectorFile(os.dup(file.fileno()), 0, (len(keys), first.shape[1])))
        except OSError as failed:
            raise BackendError(
                f"The vectors cannot be written to {tempfile.gettempdir()}: {failed.strerror}. "
                "Set TMPDIR to a folder with more room."
            ) from failed

    @classmethod
    def load(cls, path: Path) -> "PointTable":
        """Load a saved table."""
        with path.open("rb") as file:
            keys = np.load(file)
            np.lib.format.read_magic(file)
            shape, _, _ = np.lib.format.read_array_header_1_0(file)
            vectors = VectorFile(os.dup(file.fileno()), file.tell(), (len(keys), shape[1]))
        return cls(keys, vectors[0 : len(keys)] if 4 * len(keys) * shape[1] <= HELD else vectors)

    def save(self, path: Path) -> None:
        """Write keys and vectors into a file, as two arrays in numpy's own format."""
        with path.open("wb") as file:
            np.save(file, self.keys)
            _write_head(file, len(self.keys), self.dims)
            for part in self.chunks(np.arange(len(self.keys))):
                file.write(np.ascontiguousarray(part, "<f4").tobytes())

    def chunks(self, places: Ints) -> Iterator[Vectors]:
        """Yield the points at these indices, which ascend, in chunks."""
        for start in range(0, len(self.keys), CHUNK):
            low, high = np.searchsorted(places, (start, start + CHUNK))
            if high > low:
                yield self.held[start : min(start + CHUNK, len(self.keys))][places[low:high] - start]

    def places(self, keys: Ints) -> Ints:
        """Return the indices of the points with these keys."""
        return np.searchsorted(self.keys, keys)


class VectorFile:
    """Vectors in a file, which are read in slices; the file is closed with the last reference to it."""

    def __init__(self, descriptor: int, offset: int, shape: tuple[int, int]) -> None:
        self.shape = shape
        self._descriptor, self._offset = descriptor, offset
        finalize(self, os.close, descriptor)

    def __reduce__(self) -> NoReturn:
        raise TypeError("Vectors in a file cannot be sent elsewhere; save the run and load it there.")

    def __getitem__(self, rows: slice) -> Vectors:
        width = 4 * self.shape[1]
        size = width * (rows.stop - rows.start)
        content = os.pread(self._descriptor, size, self._offset + width * rows.start)
        return np.frombuffer(content, "<f4").reshape(-1, self.shape[1])


@dataclass(frozen=True, eq=False)
class Crowd:
    """A summary of a corpus: the moments of its two halves, and a sample of its points."""

    halves: tuple[Moments, Moments]
    points: Floats
    items: Ints

    @property
    def count(self) -> int:
        """The number of pairs in the corpus."""
        return sum(half.count for half in self.halves)

    @property
    def held(self) -> bool:
        """Whether the sample is all of them."""
        return self.count == len(self.points)

    @classmethod
    def of(cls, corpus: Corpus, encoder: Encoder, turns: int) -> "Crowd":
        """Read and encode a corpus in chunks of pairs."""
        halves = [Moments(0, np.zeros(0), np.zeros((0, 0))) for _ in range(2)]
        sample = _Sample(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 0), np.float32))
        remaining = corpus.examples()
        while examples := list(islice(remaining, CHUNK)):
            texts = [pair_of(example, example.response, turns) for example in examples]
            part = _Sample(_keys(texts), items_of(examples), encoder.encode(texts)).defined()
            for half, chosen in enumerate((part.items & 1 == 0, part.items & 1 == 1)):
                halves[half] = halves[half] + Moments.of(part.vectors[chosen])
            sample = sample.joined(part).smallest(SAMPLE)
        if not len(sample.keys):
            raise BackendError(f"{printable(str(corpus))} has not one reply with a context before it.")
        return cls((halves[0], halves[1]), sample.vectors.astype(np.float64), sample.items)

    def blocks(self, of_replies: Ints) -> Ints:
        """-1 for each point, since none belongs to a reply."""
        return np.full(len(self.points), -1)

    def left_out(self, of_replies: Ints) -> Iterator[Moments]:
        """Yield the moments of all points for each block, since none belongs to a reply."""
        return repeat(whole(self), int(of_replies.max()) + 1)

    def save(self, path: Path) -> None:
        """Write it into an npz file."""
        first, second = self.halves
        with path.open("wb") as file:
            np.savez(
                file,
                counts=np.array([first.count, second.count]),
                first_mean=first.mean,
                first_spread=first.spread,
                second_mean=second.mean,
                second_spread=second.spread,
                points=self.points,
                items=self.items,
            )

    @classmethod
    def load(cls, path: Path) -> "Crowd":
        """Load a saved summary."""
        with np.load(io.BytesIO(path.read_bytes())) as saved:
            counts = saved["counts"].tolist()
            first = Moments(counts[0], saved["first_mean"], saved["first_spread"])
            second = Moments(counts[1], saved["second_mean"], saved["second_spread"])
            return cls((first, second), saved["points"], saved["items"])


@dataclass(frozen=True, eq=False)
class TableCloud:
    """Points of a table, some of which may occur several times."""

    table: PointTable
    keys: Ints
    items: Ints
    owner: Ints
    """The reply that each point belongs to."""

    @classmethod
    def of(cls, table: PointTable, keys: Ints, items: Ints, owner: Ints) -> "TableCloud":
        """Sort the points by keys and items, so that the order of the replies has no effect."""
        order = np.lexsort((items, keys))
        return cls(table, keys[order], items[order], owner[order])

    @property
    def count(self) -> int:
        """The number of points."""
        return len(self.keys)

    @property
    def held(self) -> bool:
        """Whether the sample is all of them."""
        return self.count <= SAMPLE

    @cached_property
    def points(self) -> Floats:
        """The points with the smallest keys: keys are hashes, so they are a random sample."""
        places = self.table.places(self.keys[:SAMPLE])
        return np.concatenate([np.zeros((0, self.table.dims)), *self.table.chunks(places)])

    @cached_property
    def halves(self) -> tuple[Moments, Moments]:
        """The moments of points with even and with odd items, which are hashes."""
        even, odd = (self.moments(self.items & 1 == half) for half in (0, 1))
        return even, odd

    def blocks(self, of_replies: Ints) -> Ints:
        """The block of the reply that each point belongs to."""
        return of_replies[self.owner[:SAMPLE]]

    def left_out(self, of_replies: Ints) -> Iterator[Moments]:
        """Yield the moments without each block; they are computed by subtracting those of the block."""
        of = of_replies[self.owner]
        return each_left_out([self.moments(of == block) for block in range(int(of_replies.max()) + 1)])

    def moments(self, chosen: NDArray[np.bool_]) -> Moments:
        """Return the moments of the chosen points, which are read in chunks."""
        return Moments.from_chunks(self.table.chunks(self.table.places(self.keys[chosen])), self.table.dims)


@dataclass(frozen=True, eq=False)
class Points(SharedWork, Tally):
    """The point of each reply, and those of people's replies to the same context."""

    has_files: ClassVar[bool] = True

    table: PointTable
    reply: Ints
    """The key of each reply's point."""
    item: Ints
    """Equal for replies in the same dialogue."""
    real: Ints
    """The keys of the points of people's replies, concatenated in the order of the replies."""
    counts: Ints
    """The number of people's replies for each reply."""
    bare: Ints
    """The key of the point of each reply's context with nothing said after it."""
    crowd: Crowd | None = None
    """People's replies in a corpus, if one replaces the references."""
    _results: dict[Hashable, Any] = field(default_factory=dict, repr=False)
    """Cached results for the same replies."""

    def __len__(self) -> int:
        return len(self.reply)

    def take(self, rows: Ints) -> "Points":
        """Return the points of these replies; the table and the crowd are the same."""
        starts, counts = (np.cumsum(self.counts) - self.counts)[rows], self.counts[rows]
        real = self.real[ranges(starts, counts)]
        columns = self.reply[rows], self.item[rows], real, counts, self.bare[rows]
        made: dict[Hashable, Any] = self.once(("taken", np.asarray(rows, np.int64).tobytes()), dict)
        return Points(self.table, *columns, self.crowd, made)

    @classmethod
    def joined(cls, parts: Sequence["Points"]) -> "Points":
        """Concatenate the replies of all parts; equal points are stored once."""
        if not parts:
            nothing = np.zeros(0, np.int64)
            table = PointTable(nothing, np.zeros((0, 0), np.float32))
            return cls(table, nothing, nothing, nothing, nothing, nothing)
        if len(parts) == 1:
            return parts[0]
        return cls(
            _merge([part.table for part in parts]),
            np.concatenate([part.reply for part in parts]),
            np.concatenate([part.item for part in parts]),
            np.concatenate([part.real for part in parts]),
            np.concatenate([part.counts for part in parts]),
            np.concatenate([part.bare for part in parts]),
            parts[0].crowd,
        )

    def columns(self) -> Mapping[str, Column]:
        """The keys of the points of each reply."""
        real = Ragged(self.real, self.counts)
        return {"reply": self.reply, "item": self.item, "real": real, "bare": self.bare}

    def write_files(self, folder: Path, number: int) -> None:
        """Write the points in the order of their keys, and the summary of a corpus."""
        self.table.save(folder / f"points-{number}.npy")
        if self.crowd:
            self.crowd.save(folder / f"crowd-{number}.npz")

    @classmethod
    def from_columns(cls, columns: Mapping[str, Column], files: Mapping[str, Path]) -> "Points":
        """Load stored points; each key must have its point."""
        reply, item, real, bare = columns.values()
        if isinstance(reply, Ragged) or isinstance(item, Ragged) or isinstance(bare, Ragged):
            raise ValueError("the columns are not those of points")
        if not isinstance(real, Ragged):
            raise ValueError("the column of people's points is not ragged")
        if "points" not in files:
            raise LookupError("its file of points is not listed")
        table = PointTable.load(files["points"])
        if not np.isin(np.concatenate([reply, bare, real.values]), np.append(table.keys, NONE)).all():
            raise ValueError(f"{files['points'].name} does not hold all points")
        crowd = Crowd.load(files["crowd"]) if "crowd" in files else None
        return cls(table, reply, item, real.values, real.lengths, bare, crowd)

    @cached_property
    def generated(self) -> TableCloud:
        """The points of the replies that are compared with people's: those that have references."""
        return self._cloud(self.reply if self.crowd else np.where(self.counts > 0, self.reply, NONE))

    @cached_property
    def replies(self) -> TableCloud:
        """The points of all replies that have one."""
        return self._cloud(self.reply)

    @cached_property
    def silent(self) -> TableCloud:
        """The points of a system that says nothing."""
        return self._cloud(self.bare)

    def _cloud(self, keys: Ints) -> TableCloud:
        rows = np.flatnonzero(keys != NONE)
        return TableCloud.of(self.table, keys[rows], self.item[rows], rows)

    @cached_property
    def people(self) -> Cloud:
        """The points of people's replies."""
        owner = np.repeat(np.arange(len(self)), self.counts)
        return self.crowd or TableCloud.of(self.table, self.real, self.item[owner], owner)


def points_of(batch: Batch, encoder: Encoder, turns: int, corpus: Corpus | None = None) -> Points:
    """Return the points of replies, and those of their references and bare contexts, or of a corpus."""
    crowd = Crowd.of(corpus, encoder, turns) if corpus else None
    rows = np.array([row for row, example in enumerate(batch) if example.has_context], np.int64)
    counts = np.array([0 if corpus else len(batch[row].references) for row in rows.tolist()], np.int64)
    compared, owner = rows[counts > 0], np.repeat(rows, counts)
    texts = _TextsAfterContexts(
        np.concatenate([rows, compared, owner]),
        np.repeat([_RESPONSE, _NOTHING], [len(rows), len(compared)]),
        ranges(np.zeros_like(counts), counts),
    )
    keys = texts.keys(batch, turns)
    unique, first = np.unique(keys, return_index=True)
    starts = range(0, len(unique), CHUNK)
    parts = (encoder.encode(texts.pairs(batch, turns, first[start : start + CHUNK])) for start in starts)
    table = PointTable.from_parts(unique, parts)
    keys = np.where(np.isin(keys, table.keys[_find_defined(table)]), keys, NONE)
    own, silent, people = np.split(keys, np.cumsum([len(rows), len(compared)]))
    return Points(
        table,
        _spread(own, rows, len(batch)),
        _spread(_items(batch, rows), rows, len(batch)),
        people[people != NONE],
        np.bincount(owner[people != NONE], minlength=len(batch)).astype(np.int64),
        _spread(silent, compared, len(batch)),
        crowd,
    )


_RESPONSE, _NOTHING = -1, -2


class _TextsAfterContexts:
    """The texts after contexts: the response, nothing, or a reference; pairs are made when needed."""

    def __init__(self, example: Ints, special: Ints, reference: Ints) -> None:
        self.example, self.text = example, np.concatenate([special, reference])

    def keys(self, batch: Batch, turns: int) -> Ints:
        """Return a hash of each pair."""
        parts = np.array_split(np.arange(len(self.text)), len(self.text) // CHUNK + 1)
        return np.concatenate([_keys(self.pairs(batch, turns, part)) for part in parts])

    def pairs(self, batch: Batch, turns: int, places: Ints) -> list[Pair]:
        """Return the pairs with these indices."""
        chosen = zip(self.example[places].tolist(), self.text[places].tolist(), strict=True)
        return [pair_of(batch[example], _text(batch[example], text), turns) for example, text in chosen]


def _text(example: Example, which: int) -> str:
    if which == _RESPONSE:
        return example.response
    return "" if which == _NOTHING else example.references[which]


def _items(batch: Batch, places: Ints) -> Ints:
    parts = np.array_split(places, len(places) // CHUNK + 1)
    return np.concatenate([items_of([batch[index] for index in part.tolist()]) for part in parts])


def _spread(values: Ints, places: Ints, size: int) -> Ints:
    """Return the values at their indices, and `NONE` elsewhere."""
    spread = np.full(size, NONE, np.int64)
    spread[places] = values
    return spread


def pair_of(example: Example, text: str, turns: int) -> Pair:
    """Return a reply after the last turns of its context (0: all), joined by a space."""
    return Pair(" ".join(example.context[-turns:]), "" if is_blank(text) else text)


def items_of(examples: Sequence[Example]) -> Ints:
    """Return a hash of each example's dialogue, which is identified by its first turn.

    Replies at different turns of one dialogue share most of their contexts, and are no more independent of
    each other than replies to the same one.
    """
    return hash_texts([example.context[0] for example in examples])


class _Sample(NamedTuple):
    """Points with their items, in the order of their keys."""

    keys: Ints
    items: Ints
    vectors: Vectors

    def defined(self) -> "_Sample":
        return self.of(np.flatnonzero(np.isfinite(self.vectors).all(axis=1)))

    def of(self, chosen: Ints) -> "_Sample":
        return _Sample(self.keys[chosen], self.items[chosen], self.vectors[chosen])

    def joined(self, other: "_Sample") -> "_Sample":
        if not len(self.keys):
            return other
        return _Sample(
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.items, other.items]),
            np.concatenate([self.vectors, other.vectors]),
        )

    def smallest(self, many: int) -> "_Sample":
        """Return the points with the smallest keys, a random sample since keys are hashes."""
        return self.of(np.lexsort((self.items, self.keys))[:many])


def _keys(pairs: Sequence[Pair]) -> Ints:
    """Return a hash of each pair, the same for equal pairs in all runs."""
    keys = hash_texts([f"{len(first)}:{first}{second}" for first, second in pairs])
    return np.where(keys == NONE, 1, keys)


def _find_defined(table: PointTable) -> NDArray[np.bool_]:
    every = table.chunks(np.arange(len(table.keys)))
    parts = [np.isfinite(part).all(axis=1) for part in every]
    return np.concatenate(parts) if parts else np.zeros(0, bool)


def _merge(tables: list[PointTable]) -> PointTable:
    """Return the points of all tables, each once; tables that must be joined are small."""
    keys = np.concatenate([table.keys for table in tables])
    vectors = [part for table in tables for part in table.chunks(np.arange(len(table.keys)))]
    if not vectors:
        return tables[0]
    order = np.argsort(keys, kind="stable")
    first = order[begins_run(keys[order])]
    held = np.concatenate(vectors)[first]
    return PointTable(keys[first], held)


def _write_head(file: IO[bytes], rows: int, dims: int) -> None:
    """Write the head of an npy file, which the numbers follow."""
    head = {"descr": "<f4", "fortran_order": False, "shape": (rows, dims)}
    np.lib.format.write_array_header_1_0(file, head)


def whole(cloud: Cloud) -> Moments:
    """Return the moments of all points."""
    return reduce(add, cloud.halves)
