"""Correlations of many columns in random halves of the contexts, all replies to a context together.

Whatever adds up is added up by context first, so that a half is a row of zeros and ones and thousands of
halves are one matrix product. Ranks do not add up and are made anew in each half, of columns sorted once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from os import cpu_count
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dialoscope.analysis.coefficients import fisher, middle
from dialoscope.analysis.estimate import UNDEFINED_IN_HALVES, too_few_contexts
from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.tally import begins_run
from dialoscope.runs.resampling import (
    MOST_BLOCKS,
    MOST_UNDEFINED,
    Resamples,
    block_sums,
    blocks_of,
    half_weights,
    round_for_exact_sums,
)

MOST_PAIRED_BLOCKS = 500
"""The most blocks for coefficients of pairs of replies, where time grows with the square of the blocks.

An interval's width then has a relative error of 1/sqrt(2 · 500) = 3 %.
"""
FLAT = 1e-12
"""A column of standard deviation 1 whose variance in a half is below this does not vary there."""
AT_ONCE = 1_000_000
"""Numbers that are held at a time."""
RANKED_AT_ONCE = 200_000
"""Replies times halves that are ranked at a time: few enough for a processor's own memory."""


@dataclass(frozen=True, eq=False)
class Clusters:
    """The units that halves are made of: contexts, or blocks of them where there are many."""

    block: Ints
    """The cluster of each row."""
    count: int

    @classmethod
    def of(cls, items: Ints, seed: int, most: int = MOST_BLOCKS) -> "Clusters":
        """Clusters in which all rows of an item are together."""
        block = blocks_of(items, most, seed)
        return cls(block, int(block.max(initial=-1)) + 1)

    def take(self, rows: NDArray[Any]) -> "Clusters":
        """The clusters of some of the rows; a half is still one of all clusters."""
        return Clusters(self.block[rows], self.count)

    def weights(self, draws: Resamples) -> Iterator[Floats]:
        """The clusters in each half as 1, the others as 0, in batches of halves: (halves, clusters)."""
        return half_weights(self.count, draws)

    def halves(self, draws: Resamples) -> int:
        """The number of halves, smaller than what is asked for if clusters are few."""
        return draws.times if self.count > 62 else min(draws.times, 2**self.count - 1)

    def sums(self, columns: Floats) -> Floats:
        """The sums of the columns by cluster: (clusters, columns)."""
        return block_sums(columns, self.block, self.count)


class ColumnSides(NamedTuple):
    """Two sets of columns without gaps, (rows, a) and (rows, b); one and the same if it is with itself."""

    x: Floats
    y: Floats


def in_halves(name: str, x: Floats, y: Floats, clusters: Clusters, draws: Resamples) -> Floats:
    """The coefficient of each column of x with each of y in each half, (halves, a, b); NaN if undefined.

    A pair of columns is compared on the rows where both have a value.
    """
    coefficients = np.full((clusters.halves(draws), x.shape[1], y.shape[1]), np.nan)
    for rows, xs, ys in without_gaps(x, y):
        ours = x[np.ix_(rows, xs)]
        same = x is y and np.array_equal(xs, ys)
        sides = ColumnSides(ours, ours if same else y[np.ix_(rows, ys)])
        coefficients[:, xs[:, None], ys] = _KERNELS[name](sides, clusters.take(rows), draws)
    return coefficients


def narrow_halves(name: str, values: Floats, whole: Floats, clusters: int) -> Floats:
    """Coefficients in halves, shrunk towards the whole's on Fisher's scale so that they vary as samples do.

    Accuracies are put on -1 to 1 for it.
    """
    centre = middle(name)
    scale = 2.0 if centre else 1.0
    at, around = (fisher((side - centre) * scale) for side in (whole, values))
    narrowed: Floats = np.tanh(at + (around - at) * excess(clusters)) / scale + centre
    return narrowed


def excess(clusters: int) -> float:
    """The factor by which coefficients in halves of few clusters vary more than those of samples.

    The variance of Fisher's z of n is 1/(n - 3), so that half of a sample varies by more than root two. With
    √((n - 4)/n) tests keep to their level and intervals to their coverage from 10 to 1,000 contexts, of equal
    sizes and of very different ones (`benchmarks/correlation_tests.py`).
    """
    return float(np.sqrt(max(clusters - 4, 1) / max(clusters, 1)))


def no_interval(undefined: float, contexts: int, confidence: float) -> str:
    """Why there is no interval, where such a share of the halves is undefined; empty where there is one."""
    if undefined >= min(MOST_UNDEFINED, round((1 - confidence) / 2, 12)):
        return too_few_contexts(contexts, confidence) or UNDEFINED_IN_HALVES
    return too_few_contexts(contexts, confidence)


