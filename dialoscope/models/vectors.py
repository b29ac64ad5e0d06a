"""Static word vectors from files in any of the usual formats."""

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
from dialoscope.core.progress import notice
from dialoscope.core.safe_text import printable
from dialoscope.models.asset_kinds import assets_of_kind, check_kind, matching_assets
from dialoscope.models.content import content_hash
from dialoscope.models.protocols import Vectors
from dialoscope.models.vector_files import Files, files_of, read_blocks, read_matrix

Case = Literal["as-is", "lower", "either"]

_FORMAT = 1
_ROWS = 8192
_LARGE = 2**28
"""Bytes from which on preparing takes long enough to be told."""


@dataclass(frozen=True)
class StaticVectors:
    """Word vectors of an asset, or of a file or folder: word2vec, GloVe, or npy with a vocabulary."""

    name: ClassVar[str] = "static-vectors"
    version: ClassVar[int] = 1

    model: str = "glove-50d"
    case: Case = "either"
    """How a word is looked up: as it is, in lower case, or as it is and then in lower case."""

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
        """A hash of the files, words and numbers."""
        return _source(self.model).fingerprint

    @property
    def asset_names(self) -> tuple[str, ...]:
        """The assets behind it, for their licences."""
        return matching_assets(self.model)

    @property
    def dims(self) -> int:
        """The length of each vector."""
        return int(self._table.vectors.shape[1])

    @property
    def mean(self) -> Vectors:
        """The mean of all vectors of the files."""
        return self._table.mean

    def vectors(self, words: Sequence[str]) -> Vectors:
        """One row for each word, NaN for a word that has none."""
        unique = dict.fromkeys(words)
        rows = dict(zip(unique, self._rows(list(unique)).tolist(), strict=True))
        return self._table.rows(np.array([rows[word] for word in words], np.int64))

    def _rows(self, words: list[str]) -> Ints:
        lowered = [word.lower() for word in words]
        found = self._table.find(lowered if self.case == "lower" else words)
        if self.case == "either":
            found = np.where(found < 0, self._table.find(lowered), found)
        return found

    @property
    def _table(self) -> "_Table":
        source = _source(self.model)
        return _table(source.files, source.fingerprint)


class _Source(NamedTuple):
    files: Files
    fingerprint: str


def _source(model: str) -> _Source:
    """Where the vectors are, and a hash of them."""
    place = Path(model).expanduser()
    if place.exists():
        files = files_of(place.absolute())
        return _Source(files, content_hash(files.all))
    if model in assets.ASSETS:
        folder = assets.locate(check_kind(model, "set of word vectors", "word vectors"))
        return _Source(files_of(folder), assets.fingerprint(model))
    known = ", ".join(assets_of_kind("word vectors"))
    raise BackendError(
        f"There is no file or folder '{printable(model)}', and no asset of that name ({known})."
    )


def _folder() -> Path:
    return assets.cache_folder() / "vectors"


@dataclass(frozen=True, eq=False)
class _Table:
    """The vectors and an index of the words, all on the disk: a start reads next to nothing.

    Words are found by a hash and then compared, letter by letter.
    """

    vectors: NDArray[np.floating[Any]]  # (words, dims)
    letters: NDArray[np.uint8]
    """Of all words, one after the other, in the order of their hashes."""
    starts: Ints  # (words + 1,)
    hashes: NDArray[np.uint64]  # (words,), ascending
    row: Ints  # (words,)

    def find(self, words: list[str]) -> Ints:
        """The row of each word, -1 for one that is not there."""
        spelled = [word.encode("utf-8", "surrogatepass") for word in words]
        wanted = _hashes(spelled)
        places = np.searchsorted(self.hashes, wanted)
        places[self.hashes[np.minimum(places, len(self.hashes) - 1)] != wanted] = len(self.hashes)
        found = np.full(len(words), -1)
        for number in np.flatnonzero(places < len(self.hashes)).tolist():
            found[number] = self._row(spelled[number], int(places[number]))
        return found

    def _row(self, word: bytes, place: int) -> int:
        """Its row, if it is among the words from this place on that have the same hash."""
        hashed = self.hashes[place]
        while place < len(self.hashes) and self.hashes[place] == hashed:
            if self.letters[self.starts[place] : self.starts[place + 1]].tobytes() == word:
                return int(self.row[place])
            place += 1
        return -1

    @cached_property
    def mean(self) -> Vectors:
        """Of all rows, some of which are in memory at a time."""
        starts = range(0, len(self.vectors), _ROWS)
        sums = [self.vectors[start : start + _ROWS].sum(axis=0, dtype=float) for start in starts]
        return np.asarray(np.sum(sums, axis=0) / len(self.vectors), np.float32)

    def rows(self, numbers: Ints) -> Vectors:
        """These rows, NaN for -1."""
        found = np.full((len(numbers), self.vectors.shape[1]), np.nan, np.float32)
        known = np.flatnonzero(numbers >= 0)
        found[known] = self.vectors[numbers[known]]
        return found


