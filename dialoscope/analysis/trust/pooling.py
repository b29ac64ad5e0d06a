"""The mean of several studies that differ by more than sampling error."""

import math
from typing import NamedTuple

import numpy as np

from dialoscope.analysis.coefficients import fisher
from dialoscope.core.arrays import Floats

ROUNDS = 80
"""The number of bisections, far more than the precision of a double."""
SMALLEST = 1e-9
"""An error of 0 would give a study all the weight."""


class Mean(NamedTuple):
    """The mean over studies of the same kind, with its interval; NaN where it is unknown."""

    value: float
    low: float
    high: float
    spread: float
    """The standard deviation between studies, beyond sampling error (tau)."""
    studies: int
    new_low: float = math.nan
    """The prediction interval of a single further study, from three studies upwards."""
    new_high: float = math.nan


def pool(values: Floats, errors: Floats, confidence: float) -> Mean:
    """The random-effects mean of values with known standard errors.

    The variance between studies is Paule and Mandel's (1982), which makes the weighted squares about the mean
    add up to what is expected. The interval is Hartung and Knapp's (2001) with Student's t, never narrower
    than it would be if studies did not differ (Röver et al., 2015, https://doi.org/10.1186/s12874-015-0091-1):
    with this variance, the factor by which the two differ is at most 1, and so is left out.
    A single study has no such interval. Where a further study would fall is Higgins, Thompson and
    Spiegelhalter's (2009): Student's t of two degrees less than there are studies.
    """
    if not len(values):
        return Mean(math.nan, math.nan, math.nan, math.nan, 0)
    if len(values) == 1:
        return Mean(float(values[0]), math.nan, math.nan, math.nan, 1)
    from scipy.special import stdtrit

    errors = np.maximum(errors, SMALLEST)
    between = _between(values, errors**2)
    weights = 1 / (errors**2 + between)
    mean = float(weights @ values / weights.sum())
    error, studies, tail = 1 / math.sqrt(weights.sum()), len(values), (1 + confidence) / 2
    half = float(stdtrit(studies - 1, tail)) * error
    further = (
        float(stdtrit(studies - 2, tail)) * math.hypot(error, math.sqrt(between)) if studies > 2 else math.nan
    )
    ends = mean - half, mean + half
    return Mean(mean, *ends, math.sqrt(between), studies, mean - further, mean + further)


def pool_coefficients(values: Floats, errors: Floats, confidence: float) -> Mean:
    """The random-effects mean of correlations, with errors and `spread` on the scale of Fisher's z."""
    pooled_z = pool(fisher(values), errors, confidence)
    value, low, high, new_low, new_high = map(math.tanh, (*pooled_z[:3], pooled_z.new_low, pooled_z.new_high))
    return pooled_z._replace(value=value, low=low, high=high, new_low=new_low, new_high=new_high)


def _between(values: Floats, variances: Floats) -> float:
    """The variance at which the squares add up to one less than there are studies, or 0; by halving."""

    def excess(between: float) -> float:
        weights = 1 / (variances + between)
        mean = weights @ values / weights.sum()
        return float(weights @ (values - mean) ** 2) - (len(values) - 1)

    low, high = 0.0, float(np.ptp(values)) ** 2 * len(values)  # there all squares together are below 1
    if excess(low) <= 0:
        return 0.0
    for _ in range(ROUNDS):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return (low + high) / 2
