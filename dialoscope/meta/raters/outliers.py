"""Raters who do not say what the others say."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dialoscope.meta.raters.reliability import Alone

FEWEST = 10
"""Replies that a rater must share with others to be judged."""


class Outlier(NamedTuple):
    """A rater to look at, and why."""

    rater: str
    number: float
    """What is odd: the rating that is always the same, or the correlation with the others."""
    why: str


def outliers(each: Sequence[Alone]) -> tuple[Outlier, ...]:
    """Who always says the same, or agrees less than half as well as the median rater, beyond chance.

    Half, and not so many standard deviations: among few raters, of whom several may be careless, there is
    no spread to measure one by.
    """
    known = [one.pearson.value for one in each if not math.isnan(one.pearson.value)]
    median = float(np.median(known)) if known else math.nan
    return tuple(found for one in each if (found := _judged(one, median)))


def _judged(one: Alone, median: float) -> Outlier | None:
    """Nothing where nothing is odd, or too little is known."""
    r, n = one.pearson.value, one.pearson.n
    if n < FEWEST:
        return None
    if one.variance == 0:
        return Outlier(one.rater, one.mean, "always the same rating")
    if r < median / 2 and _upper(r, n) < median:
        return Outlier(one.rater, r, f"correlation with the others less than half the median of {median:.2f}")
    return None


def _upper(r: float, n: int) -> float:
    """Up to where the coefficient may lie (95 %), by Fisher's transformation."""
    return math.tanh(math.atanh(max(r, -1 + 1e-12)) + 1.96 / math.sqrt(n - 3))
