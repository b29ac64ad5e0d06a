"""Static word vectors from files in the usual formats."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

import dialoscope.models.registry as assets
from dialoscope.core.arrays import Ints
from dialoscope.core.errors import BackendError
from dialoscope.core.files import lock, stage
from dialoscope.core.progress import print_notice
from dialoscope.core.safe_text import printable
from dialoscope.models.asset_kinds import assets_of_kind, check_kind, matching_assets
from dialoscope.models.content import content_hash
from dialoscope.models.protocols import Vectors
from dialoscope.models.vector_files import Files, find_files, read_blocks, read_matrix

Case = Literal["as-is", "lower", "either"]

_FORMAT = 1
_ROWS = 8192
_LARGE = 2**28
"""Size in bytes above which a notice is shown, since the preparation takes a while."""


@dataclass(frozen=True)
class StaticVectors:
    """Word vectors from an asset, a file or a folder: word2vec, GloVe, or npy with a vocabulary."""

    name: ClassVar[str] = "static-vectors"
    version: ClassVar[int] = 1

    model: str = "glove-50d"
    case: Case = "either"
    """Case of the words to look up: unchanged, lower case, or unchanged first and then lower case."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", str(self.model))  # a Path is plain enough
        if self.case not in get_args(Case):
            choices = ", ".join(get_args(Case))
            raise BackendError(
                f"static-vectors: case must be one of {choices}, not '{printable(self.case)}'."
            )

    def __str__(self) -> str:
        return self.model

    @property
    def fingerprint(self) -> str:
        """The hash of the files."""
        return _find_source(self.model).fingerprint

    @property
    def asset_names(self) -> tuple[str, ...]:
        """The names of the assets that the model consists of, for their licences."""
        return matching_assets(self.model)

    @property
    def dims(self) -> int:
        """The length of each vector."""
        return int(self._table.vectors.shape[1])

    @property
    def mean(self) -> Vectors:
        """The mean of all vectors."""
        return self._table.mean

    def vectors(self, words: Sequence[str]) -> Vectors:
        """An array with one row per word, NaN for unknown words."""
        unique = dict.fromkeys(words)
        rows = dict(zip(unique, self._find_rows(list(unique)).tolist(), strict=True))
        return self._table.rows(np.array([rows[word] for word in words], np.int64))

    def _find_rows(self, words: list[str]) -> Ints:
        lowered = [word.lower() for word in words]
        rows = self._table.find(lowered if self.case == "lower" else words)
        if self.case == "either":
            rows = np.where(rows < 0, self._table.find(lowered), rows)
        return rows

    @property
    def _table(self) -> "_Table":
        source = _find_source(self.model)
        return _load_table(source.files, source.fingerprint)


class _Source(NamedTuple):
    files: Files
    fingerprint: str


def _find_source(model: str) -> _Source:
    """Return the files of word vectors and their hash."""
    path = Path(model).expanduser()
    if path.exists():
        files = find_files(path.absolute())
        return _Source(files, content_hash(files.all))
    if model in assets.ASSETS:
        folder = assets.locate(check_kind(model, "set of word vectors", "word vectors"))
        return _Source(find_files(folder), assets.fingerprint(model))
    names = ", ".join(assets_of_kind("word vectors"))
    raise BackendError(
        f"There is no file or folder '{printable(model)}', and no asset of that name ({names})."
    )


@dataclass(frozen=True, eq=False)
class _Table:
    """The vectors and an index of the words, mapped from disk, so that little is read at the start.

    Words are found by their hash and then compared.
    """

    vectors: NDArray[np.floating[Any]]  # (words, dims)
    letters: NDArray[np.uint8]
    """The UTF-8 bytes of all words, in the order of their hashes."""
    starts: Ints  # (words + 1,)
    hashes: NDArray[np.uint64]  # (words,), ascending
    row: Ints  # (words,)

    def find(self, words: list[str]) -> Ints:
        """Return the row of each word, -1 for unknown words."""
        encoded = [word.encode("utf-8", "surrogatepass") for word in words]
        hashes = _hashes(encoded)
        positions = np.searchsorted(self.hashes, hashes)
        positions[self.hashes[np.minimum(positions, len(self.hashes) - 1)] != hashes] = len(self.hashes)
        rows = np.full(len(words), -1)
        for number in np.flatnonzero(positions < len(self.hashes)).tolist():
            rows[number] = self._row(encoded[number], int(positions[number]))
        return rows

    def _row(self, word: bytes, position: int) -> int:
        """Return the row of a word among the words with the same hash, which begin at a position."""
        word_hash = self.hashes[position]
        while position < len(self.hashes) and self.hashes[position] == word_hash:
            if self.letters[self.starts[position] : self.starts[position + 1]].tobytes() == word:
                return int(self.row[position])
            position += 1
        return -1

    @cached_property
    def mean(self) -> Vectors:
        """The mean of all rows, computed in chunks."""
        starts = range(0, len(self.vectors), _ROWS)
        sums = [self.vectors[start : start + _ROWS].sum(axis=0, dtype=float) for start in starts]
        return np.asarray(np.sum(sums, axis=0) / len(self.vectors), np.float32)

    def rows(self, numbers: Ints) -> Vectors:
        """Return rows by number, NaN for -1."""
        rows = np.full((len(numbers), self.vectors.shape[1]), np.nan, np.float32)
        is_known = np.flatnonzero(numbers >= 0)
        rows[is_known] = self.vectors[numbers[is_known]]
        return rows


