"""k-means: Lloyd's algorithm from k-means++ (Arthur and Vassilvitskii, 2007), seeded."""

import numpy as np

from dialoscope.core.arrays import Floats, Ints
from dialoscope.models.protocols import Vectors

ROUNDS = 50
"""After so many rounds clusters stay as they are."""
SETTLED = 1000
"""They stay, too, when fewer than one point in so many has moved."""


def clustered(points: Floats, clusters: int, rng: np.random.Generator) -> Ints:
    """The cluster of each point; fewer clusters where there are fewer different points."""
    near = np.asarray(points - points.mean(axis=0), np.float32)  # fine enough, and twice as fast
    squares = np.square(near).sum(axis=1)
    centres = _spread_out(near, squares, clusters, rng)
    labels = np.full(len(near), -1)
    for _ in range(ROUNDS):
        nearest = np.argmin(_distances(near, squares, centres), axis=1)
        moved = np.count_nonzero(nearest != labels)
        labels = nearest
        if moved * SETTLED <= len(near):
            break
        centres = _means(near, labels, centres)
    return labels.astype(np.int64)


def _spread_out(points: Vectors, squares: Vectors, clusters: int, rng: np.random.Generator) -> Vectors:
    """Centres to begin with: points, each drawn by its squared distance from those drawn before."""
    chosen = [int(rng.integers(len(points)))]
    away = _distances(points, squares, points[chosen])[:, 0]
    while len(chosen) < clusters and away.max() > 0:
        drawn = np.searchsorted(np.cumsum(away), rng.random() * away.sum(), side="right")
        chosen.append(min(int(drawn), len(points) - 1))
        away = np.minimum(away, _distances(points, squares, points[chosen[-1:]])[:, 0])
    return points[chosen]


def _distances(points: Vectors, squares: Vectors, centres: Vectors) -> Vectors:
    """The squared distance of each point from each centre; what is rounding is nothing."""
    together = squares[:, None] + np.square(centres).sum(axis=1)
    found = together - 2 * (points @ centres.T)
    found[found < 1e-6 * together] = 0
    return np.asarray(found)


def _means(points: Vectors, labels: Ints, centres: Vectors) -> Vectors:
    """The mean of each cluster; one without points stays where it is."""
    sizes = np.bincount(labels, minlength=len(centres))
    belongs = np.zeros((len(centres), len(points)), np.float32)
    belongs[labels, np.arange(len(points))] = 1
    means = belongs @ points / np.maximum(sizes, 1)[:, None]
    return np.asarray(np.where(sizes[:, None] > 0, means, centres))
