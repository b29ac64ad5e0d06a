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
"""Parts of speech and the names of their files."""

_COUNTS = "index.sense"
_PARTS_BY_NUMBER = MappingProxyType({"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"})
"""Numbers of the parts of speech in the file of counts; 5 are satellite adjectives."""

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
    """Synonyms of English words; a synset is named by its part of speech and offset: n02084071."""

    name: ClassVar[str] = "wordnet"
    version: ClassVar[int] = 1

    model: str = "wordnet"
    """The name of an asset, or a folder with WordNet's database files: index.noun, data.noun, noun.exc, …"""

    def __str__(self) -> str:
        return self.model

    @property
    def fingerprint(self) -> str:
        """The hash of the database files; files that have changed since the last call are read again."""
        current = _find_database(self.model)
        if current != _open_database(self.model):
            _open_database.cache_clear()
        return current.fingerprint

    @property
    def asset_names(self) -> tuple[str, ...]:
        """The names of the assets that the model consists of, for their licences."""
        return matching_assets(self.model)

    def synsets(self, word: str, part: str = "") -> tuple[str, ...]:
        """The synsets of a word in any inflected form, in the order of WordNet, most frequent first."""
        database = _open_database(self.model)
        synsets = [
            _look_up(database, form, pos) for pos in part or PARTS for form in self.base_forms(word, pos)
        ]
        return tuple(dict.fromkeys(chain.from_iterable(synsets)))

    def listed(self, word: str, part: str = "") -> tuple[str, ...]:
        """The synsets listed under exactly this form."""
        database = _open_database(self.model)
        return tuple(chain.from_iterable([_look_up(database, word, pos) for pos in part or PARTS]))

    def members(self, synset: str) -> tuple[str, ...]:
        """The words of a synset in their usual spelling, with capital letters in proper names."""
        return _members(_open_database(self.model), synset)

    def count(self, word: str, synset: str) -> int:
        """The frequency of a word with this meaning in SemCor; 0 if the folder has no index.sense."""
        return _counts(_open_database(self.model), word.lower()).get(synset, 0)

    def base_forms(self, word: str, part: str) -> tuple[str, ...]:
        """The word and its base forms by endings or exceptions, if WordNet lists them."""
        word, database = word.lower(), _open_database(self.model)
        forms = _exceptions(database, part).get(word) or _strip_ending(word, part)
        return tuple([form for form in dict.fromkeys((word, *forms)) if _look_up(database, form, part)])

    def irregular(self, word: str) -> tuple[str, ...]:
        """The base forms of an irregular form: went → go."""
        database = _open_database(self.model)
        return tuple(
            dict.fromkeys(base for part in PARTS for base in _exceptions(database, part).get(word, ()))
        )


def _strip_ending(word: str, part: str) -> list[str]:
    if not word.endswith(_ANY_ENDING[part]):
        return []
    return [word.removesuffix(old) + new for old, new in _ENDINGS[part] if word.endswith(old)]


class _Database(NamedTuple):
    """The folder of a lexicon and the hash of its files."""

    folder: str
    fingerprint: str


@lru_cache(maxsize=8)
def _open_database(asset: str) -> _Database:
    """Return the database as of the last call of `fingerprint`, since checking files takes time."""
    return _find_database(asset)


def _find_database(asset: str) -> _Database:
    user_folder = Path(asset).expanduser() if asset else None
    folder = (
        user_folder
        if user_folder and user_folder.is_dir()
        else locate(check_kind(asset, "lexicon", "lexicon"))
    )
    files = [
        folder / name for pos in PARTS.values() for name in (f"index.{pos}", f"data.{pos}", f"{pos}.exc")
    ]
    for file in files:
        if not file.is_file():
            raise BackendError(
                f"{printable(str(folder))} does not contain WordNet: it has no {file.name}. Name a folder "
                "with the database files of WordNet, or use the default lexicon: wordnet."
            )
    counts = folder / _COUNTS
    return _Database(str(folder), content_hash([*files, *([counts] if counts.is_file() else [])]))


@lru_cache(maxsize=1 << 18)
def _look_up(database: _Database, word: str, part: str) -> tuple[str, ...]:
    """Return the synsets in the line of a word in the index."""
    lines, start = _index(database, part), word + " "
    index = bisect_left(lines, start)
    if index == len(lines) or not lines[index].startswith(start) or " " in word:
        return ()
    fields = lines[index].split()
    try:
        return tuple([part + offset for offset in fields[-int(fields[2]) :]])
    except (ValueError, IndexError) as error:
        raise _damage_error(Path(database.folder, f"index.{PARTS[part]}")) from error


@lru_cache(maxsize=8)
def _index(database: _Database, part: str) -> list[str]:
    """Return the sorted lines of an index without its licence."""
    path = Path(database.folder, f"index.{PARTS[part]}")
    try:
        lines = [line for line in _read(path).decode().split("\n") if line and not line.startswith(" ")]
    except UnicodeDecodeError as error:
        raise _damage_error(path) from error
    lines.sort()  # fast, since the original files are sorted
    return lines


@lru_cache(maxsize=8)
def _exceptions(database: _Database, part: str) -> Mapping[str, tuple[str, ...]]:
    path = Path(database.folder, f"{PARTS[part]}.exc")
    try:
        lines = [line.split() for line in _read(path).decode().split("\n")]
    except UnicodeDecodeError as error:
        raise _damage_error(path) from error
    return MappingProxyType({word: tuple(bases) for word, *bases in filter(None, lines)})


@lru_cache(maxsize=1 << 16)
def _members(database: _Database, synset: str) -> tuple[str, ...]:
    """Read the words of a synset from the data file, where its number is an offset in bytes."""
    data, start = _data(database, synset[0]), int(synset[1:])
    try:
        _, _, _, count, rest = data[start : data.index(b"\n", start)].decode().split(" ", 4)
        words = rest.split(" ", 2 * int(count, 16))[: 2 * int(count, 16) : 2]
    except ValueError as error:  # no line, no text, or too few fields
        raise _damage_error(Path(database.folder, f"data.{PARTS[synset[0]]}")) from error
    # Some adjectives have a syntactic marker: galore(ip).
    return tuple(word.partition("(")[0] for word in words)


@lru_cache(maxsize=1 << 16)
def _counts(database: _Database, word: str) -> Mapping[str, int]:
    """Return the frequencies of the meanings of a word, whose lines are consecutive."""
    lines, start = _senses(database), word + "%"
    index, counts = bisect_left(lines, start), {}
    try:
        while index < len(lines) and lines[index].startswith(start):
            key, offset, _, count = lines[index].split()
            counts[_PARTS_BY_NUMBER[key[len(start)]] + offset] = int(count)
            index += 1
    except (ValueError, KeyError, IndexError) as error:
        raise _damage_error(Path(database.folder, _COUNTS)) from error
    return MappingProxyType(counts)


@lru_cache(maxsize=2)
def _senses(database: _Database) -> list[str]:
    path = Path(database.folder, _COUNTS)
    if not path.is_file():
        return []
    try:
        return sorted(_read(path).decode().split("\n"))
    except UnicodeDecodeError as error:
        raise _damage_error(path) from error


@lru_cache(maxsize=8)
def _data(database: _Database, part: str) -> bytes:
    return _read(Path(database.folder, f"data.{PARTS[part]}"))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BackendError(f"{printable(str(path))} cannot be read: {error.strerror}.") from error


def _damage_error(path: Path) -> BackendError:
    return BackendError(f"{printable(str(path))} is not a file of WordNet, or it is damaged.")
