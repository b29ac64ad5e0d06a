"""Ratings on 0 to 1, as in papers, so that aspects and corpora can be compared."""

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

    An aspect without a scale gets the first usual one that holds all of its ratings. Where aspects are
    named, the others lose their values.
    """
    if by not in WAYS:
        raise DialoscopeError(f"Ratings can be normalised by scale or by rater, not by '{printable(by)}'.")
    if scales and by == "rater":
        raise DialoscopeError("Ratings put on 0 to 1 by rater have no scale; leave out --scale (scales=).")
    scale_of = {ratings.named(aspect): ends for aspect, ends in (scales or {}).items()}
    value, notes = np.full(len(ratings), np.nan), []
    for aspect in ratings.aspects if aspects is None else aspects:
        of_aspect = ratings.of_aspect(aspect)
        if not len(of_aspect.value):
            continue
        of = np.array(ratings.aspect, dtype=object) == aspect
        rows = np.flatnonzero(of & np.isfinite(ratings.value))
        if by == "rater":
            value[rows] = scaled = _by_rater(of_aspect)
            note = _describe_rater_scale(aspect, of_aspect, scaled)
        else:
            low, high = _scale(aspect, of_aspect.value, scale_of.get(aspect))
            value[rows] = (of_aspect.value - low) / (high - low)
            whence = "as told" if aspect in scale_of else "the usual scale that holds them"
            note = f"Ratings of {printable(aspect)} are on 0 to 1, from {low:g} to {high:g} ({whence})."
        notes.append(note)
    return replace(ratings, value=value, notes=(*ratings.notes, *notes))


def _scale(aspect: str, values: Floats, requested: tuple[float, float] | None) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    scale = requested or usual_scale(low, high)
    if scale is None or not scale[0] <= low <= high <= scale[1] > scale[0]:
        off = f"off its scale of {scale[0]:g} to {scale[1]:g}" if scale else "on no usual scale"
        least, most = (np.format_float_positional(end, trim="-") for end in (low, high))
        raise DialoscopeError(
            f"Ratings of '{printable(aspect)}' run from {least} to {most}, {off}; say what the scale is: "
            f"--scale {printable(aspect)}={least}-{most} (scales=)."
        )
    return scale


def _by_rater(ratings: AspectRatings) -> Floats:
    """Ratings on 0 to 1 from each rater's lowest to the highest; NaN for raters who gave one value only."""
    low, high = np.full(len(ratings.raters), np.inf), np.full(len(ratings.raters), -np.inf)
    np.minimum.at(low, ratings.rater, ratings.value)
    np.maximum.at(high, ratings.rater, ratings.value)
    range_of = np.where(high > low, high - low, np.nan)
    scaled: Floats = (ratings.value - low[ratings.rater]) / range_of[ratings.rater]
    return scaled


def _describe_rater_scale(aspect: str, ratings: AspectRatings, scaled: Floats) -> str:
    lost = sorted({ratings.raters[rater] for rater in ratings.rater[np.isnan(scaled)].tolist()})
    note = f"Ratings of {printable(aspect)} are on 0 to 1, from each rater's own lowest to highest"
    names = ", ".join(map(printable, lost[:3])) + (", …" if len(lost) > 3 else "")
    return note + (f"; raters who gave one value only count as missing: {names}." if lost else ".")
