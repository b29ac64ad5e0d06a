"""Replies that people rated, to learn from."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dialoscope.core.arrays import Floats
from dialoscope.core.errors import TrainingError
from dialoscope.core.records import Example
from dialoscope.core.safe_text import printable
from dialoscope.data.canonical import canonical_bytes
from dialoscope.data.layout import Row
from dialoscope.data.lint import usual_scale
from dialoscope.data.problems import ReadLog
from dialoscope.data.replies import read
from dialoscope.training.dialogue_split import hash_of, words_of

LOW, HIGH = 1.0, 5.0
"""The scale on which everything is learned."""

Scales = Mapping[str, tuple[float, float]]
"""The lowest and the highest rating of aspects."""


@dataclass(frozen=True)
class RatedReplies:
    """Replies, each with the mean of its ratings, from 1 to 5."""

    replies: tuple[Example, ...]
    ratings: Floats
    scales: Scales
    """Of the aspects that were read."""
    left_out: Mapping[str, int]
    """How many replies could not be used, by what they lack."""
    files: tuple[str, ...]

    @property
    def contexts(self) -> list[str]:
        """What each reply answers, whatever its case, spaces and punctuation."""
        return [words_of(reply.context) for reply in self.replies]

    @property
    def systems(self) -> list[str]:
        """Whose reply each is; a name is one system, in whichever file it stands."""
        return [reply.system for reply in self.replies]

    def told(self, licence: str) -> dict[str, Any]:
        """What is learned from, for the card."""
        texts = (canonical_bytes(reply).decode("utf-8", "surrogatepass") for reply in self.replies)
        return {
            "files": list(self.files),
            "sha256": hash_of(
                part for pair in zip(texts, map(repr, self.ratings.tolist()), strict=True) for part in pair
            ),
            "replies": len(self.replies),
            "contexts": len(set(self.contexts)),
            "systems": dict(Counter(self.systems)),
            "left out": dict(self.left_out),
            "scales": {aspect: list(ends) for aspect, ends in self.scales.items()},
            "licence": licence,
        }


class _Rated(NamedTuple):
    """A reply with what its raters gave it."""

    reply: Example
    aspect: str
    values: tuple[float, ...]


def read_rated(
    files: Sequence[str | Path], aspects: Sequence[str] = ("overall",), scales: Scales | None = None
) -> RatedReplies:
    """The replies with words, context, reference and a rating; of several aspects the first that is rated.

    Names of aspects are compared without case. Ratings are put on a scale from 1 to 5, from the scale that
    is told, or from the first usual one that holds them all.
    """
    if not files or not aspects:
        raise TrainingError("There is nothing to learn from: name at least one file, and one aspect.")
    wanted = [aspect.casefold() for aspect in aspects]
    rows = [row for file in files for row in read(file).rows(ReadLog())]
    _check_aspects(wanted, rows)
    left_out: Counter[str] = Counter()
    rated = list(_usable(rows, wanted, left_out))
    found = _scales(rated, {name.casefold(): ends for name, ends in (scales or {}).items()})
    return RatedReplies(
        tuple(one.reply for one in rated),
        np.array([_placed(one, *found[one.aspect]) for one in rated], float),
        found,
        left_out,
        tuple(Path(file).name for file in files),
    )


def _check_aspects(wanted: Sequence[str], rows: Sequence[Row]) -> None:
    there = {rating.aspect.casefold() for row in rows for rating in row.ratings}
    for aspect in wanted:
        if aspect not in there:
            known = ", ".join(map(printable, sorted(there)))
            has = f"Rated are: {known}; choose with --aspect." if there else "Nothing is rated here."
            raise TrainingError(f"No reply is rated for '{printable(aspect)}'. {has}")


def _usable(rows: Sequence[Row], wanted: Sequence[str], left_out: Counter[str]) -> Iterator[_Rated]:
    for row in rows:
        found = _rating(row, wanted)
        lacks = _lacking(row.example) if found.values else "rating"
        if lacks:
            left_out[lacks] += 1
        else:
            yield found


def _rating(row: Row, wanted: Sequence[str]) -> _Rated:
    for aspect in wanted:
        given = (one.value for one in row.ratings if one.aspect.casefold() == aspect)
        if values := tuple(value for value in given if value is not None):
            return _Rated(row.example, aspect, values)
    return _Rated(row.example, "", ())


def _lacking(reply: Example) -> str:
    if not reply.response.strip():
        return "words"
    if not any(turn.strip() for turn in reply.context):
        return "context"
    return "" if any(one.strip() for one in reply.references) else "reference"


def _scales(rated: Sequence[_Rated], told: Scales) -> Scales:
    """Of each aspect: the one that is told, or the first usual one that holds all ratings."""
    found = {}
    for aspect in dict.fromkeys(one.aspect for one in rated):
        values = [value for one in rated if one.aspect == aspect for value in one.values]
        low, high = min(values), max(values)
        usual = told.get(aspect) or usual_scale(low, high)
        if usual is None or not (usual[0] <= low <= high <= usual[1] > usual[0]):
            raise TrainingError(
                f"Ratings of '{printable(aspect)}' run from {low:g} to {high:g}, "
                f"{f'off its scale of {usual[0]:g} to {usual[1]:g}' if usual else 'on no usual scale'}; "
                f"say what the scale is: --scale {printable(aspect)}={low:g}-{high:g}."
            )
        found[aspect] = usual
    return found


def _placed(rated: _Rated, low: float, high: float) -> float:
    """The mean over raters, on the scale from 1 to 5."""
    return LOW + (HIGH - LOW) * (float(np.mean(rated.values)) - low) / (high - low)
