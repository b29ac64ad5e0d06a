"""Intraclass correlations, and what they say of the best that a metric could reach.

The forms are those of Shrout and Fleiss (Intraclass correlations: uses in assessing rater reliability, 1979),
their intervals those of McGraw and Wong (Forming inferences about some intraclass correlation coefficients,
1996). Of ICC(1, ·) every reply has its own raters, of ICC(2, ·) all replies have the same.
"""

import math
from typing import NamedTuple

import numpy as np

from dialoscope.analysis.coefficients import FEWEST
from dialoscope.analysis.estimate import Estimate
from dialoscope.core.arrays import Floats, Ints
from dialoscope.runs.rating_columns import AspectRatings
from dialoscope.runs.resampling import UNKNOWN, Interval
from dialoscope.runs.result import CONFIDENCE

SAME = "all ratings are the same"
FEW = "fewer than two replies were rated"
LEVEL = "the mean ratings of replies differ less than chance would have it"
ONE_EACH = "every reply has one rating, or just the mean of several, so that the raters' noise is unknown"

_MOST_RATERS = 1000
_MOST_CELLS = 10_000_000
"""Replies times raters. More take long and fill the memory, and few of so many raters have many ratings."""


class Within(NamedTuple):
    """The variance of ratings of the same reply, or of mean ratings."""

    noise: float
    """The variance."""
    freedom: float
    """The degrees of freedom of the estimate."""


class TwoWay(NamedTuple):
    """Ratings by reply and rater, every rater having rated every reply, as mean squares."""

    replies: int
    raters: int
    rows: float
    """Between replies."""
    columns: float
    """Between raters."""
    residual: float

    @classmethod
    def of(cls, ratings: AspectRatings) -> "TwoWay | None":
        """The mean squares; None unless every rater rated every reply."""
        n, k = len(np.unique(ratings.reply)), len(ratings.raters)
        cells = np.unique(ratings.reply * max(k, 1) + ratings.rater)
        if n < 2 or k < 2 or not len(ratings.value) == len(cells) == n * k:
            return None
        grid = ratings.value[np.lexsort((ratings.rater, ratings.reply))].reshape(n, k)
        grid = grid - grid.mean()
        across, down = grid.mean(axis=1), grid.mean(axis=0)
        left = grid - across[:, None] - down
        sums = k * np.square(across).sum(), n * np.square(down).sum(), np.square(left).sum()
        freedoms = n - 1, k - 1, (n - 1) * (k - 1)
        squares = [_mean(total, of, ratings.value) for total, of in zip(sums, freedoms, strict=True)]
        return cls(n, k, *squares)


class OneWay(NamedTuple):
    """Ratings by reply, whoever gave them."""

    counts: Ints
    """Ratings of each reply that has any."""
    means: Floats
    total: int
    between: float
    """Mean square of the replies' means about the mean of all ratings."""
    within: Within

    @classmethod
    def of(cls, ratings: AspectRatings) -> "OneWay":
        """The mean squares, which need two replies and some with two ratings."""
        counts = np.bincount(ratings.reply)
        rated = counts > 0
        sums = np.bincount(ratings.reply, ratings.value)
        means = sums / np.maximum(counts, 1)
        n, total = int(rated.sum()), len(ratings.value)
        grand = float(ratings.value.mean()) if total else math.nan
        inner, outer = np.square(ratings.value - means[ratings.reply]), counts * np.square(means - grand)
        within = Within(_mean(inner.sum(), total - n, ratings.value), total - n)
        between = _mean(outer.sum(), n - 1, ratings.value)
        return cls(counts[rated], means[rated], total, between, within)

    @property
    def typical(self) -> float:
        """The effective number of ratings of a reply in the analysis of variance."""
        n = len(self.counts)
        return (self.total - float((self.counts**2).sum()) / self.total) / (n - 1)

    @property
    def harmonic(self) -> float:
        """The number of ratings whose mean is as noisy as the means are on average."""
        return float(1 / np.mean(1 / self.counts))

    def explain_undefined(self) -> Estimate | None:
        """An undefined estimate with the reason; None if correlations are defined."""
        n = len(self.counts)
        if n < 2:
            return Estimate.undefined(FEW, n)
        if not self.within.freedom:
            return Estimate.undefined(ONE_EACH, n)
        return Estimate.undefined(SAME, n) if self.between == self.within.noise == 0 else None


def _mean(squares: float, freedom: int, values: Floats) -> float:
    """A mean square; 0 if it is due to rounding alone."""
    if freedom < 1:
        return math.nan
    return float(squares) / freedom if squares > 1e-24 * float(np.square(values).sum()) else 0.0


