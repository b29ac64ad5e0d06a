"""The agreement of raters: leave-one-out correlations and Krippendorff's alpha.

Arrays in, numbers out. Ratings may be missing: each reply counts with the ratings it has.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dialoscope.analysis.coefficients import Coefficient, Wording, measure, ranks, round_last_digits
from dialoscope.analysis.estimate import Estimate
from dialoscope.core.arrays import Floats, Ints
from dialoscope.runs.rating_columns import AspectRatings

LEVELS = ("nominal", "ordinal", "interval")
_WORDS = Wording(
    "the rater's are", "the others' means are", "all are", "of ratings by the rater and by others"
)


class RaterAgreement(NamedTuple):
    """One rater, against the mean of the others on the replies that both rated."""

    rater: str
    ratings: int
    mean: float
    variance: float
    pearson: Coefficient
    spearman: Coefficient


def leave_one_out(ratings: AspectRatings) -> tuple[RaterAgreement, ...]:
    """The agreement of each rater with the mean of the others."""
    sums = np.bincount(ratings.reply, ratings.value)
    counts = np.bincount(ratings.reply)
    others = counts[ratings.reply] - 1
    means = (sums[ratings.reply] - ratings.value) / np.where(others > 0, others, np.nan)
    means = round_last_digits(means)
    return tuple(
        _alone(name, ratings.value[rows], means[rows])
        for name, rows in zip(ratings.raters, _rows_of_each(ratings.rater, len(ratings.raters)), strict=True)
    )


def _alone(rater: str, ratings: Floats, others: Floats) -> RaterAgreement:
    pearson, spearman = (measure(name, ratings, others, words=_WORDS) for name in ("pearson", "spearman"))
    return RaterAgreement(rater, len(ratings), float(ratings.mean()), variance(ratings), pearson, spearman)


def variance(values: Floats) -> float:
    """The sample variance; exactly 0 where all values are the same, NaN for fewer than two."""
    if len(values) < 2:
        return math.nan
    return float(values.var(ddof=1)) if values.min() < values.max() else 0.0


def _rows_of_each(codes: Ints, count: int) -> Iterator[Ints]:
    """The rows of each rater."""
    order = np.argsort(codes, kind="stable")
    yield from np.split(order, np.cumsum(np.bincount(codes, minlength=count))[:-1])


def alpha(ratings: AspectRatings, level: str) -> Estimate:
    """Krippendorff's alpha: 1 less the disagreement within replies over that among all ratings.

    Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011. What is ordinal is the same as what is
    interval with ranks for ratings, for his distance of two values is the distance of their middle ranks.
    """
    counts = np.bincount(ratings.reply)
    rows = counts[ratings.reply] > 1
    n = int(rows.sum())
    if not n:
        return Estimate.undefined("no reply has two ratings")
    reply, values = ratings.reply[rows], ratings.value[rows]
    if values.min() == values.max():
        return Estimate.undefined("all ratings are the same", n)
    if level == "nominal":
        within, among = _share_that_differs(reply, values)
    else:
        within, among = _squared_distance(reply, ranks(values) if level == "ordinal" else values)
    return Estimate(1 - within / among, n=n)


class _Disagreement(NamedTuple):
    """The mean disagreement over pairs of ratings: of the same reply, and of any."""

    within: float
    among: float


def _squared_distance(reply: Ints, values: Floats) -> _Disagreement:
    """The disagreement as the mean square of the distance."""
    values = values - values.mean()
    n, counts = len(values), np.bincount(reply)
    squares = counts * np.bincount(reply, values**2) - np.bincount(reply, values) ** 2
    within = float((squares / np.maximum(counts - 1, 1)).sum()) / n
    return _Disagreement(within, float((values**2).sum()) / (n - 1))


def _share_that_differs(reply: Ints, values: Floats) -> _Disagreement:
    """The disagreement as the share of pairs that differ."""
    kinds, kind = np.unique(values, return_inverse=True)
    n, counts = len(values), np.bincount(reply)
    cells, times = np.unique(reply * len(kinds) + kind, return_counts=True)
    alike = np.bincount(cells // len(kinds), times**2, minlength=len(counts))
    within = float(((counts**2 - alike) / np.maximum(counts - 1, 1)).sum()) / n
    return _Disagreement(within, (n * n - float((np.bincount(kind) ** 2).sum())) / (n * (n - 1)))
