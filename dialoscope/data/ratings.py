"""What people said of a reply, in the three shapes that ratings are written in."""

import math
from collections.abc import Iterable

from dialoscope.core.records import Rating
from dialoscope.data.cells import kind, read_text
from dialoscope.data.problems import BadRow

LARGEST = 1e50


def read_ratings(value: object, reply: str, system: str) -> tuple[Rating, ...]:
    """The ratings of one reply, out of `{aspect: number, list or object of raters}`."""
    if not isinstance(value, dict):
        raise BadRow(f'`ratings` is {kind(value)} where an object is due, such as {{"coherence": [4, 5]}}')
    return tuple(
        Rating(reply, system, aspect, rater, _number(score, aspect))
        for aspect, given in value.items()
        for rater, score in _by_rater(read_text(aspect, "an aspect in `ratings`"), given)
    )


def check_size(rating: float, label: str) -> float:
    """The rating, unless it is of a size that nobody can mean, and whose powers are no numbers."""
    if abs(rating) > LARGEST:
        raise BadRow(
            f"{label} is {rating:g}, which no scale has; correct it, or write null where there is none"
        )
    return rating


def _by_rater(aspect: str, given: object) -> Iterable[tuple[str, object]]:
    if isinstance(given, list):
        return zip(map(str, range(1, len(given) + 1)), given, strict=True)
    if isinstance(given, dict):
        return [(read_text(rater, f"a rater of {aspect!r}"), score) for rater, score in given.items()]
    # Tables with a column for each aspect have nothing in it where an aspect was not rated.
    return () if given is None else (("1", given),)


def _number(score: object, aspect: str) -> float | None:
    if type(score) is float or type(score) is int:
        try:
            number = float(score)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return check_size(number, f"a rating of {aspect!r}")
        raise BadRow(f"a rating of {aspect!r} is no finite number; write null where a rater gave none")
    if score is None:
        return None
    raise BadRow(f"a rating of {aspect!r} is {kind(score)} where a number is due")
