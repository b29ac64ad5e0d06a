"""How the rated aspects go together: correlations of the mean ratings that replies got."""

from itertools import combinations
from typing import NamedTuple

import numpy as np

from dialoscope.coefficients import measure
from dialoscope.meta.bootstrap import Clusters, drawn, interval
from dialoscope.meta.estimate import Estimate
from dialoscope.results.resampling import Draws
from dialoscope.tally import Floats

COEFFICIENTS = ("pearson", "spearman")


class Pair(NamedTuple):
    """Two aspects on the replies that were rated for both."""

    first: str
    second: str
    pearson: Estimate
    spearman: Estimate


class Resampling(NamedTuple):
    """What is drawn, how often, and how much an interval should hold."""

    clusters: Clusters
    draws: Draws
    confidence: float


def pairs(means: dict[str, Floats], how: Resampling) -> tuple[Pair, ...]:
    """Each aspect with each other one, from the replies' mean ratings by aspect."""
    if len(means) < 2:
        return ()
    columns = np.column_stack(list(means.values()))
    ends = {
        name: interval(drawn(name, columns, columns, how.clusters, how.draws), how.confidence)
        for name in COEFFICIENTS
    }
    found = []
    for (i, first), (j, second) in combinations(enumerate(means), 2):
        x, y = columns[:, i], columns[:, j]
        found.append(Pair(first, second, *(_estimate(name, x, y, ends[name][:, i, j]) for name in ends)))
    return tuple(found)


def _estimate(name: str, x: Floats, y: Floats, ends: Floats) -> Estimate:
    value, n, why = measure(name, x, y)
    return Estimate.undefined(why, n) if why else Estimate(value, float(ends[0]), float(ends[1]), n)
