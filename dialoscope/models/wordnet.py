"""WordNet, read from its own database files (https://wordnet.princeton.edu/documentation/wndb5wn)."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, NamedTuple

from dialoscope.core.errors import BackendError
from dialoscope.core.safe_text import printable
from dialoscope.models.asset_kinds import check_kind, matching_assets
from dialoscope.models.content import content_hash
from dialoscope.models.registry import locate

PARTS: Mapping[str, str] = MappingProxyType({"n": "noun", "v": "verb", "a": "adj", "r": "adv"})
"""The parts of speech, and what the files of each are called."""

_COUNTS = "index.sense"
_PARTS_BY_NUMBER = MappingProxyType({"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"})
"""How a line of the counts says which part of speech it is about; 5 are adjectives near another."""

# Morphy's rules (https://wordnet.princeton.edu/documentation/morphy7wn); NLTK has one more, for -ves.
_ENDINGS: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType(
    {
        "n": (
            ("s", ""),
            ("ses", "s"),
            ("ves", "f"),
            ("xes", "x"),
            ("zes", "z"),
            ("ches", "ch"),
            ("shes", "sh"),
            ("men", "man"),
            ("ies", "y"),
        ),
        "v": (
            ("s", ""),
            ("ies", "y"),
            ("es", "e"),
            ("es", ""),
            ("ed", "e"),
            ("ed", ""),
            ("ing", "e"),
            ("ing", ""),
        ),
        "a": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
        "r": (),
    }
)
_ANY_ENDING = MappingProxyType({part: tuple(old for old, _ in endings) for part, endings in _ENDINGS.items()})


@dataclass(frozen=True)
class WordNet:
    """Which English words mean the same; a meaning is written as its part of speech and number: n02084071."""

    name: ClassVar[str] = "wordnet"
    version: ClassVar[int] = 1

    model: str = "wordnet"
    """The name of an asset, or a folder with WordNet's database files: index.noun, data.noun, noun.exc, …"""

    def __str__(self) -> str:
        return self.model

    @property
    def fingerprint(self) -> str:
        """A hash of the database files; those that changed since it was last asked for are read anew."""
        now = _database(self.model)
        if now != _opened(self.model):
            _opened.cache_clear()
        return now.fingerprint

    @property
    def asset_names(self) -> tuple[str, ...]:
        """The assets behind it, for their licences."""
        return matching_assets(self.model)

    def synsets(self, word: str, part: str = "") -> tuple[str, ...]:
        """The meanings of a word in any of its forms, in WordNet's order, which puts common ones first."""
        database = _opened(self.model)
        found = [_listed(database, form, one) for one in part or PARTS for form in self.base_forms(word, one)]
        return tuple(dict.fromkeys(chain.from_iterable(found)))

    def listed(self, word: str, part: str = "") -> tuple[str, ...]:
        """The meanings that stand under this very form."""
        database = _opened(self.model)
        return tuple(chain.from_iterable([_listed(database, word, one) for one in part or PARTS]))

    def members(self, synset: str) -> tuple[str, ...]:
        """The words with this meaning, as they are written: proper names begin with a capital letter."""
        return _members(_opened(self.model), synset)

    def count(self, word: str, synset: str) -> int:
        """How often the word had this meaning in SemCor; 0 where the folder lacks index.sense, which says."""
        return _counts(_opened(self.model), word.lower()).get(synset, 0)

    def base_forms(self, word: str, part: str) -> tuple[str, ...]:
        """The word and what its ending or the list of exceptions makes of it, if WordNet lists them."""
        word, database = word.lower(), _opened(self.model)
        forms = _exceptions(database, part).get(word) or _without_ending(word, part)
        return tuple([form for form in dict.fromkeys((word, *forms)) if _listed(database, form, part)])

    def irregular(self, word: str) -> tuple[str, ...]:
        """The base forms of a word whose form follows no rule: went → go."""
        database = _opened(self.model)
        return tuple(
            dict.fromkeys(base for part in PARTS for base in _exceptions(database, part).get(word, ()))
        )


def _without_ending(word: str, part: str) -> list[str]:
    if not word.endswith(_ANY_ENDING[part]):
        return []
    return [word.removesuffix(old) + new for old, new in _ENDINGS[part] if word.endswith(old)]


class _Database(NamedTuple):
    """The files of a lexicon as they were when they were last looked at."""

    folder: str
    fingerprint: str