def _hashes(words: list[bytes]) -> NDArray[np.uint64]:
    digests = b"".join([blake2b(word, digest_size=8).digest() for word in words])
    return np.frombuffer(digests, "<u8").astype(np.uint64)


@lru_cache(maxsize=4)
def _load_table(files: Files, fingerprint: str) -> _Table:
    """Open a table once per process; prepare its files once per machine."""
    folder = assets.cache_folder() / "vectors" / f"{fingerprint}-{_FORMAT}"
    with suppress(OSError, ValueError, KeyError):
        return _open_table(folder, files)
    try:
        return _prepare_table(folder, files)
    except (OSError, ValueError, KeyError) as error:
        raise BackendError(
            f"The word vectors of {files.vectors} cannot be prepared in {folder.parent}: {error}. "
            "Set DIALOSCOPE_CACHE to a writable folder with enough space."
        ) from error


def _prepare_table(folder: Path, files: Files) -> _Table:
    """Prepare the files of a table, by one process at a time, and open them."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    waiting = f"Waiting for another process that is preparing {printable(files.vectors.name)}."
    with lock(folder.with_name(f"{folder.name}.lock"), waiting):
        with suppress(OSError, ValueError, KeyError):  # another process was faster
            return _open_table(folder, files)
        if sum(path.stat().st_size for path in files.all) >= _LARGE:
            print_notice(f"Preparing {printable(files.vectors.name)} for fast loading; this is done once.")
        _write_table(folder, files)
        return _open_table(folder, files)


def _open_table(folder: Path, files: Files) -> _Table:
    """Open the prepared files; raise a ValueError if they are inconsistent."""
    about = json.loads((folder / "about.json").read_bytes())
    words, dims = int(about["words"]), int(about["dims"])
    index = {
        name: np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r"))
        for name in ("letters", "starts", "hashes", "row")
    }
    if files.vocabulary:
        vectors = np.load(files.vectors, mmap_mode="r")
    else:
        vectors = np.memmap(folder / "vectors.f32", "<f4", "r", shape=(words, dims))
    table = _Table(vectors, **index)
    lengths = {len(table.row), len(table.hashes), len(table.starts) - 1}
    if vectors.shape != (words, dims) or lengths != {words} or table.starts[-1] != len(table.letters):
        raise ValueError(f"{folder} is damaged")
    return table


def _write_table(folder: Path, files: Files) -> None:
    """Write the files to a temporary folder, then rename it, so that the folder is complete."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with stage(folder) as staging:
        new = staging.new
        new.mkdir()
        words, dims = _read_matrix_words(files) if files.vocabulary else _copy_vectors(new, files)
        if not words:
            raise BackendError(f"{files.vectors} contains no words.")
        _write_index(new, words)
        (new / "about.json").write_text(json.dumps({"words": len(words), "dims": dims}))
        staging.place(folder, replace=True)  # replaces an inconsistent folder


def _read_matrix_words(files: Files) -> tuple[list[bytes], int]:
    matrix = read_matrix(files)
    return matrix.words, matrix.vectors.shape[1]


def _copy_vectors(folder: Path, files: Files) -> tuple[list[bytes], int]:
    """Copy the vectors to a file that can be mapped into memory; return the words and the dimension."""
    words: list[bytes] = []
    dims = 0
    with (folder / "vectors.f32").open("wb") as file:
        for block in read_blocks(files.vectors):
            words += block.words
            dims = block.vectors.shape[1]
            file.write(block.vectors.astype("<f4").tobytes())
    return words, dims


def _write_index(folder: Path, words: list[bytes]) -> None:
    hashes = _hashes(words)
    order = np.argsort(hashes, kind="stable")  # of a repeated word, the first is found
    ordered = [words[row] for row in order.tolist()]
    lengths = np.fromiter(map(len, ordered), np.int64, len(ordered))
    np.save(folder / "letters.npy", np.frombuffer(b"".join(ordered), np.uint8))
    np.save(folder / "starts.npy", np.concatenate(([0], np.cumsum(lengths))))
    np.save(folder / "hashes.npy", hashes[order])
    np.save(folder / "row.npy", order)
