"""Correlations of metrics with people at each level: over all replies, within groups of them, over systems.

Each level has three methods: the coefficient, its interval and p-value, and the number of points.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from dialoscope.analysis.coefficients import Coefficient, Wording, fisher, measure, middle
from dialoscope.analysis.correlation.group_sums import PAIRED, RowGroups
from dialoscope.analysis.correlation.panel import Panel, Systems
from dialoscope.analysis.correlation.permutation import list_orders
from dialoscope.analysis.correlation.row_orders import orders_in_halves, suits
from dialoscope.analysis.correlation.sides import GroupedSides, in_groups, permutation_p_values
from dialoscope.analysis.estimate import SAME_IN_HALVES
from dialoscope.analysis.halves import Clusters, in_halves, narrow_halves, no_interval
from dialoscope.analysis.metric_columns import Column
from dialoscope.core.arrays import Floats, Ints
from dialoscope.runs.resampling import Resamples, halves_interval, halves_p


class RandomDraws(NamedTuple):
    """The numbers of random halves and permutations, and their seed."""

    draws: int
    permutations: int
    seed: int

    @property
    def halves(self) -> Resamples:
        """The random halves alone."""
        return Resamples(self.draws, self.seed)


class CoefficientValues(NamedTuple):
    """A coefficient of each metric with each aspect: (metrics, aspects)."""

    value: Floats
    why: list[list[str]]
    """Why it is undefined; empty where it is defined."""
    groups: Ints | None = None
    """The number of groups that it is the mean of, where there are groups."""


class Inference(NamedTuple):
    """Intervals and p-values of coefficients: (metrics, aspects)."""

    low: Floats
    high: Floats
    p: Floats
    """Two-sided."""
    why: list[list[str]]
    """Why there is no interval; nothing where there is one."""


class PointCounts(NamedTuple):
    """The numbers of points that the coefficients are computed from: (metrics, aspects)."""

    n: Ints
    """Replies, or systems, with a value and a rating."""
    contexts: Ints
    """The contexts of these replies, or of the replies of these systems."""


class CorrelationLevel(Protocol):
    """Replies or systems, all together or in groups."""

    @property
    def metrics(self) -> tuple[Column, ...]:
        """The metrics that are correlated."""
        ...

    @property
    def counts(self) -> PointCounts:
        """The number of points of each coefficient."""
        ...

    @property
    def of(self) -> int | None:
        """The number of groups, if there are groups."""
        ...

    def values(self, name: str) -> CoefficientValues:
        """A coefficient by its name."""
        ...

    def inference(self, name: str, value: Floats, confidence: float) -> Inference:
        """Intervals and tests of these values of a coefficient."""
        ...


@dataclass(frozen=True, eq=False)
class _OfReplies:
    """Correlations over replies, all together or in groups."""

    panel: Panel
    random_draws: RandomDraws
    min_points: int

    @property
    def metrics(self) -> tuple[Column, ...]:
        """The metrics that have a value for a reply."""
        return self.panel.columns

    @cached_property
    def counts(self) -> PointCounts:
        """The numbers of replies and contexts, including those in groups without a coefficient."""
        defined = ~np.isnan(self.panel.x)[:, :, None] & ~np.isnan(self.panel.y)[:, None, :]
        contexts = [
            [len(np.unique(self.panel.item[pair])) for pair in metric.T]
            for metric in defined.transpose(1, 0, 2)
        ]
        return PointCounts(defined.sum(axis=0), np.array(contexts, np.int64).reshape(defined.shape[1:]))

    def inference(self, name: str, value: Floats, confidence: float) -> Inference:
        """Intervals and p-values from random halves of the contexts."""
        values = self.in_halves(name, value)
        low, high = halves_interval(values, confidence)
        # A cosine of positive numbers is far from 0 whatever they have in common, which Pearson's is not.
        tested = values if name != "cosine" else self.in_halves("pearson", self.values("pearson").value)
        p = halves_p(tested - middle(name) if name != "cosine" else tested)
        contexts = len(np.unique(self.panel.item))
        lost: Floats = np.isnan(values).mean(axis=0) if len(values) else np.ones(value.shape)
        why = [
            [
                no_interval(float(share), contexts, confidence) or (SAME_IN_HALVES if math.isnan(end) else "")
                for share, end in row
            ]
            for row in np.stack([lost, low], axis=2)
        ]
        return Inference(low, high, p, why)

    def in_halves(self, name: str, value: Floats) -> Floats:
        """The coefficient in each random half of the contexts, (halves, metrics, aspects)."""
        raise NotImplementedError

    def values(self, name: str) -> CoefficientValues:
        """A coefficient by its name."""
        raise NotImplementedError

    def _of_rows(self, name: str, rows: Ints) -> Floats:
        """A coefficient of some of the replies in each half of the contexts."""
        x, y = self.panel.x[rows], self.panel.y[rows]
        clusters = self._clusters
        if clusters.count < 2:
            return np.full((0, x.shape[1], y.shape[1]), np.nan)
        kernel = orders_in_halves if name in PAIRED and suits(clusters.take(rows)) else in_halves
        return kernel(name, x, y, clusters.take(rows), self.random_draws.halves)

    @property
    def _clusters(self) -> Clusters:
        return Clusters.of(self.panel.item, self.random_draws.seed)


@dataclass(frozen=True, eq=False)
class AllReplies(_OfReplies):
    """Correlations over all replies."""

    @property
    def of(self) -> None:
        """There are no groups."""
        return

    def values(self, name: str) -> CoefficientValues:
        """Pair by pair of columns."""
        return _measure_pairs(name, self.panel.x, self.panel.y, self.min_points, ("reply", "replies"))

    def in_halves(self, name: str, value: Floats) -> Floats:
        """The coefficient in each random half of the contexts, with all their replies."""
        halves = self._of_rows(name, np.arange(len(self.panel.rows)))
        return narrow_halves(name, halves, value, self._clusters.count)


@dataclass(frozen=True, eq=False)
class InGroups(_OfReplies):
    """Within the replies of each system, or to each context; the mean of those that are defined."""

    by_system: bool

    @property
    def of(self) -> int:
        """The number of systems, or of contexts."""
        return self._groups.count

    def values(self, name: str) -> CoefficientValues:
        """The mean over the groups that have one."""
        by_group = self._in_each(name)
        groups = (~np.isnan(by_group)).sum(axis=0)
        means = np.where(groups > 0, np.nansum(by_group, axis=0) / np.maximum(groups, 1), np.nan)
        kind = "system" if self.by_system else "context"
        why = f"in no {kind} do {self.min_points} or more replies have values that differ"
        return CoefficientValues(
            means, [[why if none else "" for none in row] for row in groups == 0], groups
        )

    def in_halves(self, name: str, value: Floats) -> Floats:
        """The mean over all systems, or over the contexts of the half."""
        if self.by_system:
            return narrow_halves(name, self._systems_in_halves(name), value, self._clusters.count)
        return self._contexts_in_halves(name)

    @property
    def _groups(self) -> RowGroups:
        of = self.panel.system if self.by_system else self.panel.item
        return RowGroups(of, int(of.max(initial=-1)) + 1, self.min_points)

    def _in_each(self, name: str) -> Floats:
        """The coefficient in each group: (groups, metrics, aspects)."""
        return in_groups(name, GroupedSides(self.panel.x, self.panel.y, self._groups))

    def _systems_in_halves(self, name: str) -> Floats:
        """The mean over the systems that have a coefficient on all contexts."""
        defined = ~np.isnan(self._in_each(name))
        shape = (self._clusters.halves(self.random_draws.halves), *defined.shape[1:])
        total, counted = np.zeros(shape), np.zeros(shape)
        for system in range(self.of):
            halves = self._of_rows(name, np.flatnonzero(self.panel.system == system))
            here = defined[system] & ~np.isnan(halves)
            total[: len(halves)] += np.where(here, halves, 0.0)
            counted[: len(halves)] += here
        return np.where(counted > 0, total / np.maximum(counted, 1), np.nan)

    def _contexts_in_halves(self, name: str) -> Floats:
        """The mean over the contexts of the half that have a coefficient."""
        by_group = self._in_each(name)
        defined = ~np.isnan(by_group)
        first = np.unique(self.panel.item, return_index=True)[1]
        clusters = self._clusters.take(first)
        if clusters.count < 2:
            return np.full((0, *by_group.shape[1:]), np.nan)
        flat = (
            clusters.sums(side.reshape(len(by_group), -1))
            for side in (np.where(defined, by_group, 0.0), defined)
        )
        sums = np.concatenate(list(flat), axis=1)
        totals = np.concatenate([weights @ sums for weights in clusters.weights(self.random_draws.halves)])
        total, counted = np.split(totals, 2, axis=1)
        means = np.where(counted > 0, total / np.maximum(counted, 1), np.nan)
        return means.reshape(-1, *by_group.shape[1:])


@dataclass(frozen=True, eq=False)
class OverSystems:
    """Correlations of a metric's value for each system with the mean rating of its replies."""

    systems: Systems
    random_draws: RandomDraws
    min_points: int

    @property
    def metrics(self) -> tuple[Column, ...]:
        """All metrics, including those that have no value for a reply."""
        return self.systems.panel.of_systems

    @cached_property
    def counts(self) -> PointCounts:
        """The numbers of systems, and of the contexts they replied to."""
        defined = ~np.isnan(self.systems.x)[:, :, None] & ~np.isnan(self.systems.y)[:, None, :]
        contexts = len(np.unique(self.systems.panel.item))
        return PointCounts(defined.sum(axis=0), np.full(defined.shape[1:], contexts))

    @property
    def of(self) -> None:
        """There are no groups."""
        return

    def values(self, name: str) -> CoefficientValues:
        """Pair by pair of columns."""
        return _measure_pairs(name, self.systems.x, self.systems.y, self.min_points, ("system", "systems"))

    def inference(self, name: str, value: Floats, confidence: float) -> Inference:
        """Intervals by Fisher's z of so many systems, and p-values from permutations of the systems."""
        low, high = systems_interval(name, value, self.counts.n, confidence)
        why = [[_NO_SYSTEMS if math.isnan(end) else "" for end in row] for row in low.tolist()]
        return Inference(low, high, self._p(name, value), why)

    def _p(self, name: str, value: Floats) -> Floats:
        """P-values from permutations of the systems: from all of them, if systems are few."""
        random_draws = self.random_draws

        def orders(rows: Ints) -> Iterator[Ints]:
            return list_orders(len(rows), random_draws.permutations, random_draws.seed)

        groups = RowGroups(np.zeros(len(self.systems.x), np.int64), 1, self.min_points)
        (p,) = permutation_p_values(
            GroupedSides(self.systems.x, self.systems.y, groups), [name], [value], orders
        )
        return p


