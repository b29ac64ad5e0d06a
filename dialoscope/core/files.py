"""Files and folders: written whole or not at all, moved, locked, hashed.

What is written is first made in a staging folder beside its place, `.dialoscope-XXXXXXXX`, which holds

lock      a file that its process keeps locked; the kernel frees it when the process ends, however it ends
new       the file or folder that is written
old/NAME  the folder NAME that `new` replaces, where the two cannot be exchanged in one step

A staging folder whose lock is free belongs to a dead process: the next write beside it removes it. One that
holds both `new` and `old/NAME` was interrupted between two renames: `new` was whole by then, and is put in
its place. So the layout is the journal.
"""

import errno
import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from itertools import chain, count
from pathlib import Path
from typing import IO, Protocol

from dialoscope.core.progress import print_notice

_PREFIX = ".dialoscope-"
_STAGING = re.compile(r"\.dialoscope-[a-z0-9_]{8}")  # as mkdtemp names folders
_LOCK = re.compile(r"\.dialoscope-[0-9a-f]{16}\.lock")
_PAUSE = 0.1  # seconds between two tries

_BLOCK = 2**20
_NOREPLACE, _EXCHANGE = 1, 2  # of renameat2
_UNSUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM)  # EPERM: as some sandboxes refuse


# Writing


def write_atomically(path: Path, lines: Iterable[bytes], *, replace: bool = True) -> Path:
    """Write a file that is there whole or not at all, and return where it is; links are followed.

    That is another name, such as `replies-2.jsonl`, if `replace` is false and the path exists.
    """
    target = follow_link(path)
    with _errors_naming(path), _staging_in(target.parent) as staging:
        with staging.new.open("wb") as file:
            file.writelines(lines)
        placed = staging.place(target, replace=replace)
    return path if placed == target else placed


def check_file_writable(path: Path) -> None:
    """Raise an OSError that names the path if no file could be written there; its folder must exist."""
    target = follow_link(path)
    check_writable(target)
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))


def check_writable(path: Path) -> None:
    """Raise an OSError that names the path if no file or folder could be written there."""
    with suppress(FileNotFoundError):
        path.stat()  # a link that leads to itself, a name that is too long
    parent = path.parent
    while not parent.exists() and parent != parent.parent:
        parent = parent.parent
    with _errors_naming(path), _staging_in(parent) as staging:
        staging.new.write_bytes(b"\n")


def follow_link(path: Path) -> Path:
    """Return the target of a symbolic link, whether it exists or not; any other path unchanged."""
    if not path.is_symlink():
        return path
    with suppress(FileNotFoundError):
        path.stat()  # raises an OSError where the link leads to itself
    return path.resolve()


@contextmanager
def stage(path: Path) -> Iterator["Staging"]:
    """Make a staging folder beside a path, and remove it in the end; errors name the path."""
    with _errors_naming(path), _staging_in(path.parent) as staging:
        yield staging


@contextmanager
def _staging_in(folder: Path) -> Iterator["Staging"]:
    remove_leftovers(folder)
    staging = Staging.create(folder)
    try:
        yield staging
    finally:
        staging.remove()


@contextmanager
def _errors_naming(path: Path) -> Iterator[None]:
    """Name the path that was asked for in errors, since nobody asked for the staging folder."""
    try:
        yield
    except OSError as error:
        name = error.filename
        if name is None or (isinstance(name, str | bytes) and _PREFIX in os.fsdecode(name)):
            error.filename, error.filename2 = str(path), None
        raise


