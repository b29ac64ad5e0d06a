"""Ratings on 0 to 1, as papers have them, so that aspects and corpora can be laid side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dialoscope.core.arrays import Floats
from dialoscope.core.errors import DialoscopeError
from dialoscope.core.safe_text import printable
from dialoscope.data.lint import usual_scale
from dialoscope.runs.rating_columns import AspectRatings, Ratings

WAYS = ("scale", "rater")

Scales = Mapping[str, tuple[float, float]]


def normalise_ratings(
    ratings: Ratings, by: str = "scale", scales: Scales | None = None, aspects: Sequence[str] | None = None
) -> Ratings:
    """The same ratings on 0 to 1: by the aspect's scale, or by the range that each rater used.

    A scale that is not told is the first usual one that holds all ratings of the aspect. Where aspects are
    named, the others lose their values.
    """
    if by not in WAYS:
        raise DialoscopeError(f"Ratings can be normalised by scale or by rater, not by '{printable(by)}'.")
    if scales and by == "rater":
        raise DialoscopeError("Ratings put on 0 to 1 by rater have no scale; leave out --scale (scales=).")
    told = {ratings.named(aspect): ends for aspect, ends in (scales or {}).items()}
    value, notes = np.full(len(ratings), np.nan), []
    for aspect in ratings.aspects if aspects is None else aspects:
        said = ratings.of_aspect(aspect)
        if not len(said.value):
            continue
        of = np.array(ratings.aspect, dtype=object) == aspect
        rows = np.flatnonzero(of & np.isfinite(ratings.value))
        if by == "rater":
            value[rows] = scaled = _by_rater(said)
            note = _silent(aspect, said, scaled)
        else:
            low, high = _scale(aspect, said.value, told.get(aspect))
            value[rows] = (said.value - low) / (high - low)
            whence = "as told" if aspect in told else "the usual scale that holds them"
            note = f"Ratings of {printable(aspect)} are on 0 to 1, from {low:g} to {high:g} ({whence})."
        notes.append(note)
    return replace(ratings, value=value, notes=(*ratings.notes, *notes))


def _scale(aspect: str, values: Floats, told: tuple[float, float] | None) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    found = told or usual_scale(low, high)
    if found is None or not found[0] <= low <= high <= found[1] > found[0]:
        off = f"off its scale of {found[0]:g} to {found[1]:g}" if found else "on no usual scale"
        least, most = (np.format_float_positional(end, trim="-") for end in (low, high))
        raise DialoscopeError(
            f"Ratings of '{printable(aspect)}' run from {least} to {most}, {off}; say what the scale is: "
            f"--scale {printable(aspect)}={least}-{most} (scales=)."
        )
    return found


def _by_rater(said: AspectRatings) -> Floats:
    """From each rater's own lowest rating to the highest; nothing of one who gave one value only."""
    low, high = np.full(len(said.raters), np.inf), np.full(len(said.raters), -np.inf)
    np.minimum.at(low, said.rater, said.value)
    np.maximum.at(high, said.rater, said.value)
    range_of = np.where(high > low, high - low, np.nan)
    scaled: Floats = (said.value - low[said.rater]) / range_of[said.rater]
    return scaled


def _silent(aspect: str, said: AspectRatings, scaled: Floats) -> str:
    lost = sorted({said.raters[rater] for rater in said.rater[np.isnan(scaled)].tolist()})
    note = f"Ratings of {printable(aspect)} are on 0 to 1, from each rater's own lowest to highest"
    some = ", ".join(map(printable, lost[:3])) + (", …" if len(lost) > 3 else "")
    return note + (f"; raters who gave one value only count as missing: {some}." if lost else ".")