def one_way(ratings: AspectRatings, confidence: float = CONFIDENCE) -> tuple[Estimate, Estimate]:
    """ICC(1,1), of a single rating, and ICC(1,k), of the mean of as many as replies have."""
    squares = OneWay.of(ratings)
    if (nothing := squares.explain_undefined()) is not None:
        return nothing, nothing
    n, typical, noise = len(squares.counts), squares.typical, squares.within.noise
    single = _one_way(squares.between / noise if noise else math.inf, typical)
    tails = _tails(squares.between / noise, n - 1, squares.within.freedom, confidence) if noise else None
    low, high = (_one_way(tail, typical) for tail in tails) if tails else UNKNOWN
    of_one = Estimate(single, low, high, n)
    return of_one, _of_mean(of_one, squares.harmonic)


def two_way(ratings: AspectRatings, confidence: float = CONFIDENCE) -> tuple[Estimate, Estimate]:
    """ICC(2,1) and ICC(2,k): the same raters throughout, who are a sample of all raters."""
    squares = TwoWay.of(ratings)
    if squares is None:
        nothing = Estimate.undefined(_why_gaps(ratings))
        return nothing, nothing
    n, k, rows, columns, residual = squares
    if rows == 0:
        nothing = Estimate.undefined(LEVEL if columns or residual else SAME, n)
        return nothing, nothing
    spread = rows + (k - 1) * residual + k * (columns - residual) / n
    single = (rows - residual) / spread
    low, high = _two_way_ends(squares, single, confidence)
    of_one = Estimate(single, low, high, n)
    return of_one, _of_mean(of_one, k)


def _why_gaps(ratings: AspectRatings) -> str:
    if len(ratings.raters) < 2:
        return "there is one rater"
    return "not every rater rated every reply" if len(np.unique(ratings.reply)) > 1 else FEW


def _one_way(ratio: float, k: float) -> float:
    """ICC(1,1) from the ratio of the mean squares."""
    return 1.0 if math.isinf(ratio) else (ratio - 1) / (ratio + k - 1)


def _tails(ratio: float, above: float, below: float, confidence: float) -> tuple[float, float]:
    """The interval of a ratio of mean squares, by the F distribution."""
    from scipy.special import fdtri

    end = (1 + confidence) / 2
    return ratio / float(fdtri(above, below, end)), ratio * float(fdtri(below, above, end))


def _two_way_ends(squares: TwoWay, single: float, confidence: float) -> Interval:
    """The ends of the interval; the degrees of freedom are Satterthwaite's."""
    from scipy.special import fdtri

    n, k, rows, columns, residual = squares
    if residual <= 0:
        return UNKNOWN
    a = k * single / (n * (1 - single))
    b = 1 + k * single * (n - 1) / (n * (1 - single))
    parts = (a * columns) ** 2 / (k - 1) + (b * residual) ** 2 / ((n - 1) * (k - 1))
    if parts == 0:
        return UNKNOWN
    freedom, end = (a * columns + b * residual) ** 2 / parts, (1 + confidence) / 2
    lower, upper = float(fdtri(n - 1, freedom, end)), float(fdtri(freedom, n - 1, end))
    rest = k * columns + (k * n - k - n) * residual
    low = n * (rows - lower * residual) / (lower * rest + n * rows)
    return Interval(low, n * (upper * rows - residual) / (rest + n * upper * rows))


def _of_mean(single: Estimate, k: float) -> Estimate:
    """The correlation of the mean of k ratings, from that of a single one, by Spearman and Brown."""
    if 1 + (k - 1) * single.value < 1e-12:
        return Estimate.undefined(LEVEL, single.n)
    value, low, high = (k * r / (1 + (k - 1) * r) for r in single[:3])
    if 1 + (k - 1) * single.low < 1e-12:  # there is no end to how low it could be
        low, high = UNKNOWN
    return single._replace(value=value, low=low, high=high)


class Leaning(NamedTuple):
    """The estimated mean strictness of the raters of each reply."""

    shares: Floats
    """(replies, raters): the share of each rater in the ratings of a reply."""
    strictness: Floats
    """The deviation of each rater from the others, by least squares."""
    covariance: Floats
    """The covariance of the estimates of strictness, in units of the noise: (raters, raters)."""

    def variances(self, noise: float, groups: "Groups | None") -> tuple[float, float]:
        """The variance of the mean strictness of replies' raters, or of groups of replies: seen, and true.

        Estimates of strictness vary more than strictness does; what their error adds is not in the second.
        """
        shares = self.shares if groups is None else groups.means(self.shares)
        total, n = shares.sum(axis=0), len(shares)
        added = np.einsum("ir,ir->", shares @ self.covariance, shares) - total @ self.covariance @ total / n
        seen = float((shares @ self.strictness).var(ddof=1))
        return seen, seen - noise * float(added) / (n - 1)


