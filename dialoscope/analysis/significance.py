"""Tests of correlations: many at once, and whether one of two that share a side is the higher."""

import math
from typing import NamedTuple

import numpy as np

from dialoscope.core.arrays import Floats


class SignificanceTest(NamedTuple):
    """The result of a test; NaN where it cannot be made."""

    statistic: float
    p: float
    """Two-sided."""


UNTESTED = SignificanceTest(math.nan, math.nan)


def holm(p: Floats) -> Floats:
    """P-values corrected for their number (Holm, 1979); those that are unknown do not count."""
    defined = np.flatnonzero(~np.isnan(p))
    order = defined[np.argsort(p[defined], kind="stable")]
    steps = p[order] * np.arange(len(order), 0, -1)
    corrected = np.full(len(p), np.nan)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected


def williams(first: float, second: float, between: float, n: int) -> SignificanceTest:
    """Whether two correlations with the same third column differ (Williams, 1959; t with n - 3 degrees).

    `between` is the correlation of the two columns with each other; all from the same n rows.
    """
    if n < 4 or not math.isfinite(first + second + between) or between >= 1:
        return UNTESTED
    from scipy.special import stdtr

    determinant = 1 - first**2 - second**2 - between**2 + 2 * first * second * between
    middle = (first + second) / 2
    spread = 2 * (n - 1) / (n - 3) * max(determinant, 0.0) + middle**2 * (1 - between) ** 3
    if spread <= 0:
        return UNTESTED
    t = (first - second) * math.sqrt((n - 1) * (1 + between) / spread)
    return SignificanceTest(t, float(2 * stdtr(n - 3, -abs(t))))


def steiger(first: float, second: float, between: float, n: int) -> SignificanceTest:
    """The same by Fisher's z, with the covariance taken at the mean of the two (Steiger, 1980)."""
    if n < 4 or not math.isfinite(first + second + between) or max(abs(first), abs(second)) >= 1:
        return UNTESTED
    from scipy.special import ndtr

    pooled = ((first + second) / 2) ** 2
    covariance = between * (1 - 2 * pooled) - pooled * (1 - 2 * pooled - between**2) / 2
    apart = 2 - 2 * covariance / (1 - pooled) ** 2
    if apart <= 0:
        return UNTESTED
    z = (math.atanh(first) - math.atanh(second)) * math.sqrt((n - 3) / apart)
    return SignificanceTest(z, float(2 * ndtr(-abs(z))))
