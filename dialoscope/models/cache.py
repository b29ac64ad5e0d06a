"""What was computed is kept: a score cache on disk, keyed by who computed and what from.

It is a help, never a source of errors: a row whose check does not fit is computed anew, a file that is no
sound database is made anew, and where nothing can be written, or the file is somebody else's, the work goes
on without.
`DIALOSCOPE_SCORES=off` turns it off, `DIALOSCOPE_SCORES_LIMIT` bounds it, in bytes.
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
from dialoscope.core.progress import bar, notice
from dialoscope.core.safe_text import printable
from dialoscope.models.registry import cache_folder
from dialoscope.models.registry.places import switched_on

LIMIT = 2 * 2**30
"""Bytes the file may have, unless `DIALOSCOPE_SCORES_LIMIT` says otherwise."""

_FORMAT = 1
_APPLICATION = 0x6469616C  # "dial", so that nobody else's database is taken for ours
_CHECK = 8
_ASKED_AT_ONCE = 900  # variables in one statement: older builds of SQLite allow 999
_WAIT = 30.0
"""Seconds to wait for another process that writes."""
_BYTES, _SECONDS = 2**25, 2.0
"""Results wait in memory until they have so many bytes, or the first is so old: many at once are cheap."""

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
        sqlite3.SQLITE_ERROR,  # a table or column that should be there is not
        sqlite3.SQLITE_CONSTRAINT,
        sqlite3.SQLITE_MISMATCH,
    }
)
_FAILURES = (sqlite3.Error, OSError, UnicodeError)
"""The last when a message of SQLite names something that damage has made unreadable."""

Result = TypeVar("Result")
Array = NDArray[Any]
Compute = Callable[[Sequence[int]], Iterable[tuple[int, Array]]]


def text_key(*texts: str) -> bytes:
    """Sixteen bytes that stand for these texts in this order; where one ends and the next begins counts."""
    digest = blake2b(digest_size=16)
    for text in texts:
        content = text.encode("utf-8", "surrogatepass")
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.digest()


def compute_cached(
    who: str, keys: Sequence[bytes], compute: Compute, *, what: str = "", keep: bool = True
) -> list[Array]:
    """The array of each key, from the cache where it is known, else from `compute`, and then kept.

    `who` names everything besides the texts that the numbers depend on: a backend's signature and its
    fingerprint. `compute` is called at most once, with the positions in `keys` that are lacking, equal
    keys once; it yields (position, array) in any order as they become ready, and what it yielded is kept
    even if it fails later. A bar that says `what` shows how far it is. The arrays are not to be changed.
    Without `keep` nothing is looked up and nothing kept.
    """
    first = {key: position for position, key in reversed(list(enumerate(keys)))}
    with _Memory(who, on=keep and _on()) as memory:
        found = {} if _afresh.get() else memory.look_up(list(first))
        lacking = sorted(position for key, position in first.items() if key not in found)
        if lacking:
            for position, value in _computed(compute, lacking, what):
                found[keys[position]] = value
                memory.keep(keys[position], value)
    return [found[key] for key in keys]


@contextmanager
def afresh() -> Iterator[None]:
    """Compute everything anew, whatever the cache knows: for those who want to see that a number holds."""
    before = _afresh.set(True)
    try:
        yield
    finally:
        _afresh.reset(before)


_afresh: ContextVar[bool] = ContextVar("whether nothing is looked up", default=False)


def _computed(compute: Compute, lacking: list[int], what: str) -> Iterator[tuple[int, Array]]:
    """What `compute` yields, held to what it promised."""
    open_positions = set(lacking)
    with ExitStack() as stack:
        advance = stack.enter_context(bar(what, len(lacking), unit="texts")) if what else None
        for position, value in compute(lacking):
            if position not in open_positions:
                raise RuntimeError(f"The backend gave a value for text {position}, which is not awaited.")
            open_positions.remove(position)
            yield position, _frozen(value)
            if advance:
                advance(1)
    if open_positions:
        raise RuntimeError(
            f"The backend gave no value for {len(open_positions)} of {len(lacking)} texts, the first of them "
            f"number {min(open_positions)}."
        )


def _frozen(value: Array) -> Array:
    """The array as it comes back from the cache: in one piece, and read-only since equal keys share it."""
    if value.dtype.kind not in "biuf":
        raise TypeError(f"Only arrays of numbers are kept, not of {value.dtype}.")
    kept = np.ascontiguousarray(value, value.dtype.newbyteorder("<")).reshape(value.shape).view()
    kept.flags.writeable = False
    return kept


class Kept(NamedTuple):
    """How much the score cache holds."""

    path: Path
    entries: int
    size: int
    """Bytes on the disk."""
    limit: int
    on: bool
    problem: str = ""
    """Why it cannot be read; empty where all is well."""


def kept() -> Kept:
    """What there is to say about the score cache, which is only looked at."""
    path, limit, on, entries, problem = _path(), _limit(), _on(), 0, ""
    try:
        if on and path.exists():
            entries = _count(path)
    except _FAILURES as error:
        problem = str(error)
    return Kept(path, entries, _size(path), limit, on, problem)


def _count(path: Path) -> int:
    """How many arrays a file holds; nothing is written, not even beside it."""
    if path.is_file() and not path.stat().st_size:
        return 0
    # Reading makes files beside a database that has no journal, unless it is said that nobody writes.
    how = "mode=ro" if Path(f"{path}-wal").exists() else "mode=ro&immutable=1"
    with closing(sqlite3.connect(f"{path.as_uri()}?{how}", timeout=_WAIT, uri=True)) as base:
        if base.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
            raise _Foreign
        return int(base.execute("SELECT count(*) FROM score").fetchone()[0])


def forget() -> None:
    """Empty the score cache, even where it is turned off."""
    if _path().exists():
        with _Memory("", on=True) as memory:
            memory.empty()


def _size(path: Path) -> int:
    """Of the file and of the journal beside it."""
    files = (path, Path(f"{path}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def _on() -> bool:
    return not os.environ.get("DIALOSCOPE_SCORES", "").strip() or switched_on("DIALOSCOPE_SCORES")


def _limit() -> int:
    text = os.environ.get("DIALOSCOPE_SCORES_LIMIT", "").strip()
    if text and not (text.isascii() and text.isdigit()):
        raise BackendError(
            f"DIALOSCOPE_SCORES_LIMIT must be a number of bytes, such as {LIMIT}, not '{printable(text)}'."
        )
    return int(text) if text else LIMIT


def _path() -> Path:
    """Versions with other formats have other files, so that they can be used side by side."""
    return cache_folder() / f"scores-{_FORMAT}.sqlite"


class _Memory:
    """What the cache knows of one backend; where the file cannot be used, it knows nothing."""

    def __init__(self, who: str, *, on: bool) -> None:
        self.on = on
        self._limit = _limit()
        self._path = _path()
        self._who = who.encode("utf-8", "surrogatepass")
        self._seal = blake2b(self._who, digest_size=_CHECK)
        self._waiting: dict[bytes, bytes] = {}
        self._waiting_bytes = 0
        self._since = 0.0

    def __enter__(self) -> "_Memory":
        return self

    def __exit__(self, *_: object) -> None:
        self._write()

    def look_up(self, keys: list[bytes]) -> dict[bytes, Array]:
        """The arrays of those keys that are known and sound."""
        nothing: list[tuple[bytes, bytes]] = []
        rows = self._attempt(lambda file: file.read(self._who, keys), nothing)
        packed = ((key, value) for key, value in rows if self._is_sound(key, value))
        return {key: _unpacked(value) for key, value in packed}

    def keep(self, key: bytes, value: Array) -> None:
        """Writes now and then, so that a run that is killed keeps most of what it finished."""
        if not self.on:
            return
        packed = _packed(value)
        now = time.monotonic()
        self._since = self._since if self._waiting else now
        self._waiting[key] = self._check(key, packed) + packed
        self._waiting_bytes += len(packed)
        if self._waiting_bytes >= _BYTES or now - self._since >= _SECONDS:
            self._write()

    def empty(self) -> None:
        """Remove all of them."""
        self._attempt(lambda file: file.empty(), None)

    def _write(self) -> None:
        waiting, self._waiting, self._waiting_bytes = self._waiting, {}, 0
        if waiting:
            self._attempt(lambda file: file.write(self._who, waiting, self._limit), None)

    def _check(self, key: bytes, packed: bytes) -> bytes:
        digest = self._seal.copy()
        digest.update(key)
        digest.update(packed)
        return digest.digest()

    def _is_sound(self, key: object, value: object) -> bool:
        if not (isinstance(key, bytes) and isinstance(value, bytes)):
            return False
        return value[:_CHECK] == self._check(key, value[_CHECK:])

    def _attempt(self, action: "Callable[[_File], Result]", otherwise: Result) -> Result:
        """The action on the file; on a new file if this one is damaged; else what there is without.

        The file is open no longer than that: between, a backend may fork or compute for hours.
        """
        for _ in range(2):
            try:
                if self.on:
                    with closing(_File(self._path)) as file:
                        return action(file)
            except _FAILURES as error:
                self._fail(error)
        return otherwise

    def _fail(self, error: Exception) -> None:
        try:
            if not _is_damage(error):
                raise error
            _discard(self._path)
            _tell(f"The score cache {self._path} is damaged ({error}); it is made anew.")
        except _FAILURES as reason:
            self.on = False
            _tell(f"The score cache {self._path} cannot be used ({reason}); scores are not kept.")


@cache
def _tell(text: str) -> None:
    """Once for each process, since the next batch will meet the same."""
    notice(text)


def _is_damage(error: Exception) -> bool:
    """Whether a new file would help; not so when the disk is full, or another process holds the lock."""
    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(error, UnicodeError) or (code is not None and code & 0xFF in _DAMAGE)


def _discard(path: Path) -> None:
    """Move a damaged file out of everybody's way, then remove it.

    Its journal goes first: it would be played into the new file otherwise.
    """
    for suffix in ("-wal", "-shm", ""):
        away = path.with_name(f"scores.damaged-{uuid.uuid4().hex}")
        with suppress(FileNotFoundError):  # another process was faster
            Path(f"{path}{suffix}").rename(away)
            away.unlink()


class _Foreign(sqlite3.DatabaseError):
    """A sound database, but somebody else's."""

    def __init__(self) -> None:
        super().__init__("it is not Dialoscope's")


