"""Raters who do not say what the others say."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dialoscope.analysis.coefficients import fisher
from dialoscope.analysis.raters.reliability import RaterAgreement
from dialoscope.analysis.significance import holm

FEWEST = 10
"""Replies that a rater must share with others to be judged."""
SURE = 0.05
"""The probability that anybody is accused where all raters are equally good is below this."""


class Outlier(NamedTuple):
    """A rater to look at, and why."""

    rater: str
    number: float
    """What is odd: the rating that is always the same, or the correlation with the others."""
    why: str


def find_outliers(each: Sequence[RaterAgreement]) -> tuple[Outlier, ...]:
    """Who always says the same, or agrees less than half as well as the median rater, beyond chance.

    Half, and not so many standard deviations: among few raters, of whom several may be careless, there is
    no spread to measure one by. The test is corrected for the number of raters (Holm): among a hundred good
    ones somebody is always unlucky.
    """
    judged = [rater for rater in each if rater.pearson.n >= FEWEST]
    known = [rater.pearson.value for rater in each if not math.isnan(rater.pearson.value)]
    median = float(np.median(known)) if known else math.nan
    corrected = holm(np.array([_p(rater, median) for rater in judged])).tolist()
    found = (_outlier(one, median, p) for one, p in zip(judged, corrected, strict=True))
    return tuple(one for one in found if one)


def _outlier(one: RaterAgreement, median: float, p: float) -> Outlier | None:
    """Nothing where nothing is odd."""
    if one.variance == 0:
        return Outlier(one.rater, one.mean, "always the same rating")
    r = one.pearson.value
    if r < median / 2 and p < SURE:
        return Outlier(one.rater, r, f"correlation with the others less than half the median of {median:.2f}")
    return None


def _p(one: RaterAgreement, median: float) -> float:
    """How rarely a rater as good as the median has so low a coefficient, by Fisher's transformation.

    With the tails of Student's t: so far out as Holm's correction for a hundred raters asks, those of a
    normal distribution are too thin, and accuse somebody in .08 of studies.
    """
    from scipy.special import stdtr

    apart = fisher(np.array(one.pearson.value)) - fisher(np.array(median))
    return float(stdtr(one.pearson.n - 3, apart * math.sqrt(one.pearson.n - 3)))
