"""Where replies lie: files, folders and standard input, and which format each is in."""

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from dialoscope.core.errors import DataError

FORMATS = ("jsonl", "csv", "tsv", "parquet")
"""What a user may ask for; folders saved by `datasets` and plain text are known by what they are."""

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


@dataclass(frozen=True, slots=True)
class Source:
    """One thing to read from."""

    path: Path | None
    """Nothing for standard input."""
    system: str
    """Who replied, if the rows do not say."""
    format: str | None = None
    """Nothing where the first bytes must tell."""
    given: Path | None = None
    """What the user named, where that is a folder around the one that is read."""

    @property
    def name(self) -> str:
        """What messages call it."""
        return "standard input" if self.path is None else str(self.path)

    @property
    def argument(self) -> str:
        """What names it to `read`, from wherever that is called."""
        named = self.given or self.path
        return STANDARD_INPUT if named is None else str(named.resolve())

    def size(self) -> int | None:
        """Its bytes, as far as they can be known beforehand."""
        if self.path is None:
            return None
        files: Iterable[Path] = self.path.glob("*.arrow") if self.format == "datasets" else (self.path,)
        return sum(file.stat().st_size for file in files)


def as_path(path: object) -> Path:
    """Return the path that a caller means; for anything that is none, say what to do instead."""
    if isinstance(path, (str, os.PathLike)) and isinstance(os.fspath(path), str):
        return Path(path)
    raise DataError(f"This is not the path of a file, but {name_value(path)}. {_instead_of_path(path)}")


def name_value(value: object) -> str:
    """Return how a message names a wrong argument: small values as they are, all others by their type."""
    if value is None or isinstance(value, (str, bytes, int, float, Path)):
        return f"{value!r:.60}"
    name = type(value).__name__
    return f"an {name}" if name.startswith(tuple("AEIOUaeiou")) else f"a {name}"


def holds_columns(value: object) -> bool:
    """Whether a value is a table in memory, such as a DataFrame of pandas or polars."""
    return all(hasattr(value, name) for name in ("columns", "shape"))


USE_TABLE = (
    "Write the table to a file, such as replies.parquet or replies.csv, and read that; or make a ds.Example "
    "of each of its rows."
)


def _instead_of_path(value: object) -> str:
    if holds_columns(value):
        return USE_TABLE
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return (
            "Name several files one by one: ds.read(*paths). Replies in memory are made with "
            "ds.Replies.of(examples)."
        )
    return "Give its name as text, or a pathlib.Path."


def locate(path: str | Path, format: str | None = None) -> Source:  # noqa: A002 - as in `read`
    """The source a user means, which is there and of a format that can be told."""
    path = as_path(path)
    if str(path) == STANDARD_INPUT:
        return Source(None, "system", format)
    try:
        if path.is_dir():
            return Source(_split_folder(path), path.resolve().name, "datasets", given=path)
        if not path.exists():
            raise DataError(f"{path}: there is no such file{_close_names(path)}.")
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be looked at: {reason(error)}.") from error
    return Source(path, _stem(path), format or _ENDINGS.get(_bare(path).suffix.lower()))


def reason(error: Exception) -> str:
    """Why the system refused, without the number and the path it puts around."""
    return getattr(error, "strerror", None) or str(error)


def standard_input() -> object:
    """The bytes piped in, looked up when needed because programs may replace it."""
    if sys.stdin is None:
        raise DataError("Standard input is closed; name a file instead of -.")
    return sys.stdin.buffer


def _bare(path: Path) -> Path:
    """The path without the ending that says it is packed."""
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


def _stem(path: Path) -> str:
    bare = _bare(path)
    name = bare.stem if bare.suffix.lower() in _ENDINGS else bare.name
    return name.encode("utf-8", "replace").decode()  # a file's name may hold bytes that are no text


def _split_folder(folder: Path) -> Path:
    """The folder of the one split in a folder that `datasets` has saved."""
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


def _close_names(path: Path) -> str:
    if not path.parent.is_dir():
        return f" (nor a folder {path.parent})"
    there = [other.name for other in islice(path.parent.iterdir(), _NAMES_COMPARED)]
    close = get_close_matches(path.name, there, n=3)
    return (
        f"; did you mean {' or '.join(str(path.parent / name) for name in sorted(close))}?" if close else ""
    )
