"""Clusters of columns: average linkage of distances 1 - r, and the stability of the clusters."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dialoscope.core.arrays import Floats, Ints

Cluster = frozenset[int]
"""Places of columns."""

DIGITS = 12
"""Distances are rounded to so many, lest the order in which replies were added up decide between ties."""


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree of merges, the nearest first."""

    linkage: Floats
    """The linkage matrix of scipy: (columns - 1, 4) of the merged two, their distance, and their size."""

    @classmethod
    def of(cls, distances: Floats, *, ordered: bool = True) -> "Tree":
        """The tree of average linkage; with `ordered`, neighbouring leaves are as near as possible."""
        from scipy.cluster.hierarchy import linkage, optimal_leaf_ordering
        from scipy.spatial.distance import squareform

        flat = squareform((distances + distances.T) / 2, checks=False)
        merged = linkage(flat, "average") if len(flat) else np.empty((0, 4))
        return cls(optimal_leaf_ordering(merged, flat) if len(flat) and ordered else merged)

    @property
    def columns(self) -> int:
        """The number of leaves."""
        return len(self.linkage) + 1

    @cached_property
    def order(self) -> Ints:
        """The leaves from top to bottom."""
        from scipy.cluster.hierarchy import leaves_list

        return leaves_list(self.linkage).astype(np.int64) if len(self.linkage) else np.zeros(1, np.int64)

    @cached_property
    def nodes(self) -> tuple[Cluster, ...]:
        """The columns of each leaf, and then of each merge."""
        held = [frozenset([leaf]) for leaf in range(self.columns)]
        for left, right in self.linkage[:, :2].astype(int):
            held.append(held[left] | held[right])
        return tuple(held)

    @property
    def merges(self) -> "Iterator[Merge]":
        """The merges, the nearest first."""
        for (left, right, distance, _), held in zip(self.linkage, self.nodes[self.columns :], strict=True):
            yield Merge(self.nodes[int(left)], self.nodes[int(right)], float(distance), held)

    def clusters(self, cut: float) -> tuple[Cluster, ...]:
        """The clusters that were merged at no more than this distance, in the order of the leaves."""
        cluster_of = {leaf: node for node in self._up_to(cut) for leaf in node}
        return tuple(dict.fromkeys(cluster_of[leaf] for leaf in self.order.tolist()))

    def _up_to(self, cut: float) -> Iterator[Cluster]:
        """The leaves, then ever larger clusters; the last that contains a leaf is its cluster."""
        yield from self.nodes[: self.columns]
        yield from (merge.held for merge in self.merges if merge.distance <= cut)


class Merge(NamedTuple):
    """Two clusters become one."""

    left: Cluster
    right: Cluster
    distance: float
    held: Cluster
    """The cluster of both."""


class Stability(NamedTuple):
    """The stability of a cluster under resampling."""

    jaccard: float
    """The mean over halves of the highest Jaccard index with a cluster of the half."""
    exact: float
    """The share of halves that have exactly this cluster."""


def distances(r: Floats) -> Floats:
    """Distances 1 - r; where r is undefined, the distance is that of r = 0."""
    apart = np.round(1 - np.where(np.isnan(r), 0.0, r), DIGITS)
    places = np.arange(apart.shape[-1])
    apart[..., places, places] = 0.0
    return apart


def stabilities(clusters: Sequence[Cluster], drawn: Sequence[Sequence[Cluster]]) -> list[Stability]:
    """The stability of each cluster, from the clusters of every half."""
    return [_stability(cluster, drawn) for cluster in clusters]


def support(tree: Tree, drawn: Sequence[Tree]) -> list[float]:
    """The share of halves whose trees have a branch with the same leaves, for each merge."""
    branches = [set(branches_drawn.nodes) for branches_drawn in drawn]
    return [_mean([merge.held in branches_drawn for branches_drawn in branches]) for merge in tree.merges]


def _stability(cluster: Cluster, drawn: Sequence[Sequence[Cluster]]) -> Stability:
    likeness = [max(len(cluster & other) / len(cluster | other) for other in clusters) for clusters in drawn]
    return Stability(_mean(likeness), _mean([alike == 1 for alike in likeness]))


def _mean(values: Sequence[float]) -> float:
    """The mean; NaN of no values."""
    return sum(values) / len(values) if values else math.nan
