"""Files of word vectors: word2vec (binary, text), GloVe, gzip of these, and npy with a vocabulary.

What a file is shows in its content; its name counts only where a matrix and its vocabulary are two files.
Files are read from beginning to end, a little at a time, so that no number in a header can make them large.
"""

import gzip
import json
import re
import warnings
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from dialoscope.core.errors import BackendError
from dialoscope.core.safe_text import printable
from dialoscope.models.content import unreadable
from dialoscope.models.protocols import Vectors
from dialoscope.models.registry.folder import MANIFEST

_VOCABULARIES = (".parquet", ".json", ".txt")
_MOST_DIMS = 100_000
_MOST_BLANK = 1_000_000
"""Blank lines that are passed over; a few bytes of gzip can hold any number."""
_LONGEST_LINE = 2**22
_LONGEST_WORD = 2**16
_ROWS = 8192
_UNWRITTEN = re.compile(rb"[^\t-\r -\xff]")  # control characters, which a binary vector is full of
_HEADER = re.compile(rb"\s*(\d{1,18})[ \t]+(\d{1,18})\s*")


class Block(NamedTuple):
    """Some words, with a vector each."""

    words: list[bytes]
    vectors: Vectors  # (words, dims)


class Files(NamedTuple):
    """Where vectors are: a file that holds words and vectors, or a matrix and its vocabulary."""

    vectors: Path
    vocabulary: Path | None = None

    @property
    def all(self) -> tuple[Path, ...]:
        """One or two."""
        return (self.vectors, self.vocabulary) if self.vocabulary else (self.vectors,)


def files_of(place: Path) -> Files:
    """The files of word vectors at a place, a file or a folder of such."""
    try:
        return _files_at(place)
    except OSError as error:
        raise unreadable(error) from error


def _files_at(place: Path) -> Files:
    if place.is_file():
        return Files(place, _vocabulary_of(place) if _is_matrix(place) else None)
    inside = sorted(path for path in place.iterdir() if path.is_file() and not path.name.startswith("."))
    matrices = [path for path in inside if _is_matrix(path)]
    if len(matrices) == 1:
        return Files(matrices[0], _vocabulary_of(matrices[0]))
    others = [path for path in inside if path.suffix in (".bin", ".txt", ".vec", ".gz")]
    if not matrices and len(others) == 1:
        return Files(others[0])
    found = ", ".join(printable(path.name) for path in matrices or others) or "none"
    raise BackendError(f"{place}: which file holds the word vectors? Found {found}. Name the file itself.")


