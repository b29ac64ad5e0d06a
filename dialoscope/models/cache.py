"""The score cache: results of models on disk, keyed by the model and its input.

The cache never causes an error. A row with a wrong checksum is computed again, a damaged database is replaced
by a new one, and if nothing can be written, or the file belongs to another program, nothing is cached.
`DIALOSCOPE_SCORES=off` turns the cache off, and `DIALOSCOPE_SCORES_LIMIT` sets its maximum size in bytes.
"""

import os
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from contextvars import ContextVar
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dialoscope.core.errors import BackendError
from dialoscope.core.progress import print_notice, progress_bar
from dialoscope.core.safe_text import printable
from dialoscope.models.registry import cache_folder
from dialoscope.models.registry.places import is_switched_on

LIMIT = 2 * 2**30
"""Default maximum size of the file in bytes; `DIALOSCOPE_SCORES_LIMIT` overrides it."""

_FORMAT = 1
_APPLICATION = 0x6469616C  # "dial", to recognize databases of other programs
_CHECKSUM_SIZE = 8
_MAX_VARIABLES = 900  # in one statement; older builds of SQLite allow 999
_TIMEOUT = 30.0
"""Seconds to wait for another process that is writing."""
_BUFFER_BYTES, _BUFFER_SECONDS = 2**25, 2.0
"""Results are buffered in memory up to this size or age, since writing many rows at once is cheap."""

_TABLES = (
    "CREATE TABLE who (id INTEGER PRIMARY KEY AUTOINCREMENT, who BLOB NOT NULL UNIQUE)",
    "CREATE TABLE score (who INTEGER NOT NULL, key BLOB NOT NULL, used INTEGER NOT NULL, "
    "value BLOB NOT NULL, PRIMARY KEY (who, key)) WITHOUT ROWID",
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {_FORMAT}",
)
_DAMAGE = frozenset(
    {
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_ERROR,  # a missing table or column
        sqlite3.SQLITE_CONSTRAINT,
        sqlite3.SQLITE_MISMATCH,
    }
)
_FAILURES = (sqlite3.Error, OSError, UnicodeError)
"""UnicodeError is raised when an error message of SQLite contains a damaged name."""

Result = TypeVar("Result")
Array = NDArray[Any]
Compute = Callable[[Sequence[int]], Iterable[tuple[int, Array]]]


def text_key(*texts: str) -> bytes:
    """Return a hash of 16 bytes of a sequence of texts; boundaries between the texts are part of it."""
    digest = blake2b(digest_size=16)
    for text in texts:
        content = text.encode("utf-8", "surrogatepass")
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.digest()


def compute_cached(
    identity: str, keys: Sequence[bytes], compute: Compute, *, label: str = "", use_cache: bool = True
) -> list[Array]:
    """Return the array of each key from the cache; compute and store those that it does not contain.

    The arrays are shared and must not be changed.

    Args:
        identity: What the numbers depend on besides the texts: a model's signature and fingerprint.
        keys: One key for each array, as `text_key` makes them.
        compute: Called at most once, with the positions of the missing keys, equal keys once. It yields
            (position, array) in any order; arrays that it yielded are stored even if it fails later.
        label: Label of the progress bar; without one, there is no bar.
        use_cache: Whether arrays are looked up and stored at all.
    """
    first = {key: position for position, key in reversed(list(enumerate(keys)))}
    with _Store(identity, on=use_cache and _is_on()) as store:
        arrays = {} if _bypassed.get() else store.look_up(list(first))
        missing = sorted(position for key, position in first.items() if key not in arrays)
        if missing:
            for position, array in _compute_all(compute, missing, label):
                arrays[keys[position]] = array
                store.add(keys[position], array)
    return [arrays[key] for key in keys]


@contextmanager
def bypass_cache() -> Iterator[None]:
    """Compute everything again, without reading from the cache, to verify stored numbers."""
    token = _bypassed.set(True)
    try:
        yield
    finally:
        _bypassed.reset(token)


_bypassed: ContextVar[bool] = ContextVar("whether nothing is read from the cache", default=False)


def _compute_all(compute: Compute, missing: list[int], label: str) -> Iterator[tuple[int, Array]]:
    """Yield the arrays of `compute`, and check that there is exactly one for each missing position."""
    open_positions = set(missing)
    with ExitStack() as stack:
        advance = stack.enter_context(progress_bar(label, len(missing), unit="texts")) if label else None
        for position, array in compute(missing):
            if position not in open_positions:
                raise RuntimeError(f"The model returned an unexpected value for text {position}.")
            open_positions.remove(position)
            yield position, _freeze(array)
            if advance:
                advance(1)
    if open_positions:
        raise RuntimeError(
            f"The model returned no value for {len(open_positions)} of {len(missing)} texts, the first of "
            f"them number {min(open_positions)}."
        )


