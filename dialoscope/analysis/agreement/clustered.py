"""Clustered metrics: their coefficients, the tree, and the stability of its clusters."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from dialoscope.analysis.agreement.clustering import Cluster, Stability, Tree, distances, stabilities, support
from dialoscope.analysis.agreement.coefficient_matrix import CoefficientMatrix
from dialoscope.analysis.coefficients import FEWEST
from dialoscope.analysis.estimate import UNKNOWN, Estimate
from dialoscope.core.arrays import Floats, Ints

_SHADES = ((0.8, "█"), (0.6, "▓"), (0.4, "▒"), (0.2, "░"), (-0.2, "·"), (-0.6, "-"), (-1.0, "="))
"""The character for coefficients of at least this."""


@dataclass(frozen=True)
class Group:
    """Metrics that were merged below the cut, in the order of the dendrogram."""

    metrics: tuple[str, ...]
    r: Estimate
    """The mean over its pairs, lower-is-better metrics turned over; undefined for a single metric."""
    weakest: float
    """The least of its pairs."""
    stability: Stability


class Branch(NamedTuple):
    """A branch of a tree, beside a set of metrics that was looked for."""

    metrics: tuple[str, ...]
    jaccard: float
    """Its similarity to the set; 1 if it equals the set."""
    found: float
    """The share of the draws that have just this branch."""


@dataclass(frozen=True, eq=False)
class View:
    """Metrics, their coefficients, and their clusters."""

    names: tuple[str, ...]
    signs: Floats
    """-1 for a metric of which lower is better, which is turned over before anything is clustered."""
    r: Floats
    """(metrics, metrics), signs kept."""
    low: Floats
    high: Floats
    n: Ints
    """The number of replies that have both."""
    tree: Tree
    support: Floats
    """The share of halves that have a branch with the same metrics, for each merge of the tree."""
    clusters: tuple[Cluster, ...]
    """Places of metrics, in the order of the dendrogram."""
    groups: tuple[Group, ...]
    """The clusters by the names of their metrics, with statistics of each."""

    @classmethod
    def of(cls, names: tuple[str, ...], signs: Floats, matrix: CoefficientMatrix, cut: float) -> "View":
        """Cluster the metrics on all contexts and in every half of them."""
        oriented = matrix.with_signs(signs)
        tree = Tree.of(distances(oriented.r))
        defined = ~np.isnan(oriented.drawn).all(axis=(1, 2))
        trees = [Tree.of(drawn, ordered=False) for drawn in distances(oriented.drawn[defined])]
        clusters = tree.clusters(cut)
        stable = stabilities(clusters, [drawn.clusters(cut) for drawn in trees])
        leaves = tree.order.tolist()
        groups = tuple(
            _group(names, sorted(cluster, key=leaves.index), oriented, stability)
            for cluster, stability in zip(clusters, stable, strict=True)
        )
        low, high = matrix.interval(matrix.drawn, matrix.r)
        support_of_merges = np.array(support(tree, trees))
        return cls(names, signs, matrix.r, low, high, matrix.n, tree, support_of_merges, clusters, groups)

    @property
    def order(self) -> tuple[str, ...]:
        """The metrics as the dendrogram has them from top to bottom."""
        return tuple(self.names[leaf] for leaf in self.tree.order)

    @property
    def distances(self) -> Floats:
        """1 - r, metrics of which lower is better turned over; NaN where r is undefined."""
        return 1 - self.r * self.signs[:, None] * self.signs

    def estimate(self, i: int, j: int) -> Estimate:
        """The coefficient of two metrics, with its sign."""
        return Estimate(float(self.r[i, j]), float(self.low[i, j]), float(self.high[i, j]))

    def why_undefined(self, i: int, j: int) -> str:
        """Why two metrics have no coefficient; empty where they have one."""
        if not math.isnan(self.r[i, j]):
            return ""
        if self.n[i, j] < FEWEST:
            return f"{self.n[i, j]} replies have both, and {FEWEST} are needed"
        return f"one of them is the same for all {self.n[i, j]} replies that have both"

    def branch(self, metrics: Iterable[str]) -> Branch:
        """The branch of the tree that is most like a set of metrics, such as a family that should be one."""
        wanted = {self.names.index(name) for name in metrics}
        likeness = [len(node & wanted) / len(node | wanted) for node in self.tree.nodes]
        best = int(np.argmax(likeness))
        share = [*[1.0] * self.tree.columns, *self.support.tolist()][best]
        names = tuple(self.names[leaf] for leaf in sorted(self.tree.nodes[best]))
        return Branch(names, likeness[best], share)

    def merges(self) -> list[dict[str, Any]]:
        """The merges, the nearest first."""
        return [
            {
                "left": sorted(self.names[leaf] for leaf in merge.left),
                "right": sorted(self.names[leaf] for leaf in merge.right),
                "distance": merge.distance,
                "found": share,
            }
            for merge, share in zip(self.tree.merges, self.support.tolist(), strict=True)
        ]

    def heatmap(self) -> list[str]:
        """A line for each metric, a shade for each coefficient, in the order of the dendrogram."""
        order = self.tree.order
        return ["".join(map(_shade, row)) for row in self.r[np.ix_(order, order)].tolist()]


def _group(
    names: tuple[str, ...], members: list[int], oriented: CoefficientMatrix, stability: Stability
) -> Group:
    pairs = list(combinations(members, 2))
    defined = [value for i, j in pairs if not math.isnan(value := float(oriented.r[i, j]))]
    mean = oriented.mean(pairs) if defined else UNKNOWN
    return Group(tuple(names[i] for i in members), mean, min(defined, default=math.nan), stability)


def _shade(r: float) -> str:
    return " " if math.isnan(r) else next(shade for least, shade in _SHADES if r >= least)
