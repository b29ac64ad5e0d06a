"""Hashes of the content of files, which are computed again only when a file changes."""

import os
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from dialoscope.core.errors import BackendError
from dialoscope.core.files import update_hash, write_atomically
from dialoscope.core.safe_text import printable
from dialoscope.models.registry import cache_folder

_NOTED = 2**26
"""Minimum size in bytes of files whose hash is stored on disk, since reading them takes a while."""


class _Version(NamedTuple):
    """The state of a file; equal states have equal content.

    A program can set the time of the content as it likes, but not the time of the change itself.
    """

    name: str
    """The path relative to the folder that all files are in; `.` for a single file."""
    path: str
    size: int
    written: int
    changed: int
    inode: int


def content_hash(files: Iterable[Path]) -> str:
    """Return a hash of the names and contents of files in this order; unchanged files are not read again.

    The name of a single file does not matter.
    """
    try:
        paths = [path.absolute() for path in files]
        folder = os.path.commonpath(paths) if paths else ""
        return _find_hash(tuple([_version(path, folder) for path in paths]))
    except OSError as error:
        raise unreadable(error) from error


def unreadable(error: OSError) -> BackendError:
    """Return the error for a file that cannot be read."""
    name = printable(str(error.filename)) if error.filename else "A file"
    return BackendError(f"{name} cannot be read: {error.strerror}.")


def _version(path: Path, folder: str) -> _Version:
    resolved = path.resolve()
    state = resolved.stat()
    name = path.relative_to(folder).as_posix()
    return _Version(name, str(resolved), state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino)


@lru_cache(maxsize=32)
def _find_hash(files: tuple[_Version, ...]) -> str:
    note_path = cache_folder() / "hashes" / _hash_of(repr(files).encode("utf-8", "surrogatepass"))
    if sum(file.size for file in files) < _NOTED:
        return _compute_hash(files)
    digest = _read_note(note_path)
    if not digest:
        digest = _compute_hash(files)
        with suppress(OSError):  # without the note, the files are read again next time
            _write_note(note_path, digest)
    return digest


def _hash_of(content: bytes) -> str:
    return blake2b(content, digest_size=16).hexdigest()


def _compute_hash(files: tuple[_Version, ...]) -> str:
    total = blake2b(digest_size=16)
    for file in files:
        total.update(f"{file.name}\0{file.size}\0".encode("utf-8", "surrogatepass"))
        update_hash(total, Path(file.path))
    return total.hexdigest()


def _read_note(path: Path) -> str:
    """Return the stored hash; empty if there is none, or if its own checksum is wrong."""
    with suppress(OSError):
        digest, _, check = path.read_text("ascii", "replace").partition(" ")
        if check == _hash_of(digest.encode("utf-8", "replace")):
            return digest
    return ""


def _write_note(path: Path, digest: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, [f"{digest} {_hash_of(digest.encode())}".encode("ascii")])
