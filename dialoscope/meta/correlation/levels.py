"""Correlations of metrics with people at each level: over all replies, within groups of them, over systems.

Each level says the same four things: the coefficient, the same in every bootstrap draw of contexts, how often
chance alone gives as much, and from how much it is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from dialoscope.coefficients import Coefficient, Wording, measure
from dialoscope.meta.bootstrap import Clusters, drawn
from dialoscope.meta.columns import Column
from dialoscope.meta.correlation.forms import PAIRED, Groups
from dialoscope.meta.correlation.panel import DrawnSystems, Panel, Systems
from dialoscope.meta.correlation.permutation import exchanged, reordered, together, within
from dialoscope.meta.correlation.row_orders import drawn_orders, suits
from dialoscope.meta.correlation.sides import GroupedSides, in_groups, permuted
from dialoscope.results.resampling import Draws
from dialoscope.tally import Floats, Ints


class Chance(NamedTuple):
    """How often to draw and to permute, and from which seed."""

    draws: int
    permutations: int
    seed: int

    @property
    def bootstrap(self) -> Draws:
        """The draws alone."""
        return Draws(self.draws, self.seed)


class Values(NamedTuple):
    """A coefficient of each metric with each aspect: (metrics, aspects)."""

    value: Floats
    why: list[list[str]]
    """Nothing where it is defined."""
    groups: Ints | None = None
    """How many groups it is the mean of, where there are groups."""


class Counts(NamedTuple):
    """How much is behind the coefficients: (metrics, aspects)."""

    n: Ints
    """Replies, or systems, with a value and a rating."""
    contexts: Ints
    """That these replies answer, or the replies of these systems."""


class Level(Protocol):
    """Replies or systems, all together or in groups."""

    @property
    def metrics(self) -> tuple[Column, ...]:
        """What is judged."""
        ...

    @property
    def counts(self) -> Counts:
        """From how much."""
        ...

    @property
    def of(self) -> int | None:
        """How many groups there are, if any."""
        ...

    def values(self, name: str) -> Values:
        """A coefficient by its name."""
        ...

    def drawn(self, name: str) -> Floats:
        """The same in each bootstrap draw, (draws, metrics, aspects)."""
        ...

    def p_values(self, names: Sequence[str], values: Sequence[Floats]) -> list[Floats]:
        """How often chance alone gives as much as these values of these coefficients."""
        ...


@dataclass(frozen=True, eq=False)
class _OfReplies:
    """What is the same for replies, all together or in groups."""

    panel: Panel
    chance: Chance
    fewest: int

    @property
    def metrics(self) -> tuple[Column, ...]:
        """Those with a value for a reply."""
        return self.panel.columns

    @cached_property
    def counts(self) -> Counts:
        """Of replies, those in groups without a coefficient as well."""
        known = ~np.isnan(self.panel.x)[:, :, None] & ~np.isnan(self.panel.y)[:, None, :]
        contexts = [
            [len(np.unique(self.panel.item[pair])) for pair in metric.T]
            for metric in known.transpose(1, 0, 2)
        ]
        return Counts(known.sum(axis=0), np.array(contexts, np.int64).reshape(known.shape[1:]))

    def _drawn_from(self, name: str, rows: Ints) -> Floats:
        """A coefficient of some of the replies in each draw; contexts are drawn with all their replies."""
        x, y = self.panel.x[rows], self.panel.y[rows]
        clusters = self._clusters
        if clusters.count < 2:
            return np.full((self.chance.draws, x.shape[1], y.shape[1]), np.nan)
        many = name in PAIRED and suits(len(rows), clusters.count)
        return (drawn_orders if many else drawn)(name, x, y, clusters.take(rows), self.chance.bootstrap)

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

    def values(self, name: str) -> Values:
        """Pair by pair of columns."""
        return _measured(name, self.panel.x, self.panel.y, self.fewest, ("reply", "replies"))

    def drawn(self, name: str) -> Floats:
        """Contexts are drawn with all their replies."""
        return self._drawn_from(name, np.arange(len(self.panel.rows)))

    def p_values(self, names: Sequence[str], values: Sequence[Floats]) -> list[Floats]:
        """Contexts change places, and replies within them."""
        panel, chance = self.panel, self.chance

        def orders(rows: Ints) -> Iterator[Ints]:
            return exchanged(panel.item[rows], chance.permutations, chance.seed)

        groups = Groups(np.zeros(len(panel.rows), np.int64), 1, self.fewest)
        return permuted(GroupedSides(panel.x, panel.y, groups), names, values, orders)


@dataclass(frozen=True, eq=False)
class InGroups(_OfReplies):
    """Within the replies of each system, or to each context; the mean of those that are defined."""

    by_system: bool

    @property
    def of(self) -> int:
        """Systems, or contexts."""
        return self._groups.count

    def values(self, name: str) -> Values:
        """The mean over the groups that have one."""
        found = self._in_each(name)
        groups = (~np.isnan(found)).sum(axis=0)
        means = np.where(groups > 0, np.nansum(found, axis=0) / np.maximum(groups, 1), np.nan)
        kind = "system" if self.by_system else "context"
        why = f"in no {kind} do {self.fewest} or more replies have values that differ"
        return Values(means, [[why if none else "" for none in row] for row in groups == 0], groups)

    def drawn(self, name: str) -> Floats:
        """Contexts are drawn, and what they were drawn for stays as it is: all systems, or each context."""
        return self._drawn_systems(name) if self.by_system else self._drawn_contexts(name)

    def p_values(self, names: Sequence[str], values: Sequence[Floats]) -> list[Floats]:
        """Contexts change places within every system alike, or replies within their context."""
        panel, times, seed = self.panel, self.chance.permutations, self.chance.seed

        def orders(rows: Ints) -> Iterator[Ints]:
            if self.by_system:
                return together(panel.item[rows], panel.system[rows], times, seed)
            return within(panel.item[rows], times, seed)

        return permuted(GroupedSides(panel.x, panel.y, self._groups), names, values, orders)

    @property
    def _groups(self) -> Groups:
        of = self.panel.system if self.by_system else self.panel.item
        return Groups(of, int(of.max(initial=-1)) + 1, self.fewest)

    def _in_each(self, name: str) -> Floats:
        """(groups, metrics, aspects)."""
        return in_groups(name, GroupedSides(self.panel.x, self.panel.y, self._groups))

    def _drawn_systems(self, name: str) -> Floats:
        """The mean over the systems that have a coefficient to begin with."""
        known = ~np.isnan(self._in_each(name))
        total = np.zeros((self.chance.draws, *known.shape[1:]))
        counted = np.zeros(total.shape)
        for system in range(self.of):
            rows = np.flatnonzero(self.panel.system == system)
            found = self._drawn_from(name, rows)
            here = known[system] & ~np.isnan(found)
            total += np.where(here, found, 0.0)
            counted += here
        return np.where(counted > 0, total / np.maximum(counted, 1), np.nan)

    def _drawn_contexts(self, name: str) -> Floats:
        """A context counts as often as it is drawn."""
        found = self._in_each(name)
        known = ~np.isnan(found)
        first = np.unique(self.panel.item, return_index=True)[1]
        clusters = self._clusters.take(first)
        if clusters.count < 2:
            return np.full((self.chance.draws, *found.shape[1:]), np.nan)
        flat = (clusters.sums(side.reshape(len(found), -1)) for side in (np.where(known, found, 0.0), known))
        sums = np.concatenate(list(flat), axis=1)
        totals = np.concatenate([weights @ sums for weights in clusters.weights(self.chance.bootstrap)])
        total, counted = np.split(totals, 2, axis=1)
        means = np.where(counted > 0, total / np.maximum(counted, 1), np.nan)
        return means.reshape(-1, *found.shape[1:])


@dataclass(frozen=True, eq=False)
class OverSystems:
    """What a metric says of each system with the mean rating of its replies."""

    systems: Systems
    chance: Chance
    fewest: int

    @property
    def metrics(self) -> tuple[Column, ...]:
        """All of them: here those count too that have no value for a reply."""
        return self.systems.panel.of_systems

    @cached_property
    def counts(self) -> Counts:
        """Of systems, and of the contexts behind them."""
        known = ~np.isnan(self.systems.x)[:, :, None] & ~np.isnan(self.systems.y)[:, None, :]
        contexts = len(np.unique(self.systems.panel.item))
        return Counts(known.sum(axis=0), np.full(known.shape[1:], contexts))

    @property
    def of(self) -> None:
        """There are no groups."""
        return

    def values(self, name: str) -> Values:
        """Pair by pair of columns."""
        return _measured(name, self.systems.x, self.systems.y, self.fewest, ("system", "systems"))

    def drawn(self, name: str) -> Floats:
        """Contexts are drawn; the systems stay."""
        many, aspects = self.systems.x.shape[1], self.systems.y.shape[1]
        found = np.full((self.chance.draws, many, aspects), np.nan)
        for part in self._draws:
            times, systems, _ = part.x.shape
            groups = Groups(np.repeat(np.arange(times), systems), times, self.fewest)
            x, y = (side.reshape(times * systems, -1) for side in (part.x, part.y))
            found[:, part.places] = in_groups(name, GroupedSides(x, y, groups))
        return np.where(np.isnan(self.values(name).value), np.nan, found)

    def p_values(self, names: Sequence[str], values: Sequence[Floats]) -> list[Floats]:
        """Systems change places: in every way, where they are few."""
        chance = self.chance

        def orders(rows: Ints) -> Iterator[Ints]:
            return reordered(len(rows), chance.permutations, chance.seed)

        groups = Groups(np.zeros(len(self.systems.x), np.int64), 1, self.fewest)
        return permuted(GroupedSides(self.systems.x, self.systems.y, groups), names, values, orders)

    @cached_property
    def _draws(self) -> list[DrawnSystems]:
        return list(self.systems.drawn(self.chance.bootstrap))


def _measured(name: str, x: Floats, y: Floats, fewest: int, what: tuple[str, str]) -> Values:
    """One by one, with reasons."""
    words = Wording("the metric is", "the ratings are", "metric and ratings are")
    found = [[measure(name, ours, theirs, fewest, words) for theirs in y.T] for ours in x.T]
    values = np.array([[one.value for one in row] for row in found]).reshape(x.shape[1], y.shape[1])
    return Values(values, [[_why(one, fewest, what) for one in row] for row in found])


def _why(one: Coefficient, fewest: int, what: tuple[str, str]) -> str:
    if one.n >= fewest:
        return one.why
    many = f"{one.n} {what[1]} have" if one.n > 1 else f"{'one' if one.n else 'no'} {what[0]} has"
    return f"{many} a value and a rating, and {fewest} are needed"
