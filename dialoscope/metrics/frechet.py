"""The Fréchet distance between two Gaussians, from samples of them: arrays in, numbers out.

The distance is ‖μr−μg‖² + tr Sr + tr Sg − 2 F. The fidelity F is the sum of the singular values of Sr^½ Sg^½,
and no square root of a matrix is needed for it: with any Br, Bg for which Br'Br = Sr and Bg'Bg = Sg it is the
sum of the singular values of Br Bg'. Fewer points than dimensions are such a B themselves.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dialoscope.tally import Floats, Ints

CHUNK = 8192
SMALL = 256
"""Up to so many rows or columns singular values are found directly, which is more exact, and fast enough."""
EXACT = 1e-8
"""How far off a sum of singular values may be, as a part of it, when it is found by way of their squares."""
SPLITS = 20
EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Moments:
    """How many points there are, their mean, and how they lie around it; those of two sets can be added."""

    count: int
    mean: Floats  # (dims,)
    spread: Floats
    """The points less their mean while they are fewer than the dimensions; then the sum of the outer
    products of these with themselves (dims, dims)."""

    @classmethod
    def of(cls, points: NDArray[Any]) -> "Moments":
        """Of the rows of an array of any kind of numbers."""
        parts = (points[start : start + CHUNK] for start in range(0, len(points), CHUNK))
        return cls.streamed(parts, points.shape[1])

    @classmethod
    def streamed(cls, chunks: Iterable[NDArray[Any]], dims: int) -> "Moments":
        """Of the rows of many arrays, of which no more than one is held at a time."""
        return reduce(add, map(_of_chunk, chunks), cls(0, np.zeros(dims), np.zeros((0, dims))))

    @property
    def dims(self) -> int:
        """How many numbers a point has."""
        return len(self.mean)

    @property
    def is_scatter(self) -> bool:
        """Whether the spread is the sum of outer products."""
        return self.count >= self.dims

    @property
    def scatter(self) -> Floats:
        """The sum of the outer products of the points less their mean."""
        return self.spread if self.is_scatter else self.spread.T @ self.spread

    @property
    def trace(self) -> float:
        """That of the covariance: the variances of all dimensions together."""
        total = np.trace(self.spread) if self.is_scatter else np.vdot(self.spread, self.spread)
        return float(total) / (self.count - 1) if self.count > 1 else math.nan

    def __add__(self, other: "Moments") -> "Moments":
        """Those of both sets together."""
        if not (self.count and other.count):
            return self if self.count else other
        count, apart = self.count + other.count, other.mean - self.mean
        mean = self.mean + apart * (other.count / count)
        if count < self.dims:
            moved = (part.spread + (part.mean - mean) for part in (self, other))
            return Moments(count, mean, np.concatenate(list(moved)))
        between = np.outer(apart, apart * (self.count * other.count / count))
        return Moments(count, mean, self.scatter + other.scatter + between)


def frechet(real: Moments, generated: Moments, *, squared: bool = True) -> float:
    """The distance between the Gaussians with these moments; undefined for fewer than two points on a side.

    `squared=False` takes the distance of the means as it is, which is what the paper prints.
    """
    if min(real.count, generated.count) < 2:
        return math.nan
    apart = real.mean - generated.mean
    between = float(apart @ apart)
    within = real.trace + generated.trace - 2 * fidelity(real, generated)
    return max(0.0, (between if squared else math.sqrt(between)) + within)


def fidelity(real: Moments, generated: Moments) -> float:
    """The sum of the singular values of the product of the roots of two covariances."""
    scale = math.sqrt((real.count - 1) * (generated.count - 1))
    return nuclear_norm(_factor(real) @ _factor(generated).T) / scale


def nuclear_norm(matrix: Floats) -> float:
    """The sum of the singular values."""
    if min(matrix.shape) > SMALL:
        wide = matrix if len(matrix) <= matrix.shape[1] else matrix.T
        squares = np.maximum(np.linalg.eigvalsh(wide @ wide.T), 0)
        total = float(np.sqrt(squares).sum())
        if _error_of_roots(squares) <= EXACT * total:
            return total
    return float(np.linalg.svd(matrix, compute_uv=False).sum())


def debiased(
    real: Floats,
    generated: Floats,
    real_items: Ints,
    generated_items: Ints,
    *,
    squared: bool = True,
    seed: int = 0,
) -> float:
    """An estimate of the distance between what the points were drawn from, which a plain one overstates.

    Points with the same item belong together (they share a context, say), and are kept on one side.
    """
    rng = np.random.default_rng(seed)
    items = np.unique(np.concatenate([real_items, generated_items]))
    found = []
    for _ in range(SPLITS):
        first = rng.permutation(items)[: len(items) // 2]
        chosen, other = np.isin(real_items, first), np.isin(generated_items, first)
        found.append(
            debiased_from_halves(
                (Moments.of(real[chosen]), Moments.of(real[~chosen])),
                (Moments.of(generated[other]), Moments.of(generated[~other])),
                squared=squared,
            )
        )
    return float(np.mean(found))


def debiased_from_halves(
    real: tuple[Moments, Moments], generated: tuple[Moments, Moments], *, squared: bool = True
) -> float:
    """The same from the moments of two halves of the items, for points that are too many to hold."""
    if min(half.count for half in (*real, *generated)) < 2:
        return math.nan
    traces = [(halves[0] + halves[1]).trace for halves in (real, generated)]
    kept = [fidelity(*halves) / trace for halves, trace in zip((real, generated), traces, strict=True)]
    crossed = (fidelity(real[0], generated[1]) + fidelity(real[1], generated[0])) / 2
    between = float((real[0].mean - generated[0].mean) @ (real[1].mean - generated[1].mean))
    between = between if squared else math.copysign(math.sqrt(abs(between)), between)
    return between + traces[0] + traces[1] - 2 * crossed / math.sqrt(kept[0] * kept[1])


def _error_of_roots(squares: Floats) -> float:
    """How far off the sum of roots may be: large squares carry their rounding into roots of small ones."""
    rounding = EPSILON * float(squares.max())
    return float((rounding / np.sqrt(np.maximum(squares, rounding))).sum())


def _of_chunk(points: NDArray[Any]) -> Moments:
    points = np.asarray(points, np.float64)
    if not len(points):
        return Moments(0, np.zeros(points.shape[1]), points)
    mean = points.mean(axis=0)
    centred = points - mean
    return Moments(len(points), mean, centred.T @ centred if len(points) >= points.shape[1] else centred)


def _factor(moments: Moments) -> Floats:
    """A matrix whose product with itself, transposed and itself, is the scatter."""
    if not moments.is_scatter:
        return moments.spread
    try:
        return np.asarray(np.linalg.cholesky(moments.spread).T)
    except np.linalg.LinAlgError:  # singular: what is not above rounding is nothing
        values, vectors = np.linalg.eigh(moments.spread)
        kept = values > values[-1] * len(values) * EPSILON
        return np.asarray((vectors[:, kept] * np.sqrt(values[kept])).T)
