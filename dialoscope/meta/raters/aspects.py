"""How the rated aspects go together: correlations of the mean ratings that replies got."""

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np

from dialoscope.coefficients import Coefficient, measure
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
        rows = ~np.isnan(columns[:, [i, j]]).any(axis=1)
        x, y = columns[rows, i], columns[rows, j]
        alone = len(np.unique(how.clusters.block[rows])) < 2
        found.append(
            Pair(
                first,
                second,
                *(_estimate(measure(name, x, y), ends[name][:, i, j], alone=alone) for name in COEFFICIENTS),
            )
        )
    return tuple(found)


def _estimate(found: Coefficient, ends: Floats, *, alone: bool) -> Estimate:
    """A coefficient with its interval; a context that is alone leaves nothing to draw from."""
    value, n, why = found
    if why:
        return Estimate.undefined(why.replace("side", "aspect"), n)
    if alone:
        return Estimate(value, n=n, why="a single context has no interval")
    low, high = map(float, ends)
    return Estimate(value, low, high, n, "too many draws have no value" if math.isnan(low) else "")