class Groups(NamedTuple):
    """Groups of replies, such as those of a system."""

    of: Ints
    sizes: Ints

    @classmethod
    def of_each(cls, labels: Ints) -> "Groups":
        """The groups of replies with the same label."""
        _, group, sizes = np.unique(labels, return_inverse=True, return_counts=True)
        return cls(group, sizes)

    def means(self, rows: Floats) -> Floats:
        """The mean of the rows of each group."""
        sums = np.zeros((len(self.sizes), *rows.shape[1:]))
        np.add.at(sums, self.of, rows)
        return sums / self.sizes.reshape(-1, *[1] * (rows.ndim - 1))


class Noise(NamedTuple):
    """The noise that raters add to the mean rating of each reply."""

    within: Within
    """The noise that is independent in every rating."""
    leaning: Leaning | None
    """The strictness of a reply's raters in all their ratings; None if it is unknown."""

    @classmethod
    def of(cls, ratings: AspectRatings) -> "Noise":
        """Estimate the noise; the strictness of raters only where they gave many ratings.

        Where all raters rated all replies, a strict one lowers all means alike, which no correlation sees.
        """
        squares = OneWay.of(ratings)
        raters = len(ratings.raters)
        too_many = raters > _MOST_RATERS or raters * len(squares.counts) > _MOST_CELLS
        if too_many or squares.within.freedom <= 2 * (raters - 1):
            return cls(squares.within, None)
        _, reply = np.unique(ratings.reply, return_inverse=True)
        rating_counts = np.zeros((len(squares.counts), raters))
        np.add.at(rating_counts, (reply, ratings.rater), 1)
        shares = rating_counts / squares.counts[:, None]
        apart = ratings.value - squares.means[reply]
        # Least squares for replies and raters, the replies eliminated; the rank is the number of comparisons.
        normal = np.diag(rating_counts.sum(axis=0)) - rating_counts.T @ shares
        covariance = np.asarray(np.linalg.pinv(normal, rcond=1e-9, hermitian=True), float)
        strict: Floats = covariance @ np.bincount(ratings.rater, apart, raters)
        freedom = squares.within.freedom - round(float(np.vdot(covariance, normal)))
        left = float(np.square(apart - strict[ratings.rater] + (shares @ strict)[reply]).sum())
        return cls(Within(left / freedom, freedom), Leaning(np.asarray(shares, float), strict, covariance))

    def of_means(self, counts: Ints, groups: Groups | None) -> Within:
        """The variance of the mean ratings of replies, or of groups of them, that is due to noise."""
        shares = 1 / counts
        if groups is not None:
            shares = groups.means(shares) / groups.sizes
        single = self.within.noise * float(shares.mean())
        if self.leaning is None:
            return Within(single, self.within.freedom)
        seen, leaning = self.leaning.variances(self.within.noise, groups)
        error = max(0.0, single + leaning)
        # Satterthwaite's degrees of freedom, of the two parts that were estimated.
        unsure = single**2 / self.within.freedom + seen**2 / max(1, len(self.leaning.strictness) - 1)
        return Within(error, error**2 / unsure if unsure > 0 else self.within.freedom)


def ceiling(
    ratings: AspectRatings,
    groups: Ints | None = None,
    confidence: float = CONFIDENCE,
    noise: Noise | None = None,
) -> Estimate:
    """The correlation with the mean ratings that a metric without any error would have.

    The root of their reliability: the share of their variance that is not noise of the raters. With `groups`
    (by reply of the run) it is that of the groups' means, such as systems'. The noise may be known already.
    """
    squares = OneWay.of(ratings)
    if (nothing := squares.explain_undefined()) is not None:
        return nothing
    noise = noise or Noise.of(ratings)
    by_group = None if groups is None else Groups.of_each(groups[np.unique(ratings.reply)])
    means = squares.means if by_group is None else by_group.means(squares.means)
    if len(means) < FEWEST:
        of, are = "replies" if groups is None else "systems", "is" if len(means) == 1 else "are"
        few = f"{FEWEST} rated {of} are needed, and there {are} {len(means)}"
        return Estimate.undefined(few, len(means))
    spread = float(means.var(ddof=1))
    error, freedom = noise.of_means(squares.counts, by_group)
    if spread <= error:
        why = "the means differ no more than the raters' noise makes them differ"
        return Estimate.undefined(why, len(means))
    tails = (math.inf, math.inf)
    if error > 1e-12 * spread:
        tails = _tails(spread / error, len(means) - 1, freedom, confidence)
    low, high = (math.sqrt(max(0.0, 1 - 1 / tail)) for tail in tails)
    return Estimate(math.sqrt(1 - error / spread), low, high, len(means))
