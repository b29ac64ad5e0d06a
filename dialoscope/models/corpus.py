"""What people said: a file of dialogues between them, or the references that a run has anyway."""

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
    """Dialogues between people, in any file that replies can be read from."""

    name: ClassVar[str] = "corpus"
    version: ClassVar[int] = 1

    file: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "file", str(self.file))  # a Path is plain enough
        if self.file in ("", "-"):
            raise BackendError("A corpus is read more than once, so it must be a file, not standard input.")
        if "," in self.file:
            raise BackendError(f"{printable(self.file)}: rename the file, since its name parts settings.")

    def __str__(self) -> str:
        return self.file

    @property
    def fingerprint(self) -> str:
        """A hash of what the file holds."""
        return hash_path(self._place)

    @property
    def _place(self) -> Path:
        place = Path(_moved.get() or self.file)
        if not place.exists():
            raise BackendError(f"There is no corpus {printable(str(place))}; name it with --real (real=).")
        return place

    def examples(self) -> Iterator[Example]:
        """Every turn that has a turn before it; of a row with references those, else its response."""
        for example in read(self._place, speaker=EVERYBODY):
            for text in example.references or (example.response,):
                if example.context:
                    yield Example(example.id, example.system, text, example.context)


def hash_path(place: Path) -> str:
    """A hash of what a file, or all files of a folder, hold."""
    files = sorted(path for path in place.rglob("*") if path.is_file()) if place.is_dir() else [place]
    return content_hash(files)


@contextmanager
def read_corpora_from(file: str | Path | None) -> Iterator[None]:
    """Read corpora from another file than the one they are called by, which was moved since."""
    before = _moved.set(None if file is None else str(file))
    try:
        yield
    finally:
        _moved.reset(before)


_moved: ContextVar[str | None] = ContextVar("where corpora lie now", default=None)


@dataclass(frozen=True)
class References:
    """Those of the replies under judgement; each system is compared with what people said in its place."""

    name: ClassVar[str] = "references"
    version: ClassVar[int] = 1
    fingerprint: ClassVar[str] = "those of the run"

    def __str__(self) -> str:
        return self.name

    def examples(self) -> Iterator[Example]:
        """None: they come with the replies."""
        return iter(())
