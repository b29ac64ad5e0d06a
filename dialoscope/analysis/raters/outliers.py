"""Raters who do not agree with the others."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dialoscope.analysis.coefficients import fisher
from dialoscope.analysis.raters.reliability import RaterAgreement
from dialoscope.analysis.significance import holm

FEWEST = 10
"""The number of replies that a rater must share with others to be tested."""
SURE = 0.05
"""The probability that anybody is accused where all raters are equally good is below this."""


class Outlier(NamedTuple):
    """A rater to look at, and why."""

    rater: str
    number: float
    """The rating that is always the same, or the correlation with the others."""
    why: str


def find_outliers(each: Sequence[RaterAgreement]) -> tuple[Outlier, ...]:
    """Raters who always give the same rating, or agree significantly less than half as well as the median.

    Half, and not so many standard deviations: among few raters, of whom several may be careless, there is
    no spread to measure one by. The test is corrected for the number of raters (Holm): among a hundred good
    ones somebody is always unlucky.
    """
    judged = [rater for rater in each if rater.pearson.n >= FEWEST]
    coefficients = [rater.pearson.value for rater in each if not math.isnan(rater.pearson.value)]
    median = float(np.median(coefficients)) if coefficients else math.nan
    corrected = holm(np.array([_p(rater, median) for rater in judged])).tolist()
    outliers = (_outlier(rater, median, p) for rater, p in zip(judged, corrected, strict=True))
    return tuple(outlier for outlier in outliers if outlier)


def _outlier(rater: RaterAgreement, median: float, p: float) -> Outlier | None:
    """The rater as an outlier; None if it is not one."""
    if rater.variance == 0:
        return Outlier(rater.rater, rater.mean, "always the same rating")
    r = rater.pearson.value
    if r < median / 2 and p < SURE:
        return Outlier(
            rater.rater, r, f"correlation with the others less than half the median of {median:.2f}"
        )
    return None


def _p(rater: RaterAgreement, median: float) -> float:
    """The probability that a rater as good as the median has so low a coefficient, by Fisher's z.

    With the tails of Student's t: so far out as Holm's correction for a hundred raters asks, those of a
    normal distribution are too thin, and accuse somebody in .08 of studies.
    """
    from scipy.special import stdtr

    apart = fisher(np.array(rater.pearson.value)) - fisher(np.array(median))
    return float(stdtr(rater.pearson.n - 3, apart * math.sqrt(rater.pearson.n - 3)))