def _freeze(array: Array) -> Array:
    """Return an array as the cache returns it: contiguous, and read-only since equal keys share it."""
    if array.dtype.kind not in "biuf":
        raise TypeError(f"Only arrays of numbers can be cached, not arrays of {array.dtype}.")
    frozen = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape).view()
    frozen.flags.writeable = False
    return frozen


class CacheStatus(NamedTuple):
    """Location, size and state of the score cache."""

    path: Path
    entries: int
    size: int
    """Size on disk in bytes."""
    limit: int
    on: bool
    problem: str = ""
    """Why the cache cannot be read; empty if it can."""


def cache_status() -> CacheStatus:
    """Return the status of the score cache without changing it."""
    path, limit, on, entries, problem = _path(), _limit(), _is_on(), 0, ""
    try:
        if on and path.exists():
            entries = _count(path)
    except _FAILURES as error:
        problem = str(error)
    return CacheStatus(path, entries, _size(path), limit, on, problem)


def _count(path: Path) -> int:
    """Return the number of arrays in a file; nothing is written, not even a journal."""
    if path.is_file() and not path.stat().st_size:
        return 0
    # Reading a database without a journal creates files next to it, unless it is opened as immutable.
    mode = "mode=ro" if Path(f"{path}-wal").exists() else "mode=ro&immutable=1"
    with closing(sqlite3.connect(f"{path.as_uri()}?{mode}", timeout=_TIMEOUT, uri=True)) as base:
        if base.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
            raise _Foreign
        return int(base.execute("SELECT count(*) FROM score").fetchone()[0])


def clear_cache() -> None:
    """Remove everything from the score cache, even if it is turned off."""
    if _path().exists():
        with _Store("", on=True) as store:
            store.clear()


