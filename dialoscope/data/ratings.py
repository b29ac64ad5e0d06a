"""The ratings of a reply, in the three shapes in which files hold them."""

import math
from collections.abc import Iterable

from dialoscope.core.records import Rating
from dialoscope.data.cells import describe_type, read_text
from dialoscope.data.problems import BadRow

LARGEST = 1e50


def read_ratings(value: object, reply: str, system: str) -> tuple[Rating, ...]:
    """Return the ratings of one reply, from `{aspect: number, list or object of raters}`."""
    if not isinstance(value, dict):
        raise BadRow(
            f"`ratings` is {describe_type(value)} where an object is expected, "
            'such as {"coherence": [4, 5]}'
        )
    return tuple(
        Rating(reply, system, aspect, rater, _read_score(score, aspect))
        for aspect, scores in value.items()
        for rater, score in _by_rater(read_text(aspect, "an aspect in `ratings`"), scores)
    )


def check_size(rating: float, label: str) -> float:
    """Return the rating, unless it is larger than any scale; its powers would overflow."""
    if abs(rating) > LARGEST:
        raise BadRow(
            f"{label} is {rating:g}, which no scale has; correct it, or write null where there is none"
        )
    return rating


def _by_rater(aspect: str, scores: object) -> Iterable[tuple[str, object]]:
    if isinstance(scores, list):
        return zip(map(str, range(1, len(scores) + 1)), scores, strict=True)
    if isinstance(scores, dict):
        return [(read_text(rater, f"a rater of {aspect!r}"), score) for rater, score in scores.items()]
    # Tables with a column for each aspect have an empty cell where an aspect was not rated.
    return () if scores is None else (("1", scores),)


def _read_score(score: object, aspect: str) -> float | None:
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
    raise BadRow(f"a rating of {aspect!r} is {describe_type(score)} where a number is expected")