@lru_cache(maxsize=8)
def _opened(asset: str) -> _Database:
    """Kept until the fingerprint is asked for: to look at twelve files for each word would take too long."""
    return _database(asset)


def _database(asset: str) -> _Database:
    mine = Path(asset).expanduser() if asset else None
    folder = mine if mine and mine.is_dir() else locate(check_kind(asset, "lexicon", "lexicon"))
    files = [
        folder / name for one in PARTS.values() for name in (f"index.{one}", f"data.{one}", f"{one}.exc")
    ]
    for file in files:
        if not file.is_file():
            raise BackendError(
                f"{printable(str(folder))} holds no WordNet: it has no {file.name}. Name a folder with the "
                "database files of WordNet, or leave the lexicon as it is: wordnet."
            )
    counts = folder / _COUNTS
    return _Database(str(folder), content_hash([*files, *([counts] if counts.is_file() else [])]))


@lru_cache(maxsize=1 << 18)
def _listed(database: _Database, word: str, part: str) -> tuple[str, ...]:
    """The numbers at the end of the word's line in the index."""
    lines, start = _index(database, part), word + " "
    place = bisect_left(lines, start)
    if place == len(lines) or not lines[place].startswith(start) or " " in word:
        return ()
    fields = lines[place].split()
    try:
        return tuple([part + offset for offset in fields[-int(fields[2]) :]])
    except (ValueError, IndexError) as error:
        raise _damaged(Path(database.folder, f"index.{PARTS[part]}")) from error


@lru_cache(maxsize=8)
def _index(database: _Database, part: str) -> list[str]:
    """The lines of an index without those of its licence, in order."""
    path = Path(database.folder, f"index.{PARTS[part]}")
    try:
        lines = [line for line in _read(path).decode().split("\n") if line and not line.startswith(" ")]
    except UnicodeDecodeError as error:
        raise _damaged(path) from error
    lines.sort()  # they are sorted in the files of Princeton, which makes this cheap
    return lines


@lru_cache(maxsize=8)
def _exceptions(database: _Database, part: str) -> Mapping[str, tuple[str, ...]]:
    path = Path(database.folder, f"{PARTS[part]}.exc")
    try:
        lines = [line.split() for line in _read(path).decode().split("\n")]
    except UnicodeDecodeError as error:
        raise _damaged(path) from error
    return MappingProxyType({word: tuple(bases) for word, *bases in filter(None, lines)})


@lru_cache(maxsize=1 << 16)
def _members(database: _Database, synset: str) -> tuple[str, ...]:
    """From the line of the data file at the synset's number, which is its place in bytes."""
    data, start = _data(database, synset[0]), int(synset[1:])
    try:
        _, _, _, count, rest = data[start : data.index(b"\n", start)].decode().split(" ", 4)
        words = rest.split(" ", 2 * int(count, 16))[: 2 * int(count, 16) : 2]
    except ValueError as error:  # no line, no text, or too few fields
        raise _damaged(Path(database.folder, f"data.{PARTS[synset[0]]}")) from error
    # Some adjectives carry a note on where they may stand: galore(ip).
    return tuple(word.partition("(")[0] for word in words)


@lru_cache(maxsize=1 << 16)
def _counts(database: _Database, word: str) -> Mapping[str, int]:
    """The meanings of a word, each with how often it was found: the lines of the word stand together."""
    lines, start = _senses(database), word + "%"
    place, found = bisect_left(lines, start), {}
    try:
        while place < len(lines) and lines[place].startswith(start):
            key, offset, _, count = lines[place].split()
            found[_PARTS_BY_NUMBER[key[len(start)]] + offset] = int(count)
            place += 1
    except (ValueError, KeyError, IndexError) as error:
        raise _damaged(Path(database.folder, _COUNTS)) from error
    return MappingProxyType(found)


@lru_cache(maxsize=2)
def _senses(database: _Database) -> list[str]:
    path = Path(database.folder, _COUNTS)
    if not path.is_file():
        return []
    try:
        return sorted(_read(path).decode().split("\n"))
    except UnicodeDecodeError as error:
        raise _damaged(path) from error


@lru_cache(maxsize=8)
def _data(database: _Database, part: str) -> bytes:
    return _read(Path(database.folder, f"data.{PARTS[part]}"))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BackendError(f"{printable(str(path))} cannot be read: {error.strerror}.") from error


def _damaged(path: Path) -> BackendError:
    return BackendError(f"{printable(str(path))} is no file of WordNet's, or it is damaged.")
