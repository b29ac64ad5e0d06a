"""Files of word vectors: word2vec (binary, text), GloVe, gzip of these, and npy with a vocabulary.

The format is detected by the content; names are used only if matrix and vocabulary are separate files. Files
are read in small chunks, so that a wrong number in a header cannot use up the memory.
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
_MAX_DIMS = 100_000
_MAX_BLANK = 1_000_000
"""Maximum number of blank lines, of which a small gzip file can contain any number."""
_MAX_LINE = 2**22
_MAX_WORD = 2**16
_ROWS = 8192
_CONTROL = re.compile(rb"[^\t-\r -\xff]")  # control characters, which are frequent in binary vectors
_HEADER = re.compile(rb"\s*(\d{1,18})[ \t]+(\d{1,18})\s*")


class Block(NamedTuple):
    """A chunk of words and their vectors."""

    words: list[bytes]
    vectors: Vectors  # (words, dims)


class Files(NamedTuple):
    """A file with words and vectors, or a matrix and its vocabulary."""

    vectors: Path
    vocabulary: Path | None = None

    @property
    def all(self) -> tuple[Path, ...]:
        """The one or two files."""
        return (self.vectors, self.vocabulary) if self.vocabulary else (self.vectors,)


def find_files(path: Path) -> Files:
    """Return the files of word vectors for a path, which is a file or a folder."""
    try:
        return _find_files(path)
    except OSError as error:
        raise unreadable(error) from error


def _find_files(path: Path) -> Files:
    if path.is_file():
        return Files(path, _find_vocabulary(path) if _is_matrix(path) else None)
    files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
    matrices = [file for file in files if _is_matrix(file)]
    if len(matrices) == 1:
        return Files(matrices[0], _find_vocabulary(matrices[0]))
    others = [file for file in files if file.suffix in (".bin", ".txt", ".vec", ".gz")]
    if not matrices and len(others) == 1:
        return Files(others[0])
    names = ", ".join(printable(file.name) for file in matrices or others) or "none"
    raise BackendError(f"{path}: which file contains the word vectors? Found {names}. Name the file itself.")


def _is_matrix(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(6) == b"\x93NUMPY"


def _find_vocabulary(matrix: Path) -> Path:
    """Return the vocabulary in the folder of a matrix: the file of the same name, or the only one."""
    paths = sorted(path for path in matrix.parent.iterdir() if path.name != MANIFEST)
    vocabularies = [path for path in paths if path.suffix in _VOCABULARIES]
    candidates = [path for path in vocabularies if path.stem == matrix.stem] or vocabularies
    if len(candidates) == 1:
        return candidates[0]
    shown = ", ".join(printable(path.name) for path in candidates) or "none"
    kinds = ", ".join(_VOCABULARIES)
    raise BackendError(
        f"{matrix}: a matrix needs one file with its words in the same folder ({kinds}), found {shown}. "
        f"Call it {matrix.stem}.txt, with a word on each line."
    )


class WordMatrix(NamedTuple):
    """A matrix that is mapped from disk, and the words of its rows."""

    words: list[bytes]
    vectors: NDArray[np.floating[Any]]  # (words, dims)


_NO_MATRIX = (ValueError, TypeError, OverflowError, OSError, EOFError, MemoryError, SyntaxError, TokenError)
"""Errors that NumPy raises for damaged files, whose header is a Python expression."""


def read_matrix(files: Files) -> WordMatrix:
    """Read a matrix in npy and its vocabulary."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about old versions of headers
            vectors = np.load(files.vectors, mmap_mode="r", allow_pickle=False)
    except _NO_MATRIX as error:
        raise BackendError(f"{files.vectors}: cannot be read as a matrix of numbers: {error}") from error
    if vectors.ndim != 2 or vectors.dtype.kind != "f" or not vectors.shape[1]:
        raise BackendError(
            f"{files.vectors}: word vectors are a matrix of floating-point numbers with one row per word; "
            f"this is {vectors.dtype} of shape {vectors.shape}."
        )
    vocabulary = cast("Path", files.vocabulary)
    words = _read_words(vocabulary)
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
            raise BackendError(f"{path}: row {row} (counted from 0) contains a number that is not finite.")


