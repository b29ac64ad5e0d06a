"""Correlations of values with ratings."""

from typing import NamedTuple

from dialoscope.analysis.coefficients import measure
from dialoscope.core.arrays import Floats


class RatingCorrelation(NamedTuple):
    """Two correlations with ratings."""

    pearson: float
    spearman: float


def correlations(values: Floats, ratings: Floats) -> RatingCorrelation:
    """Correlations over the replies that have a value; NaN for too few, or where either is constant."""
    return RatingCorrelation(*(measure(name, values, ratings).value for name in RatingCorrelation._fields))
