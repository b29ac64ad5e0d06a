"""The similarity of two covariances: exactly, and estimated from small samples without bias.

The fidelity of covariances S and T is the sum of the singular values σ of S^½ T^½. What two independent
samples of n and m points show of it are the singular values of their centred product XY'/√(nm), which are
S^½ T^½ seen through two random matrices. What that does to singular values is known (free multiplication by
two Marchenko–Pastur laws) and can be undone. Let the level y(k) be the noise at which k directions are left,
Σ σ²/(σ²+y²) = k. The fidelity is 2/π ∫ y(k) dk, for k from 0 to the number of dimensions. The singular values
of the samples have levels too, y(k) √((1−k/n)(1−k/m)), so that y(k) follows for all k well below n and m.

Levels for larger k are extrapolated so that a known value is met: the fidelity of S with itself, estimated
from two halves of one sample, must be the trace of S, for which there is an unbiased estimate.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dialoscope.core.arrays import Floats

SMALL = 256
"""The number of rows or columns up to which singular values are computed directly, which is more exact."""
EXACT = 1e-8
"""The maximum relative error of a sum of singular values that is computed from their squares."""
EPSILON = float(np.finfo(np.float64).eps)

REACH = 0.8
"""The share of a sample's points up to which its levels are reliable."""
SLOPE = 0.4
"""The share of the reach from which on the slope of levels is measured."""
STEPS = 320
POWERS = (0.0, 30.0)
"""The range of powers with which levels fall beyond their reach."""
STEEPER = 0.5
"""The maximum difference of the power of two sides from that of either side with itself."""


def nuclear_norm(matrix: Floats) -> float:
    """Return the sum of the singular values."""
    if min(matrix.shape) > SMALL:
        squares = singular_squares(matrix)
        total = float(np.sqrt(squares).sum())
        if _error_of_roots(squares) <= EXACT * total:
            return total
    return float(np.linalg.svd(matrix, compute_uv=False).sum())


def singular_squares(matrix: Floats) -> Floats:
    """Return the squares of the singular values, which is faster, and exact relative to the largest."""
    wide = matrix if len(matrix) <= matrix.shape[1] else matrix.T
    return np.asarray(np.maximum(np.linalg.eigvalsh(wide @ wide.T), 0))


def _error_of_roots(squares: Floats) -> float:
    """Return the error of the sum of roots: rounding of large squares affects roots of small ones."""
    rounding = EPSILON * float(squares.max())
    return float((rounding / np.sqrt(np.maximum(squares, rounding))).sum()) if rounding else 0.0


@dataclass(frozen=True, eq=False)
class Levels:
    """The noise at which a number of directions is left, for the product of two samples."""

    left: Floats
    """The numbers of directions, ascending."""
    noise: Floats
    """The noise at each, corrected for the sizes of the samples."""
    points: float
    """The number of points of the smaller sample."""

    @classmethod
    def of(cls, squares: Sequence[Floats], sizes: tuple[float, float]) -> "Levels":
        """Compute levels from squared singular values of pairs of samples, all of these sizes."""
        every = np.concatenate(squares)
        if not every.any():
            return cls(np.ones(1), np.full(1, EPSILON), min(sizes))
        noise = every.max() * np.exp(np.linspace(8, -32, STEPS))
        left = np.array([(every / (every + level)).sum() for level in noise]) / len(squares)
        trusted = left < 0.999 * min(sizes)
        left, noise = left[trusted], noise[trusted]
        return cls(left, np.sqrt(noise / ((1 - left / sizes[0]) * (1 - left / sizes[1]))), min(sizes))

    def at(self, left: float | Floats) -> Floats:
        """Return the level at which this number of directions is left."""
        return np.exp(np.interp(np.log(left), np.log(self.left), np.log(self.noise)))

    def body(self, reach: float, shrunk: tuple[float, float] | None = None) -> float:
        """Return the fidelity of the directions within reach, or that in samples of the sizes `shrunk`."""
        inside = self.left < reach
        left = np.append(self.left[inside], reach)
        noise = np.append(self.noise[inside], self.at(reach)) * _shrinking(left, shrunk)
        return 2 / math.pi * (2 * float(noise[0] * left[0]) + _integral(noise, left))

    def tail(self, reach: float, dims: int, power: float, shrunk: tuple[float, float] | None = None) -> float:
        """Return the fidelity of the directions beyond reach, if levels fall there with this power."""
        if reach >= dims:
            return 0.0
        left = np.geomspace(reach, dims, STEPS)
        end = np.sqrt(np.maximum(dims - left, 0) / (dims - reach))  # so levels of the last directions go to 0
        noise = self.at(reach) * (left / reach) ** -power * end * _shrinking(left, shrunk)
        return 2 / math.pi * _integral(noise, left)

    def power(self, reach: float, dims: int, total: float) -> float:
        """Return the power with which levels fall beyond their reach if the fidelity is this total."""
        wanted = total - self.body(reach)
        low, high = POWERS
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (middle, high) if self.tail(reach, dims, middle) > wanted else (low, middle)
        return (low + high) / 2


def _integral(heights: Floats, places: Floats) -> float:
    return float(((heights[1:] + heights[:-1]) * np.diff(places)).sum() / 2)


def _shrinking(left: Floats, sizes: tuple[float, float] | None) -> Floats | float:
    if sizes is None:
        return 1.0
    return np.asarray(np.sqrt(np.maximum(1 - left / sizes[0], 0) * np.maximum(1 - left / sizes[1], 0)))


def fidelity_estimate(
    crossed: Levels, own: tuple[Levels, Levels], traces: tuple[float, float], dims: int
) -> float:
    """Estimate the fidelity of the distributions of two samples.

    `own` are the levels of either side with itself, the whole of which is known: the trace.
    """
    reach = min(dims, REACH * min(levels.points for levels in (crossed, *own)))
    powers = [levels.power(reach, dims, trace) for levels, trace in zip(own, traces, strict=True)]
    wholes = [
        levels.body(reach) + levels.tail(reach, dims, power)
        for levels, power in zip(own, powers, strict=True)
    ]
    power = max(POWERS[0], sum(powers) / 2 + _steeper(crossed, own, reach))
    seen = crossed.body(reach) + crossed.tail(reach, dims, power)
    return seen * _clip(math.sqrt(math.prod(traces) / math.prod(wholes)))


def _steeper(crossed: Levels, own: tuple[Levels, Levels], reach: float) -> float:
    """Return the difference in slope of both sides from either with itself, as a median against jumps."""
    left = reach * np.geomspace(SLOPE, 1, 30)
    beside = np.log(crossed.at(left)) - (np.log(own[0].at(left)) + np.log(own[1].at(left))) / 2
    slope = -float(np.median(np.diff(beside) / np.diff(np.log(left))))
    return min(max(slope, -STEEPER), STEEPER)


def expected_fidelity(own: Levels, trace: float, dims: int, sizes: tuple[float, float]) -> float:
    """Return the fidelity expected of two samples of these sizes from the same distribution."""
    reach = min(dims, REACH * own.points)
    power = own.power(reach, dims, trace)
    whole = own.body(reach) + own.tail(reach, dims, power)
    return (own.body(reach, sizes) + own.tail(reach, dims, power, sizes)) * _clip(trace / whole)


def _clip(ratio: float) -> float:
    """Limit a correction, since a larger one would be noise."""
    return min(max(ratio, 0.5), 2.0)
