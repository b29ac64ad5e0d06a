"""Rated replies as training data."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dialoscope.core.arrays import Floats
from dialoscope.core.errors import TrainingError
from dialoscope.core.records import Example, is_blank
from dialoscope.core.safe_text import printable
from dialoscope.data.canonical import canonical_bytes
from dialoscope.data.layout import Row
from dialoscope.data.lint import usual_scale
from dialoscope.data.problems import ReadLog
from dialoscope.data.replies import read
from dialoscope.training.dialogue_split import hash_of, words_of

LOW, HIGH = 1.0, 5.0
"""The scale of all ratings in training."""

Scales = Mapping[str, tuple[float, float]]
"""The lowest and the highest possible rating of each aspect."""


@dataclass(frozen=True)
class RatedReplies:
    """Replies, each with its mean rating, from 1 to 5."""

    replies: tuple[Example, ...]
    ratings: Floats
    scales: Scales
    """The scales of the ratings as they were read."""
    left_out: Mapping[str, int]
    """The number of replies that were left out, by what is missing."""
    files: tuple[str, ...]

    @property
    def contexts(self) -> list[str]:
        """The words of each reply's context, whatever their case, spaces and punctuation."""
        return [words_of(reply.context) for reply in self.replies]

    @property
    def systems(self) -> list[str]:
        """The system of each reply; a name is one system in all files."""
        return [reply.system for reply in self.replies]

    def describe(self, licence: str) -> dict[str, Any]:
        """What a card says of the data."""
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


class _RatedReply(NamedTuple):
    """A reply with the ratings of an aspect."""

    reply: Example
    aspect: str
    values: tuple[float, ...]


def read_rated_replies(
    files: Sequence[str | Path], aspects: Sequence[str] = ("overall",), scales: Scales | None = None
) -> RatedReplies:
    """Read the replies that are not blank and have context, reference and rating.

    Of several aspects, the first that a reply has a rating for is read; names are compared without case.
    Ratings are mapped to a scale from 1 to 5, from the given scale, or from the first usual one that contains
    all of them.
    """
    if not files or not aspects:
        raise TrainingError("There is no training data: name at least one file, and one aspect.")
    wanted = [aspect.casefold() for aspect in aspects]
    rows = [row for file in files for row in read(file).rows(ReadLog())]
    _check_aspects(wanted, rows)
    left_out: Counter[str] = Counter()
    rated = list(_usable(rows, wanted, left_out))
    own_scales = _find_scales(rated, {name.casefold(): ends for name, ends in (scales or {}).items()})
    return RatedReplies(
        tuple(reply.reply for reply in rated),
        np.array([_rescale(reply, *own_scales[reply.aspect]) for reply in rated], float),
        own_scales,
        left_out,
        tuple(Path(file).name for file in files),
    )


def _check_aspects(wanted: Sequence[str], rows: Sequence[Row]) -> None:
    rated = {rating.aspect.casefold() for row in rows for rating in row.ratings}
    for aspect in wanted:
        if aspect not in rated:
            names = ", ".join(map(printable, sorted(rated)))
            hint = f"Rated aspects: {names}; choose with --aspect." if rated else "There are no ratings."
            raise TrainingError(f"No reply is rated for '{printable(aspect)}'. {hint}")


def _usable(rows: Sequence[Row], wanted: Sequence[str], left_out: Counter[str]) -> Iterator[_RatedReply]:
    for row in rows:
        rated = _read_ratings(row, wanted)
        missing = _find_missing(row.example) if rated.values else "rating"
        if missing:
            left_out[missing] += 1
        else:
            yield rated


def _read_ratings(row: Row, wanted: Sequence[str]) -> _RatedReply:
    for aspect in wanted:
        ratings = (rating.value for rating in row.ratings if rating.aspect.casefold() == aspect)
        if values := tuple(value for value in ratings if value is not None):
            return _RatedReply(row.example, aspect, values)
    return _RatedReply(row.example, "", ())


def _find_missing(reply: Example) -> str:
    """The input of training that is missing from a reply; empty if none is."""
    if is_blank(reply.response):
        return "words"
    if all(map(is_blank, reply.context)):
        return "context"
    return "reference" if all(map(is_blank, reply.references)) else ""


def _find_scales(rated: Sequence[_RatedReply], scales_by_aspect: Scales) -> Scales:
    """The scale of each aspect: the given one, or the first usual one that contains all ratings."""
    scales = {}
    for aspect in dict.fromkeys(reply.aspect for reply in rated):
        values = [value for reply in rated if reply.aspect == aspect for value in reply.values]
        low, high = min(values), max(values)
        scale = scales_by_aspect.get(aspect) or usual_scale(low, high)
        if scale is None or not (scale[0] <= low <= high <= scale[1] > scale[0]):
            raise TrainingError(
                f"Ratings of '{printable(aspect)}' run from {low:g} to {high:g}, "
                f"{f'off its scale of {scale[0]:g} to {scale[1]:g}' if scale else 'on no usual scale'}; "
                f"name the scale: --scale {printable(aspect)}={low:g}-{high:g}."
            )
        scales[aspect] = scale
    return scales


def _rescale(rated: _RatedReply, low: float, high: float) -> float:
    """The mean rating, on the scale from 1 to 5."""
    return LOW + (HIGH - LOW) * (float(np.mean(rated.values)) - low) / (high - low)
