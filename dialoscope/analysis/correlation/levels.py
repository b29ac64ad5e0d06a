"""Correlations of metrics with people at each level: over all replies, within groups of them, over systems.

Each level says the same three things: the coefficient, its interval with the test that belongs to it, and
from how much it is.
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
from dialoscope.analysis.correlation.permutation import reordered
from dialoscope.analysis.correlation.row_orders import orders_in_halves, suits
from dialoscope.analysis.correlation.sides import GroupedSides, in_groups, permutation_p_values
from dialoscope.analysis.estimate import SAME_IN_HALVES
from dialoscope.analysis.halves import Clusters, in_halves, narrow_halves, no_interval
from dialoscope.analysis.metric_columns import Column
from dialoscope.core.arrays import Floats, Ints
from dialoscope.runs.resampling import Resamples, halves_interval, halves_p


class RandomDraws(NamedTuple):
    """How many random halves and permutations there are, and from which seed."""

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
    """Nothing where it is defined."""
    groups: Ints | None = None
    """How many groups it is the mean of, where there are groups."""


class Inference(NamedTuple):
    """What is known of coefficients besides their values: (metrics, aspects)."""

    low: Floats
    high: Floats
    p: Floats
    """Two-sided."""
    why: list[list[str]]
    """Why there is no interval; nothing where there is one."""


class PointCounts(NamedTuple):
    """How much is behind the coefficients: (metrics, aspects)."""

    n: Ints
    """Replies, or systems, with a value and a rating."""
    contexts: Ints
    """That these replies answer, or the replies of these systems."""


class CorrelationLevel(Protocol):
    """Replies or systems, all together or in groups."""

    @property
    def metrics(self) -> tuple[Column, ...]:
        """What is judged."""
        ...

    @property
    def counts(self) -> PointCounts:
        """From how much."""
        ...

    @property
    def of(self) -> int | None:
        """How many groups there are, if any."""
        ...

    def values(self, name: str) -> CoefficientValues:
        """A coefficient by its name."""
        ...

    def inference(self, name: str, value: Floats, confidence: float) -> Inference:
        """Intervals and tests of these values of a coefficient."""
        ...


@dataclass(frozen=True, eq=False)
class _OfReplies:
    """What is the same for replies, all together or in groups."""

    panel: Panel
    chance: RandomDraws
    min_points: int

    @property
    def metrics(self) -> tuple[Column, ...]:
        """Those with a value for a reply."""
        return self.panel.columns

    @cached_property
    def counts(self) -> PointCounts:
        """Of replies, those in groups without a coefficient as well."""
        known = ~np.isnan(self.panel.x)[:, :, None] & ~np.isnan(self.panel.y)[:, None, :]
        contexts = [
            [len(np.unique(self.panel.item[pair])) for pair in metric.T]
            for metric in known.transpose(1, 0, 2)
        ]
        return PointCounts(known.sum(axis=0), np.array(contexts, np.int64).reshape(known.shape[1:]))

    def inference(self, name: str, value: Floats, confidence: float) -> Inference:
        """From random halves of the contexts; the interval excludes no association where p is small."""
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
        return kernel(name, x, y, clusters.take(rows), self.chance.halves)

    @property
    def _clusters(self) -> Clusters:
        return Clusters.of(self.panel.item, self.chance.seed)


@dataclass(frozen=True, eq=False)
class AllReplies(_OfReplies):
    """Over all replies."""

    @property
    def of(self) -> None:
        """There are no groups."""
        return

    def values(self, name: str) -> CoefficientValues:
        """Pair by pair of columns."""
        return _measured(name, self.panel.x, self.panel.y, self.min_points, ("reply", "replies"))

    def in_halves(self, name: str, value: Floats) -> Floats:
        """Contexts go into halves with all their replies."""
        found = self._of_rows(name, np.arange(len(self.panel.rows)))
        return narrow_halves(name, found, value, self._clusters.count)


@dataclass(frozen=True, eq=False)
class InGroups(_OfReplies):
    """Within the replies of each system, or to each context; the mean of those that are defined."""

    by_system: bool

    @property
    def of(self) -> int:
        """Systems, or contexts."""
        return self._groups.count

    def values(self, name: str) -> CoefficientValues:
        """The mean over the groups that have one."""
        found = self._in_each(name)
        groups = (~np.isnan(found)).sum(axis=0)
        means = np.where(groups > 0, np.nansum(found, axis=0) / np.maximum(groups, 1), np.nan)
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
        """(groups, metrics, aspects)."""
        return in_groups(name, GroupedSides(self.panel.x, self.panel.y, self._groups))

    def _systems_in_halves(self, name: str) -> Floats:
        """The mean over the systems that have a coefficient to begin with."""
        known = ~np.isnan(self._in_each(name))
        shape = (self._clusters.halves(self.chance.halves), *known.shape[1:])
        total, counted = np.zeros(shape), np.zeros(shape)
        for system in range(self.of):
            found = self._of_rows(name, np.flatnonzero(self.panel.system == system))
            here = known[system] & ~np.isnan(found)
            total[: len(found)] += np.where(here, found, 0.0)
            counted[: len(found)] += here
        return np.where(counted > 0, total / np.maximum(counted, 1), np.nan)

    def _contexts_in_halves(self, name: str) -> Floats:
        """The mean over the contexts of the half that have a coefficient."""
        found = self._in_each(name)
        known = ~np.isnan(found)
        first = np.unique(self.panel.item, return_index=True)[1]
        clusters = self._clusters.take(first)
        if clusters.count < 2:
            return np.full((0, *found.shape[1:]), np.nan)
        flat = (clusters.sums(side.reshape(len(found), -1)) for side in (np.where(known, found, 0.0), known))
        sums = np.concatenate(list(flat), axis=1)
        totals = np.concatenate([weights @ sums for weights in clusters.weights(self.chance.halves)])
        total, counted = np.split(totals, 2, axis=1)
        means = np.where(counted > 0, total / np.maximum(counted, 1), np.nan)
        return means.reshape(-1, *found.shape[1:])


@dataclass(frozen=True, eq=False)
class OverSystems:
    """What a metric says of each system with the mean rating of its replies."""

    systems: Systems
    chance: RandomDraws
    min_points: int

    @property
    def metrics(self) -> tuple[Column, ...]:
        """All of them: here those count too that have no value for a reply."""
        return self.systems.panel.of_systems

    @cached_property
    def counts(self) -> PointCounts:
        """Of systems, and of the contexts behind them."""
        known = ~np.isnan(self.systems.x)[:, :, None] & ~np.isnan(self.systems.y)[:, None, :]
        contexts = len(np.unique(self.systems.panel.item))
        return PointCounts(known.sum(axis=0), np.full(known.shape[1:], contexts))

    @property
    def of(self) -> None:
        """There are no groups."""
        return

    def values(self, name: str) -> CoefficientValues:
        """Pair by pair of columns."""
        return _measured(name, self.systems.x, self.systems.y, self.min_points, ("system", "systems"))

    def inference(self, name: str, value: Floats, confidence: float) -> Inference:
        """For other systems of this kind: Fisher's z of so many systems; the test exchanges systems."""
        low, high = systems_interval(name, value, self.counts.n, confidence)
        why = [[_NO_SYSTEMS if math.isnan(end) else "" for end in row] for row in low.tolist()]
        return Inference(low, high, self._p(name, value), why)

    def _p(self, name: str, value: Floats) -> Floats:
        """Systems change places: in every way, where they are few."""
        chance = self.chance

        def orders(rows: Ints) -> Iterator[Ints]:
            return reordered(len(rows), chance.permutations, chance.seed)

        groups = RowGroups(np.zeros(len(self.systems.x), np.int64), 1, self.min_points)
        (p,) = permutation_p_values(
            GroupedSides(self.systems.x, self.systems.y, groups), [name], [value], orders
        )
        return p