def without_gaps(x: Floats, y: Floats) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Rows, and the columns of x and of y that have a value in just these: few kinds, since gaps repeat."""
    for gaps, xs in _gaps(x):
        for others, ys in _gaps(y):
            yield np.flatnonzero(~(gaps | others)), xs, ys


def _gaps(columns: Floats) -> Iterator[tuple[NDArray[np.bool_], Ints]]:
    gaps = np.isnan(columns)
    kinds: dict[bytes, list[int]] = {}
    for index in range(columns.shape[1]):
        kinds.setdefault(gaps[:, index].tobytes(), []).append(index)
    for places in kinds.values():
        yield gaps[:, places[0]], np.array(places, np.int64)


def _moments(sides: ColumnSides, clusters: Clusters, draws: Resamples, *, centred: bool) -> Floats:
    """Pearson's coefficients, or cosines: sums of products, added up by cluster."""
    x, y = (_standardise(side, centred=centred) for side in sides)
    a, b = x.shape[1], y.shape[1]
    products = np.concatenate([clusters.sums(x[:, [index]] * y) for index in range(a)], axis=1)
    ones = np.ones((len(x), 1))
    parts = [products, *map(clusters.sums, (x, y, x * x, y * y, ones))]
    ends = np.cumsum([part.shape[1] for part in parts])[:-1]
    sums, by_batch = round_for_exact_sums(np.concatenate(parts, axis=1)), []
    for weights in clusters.weights(draws):
        xy, sx, sy, xx, yy, n = np.split(weights @ sums, ends, axis=1)
        if not centred:
            sx, sy = np.zeros_like(sx), np.zeros_like(sy)
        n = np.maximum(n, 1)
        apart = xy.reshape(-1, a, b) - sx[:, :, None] * sy[:, None, :] / n[:, :, None]
        by_batch.append(_ratio(apart, xx - sx * sx / n, yy - sy * sy / n, n))
    return np.concatenate(by_batch)


def _standardise(columns: Floats, *, centred: bool) -> Floats:
    """The columns at a standard deviation of 1, for sums without loss of precision; constant ones are 0."""
    if not len(columns):
        return columns
    columns = columns - columns.mean(axis=0) if centred else columns
    size = np.sqrt(np.square(columns).mean(axis=0))
    return columns / np.where(size > 0, size, 1)


def _ratio(products: Floats, xx: Floats, yy: Floats, n: Floats) -> Floats:
    """Products over the sizes of both sides, where both have one: (draws, a, b)."""
    sizes = (
        np.sqrt(np.where(xx > FLAT * n, xx, np.nan))[:, :, None]
        * np.sqrt(np.where(yy > FLAT * n, yy, np.nan))[:, None, :]
    )
    ratio: Floats = np.clip(products / sizes, -1, 1)
    return ratio


