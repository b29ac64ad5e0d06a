"""Warnings about data that can be read, but may not be what its owner believes."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from dialoscope.core.records import Example, Rating
from dialoscope.core.safe_text import printable
from dialoscope.data.columns import did_you_mean, listed
from dialoscope.data.layout import Row
from dialoscope.data.problems import ReadLog, counted
from dialoscope.data.replies import Replies, RowSource

_LOOKED_AT_FIRST = 500
_LOOKED_AT_THEN = 16
"""Of each system the first replies are looked at closely, then every sixteenth: enough to judge a habit."""

_SYSTEMS_NAMED = 5

_FEWEST = 5
"""Replies on which a habit can be judged at all."""

_VALUES_KEPT = 10_000
"""Different values remembered for an aspect."""

USUAL_SCALES = ((0.0, 1.0), (1.0, 3.0), (1.0, 5.0), (1.0, 7.0), (0.0, 10.0), (0.0, 100.0))
"""The lowest and highest ratings that people are mostly offered, the narrowest first."""
_SCALE_SHARE = 0.99


def usual_scale(low: float, high: float) -> tuple[float, float] | None:
    """The first usual scale that holds all ratings, which run from `low` to `high`."""
    return next((ends for ends in USUAL_SCALES if ends[0] <= low and high <= ends[1]), None)


_PUNCTUATED = re.compile(r"[,.'’]|-[lr][rsc]b-", re.IGNORECASE)

# Only marks no language puts a space before; French has one before ! ? : and ;
_TOKENISED = re.compile(
    r"\w [,.](?=\s|$)|\w n['’]t\b|\w ['’](?:s|m|re|ve|ll|d)\b|\w ['’] (?:s|m|re|ve|ll|d|t)\b|-[lr][rsc]b-",
    re.IGNORECASE,
)

# Thai, Lao, Tibetan, Myanmar, Khmer; kana; Han with its extensions.
_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)

_HASHES = 2**64


class Finding(NamedTuple):
    """How often something was met, and in which reply first."""

    times: int = 0
    first: str = ""

    def again(self, reply: str) -> "Finding":
        """The same, met once more."""
        return Finding(self.times + 1, self.first if self.times else reply)


_NOTHING = Finding()


class Share(NamedTuple):
    """In how many of its replies something was found with a system."""

    system: str
    found: Finding
    of: int


@dataclass(slots=True)
class _System:
    """What is known of the replies of one system."""

    first: str
    """The id of its first reply."""
    replies: int = 0
    id_hashes: int = 0
    """A sum, which is the same in whatever order the ids come."""
    looked_at: int = 0
    punctuated: int = 0
    tokenised: Finding = _NOTHING
    unspaced: Finding = _NOTHING
    copied: Finding = _NOTHING

    def add(self, example: Example) -> None:
        self.replies += 1
        self.id_hashes = (self.id_hashes + hash(example.id)) % _HASHES
        if example.response in example.references and example.response:
            self.copied = self.copied.again(example.id)
        if self.replies <= _LOOKED_AT_FIRST or not self.replies % _LOOKED_AT_THEN:
            self._look_at(example)

    def _look_at(self, example: Example) -> None:
        reply = example.response
        self.looked_at += 1
        if _PUNCTUATED.search(reply):
            self.punctuated += 1
            if _TOKENISED.search(reply):
                self.tokenised = self.tokenised.again(example.id)
        if not reply.isascii() and 2 * len(_UNSPACED.findall(reply)) > len(reply):
            self.unspaced = self.unspaced.again(example.id)


@dataclass(slots=True)
class _Aspect:
    """The values people gave for one aspect, and the reply that each was first given to."""

    values: dict[float, Finding] = field(default_factory=dict)

    def add(self, rating: Rating, value: float) -> None:
        found = self.values.get(value)
        if found is not None:
            self.values[value] = found.again(rating.id)
        elif len(self.values) < _VALUES_KEPT:
            self.values[value] = Finding(1, rating.id)

    def guessed_scale(self) -> tuple[float, float] | None:
        """The smallest usual scale that all but a few values lie on."""
        total = sum(found.times for found in self.values.values())
        for low, high in USUAL_SCALES:
            within = self._within(low, high)
            if within >= _SCALE_SHARE * total or (within >= 0.8 * total and self._has_typo(low, high)):
                return low, high
        return None

    def _has_typo(self, low: float, high: float) -> bool:
        """Whether all that lies outside lies so far outside that no other usual scale explains it."""
        # Among few ratings one slip of the pen, such as 55 for 5, is more than one in a hundred.
        return high >= 5 and all(value > high + 2 * (high - low) for value in self.outside(low, high))

    def outside(self, low: float, high: float) -> list[float]:
        return sorted(value for value in self.values if not low <= value <= high)

    def _within(self, low: float, high: float) -> int:
        return sum(found.times for value, found in self.values.items() if low <= value <= high)


def lint(
    replies: RowSource | Iterable[Example],
    *,
    scales: Mapping[str, tuple[float, float]] | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[str]:
    """What is odd about these replies, one sentence each."""
    found, log = Lint(scales), ReadLog(on_bytes=progress)
    source = replies if isinstance(replies, RowSource) else Replies.of(replies)
    for row in source.rows(log):
        found.add(row)
    return found.warnings(log)


class Lint:
    """Looks at rows as they stream past, in constant memory, and warns at the end."""

    def __init__(self, scales: Mapping[str, tuple[float, float]] | None = None) -> None:
        self._scales = dict(scales or {})
        self._systems: dict[str, _System] = {}
        self._aspects: dict[str, _Aspect] = {}

    def add(self, row: Row) -> None:
        """Take one row into account, unless it is odd on purpose."""
        if row.perturbed:
            return
        system = self._systems.get(row.example.system)
        if system is None:
            system = self._systems[row.example.system] = _System(row.example.id)
        system.add(row.example)
        for rating in row.ratings:
            if rating.value is not None:
                self._aspects.setdefault(rating.aspect, _Aspect()).add(rating, rating.value)

    def warnings(self, log: ReadLog) -> list[str]:
        """One printable sentence for each thing that should be looked at."""
        sentences = (
            *log.left_out(),
            *self._tokenised(),
            *self._unspaced(),
            *self._unequal_ids(),
            *self._copied(),
            *self._off_scale(),
            *_ignored(log),
        )
        return list(map(printable, sentences))

    def _tokenised(self) -> Iterator[str]:
        habits = [
            Share(name, system.tokenised, system.punctuated)
            for name, system in self._systems.items()
            if system.tokenised.times >= _FEWEST and 2 * system.tokenised.times > system.punctuated
        ]
        if habits:
            yield (
                f"Replies look tokenised (spaces before punctuation, split contractions): {_told(habits)}; "
                "give the text as it was said, or scores depend on who tokenised it."
            )

    def _unspaced(self) -> Iterator[str]:
        habits = [
            Share(name, system.unspaced, system.looked_at)
            for name, system in self._systems.items()
            if system.unspaced.times >= _FEWEST and 2 * system.unspaced.times > system.looked_at
        ]
        if habits:
            yield (
                f"Replies are in a script without spaces, so tokenizer 13a sees one word: {_told(habits)}; "
                "use tokenizer=words."
            )

    def _copied(self) -> Iterator[str]:
        copied = [Share(name, it.copied, it.replies) for name, it in self._systems.items() if it.copied.times]
        if copied:
            yield (
                f"Replies equal one of their references: {_told(copied)}; "
                "check that the one was not copied from the other."
            )

    def _unequal_ids(self) -> Iterator[str]:
        if not self._systems:
            return
        largest, most = max(self._systems.items(), key=lambda entry: entry[1].replies)
        others = [
            f"{name!r} ({system.replies} replies, first {system.first!r})"
            for name, system in self._systems.items()
            if system.id_hashes != most.id_hashes
        ]
        if others:
            yield (
                f"Not all systems reply to the same ids as {largest!r} ({most.replies} replies, first "
                f"{most.first!r}): {_some(others)}; check that no replies are missing: "
                "systems are compared only on the contexts that both replied to."
            )

    def _off_scale(self) -> Iterator[str]:
        for name, aspect in self._aspects.items():
            scale = self._scales.get(name) or aspect.guessed_scale()
            off = aspect.outside(*scale) if scale else []
            if scale and off:
                yield _off_scale_warning(name, aspect, off, f"its scale {scale[0]:g}–{scale[1]:g}")


def _told(shares: list[Share]) -> str:
    """How often, with which systems, and where to look."""
    return _some([f"{share.system!r} ({share.found.times} of {share.of})" for share in shares]) + (
        f", first in {shares[0].found.first!r}"
    )


def _some(parts: list[str]) -> str:
    more = f" and {len(parts) - _SYSTEMS_NAMED} more" if len(parts) > _SYSTEMS_NAMED else ""
    return ", ".join(parts[:_SYSTEMS_NAMED]) + more


def _off_scale_warning(name: str, aspect: _Aspect, off: list[float], scale: str) -> str:
    count = sum(aspect.values[value].times for value in off)
    shown = ", ".join(f"{value:g}" for value in off[:3])
    return (
        f"{counted(count, 'rating')} of {name!r} {'lies' if count == 1 else 'lie'} outside {scale}: {shown} "
        f"(first for {aspect.values[off[0]].first!r}); correct them, or declare the scale."
    )


def _ignored(log: ReadLog) -> Iterator[str]:
    plain = []
    for column, rows in log.ignored_columns.items():
        if guess := did_you_mean(column):
            yield f"Column {column!r} was ignored in {counted(rows, 'row')}{guess}; rename it, or use --map."
        else:
            plain.append(column)
    if plain:
        most = max(log.ignored_columns[column] for column in plain)
        yield f"Columns nobody reads were ignored in up to {counted(most, 'row')}: {listed(plain)}."