FEW_SYSTEMS = 6
"""With fewer than this, a random order of systems often agrees with people."""
_NO_SYSTEMS = f"no interval over systems: it takes {FEW_SYSTEMS} of them, and Pearson, Spearman or Kendall"


def systems_interval(name: str, value: Floats, systems: Ints, confidence: float) -> tuple[Floats, Floats]:
    """The interval of the coefficient over other systems of this kind, by Fisher's z.

    The variance of z is that of Fisher (1921), of Bonett and Wright (2000) for Spearman's, and of Fieller,
    Hartley and Pearson (1957) for Kendall's.
    """
    from scipy.special import ndtri

    enough = systems >= FEW_SYSTEMS
    n = np.where(enough, systems, FEW_SYSTEMS)
    if name == "spearman":
        variance = (1 + np.square(value) / 2) / (n - 3)
    elif name in ("pearson", "kendall"):
        variance = 1 / (n - 3) if name == "pearson" else 0.437 / (n - 4)
    else:
        variance = np.full(value.shape, np.nan)
    half = np.where(enough, ndtri((1 + confidence) / 2) * np.sqrt(variance), np.nan)
    z = fisher(value)
    return np.tanh(z - half), np.tanh(z + half)


def _measure_pairs(
    name: str, x: Floats, y: Floats, min_points: int, what: tuple[str, str]
) -> CoefficientValues:
    """The coefficient of each pair of columns, with the reason where it is undefined."""
    words = Wording("the metric is", "the ratings are", "metric and ratings are")
    coefficients = [[measure(name, ours, theirs, min_points, words) for theirs in y.T] for ours in x.T]
    values = np.array([[coefficient.value for coefficient in row] for row in coefficients]).reshape(
        x.shape[1], y.shape[1]
    )
    return CoefficientValues(
        values, [[_why(coefficient, min_points, what) for coefficient in row] for row in coefficients]
    )


def _why(coefficient: Coefficient, min_points: int, what: tuple[str, str]) -> str:
    if coefficient.n >= min_points:
        return coefficient.why
    many = (
        f"{coefficient.n} {what[1]} have"
        if coefficient.n > 1
        else f"{'one' if coefficient.n else 'no'} {what[0]} has"
    )
    return f"{many} a value and a rating, and {min_points} are needed"
