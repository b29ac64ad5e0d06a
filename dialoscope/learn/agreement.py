"""How well numbers follow what people said."""

import math
from typing import NamedTuple

import numpy as np

from dialoscope.tally import Floats

FEWEST = 3
"""Replies without which nothing follows anything."""


class Agreement(NamedTuple):
    """Two correlations with ratings."""

    pearson: float
    spearman: float


def correlations(values: Floats, ratings: Floats) -> Agreement:
    """Of the replies that have a value; NaN for too few of them, and where either side does not vary."""
    from scipy.stats import pearsonr, spearmanr

    known = np.isfinite(values)
    values, ratings = values[known], ratings[known]
    if len(values) < FEWEST or min(np.ptp(values), np.ptp(ratings)) < 1e-12:
        return Agreement(math.nan, math.nan)
    return Agreement(float(pearsonr(values, ratings)[0]), float(spearmanr(values, ratings)[0]))