def _is_matrix(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(6) == b"\x93NUMPY"


def _vocabulary_of(matrix: Path) -> Path:
    """The vocabulary beside a matrix: the one of its name, or the only one there is."""
    names = sorted(path for path in matrix.parent.iterdir() if path.name != MANIFEST)
    beside = [path for path in names if path.suffix in _VOCABULARIES]
    of_its_name = [path for path in beside if path.stem == matrix.stem]
    found = of_its_name or beside
    if len(found) == 1:
        return found[0]
    shown = ", ".join(printable(path.name) for path in found) or "none"
    kinds = ", ".join(_VOCABULARIES)
    raise BackendError(
        f"{matrix}: a matrix needs one file with its words beside it ({kinds}), found {shown}. "
        f"Call it {matrix.stem}.txt, with a word on each line."
    )


class WordMatrix(NamedTuple):
    """A matrix that stays where it is on the disk, and the words of its rows."""

    words: list[bytes]
    vectors: NDArray[np.floating[Any]]  # (words, dims)


_NO_MATRIX = (ValueError, TypeError, OverflowError, OSError, EOFError, MemoryError, SyntaxError, TokenError)
"""What numpy raises for a damaged file, the header of which is an expression of Python."""


def read_matrix(files: Files) -> WordMatrix:
    """A matrix in npy and its vocabulary."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of how headers were written once
            vectors = np.load(files.vectors, mmap_mode="r", allow_pickle=False)
    except _NO_MATRIX as error:
        raise BackendError(f"{files.vectors}: no matrix of numbers can be read from it: {error}") from error
    if vectors.ndim != 2 or vectors.dtype.kind != "f" or not vectors.shape[1]:
        raise BackendError(
            f"{files.vectors}: word vectors are a matrix of floating-point numbers, a row for each word; "
            f"this is {vectors.dtype} of shape {vectors.shape}."
        )
    vocabulary = cast("Path", files.vocabulary)
    words = _words(vocabulary)
    if len(words) != len(vectors):
        raise BackendError(
            f"{vocabulary} has {len(words):,} words, but {files.vectors} has {len(vectors):,} rows."
        )
    _check_finite(files.vectors, vectors)
    return WordMatrix(words, vectors)


def _check_finite(path: Path, vectors: NDArray[np.floating[Any]]) -> None:
    for start in range(0, len(vectors), _ROWS):
        bad = ~np.isfinite(vectors[start : start + _ROWS]).all(axis=1)
        if bad.any():
            row = start + int(bad.argmax())
            raise BackendError(f"{path}: row {row} (counted from 0) holds a number that is not finite.")


def _words(path: Path) -> list[bytes]:
    """The words of a vocabulary, by row."""
    if path.suffix == ".parquet":
        return _words_of_table(path)
    if path.suffix == ".json":
        return _words_of_json(path)
    lines = path.read_bytes().split(b"\n")
    return [line.removesuffix(b"\r") for line in (lines if lines[-1] else lines[:-1])]


def _words_of_table(path: Path) -> list[bytes]:
    """From the first column of text."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.read_table(path, use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise BackendError(f"{path}: no table can be read from it: {error}") from error
    for column in table.columns:
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            return [(word or "").encode() for word in column.to_pylist()]
    raise BackendError(f"{path}: a vocabulary needs a column of text, but has {table.schema.names}.")


def _words_of_json(path: Path) -> list[bytes]:
    """From a list of words, or from an object that gives the row of each."""
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise BackendError(f"{path}: not JSON: {error}") from error
    if isinstance(content, dict) and set(map(repr, content.values())) == set(map(repr, range(len(content)))):
        content = sorted(content, key=content.__getitem__)
    if not (isinstance(content, list) and all(isinstance(word, str) for word in content)):
        raise BackendError(
            f"{path}: a vocabulary is a list of words, or an object that gives each word its row from 0 on."
        )
    return [word.encode("utf-8", "surrogatepass") for word in content]


def read_blocks(path: Path) -> Iterator[Block]:
    """The words and vectors of a word2vec or GloVe file, in its order."""
    try:
        with _opened(path) as stream:
            yield from _read(path, stream)
    except (OSError, EOFError, zlib.error) as error:
        raise BackendError(f"{path}: cannot be read: {error}") from error


def _opened(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        is_compressed = file.read(2) == b"\x1f\x8b"
    return cast("IO[bytes]", gzip.open(path)) if is_compressed else path.open("rb")


def _read(path: Path, stream: IO[bytes]) -> Iterator[Block]:
    first = _line(path, stream, 1)
    header = _HEADER.fullmatch(first)
    if not header:
        yield from _read_text(path, stream, _Text(first, 1, _dims(path, first)))
        return
    count, dims = int(header[1]), int(header[2])
    if not 1 <= dims <= _MOST_DIMS:
        raise BackendError(
            f"{path}: its first line promises vectors of {dims:,} numbers; 1 to {_MOST_DIMS:,} make sense."
        )
    if _is_text(stream, dims):
        yield from _counted(path, count, _read_text(path, stream, _Text(b"", 2, dims)))
    else:
        yield from _read_binary(_Binary(path, stream, count, dims))


def _is_text(stream: IO[bytes], dims: int) -> bool:
    """Whether numbers are written out from here on; a look, after which reading goes on at the same place."""
    place = stream.tell()
    beginning = stream.read(dims * 64 + _LONGEST_WORD)  # surely the whole of a line of text
    stream.seek(place)
    fields = beginning.split(b"\n", 1)[0].rsplit(None, dims)
    is_sound = len(fields) == dims + 1 and all(map(_is_number, fields[1:]))
    return is_sound or not _UNWRITTEN.search(beginning)


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _line(path: Path, stream: IO[bytes], number: int) -> bytes:
    line = stream.readline(_LONGEST_LINE)
    if len(line) >= _LONGEST_LINE:
        raise BackendError(f"{path}, line {number}: longer than {_LONGEST_LINE:,} bytes, so no word vector.")
    return line


def _dims(path: Path, line: bytes) -> int:
    """How many numbers follow the first word of a GloVe file."""
    fields = line.split()
    if len(fields) < 2 or not all(map(_is_number, fields[1:])):
        shown = printable(line[:60].decode("utf-8", "replace"))
        raise BackendError(
            f"{path}: neither word2vec nor GloVe; these begin with two whole numbers, or with a word and its "
            f"numbers, but this with: {shown}"
        )
    return len(fields) - 1


class _Text(NamedTuple):
    """Where reading a text begins."""

    first: bytes
    """A line that was read already, or nothing."""
    number: int
    """Of the line that comes first."""
    dims: int


def _read_text(path: Path, stream: IO[bytes], start: _Text) -> Iterator[Block]:
    words: list[bytes] = []
    rows: list[list[float]] = []
    blank = 0
    number, line = start.number, start.first or _line(path, stream, start.number)
    while line:
        if line.strip():
            word, row = _word_and_row(path, number, line, start.dims)
            words.append(word)
            rows.append(row)
        else:
            blank += 1
            if blank > _MOST_BLANK:
                raise BackendError(f"{path}: more than {_MOST_BLANK:,} blank lines among the word vectors.")
        if len(rows) == _ROWS:
            yield _block(path, words, rows)
            words, rows = [], []
        number += 1
        line = _line(path, stream, number)
    if rows:
        yield _block(path, words, rows)


def _word_and_row(path: Path, number: int, line: bytes, dims: int) -> tuple[bytes, list[float]]:
    """A word may hold spaces, so that the numbers are taken from the end."""
    fields = line.rsplit(None, dims)
    if len(fields) != dims + 1:
        raise BackendError(
            f"{path}, line {number}: {dims} numbers should follow a word, but only {len(fields) - 1} do."
        )
    try:
        row = [float(field) for field in fields[1:]]
    except ValueError as error:
        raise BackendError(f"{path}, line {number}: {dims} numbers should follow a word; {error}.") from error
    return fields[0].strip(), row


def _block(path: Path, words: list[bytes], rows: Sequence[list[float]]) -> Block:
    with np.errstate(over="ignore"):
        return _checked(path, Block(words, np.array(rows, np.float32)))


def _checked(path: Path, block: Block) -> Block:
    bad = ~np.isfinite(block.vectors).all(axis=1)
    if bad.any():
        word = printable(block.words[int(bad.argmax())].decode("utf-8", "replace"))
        raise BackendError(f"{path}: the vector of '{word}' holds a number that is not finite.")
    return block


def _counted(path: Path, count: int, blocks: Iterator[Block]) -> Iterator[Block]:
    """The blocks, held to the number of words that the header promised."""
    found = 0
    for block in blocks:
        found += len(block.words)
        yield block
    if found != count:
        raise BackendError(f"{path}: its first line promises {count:,} words, but {found:,} follow.")


class _BinaryRow(NamedTuple):
    word: bytes
    vector: bytes


class _Binary:
    """Reads word after word: its bytes, a space, and then its numbers."""

    def __init__(self, path: Path, stream: IO[bytes], count: int, dims: int) -> None:
        self.path, self.count, self.dims = path, count, dims
        self._stream, self._size = stream, 4 * dims
        self._buffer, self._at = b"", 0
        self._offset = stream.tell()
        """Of the buffer in the file."""

    def next(self, number: int) -> _BinaryRow:
        """The next word, which should have this number."""
        space = self._buffer.find(b" ", self._at)
        while space < 0 or len(self._buffer) <= space + self._size:
            self._more(number, has_word=space >= 0)
            space = self._buffer.find(b" ", self._at)
        word = self._buffer[self._at : space].lstrip(b"\r\n")  # some writers break the line after a vector
        self._at = space + 1 + self._size
        return _BinaryRow(word, self._buffer[space + 1 : self._at])

    def _more(self, number: int, *, has_word: bool) -> None:
        awaited = f"word {number:,} of the {self.count:,} that its first line promises"
        if not has_word and len(self._buffer) - self._at > _LONGEST_WORD:
            raise BackendError(f"{self.path}, byte {self._offset + self._at:,}: here should begin {awaited}.")
        more = self._stream.read(2**20)
        if not more:
            end = self._offset + len(self._buffer)
            raise BackendError(f"{self.path} ends at byte {end:,}, before the end of {awaited}.")
        self._buffer, self._offset, self._at = self._buffer[self._at :] + more, self._offset + self._at, 0

    def end(self) -> None:
        """Nothing may follow the last word."""
        if (self._buffer[self._at :] + self._stream.read(2)).strip():
            raise BackendError(
                f"{self.path}, byte {self._offset + self._at:,}: more follows than the {self.count:,} words "
                "that its first line promises."
            )


def _read_binary(reader: _Binary) -> Iterator[Block]:
    for start in range(0, reader.count, _ROWS):
        rows = [reader.next(number + 1) for number in range(start, min(reader.count, start + _ROWS))]
        vectors = np.frombuffer(b"".join(row.vector for row in rows), "<f4").reshape(-1, reader.dims)
        yield _checked(reader.path, Block([row.word for row in rows], vectors.astype(np.float32)))
    reader.end()
