"""Kendall's tau-b and pairwise accuracy of many replies in random halves, to the first order.

What a half adds to a count of pairs is, but for a term that vanishes as contexts become many, the sum of what
each reply has in common with all others. That is counted once, in n log n steps, while there are n² pairs.
"""

import numpy as np

from dialoscope.analysis.halves import Clusters, without_gaps
from dialoscope.core.arrays import Floats, Ints
from dialoscope.runs.resampling import Resamples

MANY_REPLIES = 500
MANY_CONTEXTS = 200
"""With as many, the term that is left out is negligible: half a percent of an interval's width."""
LARGE_CONTEXT = 0.01
"""A context with more of the replies than this is of account by itself."""
MOST_REPLIES = 20_000
"""So many pairs are not counted one by one whatever contexts are like."""


def suits(clusters: Clusters) -> bool:
    """Whether there are enough contexts, and none that outweighs the others."""
    replies = len(clusters.block)
    if replies <= MANY_REPLIES or clusters.count < MANY_CONTEXTS:
        return False
    return replies > MOST_REPLIES or np.bincount(clusters.block).max() <= LARGE_CONTEXT * replies


def orders_in_halves(name: str, x: Floats, y: Floats, clusters: Clusters, draws: Resamples) -> Floats:
    """Each column of x with each column of y in each half, (halves, a, b)."""
    coefficients = np.full((clusters.halves(draws), x.shape[1], y.shape[1]), np.nan)
    weights = 2 * np.concatenate(list(clusters.weights(draws)))
    for rows, xs, ys in without_gaps(x, y):
        part = clusters.take(rows)
        untied_x, untied_y = (
            _sums_in_halves(count_untied(side[np.ix_(rows, places)]), part, weights)
            for side, places in ((x, xs), (y, ys))
        )
        for at, j in enumerate(ys):
            shared = np.stack([net_agreement(x[rows, i], y[rows, j]) for i in xs], axis=1)
            agreeing, theirs = _sums_in_halves(shared, part, weights), untied_y[:, [at]]
            whole = theirs if name == "accuracy" else np.sqrt(np.maximum(untied_x * theirs, 0))
            share = np.clip(agreeing / np.where(whole > 0, whole, np.nan), -1, 1)
            coefficients[:, xs, j] = 0.5 + 0.5 * share if name == "accuracy" else share
    return coefficients


def _sums_in_halves(rows: Floats, clusters: Clusters, weights: Floats) -> Floats:
    """Sums over pairs in each half, from the sums of each row: (halves, columns)."""
    sums = clusters.sums(rows)
    in_halves: Floats = 2 * (weights @ sums) - sums.sum(axis=0)
    return in_halves


def count_untied(columns: Floats) -> Floats:
    """The number of rows with another value, for each row of each column."""
    counts_untied = np.empty(columns.shape)
    for index, column in enumerate(columns.T):
        _, kind, counts = np.unique(column, return_inverse=True, return_counts=True)
        counts_untied[:, index] = len(column) - counts[kind]
    return counts_untied


def net_agreement(x: Floats, y: Floats) -> Floats:
    """The number of rows that both columns order alike with each row, less those they order differently."""
    n = len(x)
    order = np.argsort(x, kind="stable")
    first, last = (np.searchsorted(x[order], x, side=side) for side in ("left", "right"))
    kinds, level = np.unique(y, return_inverse=True)
    below = np.searchsorted(np.sort(level), level, side="left")
    above = n - np.searchsorted(np.sort(level), level, side="right")
    counts = _Counts.of(level[order], len(kinds))
    before_below, before_above = counts.below(first, level), first - counts.below(first, level + 1)
    through_below, through_above = counts.below(last, level), last - counts.below(last, level + 1)
    after_below, after_above = below - through_below, above - through_above
    return np.asarray(before_below + after_above - before_above - after_below, float)


class _Counts:
    """Counts, among the first so many numbers, of those lower than a number: a wavelet matrix."""

    def __init__(self, bits: int, zeros: list[Ints]) -> None:
        self.bits, self.zeros = bits, zeros

    @classmethod
    def of(cls, numbers: Ints, kinds: int) -> "_Counts":
        """Numbers from 0 to below `kinds`."""
        bits, zeros = max(1, int(kinds).bit_length()), []
        for bit in reversed(range(bits)):
            ones = (numbers >> bit) & 1
            zeros.append(np.concatenate(([0], np.cumsum(1 - ones))))
            numbers = np.concatenate([numbers[ones == 0], numbers[ones == 1]])
        return cls(bits, zeros)

    def below(self, many: Ints, than: Ints) -> Ints:
        """The number of the first `many` numbers that are lower than `than`."""
        start, end, lower = np.zeros_like(many), many, np.zeros_like(many)
        for bit, zeros in zip(reversed(range(self.bits)), self.zeros, strict=True):
            is_set = (than >> bit) & 1 == 1
            lower = lower + np.where(is_set, zeros[end] - zeros[start], 0)
            start, end = (np.where(is_set, zeros[-1] + at - zeros[at], zeros[at]) for at in (start, end))
        return lower
