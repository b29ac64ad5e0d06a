"""Tables of paraphrases in the format of METEOR: three lines per entry, a probability and two phrases."""

import gzip
import zlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import BufferedReader
from itertools import zip_longest
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from dialoscope.core.arrays import Ints
from dialoscope.core.errors import BackendError
from dialoscope.core.safe_text import printable
from dialoscope.models.content import content_hash


@dataclass(frozen=True)
class Paraphrases:
    """A table of paraphrases; its probabilities are ignored, as in METEOR."""

    name: ClassVar[str] = "paraphrases"
    version: ClassVar[int] = 1

    table: str
    """The file, plain or compressed with gzip."""

    @property
    def fingerprint(self) -> str:
        """The hash of the file."""
        return content_hash([Path(self.table)])

    @property
    def longest(self) -> int:
        """Number of words of the longest phrase."""
        return _load(self.table, self.fingerprint).longest

    def paraphrases(self, phrases: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the paraphrases of each phrase in the order of the table."""
        table = _load(self.table, self.fingerprint)
        keys = np.fromiter(map(hash, phrases), np.int64, len(phrases))
        firsts = np.searchsorted(table.keys, keys, "left").tolist()
        lasts = np.searchsorted(table.keys, keys, "right").tolist()
        return [
            tuple(map(table.paraphrase, table.entries[first:last].tolist())) if first < last else ()
            for first, last in zip(firsts, lasts, strict=True)
        ]


class _Table(NamedTuple):
    """Phrases as hashes and paraphrases as one text, since the official table has five million entries.

    The hashes are those of Python, with 64 bits: the probability that two different phrases share one is one
    in a million.
    """

    keys: Ints
    """The hashes of the phrases, ascending."""
    entries: Ints
    """The entry of each hash."""
    ends: "array[int]"
    text: bytes
    longest: int

    def paraphrase(self, entry: int) -> str:
        return self.text[self.ends[entry] : self.ends[entry + 1]].decode()


@lru_cache(maxsize=2)
def _load(path: str, fingerprint: str) -> _Table:
    """Load a table, once for each fingerprint."""
    keys, ends, text, longest = array("q"), array("q", [0]), bytearray(), 0
    for phrase, other in _entries(path):
        longest = max(longest, phrase.count(" ") + 1, other.count(" ") + 1)
        keys.append(hash(phrase))
        text += other.encode()
        ends.append(len(text))
    order = np.argsort(np.array(keys, np.int64), kind="stable")
    return _Table(np.array(keys, np.int64)[order], order, ends, bytes(text), longest)


def _entries(path: str) -> Iterator[tuple[str, str]]:
    with _open(path) as file:
        compressed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        with gzip.open(file) if compressed else file as lines:
            try:
                for index, (number, phrase, other) in enumerate(zip_longest(lines, lines, lines)):
                    yield _parse_entry(path, index, number, phrase, other)
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                raise BackendError(f"{printable(path)} is damaged: {error}.") from error


def _parse_entry(path: str, index: int, number: bytes, phrase: bytes, other: bytes) -> tuple[str, str]:
    try:
        float(number)
        return phrase.decode().strip(), other.decode().strip()
    except (ValueError, AttributeError) as error:
        raise BackendError(
            f"{printable(path)}, line {3 * index + 1}: not an entry of a table of paraphrases, which has "
            "three lines: a probability, a phrase, and a paraphrase."
        ) from error


def _open(path: str) -> BufferedReader:
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise BackendError(f"{printable(path)} cannot be read: {error.strerror}.") from error