def _size(path: Path) -> int:
    """Return the size of the file and its journal in bytes."""
    files = (path, Path(f"{path}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def _is_on() -> bool:
    return not os.environ.get("DIALOSCOPE_SCORES", "").strip() or is_switched_on("DIALOSCOPE_SCORES")


def _limit() -> int:
    text = os.environ.get("DIALOSCOPE_SCORES_LIMIT", "").strip()
    if text and not (text.isascii() and text.isdigit()):
        raise BackendError(
            f"DIALOSCOPE_SCORES_LIMIT must be a number of bytes, such as {LIMIT}, not '{printable(text)}'."
        )
    return int(text) if text else LIMIT


def _path() -> Path:
    """The name contains the format, so that versions with different formats can be used in parallel."""
    return cache_folder() / f"scores-{_FORMAT}.sqlite"


class _Store:
    """The part of the cache that belongs to one model; empty if the file cannot be used."""

    def __init__(self, identity: str, *, on: bool) -> None:
        self.on = on
        self._limit = _limit()
        self._path = _path()
        self._identity = identity.encode("utf-8", "surrogatepass")
        self._hash = blake2b(self._identity, digest_size=_CHECKSUM_SIZE)
        self._buffer: dict[bytes, bytes] = {}
        self._buffer_size = 0
        self._buffered_since = 0.0

    def __enter__(self) -> "_Store":
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()

    def look_up(self, keys: list[bytes]) -> dict[bytes, Array]:
        """Return the stored arrays of these keys, except for those with a wrong checksum."""
        nothing: list[tuple[bytes, bytes]] = []
        rows = self._attempt(lambda file: file.read(self._identity, keys), nothing)
        return {key: _unpack(row) for key, row in rows if self._is_valid(key, row)}

    def add(self, key: bytes, array: Array) -> None:
        """Add an array; the buffer is written regularly, so that a killed run loses little."""
        if not self.on:
            return
        packed = _pack(array)
        now = time.monotonic()
        self._buffered_since = self._buffered_since if self._buffer else now
        self._buffer[key] = self._checksum(key, packed) + packed
        self._buffer_size += len(packed)
        if self._buffer_size >= _BUFFER_BYTES or now - self._buffered_since >= _BUFFER_SECONDS:
            self._flush()

    def clear(self) -> None:
        """Remove the arrays of all models."""
        self._attempt(lambda file: file.clear(), None)

    def _flush(self) -> None:
        rows, self._buffer, self._buffer_size = self._buffer, {}, 0
        if rows:
            self._attempt(lambda file: file.write(self._identity, rows, self._limit), None)

    def _checksum(self, key: bytes, packed: bytes) -> bytes:
        digest = self._hash.copy()
        digest.update(key)
        digest.update(packed)
        return digest.digest()

    def _is_valid(self, key: object, row: object) -> bool:
        if not (isinstance(key, bytes) and isinstance(row, bytes)):
            return False
        return row[:_CHECKSUM_SIZE] == self._checksum(key, row[_CHECKSUM_SIZE:])

    def _attempt(self, action: "Callable[[_File], Result]", default: Result) -> Result:
        """Return the result of an action on the file, or the default if the file cannot be used.

        A damaged file is replaced by a new one. The file is open only during the action, since a model may
        fork or compute for hours between two actions.
        """
        for _ in range(2):
            try:
                if self.on:
                    with closing(_File(self._path)) as file:
                        return action(file)
            except _FAILURES as error:
                self._handle(error)
        return default

    def _handle(self, error: Exception) -> None:
        try:
            if not _is_damage(error):
                raise error
            _discard(self._path)
            _notify(f"The score cache {self._path} is damaged ({error}) and is replaced by a new one.")
        except _FAILURES as reason:
            self.on = False
            _notify(f"The score cache {self._path} cannot be used ({reason}); scores are not stored.")


@cache
def _notify(text: str) -> None:
    """Show a notice once per process, since the next batch will have the same problem."""
    print_notice(text)


def _is_damage(error: Exception) -> bool:
    """Whether a new file would help; it would not if the disk is full or another process holds the lock."""
    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(error, UnicodeError) or (code is not None and code & 0xFF in _DAMAGE)


def _discard(path: Path) -> None:
    """Rename a damaged file, then remove it.

    The journal is removed first, since it would be applied to the new file otherwise.
    """
    for suffix in ("-wal", "-shm", ""):
        renamed = path.with_name(f"scores.damaged-{uuid.uuid4().hex}")
        with suppress(FileNotFoundError):  # another process was faster
            Path(f"{path}{suffix}").rename(renamed)
            renamed.unlink()


class _Foreign(sqlite3.DatabaseError):
    """A valid database of another program."""

    def __init__(self) -> None:
        super().__init__("it belongs to another program")


class _Unknown(sqlite3.DatabaseError):
    """A database of Dialoscope whose format is not the one in its name."""

    sqlite_errorcode = sqlite3.SQLITE_NOTADB

    def __init__(self) -> None:
        super().__init__("its format is unknown")


class _File:
    """The database; its methods raise the errors of SQLite."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._base = sqlite3.connect(path, timeout=_TIMEOUT, isolation_level=None)
        self._base.text_factory = bytes  # only a damaged file contains text, which need not be valid UTF-8
        try:
            self._prepare()
        except BaseException:
            self._base.close()
            raise

    def close(self) -> None:
        """Close the file; what cannot be cleaned up now is cleaned up later."""
        with suppress(sqlite3.Error):
            self._base.close()

    def _prepare(self) -> None:
        self._base.execute("PRAGMA cache_size=-65536")
        self._base.execute("PRAGMA synchronous=NORMAL")
        self._base.execute("PRAGMA journal_size_limit=67108864")
        if self._holds_something() and self._number("application_id") != _APPLICATION:
            raise _Foreign
        if self._number("user_version") != _FORMAT:
            self._create()
        with suppress(sqlite3.OperationalError):  # another process is in it; the next one will see to it
            self._base.execute("PRAGMA journal_mode=WAL")

    def _create(self) -> None:
        self._base.execute("PRAGMA auto_vacuum=INCREMENTAL")
        with self._changing():
            if self._number("user_version") == _FORMAT:  # another process was faster
                return
            if self._holds_something():
                raise _Unknown
            for statement in _TABLES:
                self._base.execute(statement)

    def _holds_something(self) -> bool:
        return bool(self._base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])

    def _number(self, pragma: str) -> int:
        return int(self._base.execute(f"PRAGMA {pragma}").fetchone()[0])

    @contextmanager
    def _changing(self) -> Iterator[None]:
        self._base.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            with suppress(sqlite3.Error):  # a full disk has ended the transaction already
                self._base.execute("ROLLBACK")
            raise
        self._base.execute("COMMIT")

    def read(self, identity: bytes, keys: list[bytes]) -> list[tuple[bytes, bytes]]:
        """Return the stored rows of these keys, and record that they were used today."""
        number = self._find(identity)
        if number is None:
            return []
        rows: list[tuple[bytes, bytes, int]] = []
        keys = sorted(keys)
        for start in range(0, len(keys), _MAX_VARIABLES):
            chunk = keys[start : start + _MAX_VARIABLES]
            marks = ",".join("?" * len(chunk))
            query = f"SELECT key, value, used < ? FROM score WHERE who = ? AND key IN ({marks})"  # noqa: S608
            rows += self._base.execute(query, (_today(), number, *chunk))
        with suppress(sqlite3.OperationalError):  # the rows are valid even if the day cannot be recorded
            self._touch(number, [key for key, _, is_old in rows if is_old])
        return [(key, value) for key, value, _ in rows]

    def _touch(self, number: int, keys: list[bytes]) -> None:
        if keys:
            with self._changing():
                today = _today()
                self._base.executemany(
                    "UPDATE score SET used = ? WHERE who = ? AND key = ?",
                    ((today, number, key) for key in keys),
                )

    def _find(self, identity: bytes) -> int | None:
        """Return the number of a model in the database."""
        row = self._base.execute("SELECT id FROM who WHERE who = ?", (identity,)).fetchone()
        number: int | None = row[0] if row else None
        return number

    def write(self, identity: bytes, rows: dict[bytes, bytes], limit: int) -> None:
        """Write all rows in one transaction, then remove old rows if the limit is exceeded."""
        with self._changing():
            self._base.execute("INSERT OR IGNORE INTO who (who) VALUES (?)", (identity,))
            number, today = self._find(identity), _today()
            self._base.executemany(
                "INSERT OR REPLACE INTO score (who, key, used, value) VALUES (?, ?, ?, ?)",
                ((number, key, today, rows[key]) for key in sorted(rows)),
            )
        if self._used_bytes() > limit:
            self._make_room(limit)

    def _used_bytes(self) -> int:
        return (self._number("page_count") - self._number("freelist_count")) * self._number("page_size")

    def _make_room(self, limit: int) -> None:
        """Remove the rows whose last use is oldest, down to four fifths of the limit."""
        with self._changing():
            share = max(0.0, 1 - limit * 4 / 5 / self._used_bytes())
            days = "SELECT used, sum(length(key) + length(value)) FROM score GROUP BY used ORDER BY used"
            day, part = _split_days(self._base.execute(days).fetchall(), share)
            # Keys are hashes, so the keys below a bound are a random sample of the rows of that day.
            bound = int(part * 0xFFFF).to_bytes(2, "big")
            below = "DELETE FROM score WHERE used < :day OR used = :day AND key < :bound"
            self._base.execute(below, {"day": day, "bound": bound})
        self._shrink()

    def _shrink(self) -> None:
        self._base.executescript("PRAGMA incremental_vacuum")  # execute would free one page

    def clear(self) -> None:
        """Remove all rows."""
        with self._changing():
            self._base.execute("DELETE FROM score")
            self._base.execute("DELETE FROM who")
        self._shrink()
        self._base.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _split_days(days: list[tuple[int, int]], share: float) -> tuple[int, float]:
    """Return the last of the days that hold the oldest share of all bytes, and the part of it to include."""
    excess = share * sum(size for _, size in days)
    for day, size in days:
        if size >= excess:
            return day, excess / size
        excess -= size
    return 0, 0.0  # there are no rows


def _today() -> int:
    """Return the number of the day; days are precise enough for the time of the last use."""
    return int(time.time()) // 86400


def _pack(array: Array) -> bytes:
    """Return dtype and shape as a header, followed by the numbers, aligned to eight bytes."""
    header = ",".join([array.dtype.str, *map(str, array.shape)]) + ";"
    return header.ljust(-(-len(header) // 8) * 8).encode() + array.tobytes()


def _unpack(row: bytes) -> Array:
    end = row.index(b";", _CHECKSUM_SIZE) + 1
    header = _parse_header(row[_CHECKSUM_SIZE:end])
    return np.ndarray(header.shape, header.dtype, buffer=row, offset=-(-end // 8) * 8)


class _Header(NamedTuple):
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


@lru_cache(maxsize=4096)
def _parse_header(text: bytes) -> _Header:
    dtype, *shape = text.decode().removesuffix(";").split(",")
    return _Header(np.dtype(dtype), tuple(map(int, shape)))