def _rank_correlations(sides: ColumnSides, clusters: Clusters, draws: Resamples) -> Floats:
    """Spearman's coefficient, from the ranks within each half, with mean ranks for ties."""
    x = [_Order.of(column) for column in sides.x.T]
    y = x if sides.y is sides.x else [_Order.of(column) for column in sides.y.T]
    at_once = max(1, RANKED_AT_ONCE // max(1, len(sides.x)))

    def correlate(weights: Floats) -> Floats:
        inside = np.ascontiguousarray(weights[:, clusters.block].T)  # (rows, halves)
        theirs = _ranks_of_all(y, inside)
        ours = theirs if y is x else _ranks_of_all(x, inside)
        xx, yy = (np.einsum("hkr,hkr->hk", side, side) for side in (ours, theirs))
        return _ratio(ours @ theirs.transpose(0, 2, 1), xx, yy, inside.sum(axis=0)[:, None])

    def parts() -> Iterator[Floats]:
        for weights in clusters.weights(draws):
            yield from (weights[first : first + at_once] for first in range(0, len(weights), at_once))

    with ThreadPoolExecutor(cpu_count()) as pool:
        return np.concatenate(list(pool.map(correlate, parts())))


def _ranks_of_all(columns: "Sequence[_Order]", inside: Floats) -> Floats:
    """The ranks of every column in each half, (halves, columns, rows)."""
    ranks = np.empty((inside.shape[1], len(columns), len(inside)))
    for index, column in enumerate(columns):
        ranks[:, index] = column.ranks(inside).T
    return ranks


class _Order(NamedTuple):
    """A column that is sorted once, to be ranked in every half."""

    order: Ints
    starts: Ints
    """The start of each different value in this order."""
    value: Ints
    """The index of each row's value among the different ones."""

    @classmethod
    def of(cls, column: Floats) -> "_Order":
        order = np.argsort(column, kind="stable")
        begins = begins_run(column[order]) if len(order) else np.empty(0, bool)
        value = np.empty(len(column), np.int64)
        value[order] = np.cumsum(begins) - 1
        return cls(order, np.flatnonzero(begins), value)

    def ranks(self, inside: Floats) -> Floats:
        """The ranks about their mean of those inside, and 0 for the others, (rows, halves)."""
        if not len(self.order):
            return inside
        of_value = inside[self.order]
        if len(self.starts) < len(self.order):
            of_value = np.add.reduceat(of_value, self.starts, axis=0)
        middles = np.cumsum(of_value, axis=0)
        total = middles[-1] / 2
        middles -= of_value / 2
        middles -= total
        ranks = middles[self.value]
        ranks *= inside
        return ranks


def _pair_agreement(sides: ColumnSides, clusters: Clusters, draws: Resamples, *, accuracy: bool) -> Floats:
    """Kendall's tau-b, or pairwise accuracy: counts of pairs of replies, added up by pairs of clusters."""
    pairs = _PairSums.of(clusters)
    weights = pairs.weights(draws)
    x, y = (list(side.T) for side in sides)
    untied_x = [pairs.net_agreement(weights, column, None) for column in x]
    untied_y = [pairs.net_agreement(weights, column, None) for column in y]
    coefficients = np.empty((len(weights), len(x), len(y)))
    for i, j in np.ndindex(len(x), len(y)):
        agreeing = pairs.net_agreement(weights, x[i], y[j])
        untied = untied_y[j] if accuracy else np.sqrt(untied_x[i] * untied_y[j])
        share = agreeing / np.where(untied > 0, untied, np.nan)
        coefficients[:, i, j] = 0.5 + 0.5 * share if accuracy else share
    return coefficients


class _PairSums(NamedTuple):
    """Rows in the order of their clusters, for sums over all pairs of them."""

    order: Ints
    starts: Ints
    """The start of each cluster that has rows."""
    clusters: Clusters
    merged: Ints
    """The index of each cluster among those with rows, in at most so many blocks."""

    @classmethod
    def of(cls, clusters: Clusters) -> "_PairSums":
        # Clusters are already in random order where there are more than `MOST_BLOCKS` contexts; where there
        # are fewer, neighbours in the file are put into different blocks.
        merged = np.arange(clusters.count) % MOST_PAIRED_BLOCKS
        block = merged[clusters.block]
        order = np.argsort(block, kind="stable")
        starts = np.flatnonzero(begins_run(block[order])) if len(block) else np.empty(0, np.int64)
        fewer = Clusters(block, min(clusters.count, MOST_PAIRED_BLOCKS))
        return cls(order, starts, fewer, block[order][starts])

    def weights(self, draws: Resamples) -> Floats:
        """The blocks with rows in each half as 1, the others as 0: (halves, blocks)."""
        parts = [weights[:, self.merged] for weights in self.clusters.weights(draws)]
        return np.concatenate(parts)

    def net_agreement(self, weights: Floats, x: Floats, y: Floats | None) -> Floats:
        """Pairs in the same order less those in the other, in each half; of one column, untied pairs."""
        sums = self._sums(x[self.order], None if y is None else y[self.order])
        net: Floats = np.einsum("db,db->d", weights @ sums, weights)
        return net

    def _sums(self, x: Floats, y: Floats | None) -> Floats:
        """The sums over pairs of rows of each two blocks; a few rows at a time, so that memory is bounded."""
        ends = np.append(self.starts, len(x))[1:]
        sums = np.empty((len(self.starts), len(self.starts)))
        at_once = max(1, AT_ONCE * len(self.starts) // max(1, len(x) ** 2))
        for first in range(0, len(sums), at_once):
            starts = self.starts[first : first + at_once]
            rows = slice(starts[0], ends[first : first + at_once][-1])
            signs = _signs(x[rows], x)
            products = signs * signs if y is None else signs * _signs(y[rows], y)
            of_rows = np.add.reduceat(products, starts - starts[0], axis=0, dtype=np.int32)
            sums[first : first + at_once] = np.add.reduceat(of_rows, self.starts, axis=1)
        return sums


def _signs(rows: Floats, every: Floats) -> NDArray[np.int8]:
    higher = rows[:, None] > every
    return higher.view(np.int8) - (rows[:, None] < every).view(np.int8)


_KERNELS: Mapping[str, Callable[[ColumnSides, Clusters, Resamples], Floats]] = MappingProxyType(
    {
        "pearson": partial(_moments, centred=True),
        "spearman": _rank_correlations,
        "kendall": partial(_pair_agreement, accuracy=False),
        "cosine": partial(_moments, centred=False),
        "accuracy": partial(_pair_agreement, accuracy=True),
    }
)
