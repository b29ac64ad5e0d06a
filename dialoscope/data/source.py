"""Sources of replies: files, folders and standard input, and the format of each."""

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from dialoscope.core.errors import DataError
from dialoscope.core.suggestions import closest_names

FORMATS = ("jsonl", "csv", "tsv", "parquet")
"""The formats that a user may name; folders saved by `datasets` and plain text are always detected."""

STANDARD_INPUT = "-"

_ENDINGS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".txt": "txt",
}

_NAMES_COMPARED = 10_000
"""Maximum number of files that a missing file's name is compared with."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file, folder or standard input to read from."""

    path: Path | None
    """None for standard input."""
    system: str
    """The system that replied, if the rows do not name it."""
    format: str | None = None
    """None where it is detected from the first bytes."""
    named: Path | None = None
    """The path that the user named, where that is a folder around the one that is read."""

    @property
    def name(self) -> str:
        """The name of the source in messages."""
        return "standard input" if self.path is None else str(self.path)

    @property
    def argument(self) -> str:
        """The argument of `read` that names the source, from whichever folder that is called."""
        path = self.named or self.path
        return STANDARD_INPUT if path is None else str(path.resolve())

    def size(self) -> int | None:
        """Return the number of bytes, None if it cannot be known beforehand."""
        if self.path is None:
            return None
        files: Iterable[Path] = self.path.glob("*.arrow") if self.format == "datasets" else (self.path,)
        return sum(file.stat().st_size for file in files)


def as_path(path: object) -> Path:
    """Return the argument of a caller as a path; the error for any other type says what to do instead."""
    if isinstance(path, (str, os.PathLike)) and isinstance(os.fspath(path), str):
        return Path(path)
    raise DataError(f"This is not the path of a file, but {describe_value(path)}. {_advise(path)}")


def describe_value(value: object) -> str:
    """Return how a message names a wrong argument: small values as they are, all others by their type."""
    if value is None or isinstance(value, (str, bytes, int, float, Path)):
        return f"{value!r:.60}"
    name = type(value).__name__
    return f"an {name}" if name.startswith(tuple("AEIOUaeiou")) else f"a {name}"


def is_table(value: object) -> bool:
    """Whether a value is a table in memory, such as a DataFrame of pandas or polars."""
    return all(hasattr(value, name) for name in ("columns", "shape"))


USE_TABLE = (
    "Write the table to a file, such as replies.parquet or replies.csv, and read that; or make a ds.Example "
    "of each of its rows."
)


def _advise(value: object) -> str:
    if is_table(value):
        return USE_TABLE
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return (
            "Name several files one by one: ds.read(*paths). Replies in memory are made with "
            "ds.Replies.of(examples)."
        )
    return "Give its name as text, or a pathlib.Path."


def locate(path: str | Path, format: str | None = None) -> Source:  # noqa: A002 - as in `read`
    """Return the source at a path; one that does not exist is refused."""
    path = as_path(path)
    if str(path) == STANDARD_INPUT:
        return Source(None, "system", format)
    try:
        if path.is_dir():
            return Source(_find_split(path), path.resolve().name, "datasets", named=path)
        if not path.exists():
            raise DataError(f"{path}: there is no such file{_suggest_path(path) or '.'}")
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be looked at: {error_reason(error)}.") from error
    return Source(path, _stem(path), format or _ENDINGS.get(_without_gz(path).suffix.lower()))


def error_reason(error: Exception) -> str:
    """Return the error_reason in an error of the system, without its number and path."""
    return getattr(error, "strerror", None) or str(error)


def standard_input() -> object:
    """Return the bytes of standard input, looked up when needed because programs may replace it."""
    if sys.stdin is None:
        raise DataError("Standard input is closed; name a file instead of -.")
    return sys.stdin.buffer


def _without_gz(path: Path) -> Path:
    """Return the path without the ending of a packed file."""
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


def _stem(path: Path) -> str:
    bare = _without_gz(path)
    name = bare.stem if bare.suffix.lower() in _ENDINGS else bare.name
    return name.encode("utf-8", "replace").decode()  # a file's name may hold bytes that are no text


def _find_split(folder: Path) -> Path:
    """Return the folder of the only split in a folder that `datasets` has saved."""
    if (folder / "state.json").is_file():
        return folder
    splits = sorted(state.parent for state in folder.glob("*/state.json"))
    if not splits:
        raise DataError(
            f"{folder} is a folder, but none that `save_to_disk` of datasets wrote (it has no state.json). "
            f"Name the files in it instead, such as {folder}/*.jsonl."
        )
    if len(splits) > 1:
        choices = ", ".join(map(str, splits))
        raise DataError(f"{folder} holds several splits. Choose one: {choices}.")
    return splits[0]


def _suggest_path(path: Path) -> str:
    if not path.parent.is_dir():
        return f" (nor a folder {path.parent})"
    names = [other.name for other in islice(path.parent.iterdir(), _NAMES_COMPARED)]
    paths = [str(path.parent / name) for name in sorted(closest_names(path.name, names, most=3))]
    return f"; did you mean {' or '.join(paths)}?" if paths else ""