def _hashes(words: list[bytes]) -> NDArray[np.uint64]:
    digests = b"".join([blake2b(word, digest_size=8).digest() for word in words])
    return np.frombuffer(digests, "<u8").astype(np.uint64)


@lru_cache(maxsize=4)
def _table(files: Files, fingerprint: str) -> _Table:
    """Prepared once for each machine, opened once for each process."""
    folder = _folder() / f"{fingerprint}-{_FORMAT}"
    with suppress(OSError, ValueError, KeyError):
        return _opened(folder, files)
    try:
        return _prepared(folder, files)
    except (OSError, ValueError, KeyError) as error:
        raise BackendError(
            f"The word vectors of {files.vectors} cannot be prepared in {folder.parent}: {error}. "
            "Set DIALOSCOPE_CACHE to a folder that can be written and has room for them."
        ) from error


def _prepared(folder: Path, files: Files) -> _Table:
    """By one process at a time: none removes what another has just made."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    waiting = f"Waiting for another process that prepares {printable(files.vectors.name)}."
    with lock(folder.with_name(f"{folder.name}.lock"), waiting):
        with suppress(OSError, ValueError, KeyError):  # another process was faster
            return _opened(folder, files)
        if sum(path.stat().st_size for path in files.all) >= _LARGE:
            notice(f"Preparing {printable(files.vectors.name)} for quick starts, which is done once.")
        _prepare(folder, files)
        return _opened(folder, files)


def _opened(folder: Path, files: Files) -> _Table:
    """What was prepared; a ValueError where something about it does not fit."""
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


def _prepare(folder: Path, files: Files) -> None:
    """Beside its place first, so that it is there whole or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with stage(folder) as staging:
        beside = staging.new
        beside.mkdir()
        words, dims = _matrix_words(files) if files.vocabulary else _copied_words(beside, files)
        if not words:
            raise BackendError(f"{files.vectors} holds no words.")
        _write_index(beside, words)
        (beside / "about.json").write_text(json.dumps({"words": len(words), "dims": dims}))
        staging.place(folder, replace=True)  # what did not fit is replaced


def _matrix_words(files: Files) -> tuple[list[bytes], int]:
    matrix = read_matrix(files)
    return matrix.words, matrix.vectors.shape[1]


def _copied_words(folder: Path, files: Files) -> tuple[list[bytes], int]:
    """The words; their vectors go into a file that can be mapped into memory."""
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
    order = np.argsort(hashes, kind="stable")  # of a word that is there twice, the first is found
    ordered = [words[place] for place in order.tolist()]
    lengths = np.fromiter(map(len, ordered), np.int64, len(ordered))
    np.save(folder / "letters.npy", np.frombuffer(b"".join(ordered), np.uint8))
    np.save(folder / "starts.npy", np.concatenate(([0], np.cumsum(lengths))))
    np.save(folder / "hashes.npy", hashes[order])
    np.save(folder / "row.npy", order)
