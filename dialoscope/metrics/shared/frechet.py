"""The Fréchet distance between two Gaussians, from samples of them: arrays in, numbers out.

The distance is ‖μr−μg‖² + tr Sr + tr Sg − 2 F. The fidelity F is the sum of the singular values of Sr^½ Sg^½,
and no square root of a matrix is needed for it: with any Br, Bg for which Br'Br = Sr and Bg'Bg = Sg it is the
sum of the singular values of Br Bg'. Fewer points than dimensions are such a B themselves.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dialoscope.core.arrays import Floats, Ints
from dialoscope.metrics.shared.fidelity import (
    EPSILON,
    Levels,
    expected_fidelity,
    fidelity_estimate,
    nuclear_norm,
    singular_squares,
)

Bools = NDArray[np.bool_]

CHUNK = 8192
SPLITS = 20
"""The maximum number of splits into halves; many points need fewer."""
FEWEST = 4
"""The minimum number of points of a half."""


@dataclass(frozen=True, eq=False)
class Moments:
    """The number, mean and scatter of points; the moments of two sets can be added."""

    count: int
    mean: Floats  # (dims,)
    spread: Floats
    """The points less their mean while they are fewer than the dimensions; then the sum of the outer
    products of these with themselves (dims, dims)."""

    @classmethod
    def of(cls, points: NDArray[Any]) -> "Moments":
        """Return the moments of the rows of an array of any kind of numbers."""
        parts = (points[start : start + CHUNK] for start in range(0, len(points), CHUNK))
        return cls.from_chunks(parts, points.shape[1])

    @classmethod
    def from_chunks(cls, chunks: Iterable[NDArray[Any]], dims: int) -> "Moments":
        """Return the moments of the rows of many arrays, only one of which is in memory at a time."""
        return reduce(add, map(_of_chunk, chunks), cls(0, np.zeros(dims), np.zeros((0, dims))))

    @property
    def dims(self) -> int:
        """The number of dimensions."""
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
    def squares(self) -> float:
        """The sum of the squared distances of the points from their mean."""
        return float(np.trace(self.spread) if self.is_scatter else np.vdot(self.spread, self.spread))

    @property
    def trace(self) -> float:
        """The trace of the covariance: the sum of the variances of all dimensions."""
        return self.squares / (self.count - 1) if self.count > 1 else math.nan

    def __add__(self, other: "Moments") -> "Moments":
        """Return the moments of both sets together."""
        if not (self.count and other.count):
            return self if self.count else other
        count, apart = self.count + other.count, other.mean - self.mean
        mean = self.mean + apart * (other.count / count)
        if count < self.dims:
            moved = [part.spread + (part.mean - mean) for part in (self, other)]
            return Moments(count, mean, np.concatenate(moved))
        between = np.outer(apart, apart * (self.count * other.count / count))
        return Moments(count, mean, self.scatter + other.scatter + between)

    def without(self, part: "Moments") -> "Moments":
        """Return the moments of the points not in a part, which must be at least as many as dimensions."""
        count, apart = self.count - part.count, part.mean - self.mean
        between = np.outer(apart, apart * (self.count * part.count / count))
        mean = self.mean - apart * (part.count / count)
        return Moments(count, mean, self.scatter - part.scatter - between)


def _of_chunk(points: NDArray[Any]) -> Moments:
    points = np.asarray(points, np.float64)
    if not len(points):
        return Moments(0, np.zeros(points.shape[1]), points)
    mean = points.mean(axis=0)
    centred = points - mean
    return Moments(len(points), mean, centred.T @ centred if len(points) >= points.shape[1] else centred)


def frechet(real: Moments, generated: Moments, *, squared: bool = True) -> float:
    """Return the distance of the Gaussians with these moments; undefined for fewer than two points on a side.

    `squared=False` takes the distance of the means as it is, which is what the paper prints.
    """
    if min(real.count, generated.count) < 2:
        return math.nan
    apart = real.mean - generated.mean
    within = real.trace + generated.trace - 2 * fidelity(real, generated)
    distance = _mean_term(float(apart @ apart), squared=squared) + within
    return distance if math.isnan(distance) else max(0.0, distance)


def fidelity(real: Moments, generated: Moments) -> float:
    """Return the sum of the singular values of the product of the roots of two covariances."""
    scale = math.sqrt((real.count - 1) * (generated.count - 1))
    return nuclear_norm(_factor(real) @ _factor(generated).T) / scale


def each_left_out(parts: Sequence[Moments]) -> Iterator[Moments]:
    """Yield the moments of all parts but one, for each part in turn."""
    whole = reduce(add, parts)
    for index, part in enumerate(parts):
        if whole.count - part.count >= max(1, whole.dims):
            yield whole.without(part)
        else:
            others = (*parts[:index], *parts[index + 1 :])
            yield reduce(add, others, Moments(0, np.zeros(whole.dims), np.zeros((0, whole.dims))))


class Halves(NamedTuple):
    """The moments of two halves of each side; no item is in different halves."""

    real: tuple[Moments, Moments]
    generated: tuple[Moments, Moments]


class PointSet(NamedTuple):
    """Points with their items; points of the same item depend on each other."""

    points: Floats
    items: Ints


class ExactTerms(NamedTuple):
    """Unbiased estimates from samples."""

    between: float
    """The squared distance of the means."""
    traces: tuple[float, float]
    """The traces of the two covariances."""
    worth: tuple[float, float]
    """The number of independent points that a point is worth, on either side."""


def estimate_frechet(
    real: Floats,
    generated: Floats,
    real_items: Ints,
    generated_items: Ints,
    *,
    squared: bool = True,
    seed: int = 0,
) -> float:
    """Estimate the distance of the distributions the points are samples of, which `frechet` overestimates.

    Points with the same item belong together (they share a context, say), whichever side they are on; those
    of different items must be independent. An unbiased estimate is negative as often as positive where
    there is no distance. Undefined where a half of a side has fewer than `FEWEST` points.
    """
    sides = PointSet(real, real_items), PointSet(generated, generated_items)
    halvings = _halvings(*sides, seed, _enough(len(real) + len(generated)))
    return _estimate_from_halvings(*sides, halvings, squared=squared)


def estimate_frechet_from_halves(
    real: tuple[Moments, Moments], generated: tuple[Moments, Moments], *, squared: bool = True
) -> float:
    """Estimate the distance from moments of two halves of the items, for points that exceed the memory."""
    halves = [Halves(real, generated)]
    if _too_few(halves):
        return math.nan
    apart = [real[half].mean - generated[half].mean for half in (0, 1)]
    traces = (real[0] + real[1]).trace, (generated[0] + generated[1]).trace
    return _estimate_distance(
        halves, ExactTerms(float(apart[0] @ apart[1]), traces, (1.0, 1.0)), squared=squared
    )


def null(
    points: Floats, items: Ints, sizes: tuple[int, int], *, squared: bool = True, seed: int = 0
) -> float:
    """Return the plain distance expected of two samples of these sizes from the distribution of the points.

    The two do not share items. Where they do (both answer the same contexts), plain values are lower than
    this, and only the debiased one can be read by itself.
    """
    side = PointSet(points, items)
    halves = _split(side, side, _halvings(side, side, seed, _enough(2 * len(points))))
    if _too_few(halves) or min(sizes) < 2:
        return math.nan
    terms = _exact_terms(side, side)
    trace = terms.traces[0]
    if not trace > 0:
        return 0.0
    shown = expected_fidelity(
        _levels(halves, terms.worth)[1], trace, side.points.shape[1], (sizes[0] - 1, sizes[1] - 1)
    )
    return _mean_term(trace / sizes[0] + trace / sizes[1], squared=squared) + 2 * trace - 2 * shown


def _estimate_from_halvings(
    real: PointSet, generated: PointSet, halvings: Sequence[tuple[Bools, Bools]], *, squared: bool
) -> float:
    halves = _split(real, generated, halvings)
    return (
        math.nan
        if _too_few(halves)
        else _estimate_distance(halves, _exact_terms(real, generated), squared=squared)
    )


def _estimate_distance(halves: Sequence[Halves], terms: ExactTerms, *, squared: bool) -> float:
    shown = 0.0
    if min(terms.traces) > 0:
        crossed, *own = _levels(halves, terms.worth)
        shown = fidelity_estimate(crossed, (own[0], own[1]), terms.traces, halves[0].real[0].dims)
    return _mean_term(terms.between, squared=squared) + sum(terms.traces) - 2 * shown


def _mean_term(between: float, *, squared: bool) -> float:
    """Return the term of the means; an estimate below 0 stays below 0 when it is not squared."""
    return between if squared else math.copysign(math.sqrt(abs(between)), between)


def _too_few(halves: Sequence[Halves]) -> bool:
    return min(half.count for each in halves for side in each for half in side) < FEWEST


def _enough(points: int) -> int:
    """Return the number of halvings after which their choice is negligible beside the sampling noise."""
    return min(SPLITS, max(2, 6000 // max(points, 1)))


def _halvings(real: PointSet, generated: PointSet, seed: int, count: int) -> list[tuple[Bools, Bools]]:
    """Return masks of first halves; items of one side and those of both are halved separately."""
    items = np.unique(np.concatenate([real.items, generated.items]))
    places = [np.searchsorted(items, side.items) for side in (real, generated)]
    kinds = np.isin(items, real.items) * 2 + np.isin(items, generated.items)
    rng = np.random.default_rng(seed)
    halvings = []
    for _ in range(count):
        first = np.zeros(len(items), bool)
        first[np.lexsort((rng.random(len(items)), kinds))[::2]] = True
        halvings.append((first[places[0]], first[places[1]]))
    return halvings


def _split(real: PointSet, generated: PointSet, halvings: Sequence[tuple[Bools, Bools]]) -> list[Halves]:
    return [
        Halves(_halve(real.points, first), _halve(generated.points, second)) for first, second in halvings
    ]


def _halve(points: Floats, first: Bools) -> tuple[Moments, Moments]:
    return Moments.of(points[first]), Moments.of(points[~first])


class Summary(NamedTuple):
    """Statistics of a side, computed from items, which are independent, as points need not be."""

    mean: Floats
    added: Floats
    """The contribution of each item to the mean (items, dims); they add up to 0."""
    noise: float
    """The expected squared distance of the mean from the true one."""
    trace: float
    worth: float


def _summary(side: PointSet, items: Ints) -> Summary:
    mean = side.points.mean(axis=0, dtype=np.float64)
    centred = side.points - mean
    added = np.zeros((len(items), len(mean)))
    np.add.at(added, np.searchsorted(items, side.items), centred / len(centred))
    noise = _noise(added, added, len(np.unique(side.items)))
    trace = float(np.vdot(centred, centred)) / len(centred) + noise
    return Summary(mean, added, noise, trace, min(1.0, trace / noise / len(centred)) if noise else 1.0)


def _noise(added: Floats, other: Floats, items: int) -> float:
    """Return the covariance of two means, over all dimensions, from the contributions of items."""
    return float(np.vdot(added, other)) * items / (items - 1) if items > 1 else 0.0


def _exact_terms(real: PointSet, generated: PointSet) -> ExactTerms:
    items = np.unique(np.concatenate([real.items, generated.items]))
    real_side, generated_side = _summary(real, items), _summary(generated, items)
    shared = _noise(real_side.added, generated_side.added, len(np.intersect1d(real.items, generated.items)))
    apart = real_side.mean - generated_side.mean
    between = float(apart @ apart) - real_side.noise - generated_side.noise + 2 * shared
    return ExactTerms(
        between, (real_side.trace, generated_side.trace), (real_side.worth, generated_side.worth)
    )


def _levels(halves: Sequence[Halves], worth: tuple[float, float]) -> tuple[Levels, Levels, Levels]:
    """Return levels of both sides, and of either with itself, always between different halves."""
    crossed = [pair for real, other in halves for pair in ((real[0], other[1]), (real[1], other[0]))]
    return (
        _levels_of(crossed, worth),
        _levels_of([each.real for each in halves], (worth[0], worth[0])),
        _levels_of([each.generated for each in halves], (worth[1], worth[1])),
    )


def _levels_of(pairs: Sequence[tuple[Moments, Moments]], worth: tuple[float, float]) -> Levels:
    sizes = [float(np.mean([pair[side].count - 1 for pair in pairs])) * worth[side] for side in (0, 1)]
    return Levels.of([_sample_squares(*pair) for pair in pairs], (sizes[0], sizes[1]))


def _sample_squares(real: Moments, generated: Moments) -> Floats:
    scale = (real.count - 1) * (generated.count - 1)
    return singular_squares(_factor(real) @ _factor(generated).T) / scale


def _factor(moments: Moments) -> Floats:
    """Return a matrix B for which B'B is the scatter."""
    if not moments.is_scatter:
        return moments.spread
    try:
        return np.asarray(np.linalg.cholesky(moments.spread).T)
    except np.linalg.LinAlgError:  # singular: what is not above rounding is nothing
        values, vectors = np.linalg.eigh(moments.spread)
        significant = values > values[-1] * len(values) * EPSILON
        return np.asarray((vectors[:, significant] * np.sqrt(values[significant])).T)
