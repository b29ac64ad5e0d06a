"""k-means: Lloyd's algorithm from k-means++ (Arthur and Vassilvitskii, 2007), seeded.

SciPy's kmeans2 was tried in its place: it is twice as fast, but on vectors without clear clusters it gives up
to 2 % of them another cluster, since it adds in another order. The values of PRD would change.
"""

import numpy as np

from dialoscope.core.arrays import Floats, Ints
from dialoscope.models.protocols import Vectors

MAX_ITERATIONS = 50
SETTLED = 1000
"""Iterations end once no more than one point in so many changes its cluster."""


def assign_clusters(points: Floats, clusters: int, rng: np.random.Generator) -> Ints:
    """Return the cluster of each point; there are fewer clusters where fewer points differ."""
    centred = np.asarray(points - points.mean(axis=0), np.float32)  # precise enough, and twice as fast
    squares = np.square(centred).sum(axis=1)
    centres = _choose_centres(centred, squares, clusters, rng)
    labels = np.full(len(centred), -1)
    for _ in range(MAX_ITERATIONS):
        nearest = np.argmin(_squared_distances(centred, squares, centres), axis=1)
        changed = np.count_nonzero(nearest != labels)
        labels = nearest
        if changed * SETTLED <= len(centred):
            break
        centres = _compute_means(centred, labels, centres)
    return labels.astype(np.int64)


def _choose_centres(points: Vectors, squares: Vectors, clusters: int, rng: np.random.Generator) -> Vectors:
    """Return points, each sampled by its squared distance from those sampled before."""
    chosen = [int(rng.integers(len(points)))]
    distances = _squared_distances(points, squares, points[chosen])[:, 0]
    while len(chosen) < clusters and distances.max() > 0:
        index = np.searchsorted(np.cumsum(distances), rng.random() * distances.sum(), side="right")
        chosen.append(min(int(index), len(points) - 1))
        distances = np.minimum(distances, _squared_distances(points, squares, points[chosen[-1:]])[:, 0])
    return points[chosen]


def _squared_distances(points: Vectors, squares: Vectors, centres: Vectors) -> Vectors:
    """Return the squared distance of each point from each centre, 0 where it is no more than rounding."""
    sums = squares[:, None] + np.square(centres).sum(axis=1)
    distances = sums - 2 * (points @ centres.T)
    distances[distances < 1e-6 * sums] = 0
    return np.asarray(distances)


def _compute_means(points: Vectors, labels: Ints, centres: Vectors) -> Vectors:
    """Return the mean of each cluster; the centre of a cluster without points stays where it is."""
    sizes = np.bincount(labels, minlength=len(centres))
    members = np.zeros((len(centres), len(points)), np.float32)
    members[labels, np.arange(len(points))] = 1
    means = members @ points / np.maximum(sizes, 1)[:, None]
    return np.asarray(np.where(sizes[:, None] > 0, means, centres))
