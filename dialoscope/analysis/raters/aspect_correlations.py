"""Correlations of the rated aspects, from the mean ratings of replies."""

from itertools import combinations
from typing import NamedTuple

import numpy as np

from dialoscope.analysis.coefficients import Wording, measure
from dialoscope.analysis.estimate import Estimate
from dialoscope.analysis.halves import Clusters, in_halves, narrow_halves
from dialoscope.core.arrays import Floats
from dialoscope.runs.resampling import Resamples, halves_interval

COEFFICIENTS = ("pearson", "spearman")
_WORDS = Wording("the first aspect is", "the second aspect is", "both aspects are")


class AspectPair(NamedTuple):
    """Two aspects on the replies that were rated for both."""

    first: str
    second: str
    pearson: Estimate
    spearman: Estimate


class Resampling(NamedTuple):
    """The clusters, the number of random halves, and the confidence level."""

    clusters: Clusters
    draws: Resamples
    confidence: float


def correlate_aspects(means: dict[str, Floats], how: Resampling) -> tuple[AspectPair, ...]:
    """Each aspect with each other one, from the replies' mean ratings by aspect."""
    if len(means) < 2:
        return ()
    columns = np.column_stack(list(means.values()))
    values = {
        name: [[measure(name, x, y, words=_WORDS) for y in columns.T] for x in columns.T]
        for name in COEFFICIENTS
    }
    ends = {}
    for name, coefficients in values.items():
        halves = in_halves(name, columns, columns, how.clusters, how.draws)
        whole = np.array([[coefficient.value for coefficient in row] for row in coefficients])
        ends[name] = halves_interval(narrow_halves(name, halves, whole, how.clusters.count), how.confidence)
    of_pairs = []
    for (i, first), (j, second) in combinations(enumerate(means), 2):
        rows = ~np.isnan(columns[:, [i, j]]).any(axis=1)
        contexts = len(np.unique(how.clusters.block[rows]))
        estimates = (
            Estimate.of(values[name][i][j], ends[name][:, i, j], contexts, how.confidence)
            for name in COEFFICIENTS
        )
        of_pairs.append(AspectPair(first, second, *estimates))
    return tuple(of_pairs)