class _Unknown(sqlite3.DatabaseError):
    """A database of ours whose format is not the one that its name says."""

    sqlite_errorcode = sqlite3.SQLITE_NOTADB

    def __init__(self) -> None:
        super().__init__("its format is unknown")


class _File:
    """The database; its methods raise whatever SQLite raises."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._base = sqlite3.connect(path, timeout=_WAIT, isolation_level=None)
        self._base.text_factory = bytes  # text can only be damage, and must not fail to decode
        try:
            self._prepare()
        except BaseException:
            self._base.close()
            raise

    def close(self) -> None:
        """Done with it; what cannot be tidied up now will be later."""
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

    def read(self, who: bytes, keys: list[bytes]) -> list[tuple[bytes, bytes]]:
        """The rows there are for the keys, and a note that they were used today."""
        identity = self._identity(who)
        if identity is None:
            return []
        rows: list[tuple[bytes, bytes, int]] = []
        keys = sorted(keys)
        for start in range(0, len(keys), _ASKED_AT_ONCE):
            some = keys[start : start + _ASKED_AT_ONCE]
            marks = ",".join("?" * len(some))
            query = f"SELECT key, value, used < ? FROM score WHERE who = ? AND key IN ({marks})"  # noqa: S608
            rows += self._base.execute(query, (_today(), identity, *some))
        with suppress(sqlite3.OperationalError):  # they are known, whether or not the day can be noted
            self._touch(identity, [key for key, _, is_old in rows if is_old])
        return [(key, value) for key, value, _ in rows]

    def _touch(self, identity: int, keys: list[bytes]) -> None:
        if keys:
            with self._changing():
                today = _today()
                self._base.executemany(
                    "UPDATE score SET used = ? WHERE who = ? AND key = ?",
                    ((today, identity, key) for key in keys),
                )

    def _identity(self, who: bytes) -> int | None:
        row = self._base.execute("SELECT id FROM who WHERE who = ?", (who,)).fetchone()
        identity: int | None = row[0] if row else None
        return identity

    def write(self, who: bytes, rows: dict[bytes, bytes], limit: int) -> None:
        """All rows or none, and no more in all than the limit allows."""
        with self._changing():
            self._base.execute("INSERT OR IGNORE INTO who (who) VALUES (?)", (who,))
            identity, today = self._identity(who), _today()
            self._base.executemany(
                "INSERT OR REPLACE INTO score (who, key, used, value) VALUES (?, ?, ?, ?)",
                ((identity, key, today, rows[key]) for key in sorted(rows)),
            )
        if self._used_bytes() > limit:
            self._make_room(limit)

    def _used_bytes(self) -> int:
        return (self._number("page_count") - self._number("freelist_count")) * self._number("page_size")

    def _make_room(self, limit: int) -> None:
        """Remove what was not used for longest, down to four fifths of the limit."""
        with self._changing():
            share = max(0.0, 1 - limit * 4 / 5 / self._used_bytes())
            days = "SELECT used, sum(length(key) + length(value)) FROM score GROUP BY used ORDER BY used"
            day, part = _oldest(self._base.execute(days).fetchall(), share)
            # Keys are hashes, so those below a bound are a fair sample: a part of the last day goes.
            bound = int(part * 0xFFFF).to_bytes(2, "big")
            below = "DELETE FROM score WHERE used < :day OR used = :day AND key < :bound"
            self._base.execute(below, {"day": day, "bound": bound})
        self._shrink()

    def _shrink(self) -> None:
        self._base.executescript("PRAGMA incremental_vacuum")  # execute would free one page

    def empty(self) -> None:
        with self._changing():
            self._base.execute("DELETE FROM score")
            self._base.execute("DELETE FROM who")
        self._shrink()
        self._base.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _oldest(days: list[tuple[int, int]], share: float) -> tuple[int, float]:
    """The day up to which this share of all bytes lies, and the part of that day that belongs to it."""
    excess = share * sum(size for _, size in days)
    for day, size in days:
        if size >= excess:
            return day, excess / size
        excess -= size
    return 0, 0.0  # there are no rows


def _today() -> int:
    """Days are fine enough to tell what has long not been used."""
    return int(time.time()) // 86400


def _packed(value: Array) -> bytes:
    """Its type and shape, then its numbers, which begin at a multiple of eight bytes."""
    form = ",".join([value.dtype.str, *map(str, value.shape)]) + ";"
    return form.ljust(-(-len(form) // 8) * 8).encode() + value.tobytes()


def _unpacked(row: bytes) -> Array:
    end = row.index(b";", _CHECK) + 1
    form = _form(row[_CHECK:end])
    return np.ndarray(form.shape, form.dtype, buffer=row, offset=-(-end // 8) * 8)


class _Form(NamedTuple):
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


@lru_cache(maxsize=4096)
def _form(text: bytes) -> _Form:
    dtype, *shape = text.decode().removesuffix(";").split(",")
    return _Form(np.dtype(dtype), tuple(map(int, shape)))
