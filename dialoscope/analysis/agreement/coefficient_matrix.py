"""Coefficients of columns with each other, with the same in random halves of the contexts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dialoscope.analysis.estimate import UNKNOWN, Estimate
from dialoscope.analysis.halves import narrow_halves
from dialoscope.core.arrays import Floats, Ints
from dialoscope.runs.resampling import halves_interval

_NOTHING_LEFT = 1e-9
"""A column that shares all but this of its variance with what is held constant is the same thing."""


@dataclass(frozen=True, eq=False)
class CoefficientMatrix:
    """The coefficients of all pairs of columns."""

    r: Floats
    """(columns, columns)"""
    drawn: Floats
    """Coefficients in random halves, (halves, columns, columns); a single NaN one if there is one context."""
    n: Ints
    """The number of replies that have both: (columns, columns)."""
    confidence: float
    contexts: int
    """The number of contexts, or of blocks of them, that halves are made of."""

    def estimate(self, i: int, j: int) -> Estimate:
        """The coefficient of two columns, with its interval."""
        return self.mean([(i, j)])

    def mean(self, pairs: Sequence[tuple[int, int]]) -> Estimate:
        """The mean coefficient of pairs of columns; pairs without a coefficient do not count."""
        rows, columns = ([pair[side] for pair in pairs] for side in (0, 1))
        values = self.r[rows, columns]
        defined = ~np.isnan(values)
        if not defined.any():
            return UNKNOWN
        drawn = self.drawn[:, rows, columns][:, defined]
        counted = ~np.isnan(drawn)  # a pair that is undefined in a draw is missing from that draw alone
        means = np.where(counted, drawn, 0).sum(axis=1) / np.where(
            counted.any(axis=1), counted.sum(axis=1), np.nan
        )
        value = values[defined].mean()
        low, high = self.interval(means, value)
        return Estimate(float(value), float(low), float(high))

    def interval(self, drawn: Floats, values: Floats) -> Floats:
        """The ends of the interval of coefficients, from those in halves."""
        near = np.where(drawn == values, drawn, narrow_halves("pearson", drawn, values, self.contexts))
        return halves_interval(near, self.confidence, flat=True)

    def take(self, places: Sequence[int]) -> "CoefficientMatrix":
        """The matrix of some of the columns."""
        chosen = np.ix_(places, places)
        drawn = self.drawn[:, chosen[0], chosen[1]]
        return replace(self, r=self.r[chosen], drawn=drawn, n=self.n[chosen])

    def with_signs(self, signs: Floats) -> "CoefficientMatrix":
        """The matrix with the signs of some columns turned."""
        both = signs[:, None] * signs
        return replace(self, r=self.r * both, drawn=self.drawn * both)

    def without(self, *places: int) -> "CoefficientMatrix":
        """The matrix with some columns held constant; NaN for these columns and their like."""
        return replace(
            self, r=partial_correlations(self.r, places), drawn=partial_correlations(self.drawn, places)
        )


def partial_correlations(r: Floats, of: Sequence[int]) -> Floats:
    """Correlations when some columns are held constant, from a matrix of them or a stack of matrices."""
    shared = _explain_by(r, of)
    rest = 1 - np.diagonal(shared, axis1=-2, axis2=-1)
    rest = np.sqrt(np.where(rest > _NOTHING_LEFT, rest, np.nan))
    partial = (r - shared) / (rest[..., :, None] * rest[..., None, :])
    return np.clip(partial, -1, 1)  # columns with different gaps need not fit together


def _explain_by(r: Floats, of: Sequence[int]) -> Floats:
    """The correlation of columns that some of them explain."""
    of = list(of)
    within, across = r[..., of, :][..., of], r[..., of]
    flat = np.isnan(np.diagonal(within, axis1=-2, axis2=-1))  # such a column explains nothing
    inverse = np.linalg.pinv(np.nan_to_num(within), rcond=_NOTHING_LEFT, hermitian=True)
    across = np.where(flat[..., None, :], 0.0, across)
    shared: Floats = across @ inverse @ np.swapaxes(across, -1, -2)
    return shared
