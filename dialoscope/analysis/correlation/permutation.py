"""P-values by permutation: the share of orders of the systems that agree with people as well."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations

import numpy as np

from dialoscope.analysis.correlation.group_sums import Form
from dialoscope.core.arrays import Floats, Ints

AT_ONCE = 50
"""Orders made at a time, which keeps them small."""


def p_values(observed: Sequence[Floats], forms: Sequence[Form], orders: Iterable[Ints]) -> list[Floats]:
    """Two-sided, for each form: the share of orders, that found included, as far from the middle as it is.

    The middle is that of all orders, which is 0 for most coefficients, but not for a cosine.
    """
    values_by_form: list[list[Floats]] = [[value[None]] for value in observed]
    for batch in orders:
        for form, values in zip(forms, values_by_form, strict=True):
            values.append(form.shuffle(batch))
    return [_share_of_extremes(np.concatenate(values)) for values in values_by_form]


def _share_of_extremes(values: Floats) -> Floats:
    """The share of orders whose value is as far from the mean as the first, which is the observed one."""
    far = np.abs(values - values.mean(axis=0))
    # Sums that were added up in another order may differ in the last digits.
    share = (far >= far[0] * (1 - 1e-9) - 1e-12).mean(axis=0)
    return np.where(np.isnan(values[0]), np.nan, share)


def list_orders(rows: int, times: int, seed: int) -> Iterator[Ints]:
    """Every other order of a few rows, or `times` random orders, in batches."""
    if rows < 20 and math.factorial(rows) <= times + 1:
        every = np.array(list(permutations(range(rows))), np.int64)
        yield every[1:]  # the first is the order as it is
        return
    rng = np.random.default_rng(seed)
    for first in range(0, times, AT_ONCE):
        many = min(AT_ONCE, times - first)
        yield rng.permuted(np.tile(np.arange(rows), (many, 1)), axis=1)