def _read_words(path: Path) -> list[bytes]:
    """Read the words of a vocabulary in the order of the rows."""
    if path.suffix == ".parquet":
        return _read_parquet_words(path)
    if path.suffix == ".json":
        return _read_json_words(path)
    lines = path.read_bytes().split(b"\n")
    return [line.removesuffix(b"\r") for line in (lines if lines[-1] else lines[:-1])]


def _read_parquet_words(path: Path) -> list[bytes]:
    """Read words from the first column of text."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.read_table(path, use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise BackendError(f"{path}: cannot be read as a table: {error}") from error
    for column in table.columns:
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            return [(word or "").encode() for word in column.to_pylist()]
    raise BackendError(f"{path}: a vocabulary needs a column of text, but has {table.schema.names}.")


def _read_json_words(path: Path) -> list[bytes]:
    """Read words from a list, or from an object that maps words to rows."""
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise BackendError(f"{path}: not JSON: {error}") from error
    if isinstance(content, dict) and set(map(repr, content.values())) == set(map(repr, range(len(content)))):
        content = sorted(content, key=content.__getitem__)
    if not (isinstance(content, list) and all(isinstance(word, str) for word in content)):
        raise BackendError(
            f"{path}: a vocabulary is a list of words, or an object that maps each word to its row."
        )
    return [word.encode("utf-8", "surrogatepass") for word in content]


def read_blocks(path: Path) -> Iterator[Block]:
    """Yield the words and vectors of a word2vec or GloVe file in order."""
    try:
        with _open(path) as stream:
            yield from _read(path, stream)
    except (OSError, EOFError, zlib.error) as error:
        raise BackendError(f"{path}: cannot be read: {error}") from error


def _open(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        is_compressed = file.read(2) == b"\x1f\x8b"
    return cast("IO[bytes]", gzip.open(path)) if is_compressed else path.open("rb")


def _read(path: Path, stream: IO[bytes]) -> Iterator[Block]:
    first = _line(path, stream, 1)
    header = _HEADER.fullmatch(first)
    if not header:
        yield from _read_text(path, stream, _TextStart(first, 1, _dims(path, first)))
        return
    count, dims = int(header[1]), int(header[2])
    if not 1 <= dims <= _MAX_DIMS:
        raise BackendError(
            f"{path}: the first line announces vectors of {dims:,} numbers; 1 to {_MAX_DIMS:,} are supported."
        )
    if _is_text(stream, dims):
        yield from _check_count(path, count, _read_text(path, stream, _TextStart(b"", 2, dims)))
    else:
        yield from _read_binary(_BinaryReader(path, stream, count, dims))


def _is_text(stream: IO[bytes], dims: int) -> bool:
    """Whether vectors are written as text; the position in the stream does not change."""
    position = stream.tell()
    beginning = stream.read(dims * 64 + _MAX_WORD)  # longer than a line of text
    stream.seek(position)
    fields = beginning.split(b"\n", 1)[0].rsplit(None, dims)
    is_line_of_text = len(fields) == dims + 1 and all(map(_is_number, fields[1:]))
    return is_line_of_text or not _CONTROL.search(beginning)


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _line(path: Path, stream: IO[bytes], number: int) -> bytes:
    line = stream.readline(_MAX_LINE)
    if len(line) >= _MAX_LINE:
        raise BackendError(f"{path}, line {number}: longer than {_MAX_LINE:,} bytes, so no word vector.")
    return line


def _dims(path: Path, line: bytes) -> int:
    """Return the number of dimensions in the first line of a GloVe file."""
    fields = line.split()
    if len(fields) < 2 or not all(map(_is_number, fields[1:])):
        shown = printable(line[:60].decode("utf-8", "replace"))
        raise BackendError(
            f"{path}: neither word2vec nor GloVe; these begin with two whole numbers, or with a word and its "
            f"numbers, but this with: {shown}"
        )
    return len(fields) - 1


class _TextStart(NamedTuple):
    """The state of a text file after its header."""

    first: bytes
    """A line that has already been read, or an empty one."""
    number: int
    """Number of the first line."""
    dims: int


def _read_text(path: Path, stream: IO[bytes], start: _TextStart) -> Iterator[Block]:
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
            if blank > _MAX_BLANK:
                raise BackendError(f"{path}: more than {_MAX_BLANK:,} blank lines among the word vectors.")
        if len(rows) == _ROWS:
            yield _block(path, words, rows)
            words, rows = [], []
        number += 1
        line = _line(path, stream, number)
    if rows:
        yield _block(path, words, rows)


def _word_and_row(path: Path, number: int, line: bytes, dims: int) -> tuple[bytes, list[float]]:
    """Parse a line; numbers are taken from its end, since a word may contain spaces."""
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
        return _check_block(path, Block(words, np.array(rows, np.float32)))


def _check_block(path: Path, block: Block) -> Block:
    bad = ~np.isfinite(block.vectors).all(axis=1)
    if bad.any():
        word = printable(block.words[int(bad.argmax())].decode("utf-8", "replace"))
        raise BackendError(f"{path}: the vector of '{word}' contains a number that is not finite.")
    return block


def _check_count(path: Path, count: int, blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield the blocks, and check the number of words against the header."""
    total = 0
    for block in blocks:
        total += len(block.words)
        yield block
    if total != count:
        raise BackendError(f"{path}: the first line announces {count:,} words, but {total:,} follow.")


