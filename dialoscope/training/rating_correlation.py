"""How well numbers follow what people said."""

from typing import NamedTuple

from dialoscope.analysis.coefficients import measure
from dialoscope.core.arrays import Floats


class Agreement(NamedTuple):
    """Two correlations with ratings."""

    pearson: float
    spearman: float


def correlations(values: Floats, ratings: Floats) -> Agreement:
    """Of the replies that have a value; NaN for too few of them, and where either side does not vary."""
    return Agreement(*(measure(name, values, ratings).value for name in Agreement._fields))