FEW_SYSTEMS = 6
"""With fewer than this, chance alone orders systems as people do every so often."""
_NO_SYSTEMS = f"no interval over systems: it takes {FEW_SYSTEMS} of them, and Pearson, Spearman or Kendall"


def systems_interval(name: str, value: Floats, systems: Ints, confidence: float) -> tuple[Floats, Floats]:
    """Where the coefficient of other systems of this kind would fall, by Fisher's z.

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


def _measured(name: str, x: Floats, y: Floats, min_points: int, what: tuple[str, str]) -> CoefficientValues:
    """One by one, with reasons."""
    words = Wording("the metric is", "the ratings are", "metric and ratings are")
    found = [[measure(name, ours, theirs, min_points, words) for theirs in y.T] for ours in x.T]
    values = np.array([[one.value for one in row] for row in found]).reshape(x.shape[1], y.shape[1])
    return CoefficientValues(values, [[_why(one, min_points, what) for one in row] for row in found])


def _why(one: Coefficient, min_points: int, what: tuple[str, str]) -> str:
    if one.n >= min_points:
        return one.why
    many = f"{one.n} {what[1]} have" if one.n > 1 else f"{'one' if one.n else 'no'} {what[0]} has"
    return f"{many} a value and a rating, and {min_points} are needed"
