"""Warnings about data that can be read, but may not be what its owner expects."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from dialoscope.core.records import Example, Rating
from dialoscope.core.safe_text import printable
from dialoscope.data.columns import list_columns, suggest_column
from dialoscope.data.layout import Row
from dialoscope.data.problems import ReadLog, quantity
from dialoscope.data.replies import Replies, RowSource

_INSPECTED_FIRST = 500
_INSPECTED_INTERVAL = 16
"""The first replies of each system are inspected closely, then every sixteenth."""

_SYSTEMS_SHOWN = 5

_MIN_REPLIES = 5
"""Minimum number of replies with a property before a system is reported for it."""

_MAX_VALUES = 10_000
"""Maximum number of different values stored for an aspect."""

USUAL_SCALES = ((0.0, 1.0), (1.0, 3.0), (1.0, 5.0), (1.0, 7.0), (0.0, 10.0), (0.0, 100.0))
"""The lowest and highest ratings of the usual scales, the narrowest first."""
_SCALE_SHARE = 0.99


def usual_scale(low: float, high: float) -> tuple[float, float] | None:
    """Return the first usual scale that includes all ratings, which range from `low` to `high`."""
    return next((ends for ends in USUAL_SCALES if ends[0] <= low and high <= ends[1]), None)


_PUNCTUATED = re.compile(r"[,.'’]|-[lr][rsc]b-", re.IGNORECASE)

# Only marks that no language puts a space before; French has one before ! ? : and ;
_TOKENISED = re.compile(
    r"\w [,.](?=\s|$)|\w n['’]t\b|\w ['’](?:s|m|re|ve|ll|d)\b|\w ['’] (?:s|m|re|ve|ll|d|t)\b|-[lr][rsc]b-",
    re.IGNORECASE,
)

# Thai, Lao, Tibetan, Myanmar, Khmer; kana; Han with its extensions.
_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)

_HASHES = 2**64


class Occurrences(NamedTuple):
    """The number of replies with a property, and the id of the first of them."""

    number: int = 0
    first: str = ""

    def add(self, reply: str) -> "Occurrences":
        """Return the occurrences with one more reply."""
        return Occurrences(self.number + 1, self.first if self.number else reply)


_NONE = Occurrences()


class Share(NamedTuple):
    """The replies of a system with a property, among those inspected for it."""

    system: str
    occurrences: Occurrences
    total: int


@dataclass(slots=True)
class _SystemCounts:
    """Properties of the replies of one system."""

    first: str
    """The id of its first reply."""
    replies: int = 0
    id_hashes: int = 0
    """The sum of the hashes of the ids, which does not depend on their order."""
    inspected: int = 0
    punctuated: int = 0
    tokenised: Occurrences = _NONE
    unspaced: Occurrences = _NONE
    copied: Occurrences = _NONE

    def add(self, example: Example) -> None:
        self.replies += 1
        self.id_hashes = (self.id_hashes + hash(example.id)) % _HASHES
        if example.response in example.references and example.response:
            self.copied = self.copied.add(example.id)
        if self.replies <= _INSPECTED_FIRST or not self.replies % _INSPECTED_INTERVAL:
            self._inspect(example)

    def _inspect(self, example: Example) -> None:
        reply = example.response
        self.inspected += 1
        if _PUNCTUATED.search(reply):
            self.punctuated += 1
            if _TOKENISED.search(reply):
                self.tokenised = self.tokenised.add(example.id)
        if not reply.isascii() and 2 * len(_UNSPACED.findall(reply)) > len(reply):
            self.unspaced = self.unspaced.add(example.id)


@dataclass(slots=True)
class _AspectValues:
    """The values of the ratings of one aspect, and the first reply with each."""

    values: dict[float, Occurrences] = field(default_factory=dict)

    def add(self, rating: Rating, value: float) -> None:
        if value in self.values or len(self.values) < _MAX_VALUES:
            self.values[value] = self.values.get(value, _NONE).add(rating.id)

    def guess_scale(self) -> tuple[float, float] | None:
        """Return the smallest usual scale that includes all values but a few."""
        total = sum(occurrences.number for occurrences in self.values.values())
        for low, high in USUAL_SCALES:
            inside = sum(
                occurrences.number for value, occurrences in self.values.items() if low <= value <= high
            )
            if inside >= _SCALE_SHARE * total or (inside >= 0.8 * total and self._has_typo(low, high)):
                return low, high
        return None

    def _has_typo(self, low: float, high: float) -> bool:
        """Whether all values outside are so far outside that no other usual scale explains them."""
        # Among few ratings one typing error, such as 55 for 5, is more than one in a hundred.
        return high >= 5 and all(value > high + 2 * (high - low) for value in self.outside(low, high))

    def outside(self, low: float, high: float) -> list[float]:
        return sorted(value for value in self.values if not low <= value <= high)


def lint(
    replies: RowSource | Iterable[Example],
    *,
    scales: Mapping[str, tuple[float, float]] | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[str]:
    """Return warnings about these replies, one sentence each."""
    checks, log = Lint(scales), ReadLog(on_bytes=progress)
    source = replies if isinstance(replies, RowSource) else Replies.of(replies)
    for row in source.rows(log):
        checks.add(row)
    return checks.warnings(log)


class Lint:
    """Inspects rows as they are read, in constant memory, and warns at the end."""

    def __init__(self, scales: Mapping[str, tuple[float, float]] | None = None) -> None:
        self._scales = dict(scales or {})
        self._systems: dict[str, _SystemCounts] = {}
        self._aspects: dict[str, _AspectValues] = {}

    def add(self, row: Row) -> None:
        """Inspect one row, unless it was made worse on purpose."""
        if row.perturbed:
            return
        system = self._systems.get(row.example.system)
        if system is None:
            system = self._systems[row.example.system] = _SystemCounts(row.example.id)
        system.add(row.example)
        for rating in row.ratings:
            if rating.value is not None:
                self._aspects.setdefault(rating.aspect, _AspectValues()).add(rating, rating.value)

    def warnings(self, log: ReadLog) -> list[str]:
        """Return one printable sentence for each property that the owner of the data should check."""
        sentences = (
            *log.skip_warnings(),
            *self._warn_of_tokenised(),
            *self._warn_of_unspaced(),
            *self._warn_of_unequal_ids(),
            *self._warn_of_copied(),
            *self._warn_of_off_scale(),
            *_warn_of_ignored(log),
        )
        return list(map(printable, sentences))

    def _warn_of_tokenised(self) -> Iterator[str]:
        shares = [
            Share(name, system.tokenised, system.punctuated)
            for name, system in self._systems.items()
            if system.tokenised.number >= _MIN_REPLIES and 2 * system.tokenised.number > system.punctuated
        ]
        if shares:
            yield (
                f"Replies look tokenised (spaces before punctuation, split contractions): "
                f"{_summarise(shares)}; give the original text, or scores depend on the tokeniser."
            )

    def _warn_of_unspaced(self) -> Iterator[str]:
        shares = [
            Share(name, system.unspaced, system.inspected)
            for name, system in self._systems.items()
            if system.unspaced.number >= _MIN_REPLIES and 2 * system.unspaced.number > system.inspected
        ]
        if shares:
            yield (
                f"Replies are in a script without spaces, so tokenizer 13a sees one word: "
                f"{_summarise(shares)}; use tokenizer=words."
            )

    def _warn_of_copied(self) -> Iterator[str]:
        shares = [
            Share(name, system.copied, system.replies)
            for name, system in self._systems.items()
            if system.copied.number
        ]
        if shares:
            yield (
                f"Replies equal one of their references: {_summarise(shares)}; "
                "check that neither was copied from the other."
            )

    def _warn_of_unequal_ids(self) -> Iterator[str]:
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
                f"{most.first!r}): {_truncate(others)}; check that no replies are missing: "
                "systems are compared only on the contexts that both replied to."
            )

    def _warn_of_off_scale(self) -> Iterator[str]:
        for name, aspect in self._aspects.items():
            scale = self._scales.get(name) or aspect.guess_scale()
            outside = aspect.outside(*scale) if scale else []
            if scale and outside:
                count = sum(aspect.values[value].number for value in outside)
                shown = ", ".join(f"{value:g}" for value in outside[:3])
                yield (
                    f"{quantity(count, 'rating')} of {name!r} {'is' if count == 1 else 'are'} outside its "
                    f"scale {scale[0]:g}–{scale[1]:g}: {shown} (first for "
                    f"{aspect.values[outside[0]].first!r}); correct them, or declare the scale."
                )


def _summarise(shares: list[Share]) -> str:
    """Return the systems with their shares, and the first reply with the property."""
    systems = [f"{share.system!r} ({share.occurrences.number} of {share.total})" for share in shares]
    return f"{_truncate(systems)}, first in {shares[0].occurrences.first!r}"


def _truncate(parts: list[str]) -> str:
    more = f" and {len(parts) - _SYSTEMS_SHOWN} more" if len(parts) > _SYSTEMS_SHOWN else ""
    return ", ".join(parts[:_SYSTEMS_SHOWN]) + more


def _warn_of_ignored(log: ReadLog) -> Iterator[str]:
    others = []
    for column, rows in log.ignored_columns.items():
        if guess := suggest_column(column):
            yield f"Column {column!r} was ignored in {quantity(rows, 'row')}{guess}; rename it, or use --map."
        else:
            others.append(column)
    if others:
        most = max(log.ignored_columns[column] for column in others)
        yield (
            f"Columns that are not read were ignored in up to {quantity(most, 'row')}: "
            f"{list_columns(others)}."
        )
