"""Human dialogues: a file, or the references of a run."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from dialoscope.core.errors import BackendError
from dialoscope.core.records import Example
from dialoscope.core.safe_text import printable
from dialoscope.data.dialogues import EVERYBODY
from dialoscope.data.replies import read
from dialoscope.models.content import content_hash


@dataclass(frozen=True)
class FileCorpus:
    """Human dialogues from a file in any format of replies."""

    name: ClassVar[str] = "corpus"
    version: ClassVar[int] = 1

    file: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "file", str(self.file))  # a Path is plain enough
        if self.file in ("", "-"):
            raise BackendError("A corpus is read more than once, so it must be a file, not standard input.")
        if "," in self.file:
            raise BackendError(f"{printable(self.file)}: rename the file, since a comma separates settings.")

    def __str__(self) -> str:
        return self.file

    @property
    def fingerprint(self) -> str:
        """The hash of the content of the file."""
        return hash_path(self._path)

    @property
    def _path(self) -> Path:
        path = Path(_moved.get() or self.file)
        if not path.exists():
            raise BackendError(f"There is no corpus {printable(str(path))}; name it with --real (real=).")
        return path

    def examples(self) -> Iterator[Example]:
        """Yield the references of each row, or its response if it has none, where there is a context."""
        for example in read(self._path, speaker=EVERYBODY):
            for text in example.references or (example.response,):
                if example.context:
                    yield Example(example.id, example.system, text, example.context)


def hash_path(path: Path) -> str:
    """Return the hash of a file, or of all files in a folder."""
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    return content_hash(files)


@contextmanager
def read_corpora_from(file: str | Path | None) -> Iterator[None]:
    """Read every corpus from this file, because the file that names it has been moved."""
    token = _moved.set(None if file is None else str(file))
    try:
        yield
    finally:
        _moved.reset(token)


_moved: ContextVar[str | None] = ContextVar("the present location of corpora", default=None)


@dataclass(frozen=True)
class References:
    """The references of the scored replies, with which each system is compared."""

    name: ClassVar[str] = "references"
    version: ClassVar[int] = 1
    fingerprint: ClassVar[str] = "those of the run"

    def __str__(self) -> str:
        return self.name

    def examples(self) -> Iterator[Example]:
        """No examples, since the references are part of the replies."""
        return iter(())