class Staging:
    """A staging folder that this process holds the lock of."""

    def __init__(self, path: Path, lock_file: IO[bytes]) -> None:
        self.path = path
        self._lock_file = lock_file

    @property
    def new(self) -> Path:
        """The path at which the file or folder is made."""
        return self.path / "new"

    @property
    def _old(self) -> Path:
        return self.path / "old"

    @classmethod
    def create(cls, folder: Path) -> "Staging":
        """A new staging folder in a folder."""
        while True:
            path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder))
            try:
                lock_file = (path / "lock").open("xb")
            except FileNotFoundError:  # another process took it for a leftover before it had its lock
                continue
            except OSError:
                path.rmdir()
                raise
            with suppress(OSError):  # no locks on this file system: then nobody removes leftovers either
                if not (_acquire(lock_file) and _is_at(lock_file, path / "lock")):
                    lock_file.close()
                    continue
            return cls(path, lock_file)

    @classmethod
    def adopt(cls, path: Path) -> "Staging | None":
        """The staging folder at a path if its process is dead and was the user's own; else None."""
        with suppress(OSError):
            status = path.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != _user():
                return None
            lock_file = _open_lock(path / "lock")
            if lock_file is None:
                path.rmdir()  # its process died before it had a lock; refused where anything is in it
            elif _acquire_free(lock_file, path / "lock"):
                return cls(path, lock_file)
        return None

    def place(self, target: Path, *, replace: bool) -> Path:
        """Move the new file or folder to its target, and return where it is.

        That is another name beside the target if `replace` is false and the target exists.
        """
        put_on_disk(self.new)
        if replace and self.new.is_dir():
            self._replace_folder(target)
        elif replace:
            self.new.replace(target)
        else:
            return self._move_to_free_name(target)
        return target

    def _replace_folder(self, target: Path) -> None:
        """Exchange the folders in one step, or in two that `settle` completes if they are interrupted."""
        while not _move_unless_taken(self.new, target):
            try:
                if _rename_with(self.new, target, _EXCHANGE):
                    return
                self._old.mkdir(exist_ok=True)
                _delete(self._old / target.name)
                target.rename(self._old / target.name)
            except FileNotFoundError:  # another process has just moved the target away
                continue
            try:
                if _move_unless_taken(self.new, target):
                    return
            except OSError:
                (self._old / target.name).rename(target)
                raise

    def _move_to_free_name(self, target: Path) -> Path:
        """Move the new file or folder to the target, or to `NAME-2`, `NAME-3`, ... beside it."""
        stem, suffix = (target.name, "") if self.new.is_dir() else (target.stem, target.suffix)
        others = (target.with_name(f"{stem}-{number}{suffix}") for number in count(2))
        return next(path for path in chain([target], others) if _move_unless_taken(self.new, path))

    def settle(self) -> None:
        """Complete a replacement that ended between its two steps, then remove the folder."""
        try:
            if self.new.exists() and self._old.is_dir():
                for earlier in self._old.iterdir():
                    target = self.path.parent / earlier.name
                    path = self._move_to_free_name(target)
                    print_notice(
                        f"Replacing {target} was interrupted and is now completed: the new one is {path}."
                    )
            self.remove()
        except OSError as error:  # both stay where they are
            print_notice(
                f"Replacing what is in {self._old} was interrupted, and cannot be completed: {error}."
            )
        finally:
            self._lock_file.close()

    def remove(self) -> None:
        """Delete the folder, its lock last, so that what cannot be deleted now is tried again later."""
        _delete(self.new)
        _delete(self._old)
        if not (os.path.lexists(self.new) or os.path.lexists(self._old)):
            with suppress(OSError):
                (self.path / "lock").unlink()
            self._lock_file.close()
            with suppress(OSError):  # where an open file cannot be removed
                (self.path / "lock").unlink()
            with suppress(OSError):
                self.path.rmdir()
        self._lock_file.close()


def remove_leftovers(folder: Path) -> None:
    """Remove the staging folders of dead processes, and complete interrupted replacements."""
    try:
        paths = [path for path in folder.iterdir() if path.name.startswith(_PREFIX)]
    except OSError:
        return
    for path in paths:
        if _STAGING.fullmatch(path.name):
            if staging := Staging.adopt(path):
                staging.settle()
        elif _LOCK.fullmatch(path.name):
            _remove_free_lock(path)


def recover(path: Path) -> None:
    """Put a folder back that a dead process was replacing, if it is not in its place."""
    if not os.path.lexists(path):
        remove_leftovers(path.parent)


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def _user() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0


def put_on_disk(path: Path) -> None:
    """Wait until a file, or a folder with all of its files, would survive a power cut."""
    is_folder = path.is_dir()
    for entry in path.iterdir() if is_folder else ():
        put_on_disk(entry)
    if is_folder and os.name == "nt":  # pragma: no cover - Windows does not open folders
        return
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        with suppress(OSError) if is_folder else nullcontext():  # some file systems sync no folders
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


