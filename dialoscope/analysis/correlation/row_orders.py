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
"""With as many, the term that is left out is of no account: half a percent of an interval's width."""
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
    found = np.full((clusters.halves(draws), x.shape[1], y.shape[1]), np.nan)
    weights = 2 * np.concatenate(list(clusters.weights(draws)))
    for rows, xs, ys in without_gaps(x, y):
        some = clusters.take(rows)
        untied_x, untied_y = (
            _sums_in_halves(untied(side[np.ix_(rows, places)]), some, weights)
            for side, places in ((x, xs), (y, ys))
        )
        for at, place in enumerate(ys):
            shared = np.stack([in_common(x[rows, one], y[rows, place]) for one in xs], axis=1)
            agreeing, theirs = _sums_in_halves(shared, some, weights), untied_y[:, [at]]
            whole = theirs if name == "accuracy" else np.sqrt(np.maximum(untied_x * theirs, 0))
            share = np.clip(agreeing / np.where(whole > 0, whole, np.nan), -1, 1)
            found[:, xs, place] = 0.5 + 0.5 * share if name == "accuracy" else share
    return found


def _sums_in_halves(rows: Floats, clusters: Clusters, weights: Floats) -> Floats:
    """Sums over pairs in each half, from the sums of each row: (halves, columns)."""
    sums = clusters.sums(rows)
    found: Floats = 2 * (weights @ sums) - sums.sum(axis=0)
    return found


def untied(columns: Floats) -> Floats:
    """For each row of each column, how many rows have another value."""
    found = np.empty(columns.shape)
    for place, column in enumerate(columns.T):
        _, kind, counts = np.unique(column, return_inverse=True, return_counts=True)
        found[:, place] = len(column) - counts[kind]
    return found


def in_common(x: Floats, y: Floats) -> Floats:
    """For each row, the other rows that both columns order alike with it, less those they order otherwise."""
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
    """How many of the first so many numbers are lower than a number: a wavelet matrix."""

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
        """Of the first `many`, those lower than `than`."""
        start, end, found = np.zeros_like(many), many, np.zeros_like(many)
        for bit, zeros in zip(reversed(range(self.bits)), self.zeros, strict=True):
            one = (than >> bit) & 1 == 1
            found = found + np.where(one, zeros[end] - zeros[start], 0)
            start, end = (np.where(one, zeros[-1] + at - zeros[at], zeros[at]) for at in (start, end))
        return found
