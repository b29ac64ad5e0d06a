"""Coefficients within groups of rows, written as sums, so that many are had at once and permuted cheaply.

Pearson's, Spearman's and the cosine are sums over rows of what both columns have there, once each column is
brought to length 1 within every group; Kendall's and the accuracy are sums over pairs of rows. Neither side's
length changes when the rows of the other change places within a group.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dialoscope.analysis.coefficients import FEWEST, FUNCTIONS, middle
from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.tally import begins_run, ranges

PAIRED = ("kendall", "accuracy")
"""The coefficients that compare pairs of rows."""
MOST_PAIRS = 100_000
"""More pairs than this are not listed one by one."""
MOST_SHUFFLED_PAIRS = 2_000
"""More pairs than this are not shuffled one by one either: from 64 rows on the approximation is good."""
FLAT = 1e-13
"""A column whose length about its mean is a smaller part of its length than this is the same everywhere."""


@dataclass(frozen=True, eq=False)
class RowGroups:
    """The groups of rows within which a coefficient is computed."""

    of: Ints
    """The group of each row, numbered from 0."""
    count: int
    min_points: int = FEWEST
    """A group with fewer rows has no coefficient."""

    @property
    def sizes(self) -> Ints:
        """The number of rows of each group."""
        return np.bincount(self.of, minlength=self.count)

    @property
    def large(self) -> NDArray[np.bool_]:
        """Whether each group has enough rows."""
        return np.asarray(self.sizes >= self.min_points)

    @property
    def pairs(self) -> int:
        """The number of pairs of rows of the same group."""
        return int((self.sizes * (self.sizes - 1)).sum()) // 2

    def sums(self, rows: Floats) -> Floats:
        """The sums of the rows of each group."""
        columns = [np.bincount(self.of, column, self.count) for column in rows.T]
        return np.stack(columns, axis=1) if columns else np.empty((self.count, 0))


class Form(Protocol):
    """A coefficient of columns without gaps, as a sum within groups."""

    def within(self) -> Floats:
        """The coefficient in each group, (groups, a, b); NaN where it is undefined."""
        ...

    def shuffle(self, orders: Ints) -> Floats:
        """The mean over the groups with the rows of y in each of these orders, (orders, a, b)."""
        ...


def coefficients_in_groups(name: str, x: Floats, y: Floats, groups: RowGroups) -> Floats:
    """Each column of x with each of y in each group, (groups, a, b); NaN where it is undefined."""
    if name in PAIRED and groups.pairs > MOST_PAIRS:
        return _measure_one_by_one(name, x, y, groups)
    return (PairForm if name in PAIRED else RowForm).of(name, x, y, groups).within()


def form_to_shuffle(name: str, x: Floats, y: Floats, groups: RowGroups) -> Form:
    """The form of a coefficient whose permutations take bounded time."""
    if name not in PAIRED:
        return RowForm.of(name, x, y, groups)
    few = groups.pairs <= MOST_SHUFFLED_PAIRS
    return PairForm.of(name, x, y, groups) if few else RowForm.of_pairs(name, x, y, groups)


def _measure_one_by_one(name: str, x: Floats, y: Floats, groups: RowGroups) -> Floats:
    coefficients = np.full((groups.count, x.shape[1], y.shape[1]), np.nan)
    for group in np.flatnonzero(groups.large):
        rows = groups.of == group
        for i, j in np.ndindex(coefficients.shape[1:]):
            coefficients[group, i, j] = FUNCTIONS[name](x[rows, i], y[rows, j])
    return coefficients


@dataclass(frozen=True, eq=False)
class RowForm:
    """A sum over rows."""

    x: Floats  # (rows, a)
    y: Floats  # (rows, b)
    groups: RowGroups
    defined: NDArray[np.bool_]  # (groups, a, b)
    middle: float = 0.0
    """The term that is added to the sum."""

    @classmethod
    def of(cls, name: str, x: Floats, y: Floats, groups: RowGroups) -> "RowForm":
        """Pearson's, Spearman's, or the cosine."""
        if name == "spearman":
            x, y = ranks_within(x, groups).ranks, ranks_within(y, groups).ranks
        lengths = [_lengths(side, groups, centred=name != "cosine") for side in (x, y)]
        if name != "cosine":
            x, y = (side - _means(side, groups)[groups.of] for side in (x, y))
        ours, theirs = (_over(side, length[groups.of]) for side, length in zip((x, y), lengths, strict=True))
        return cls(ours, theirs, groups, _both_defined(*lengths))

    @classmethod
    def of_pairs(cls, name: str, x: Floats, y: Floats, groups: RowGroups) -> "RowForm":
        """Kendall's or the accuracy, as what is left of it when rows are many.

        A row's part is the pairs that it wins less those that it loses. Permuted, their products have the
        distribution of the sum over pairs (Hájek's projection), and are stretched to have its variance.
        """
        sides = [ranks_within(side, groups) for side in (x, y)]
        lengths = _pair_lengths(name, sides[0], sides[1], groups)
        n = np.maximum(groups.sizes, 1)[:, None]
        stretch = np.sqrt((2 * n + 5) / (2 * n)) / (n + 1)
        ours, theirs = (
            _over(2 * (side.ranks - _means(side.ranks, groups)[groups.of]), length[groups.of])
            for side, length in zip(sides, lengths, strict=True)
        )
        return cls(ours * stretch[groups.of], theirs, groups, _both_defined(*lengths), middle(name))

    def within(self) -> Floats:
        """The coefficient in each group, (groups, a, b)."""
        sums = np.stack([self.groups.sums(self.x * column[:, None]) for column in self.y.T], axis=2)
        return np.where(self.defined, np.clip(sums, -1, 1), np.nan)

    def shuffle(self, orders: Ints) -> Floats:
        """A matrix product for each column of y, (orders, a, b)."""
        parts = [column[orders] @ self.x for column in self.y.T]
        return self.middle + np.stack(parts, axis=2) / _at_least_1(self.defined)


@dataclass(frozen=True, eq=False)
class PairForm:
    """A sum over pairs of rows of one group."""

    first: Ints
    second: Ints
    x: Floats  # (pairs, a): the order of the two over the length of their group
    y: Floats  # (rows, b): as it is
    scale: Floats  # (pairs, b): one over the length of their group
    groups: RowGroups
    defined: NDArray[np.bool_]  # (groups, a, b)
    middle: float
    """The term that is added to the sum."""

    @classmethod
    def of(cls, name: str, x: Floats, y: Floats, groups: RowGroups) -> "PairForm":
        """Kendall's, or the accuracy."""
        first, second = _pairs(groups)
        ours, theirs = _pair_lengths(name, ranks_within(x, groups), ranks_within(y, groups), groups)
        owner = groups.of[first]
        signs = _over(np.sign(x[first] - x[second]), ours[owner])
        scale = _over(np.ones((len(first), y.shape[1])), theirs[owner])
        defined = _both_defined(ours, theirs)
        return cls(first, second, signs, y, scale, groups, defined, middle(name))

    def within(self) -> Floats:
        """The coefficient in each group, (groups, a, b)."""
        owners = RowGroups(self.groups.of[self.first], self.groups.count)
        signs = np.sign(self.y[self.first] - self.y[self.second]) * self.scale
        sums = np.stack([owners.sums(self.x * column[:, None]) for column in signs.T], axis=2)
        return np.where(self.defined, sums + self.middle, np.nan)

    def shuffle(self, orders: Ints) -> Floats:
        """A matrix product for each column of y, (orders, a, b)."""
        parts = []
        for column, scale in zip(self.y.T, self.scale.T, strict=True):
            rows = column[orders]
            parts.append(np.sign(rows[:, self.first] - rows[:, self.second]) * scale @ self.x)
        return self.middle + np.stack(parts, axis=2) / _at_least_1(self.defined)


class Ranked(NamedTuple):
    """Ranks of columns within groups, and the numbers of untied pairs."""

    ranks: Floats  # (rows, columns), ties at the middle of theirs
    untied: Floats  # (groups, columns): pairs of different values


def ranks_within(columns: Floats, groups: RowGroups) -> Ranked:
    """The rank of each value among those of its group."""
    ranks = np.empty(columns.shape)
    tied = np.zeros((groups.count, columns.shape[1]))
    starts_of_groups = np.cumsum(groups.sizes) - groups.sizes
    for index, column in enumerate(columns.T):
        order = np.lexsort((column, groups.of))
        owner = groups.of[order]
        starts = np.flatnonzero(begins_run(owner, column[order])) if len(order) else np.empty(0, np.int64)
        lengths = np.diff(starts, append=len(order))
        middles = starts + (lengths + 1) / 2 - starts_of_groups[owner[starts]]
        ranks[order, index] = np.repeat(middles, lengths)
        tied[:, index] = np.bincount(owner[starts], lengths * (lengths - 1) / 2, groups.count)
    pairs = groups.sizes * (groups.sizes - 1) / 2
    return Ranked(ranks, pairs[:, None] - tied)


def _pairs(groups: RowGroups) -> tuple[Ints, Ints]:
    """The two rows of each pair in a group."""
    order = np.argsort(groups.of, kind="stable")
    ends = np.cumsum(groups.sizes)[groups.of[order]]
    later = ends - np.arange(len(order)) - 1
    return order[np.repeat(np.arange(len(order)), later)], order[ranges(np.arange(len(order)) + 1, later)]


def _pair_lengths(name: str, x: Ranked, y: Ranked, groups: RowGroups) -> tuple[Floats, Floats]:
    """The divisor of a sum over pairs in each group, a factor for x and one for y; 0 in small groups."""
    large = groups.large[:, None]
    if name == "accuracy":
        return np.where(large, np.ones_like(x.untied), 0.0), np.where(large, 2 * y.untied, 0.0)
    return np.where(large, np.sqrt(x.untied), 0.0), np.where(large, np.sqrt(y.untied), 0.0)


def _means(columns: Floats, groups: RowGroups) -> Floats:
    means: Floats = groups.sums(columns) / np.maximum(groups.sizes, 1)[:, None]
    return means


def _lengths(columns: Floats, groups: RowGroups, *, centred: bool) -> Floats:
    """The length of each column in each group; 0 in small groups, and for constant columns."""
    whole = np.where(groups.large[:, None], np.sqrt(groups.sums(np.square(columns))), 0.0)
    if not centred:
        return np.asarray(whole)
    apart = np.sqrt(groups.sums(np.square(columns - _means(columns, groups)[groups.of])))
    return np.where((apart > FLAT * whole) & groups.large[:, None], apart, 0.0)


def _both_defined(x: Floats, y: Floats) -> NDArray[np.bool_]:
    return np.asarray((x > 0)[:, :, None] & (y > 0)[:, None, :])


def _over(part: Floats, whole: Floats) -> Floats:
    """Part over whole, 0 where the whole is 0."""
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1), 0.0)


def _at_least_1(defined: NDArray[np.bool_]) -> Floats:
    return np.asarray(np.maximum(defined.sum(axis=0), 1), float)