class _BinaryRow(NamedTuple):
    word: bytes
    vector: bytes


class _BinaryReader:
    """Reads words one by one: the bytes of the word, a space, and its numbers."""

    def __init__(self, path: Path, stream: IO[bytes], count: int, dims: int) -> None:
        self.path, self.count, self.dims = path, count, dims
        self._stream, self._size = stream, 4 * dims
        self._buffer, self._at = b"", 0
        self._offset = stream.tell()
        """Offset of the buffer in the file."""

    def next(self, number: int) -> _BinaryRow:
        """Return the next word; `number` is its number for error messages."""
        space = self._buffer.find(b" ", self._at)
        while space < 0 or len(self._buffer) <= space + self._size:
            self._fill(number, has_word=space >= 0)
            space = self._buffer.find(b" ", self._at)
        word = self._buffer[self._at : space].lstrip(b"\r\n")  # some writers break the line after a vector
        self._at = space + 1 + self._size
        return _BinaryRow(word, self._buffer[space + 1 : self._at])

    def _fill(self, number: int, *, has_word: bool) -> None:
        expected = f"word {number:,} of the {self.count:,} that the first line announces"
        if not has_word and len(self._buffer) - self._at > _MAX_WORD:
            raise BackendError(
                f"{self.path}, byte {self._offset + self._at:,}: {expected} should begin here."
            )
        more = self._stream.read(2**20)
        if not more:
            end = self._offset + len(self._buffer)
            raise BackendError(f"{self.path} ends at byte {end:,}, before the end of {expected}.")
        self._buffer, self._offset, self._at = self._buffer[self._at :] + more, self._offset + self._at, 0

    def end(self) -> None:
        """Check that nothing follows the last word."""
        if (self._buffer[self._at :] + self._stream.read(2)).strip():
            raise BackendError(
                f"{self.path}, byte {self._offset + self._at:,}: there are more than the {self.count:,} "
                "words that the first line announces."
            )


def _read_binary(reader: _BinaryReader) -> Iterator[Block]:
    for start in range(0, reader.count, _ROWS):
        rows = [reader.next(number + 1) for number in range(start, min(reader.count, start + _ROWS))]
        vectors = np.frombuffer(b"".join(row.vector for row in rows), "<f4").reshape(-1, reader.dims)
        yield _check_block(reader.path, Block([row.word for row in rows], vectors.astype(np.float32)))
    reader.end()
