"""How the rated aspects go together: correlations of the mean ratings that replies got."""

from itertools import combinations
from typing import NamedTuple

import numpy as np

from dialoscope.coefficients import Wording, measure
from dialoscope.meta.bootstrap import Clusters, drawn, interval
from dialoscope.meta.estimate import Estimate
from dialoscope.results.resampling import Draws
from dialoscope.tally import Floats

COEFFICIENTS = ("pearson", "spearman")
_WORDS = Wording("the first aspect is", "the second aspect is", "both aspects are")


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
        contexts = len(np.unique(how.clusters.block[rows]))
        estimates = (
            Estimate.of(measure(name, x, y, words=_WORDS), ends[name][:, i, j], contexts)
            for name in COEFFICIENTS
        )
        found.append(Pair(first, second, *estimates))
    return tuple(found)
