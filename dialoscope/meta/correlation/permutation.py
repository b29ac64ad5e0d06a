"""P-values by permutation: how often chance alone makes numbers agree as well as they do.

What may change places is what would be alike if nothing were to be seen. Replies to one context are not
independent, so that whole contexts change places, and the replies within them.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import permutations

import numpy as np

from dialoscope.meta.correlation.forms import Form
from dialoscope.tally import Floats, Ints, begins_run

MANY = 20
"""Contexts of one size, of which there are so many or more, change places among themselves."""
WINDOW = 5
"""As many contexts of other sizes change places, the next to each other in size."""
AT_ONCE = 50
"""Orders made at a time, which keeps them small."""


def p_values(observed: Sequence[Floats], forms: Sequence[Form], orders: Iterable[Ints]) -> list[Floats]:
    """Two-sided, for each form: the share of orders, that found included, as far from the middle as it is.

    The middle is that of all orders, which is 0 for most coefficients, but not for a cosine.
    """
    found: list[list[Floats]] = [[one[None]] for one in observed]
    for some in orders:
        for form, values in zip(forms, found, strict=True):
            values.append(form.shuffled(some))
    return [_share_as_far(np.concatenate(values)) for values in found]


def _share_as_far(values: Floats) -> Floats:
    """Of the first axis, how many are as far from the mean as the first of them."""
    far = np.abs(values - values.mean(axis=0))
    # Sums that were added up in another order may differ in the last digits.
    share = (far >= far[0] * (1 - 1e-9) - 1e-12).mean(axis=0)
    return np.where(np.isnan(values[0]), np.nan, share)


def within(group: Ints, times: int, seed: int) -> Iterator[Ints]:
    """Orders in which rows change places within their group, (orders, rows)."""
    rng = np.random.default_rng(seed)
    blocks = _blocks(group).values()
    yield from _chunks(len(group), times, lambda: ((rows, rng.permuted(rows, axis=1)) for rows in blocks))


def together(context: Ints, system: Ints, times: int, seed: int) -> Iterator[Ints]:
    """Orders in which contexts change places, each system's rows with its own.

    They do so with others that the same systems answered; the rows of contexts that have few such change
    places within their system.
    """
    rng = np.random.default_rng(seed)
    order = np.lexsort((system, context))
    kinds: dict[bytes, list[Ints]] = {}
    for rows in np.split(order, np.flatnonzero(begins_run(context[order]))[1:] if len(order) else []):
        kinds.setdefault(system[rows].tobytes(), []).append(rows)
    common = [np.stack(some) for some in kinds.values() if len(some) >= WINDOW]
    rare = [row for some in kinds.values() if len(some) < WINDOW for row in np.concatenate(some)]
    left = np.array(rare, np.int64)
    alone = [left[system[left] == one] for one in np.unique(system[left])]

    def drawn() -> Iterator[tuple[Ints, Ints]]:
        for contexts in common:
            yield contexts, contexts[rng.permutation(len(contexts))]
        for rows in alone:
            yield rows, rng.permutation(rows)

    yield from _chunks(len(context), times, drawn)


def exchanged(context: Ints, times: int, seed: int) -> Iterator[Ints]:
    """Orders in which contexts change places with others of their size, and rows within their context.

    Contexts of sizes that are rare change places with those next to them in size: they are laid end to end
    in another order, so that most of their rows stay together.
    """
    rng = np.random.default_rng(seed)
    blocks = sorted(_blocks(context).items())
    common = [rows for _, rows in blocks if len(rows) >= MANY]
    rare = [row for _, rows in blocks if len(rows) < MANY for row in rows]
    windows = [rare[first : first + WINDOW] for first in range(0, len(rare), WINDOW)]

    def order() -> Iterator[tuple[Ints, Ints]]:
        for rows in common:
            yield rows, rng.permuted(rows[rng.permutation(len(rows))], axis=1)
        for window in windows:
            comers = [rng.permutation(window[one]) for one in rng.permutation(len(window))]
            yield np.concatenate(window), np.concatenate(comers)

    yield from _chunks(len(context), times, order)


def reordered(rows: int, times: int, seed: int) -> Iterator[Ints]:
    """Every other order of a few rows, or as many random ones as were asked for."""
    if rows < 20 and math.factorial(rows) <= times + 1:
        every = np.array(list(permutations(range(rows))), np.int64)
        yield every[1:]  # the first is the order as it is
        return
    yield from within(np.zeros(rows, np.int64), times, seed)


def _blocks(group: Ints) -> dict[int, Ints]:
    """By size, the rows of the groups of that size, (groups, size)."""
    order = np.argsort(group, kind="stable")
    _, sizes = np.unique(group, return_counts=True)
    starts = np.cumsum(sizes) - sizes
    return {int(size): order[starts[sizes == size, None] + np.arange(size)] for size in np.unique(sizes)}


def _chunks(rows: int, times: int, order: Callable[[], Iterable[tuple[Ints, Ints]]]) -> Iterator[Ints]:
    """Orders, some at a time; each is made of pairs: places, and the rows that come there."""
    for first in range(0, times, AT_ONCE):
        some = np.empty((min(AT_ONCE, times - first), rows), np.int64)
        for one in some:
            for places, comers in order():
                one[places] = comers
        yield some