# Moving


def _move_unless_taken(source: Path, target: Path) -> bool:
    """Rename without replacing anything; whether the target was free."""
    try:
        if not _rename_with(source, target, _NOREPLACE):
            _move_in_steps(source, target)
    except OSError as error:
        is_file_in_the_way = error.errno == errno.ENOTDIR and os.path.lexists(target)
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY) or is_file_in_the_way:
            return False
        raise
    return True


def _move_in_steps(source: Path, target: Path) -> None:
    """Move where the system has no rename that refuses to replace."""
    if source.is_dir():
        source.rename(target)  # refused if there is a file, or a folder with anything in it
        return
    try:
        os.link(source, target)
    except PermissionError:  # a file system without links
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        source.rename(target)
    else:
        source.unlink()


def _rename_with(source: Path, target: Path, flags: int) -> bool:
    """Rename with flags of renameat2; False where system or file system has no such thing."""
    function = _find_renameat2()
    if function is None:
        return False
    import ctypes

    sys.audit("os.rename", str(source), str(target), -1, -1)  # as Python's own functions do
    here = -100  # paths are relative to the working folder
    if function(here, os.fsencode(source), here, os.fsencode(target), flags) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(source), None, str(target))


@cache
def _find_renameat2() -> Callable[..., int] | None:
    """The function of the C library, where it has one."""
    if sys.platform != "linux":
        return None
    import ctypes

    function: Callable[..., int] | None = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    return function


# Locks


@contextmanager
def lock(path: Path, waiting: str, *, temporary: bool = False) -> Iterator[None]:
    """Hold the lock of a file; where another process holds it, print a message once and wait.

    A temporary lock is removed in the end, and is not taken where the file system has no locks. filelock was
    tried in its place: it leaves its files behind, and creates the file of a lock that is only looked at.
    """
    file = _open_and_lock(path, waiting, temporary=temporary)
    try:
        yield
    finally:
        if temporary:
            with suppress(OSError):
                path.unlink()
        file.close()  # which gives the lock back


def lock_beside(path: Path) -> Path:
    """Return the lock file of those who write a path; the next write removes it if it is left over."""
    name = os.fsencode(path.name)
    return path.with_name(f"{_PREFIX}{hashlib.blake2b(name, digest_size=8).hexdigest()}.lock")


def _open_and_lock(path: Path, waiting: str, *, temporary: bool) -> IO[bytes]:
    message = waiting
    while True:
        file = path.open("a+b")
        try:
            while not _acquire(file):
                if message:
                    print_notice(message)
                message = ""
                time.sleep(_PAUSE)
        except OSError:
            if temporary:
                return file
            file.close()
            raise
        if not temporary or _is_at(file, path):
            return file
        file.close()  # the process that held it has removed it


def _remove_free_lock(path: Path) -> None:
    with suppress(OSError):
        file = _open_lock(path)
        if file is not None and _acquire_free(file, path):
            path.unlink()
            file.close()


def _open_lock(path: Path) -> IO[bytes] | None:
    """Open an existing lock file without following a link; None if there is none."""
    try:
        flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        return open(os.open(path, flags), "r+b", buffering=0)  # noqa: PTH123 - a descriptor is no path
    except FileNotFoundError:
        return None


def _acquire_free(file: IO[bytes], path: Path) -> bool:
    """Lock an open file if nobody else has, and it is still at its path; else close it."""
    try:
        if _acquire(file) and _is_at(file, path):
            return True
    except OSError:  # no locks on this file system, so nothing is known
        pass
    file.close()
    return False


def _is_at(file: IO[bytes], path: Path) -> bool:
    """Whether a path still leads to an open file."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":  # pragma: no cover - the tests run elsewhere
    import msvcrt

    def _acquire(file: IO[bytes]) -> bool:
        file.seek(0)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _acquire(file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


# Hashing


class _Hash(Protocol):
    def update(self, data: bytes, /) -> None: ...


def hash_file(path: Path) -> str:
    """Return the SHA-256 of the content of a file in hexadecimal digits."""
    digest = hashlib.sha256()
    update_hash(digest, path)
    return digest.hexdigest()


def update_hash(digest: _Hash, path: Path) -> None:
    """Add the content of a file to a hash, block by block."""
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
