"""Metrics on one side, ratings on the other: their coefficients in groups of rows, and with rows permuted."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dialoscope.analysis.correlation.group_sums import RowGroups, coefficients_in_groups, form_to_shuffle
from dialoscope.analysis.correlation.permutation import p_values
from dialoscope.analysis.halves import without_gaps
from dialoscope.core.arrays import Floats, Ints


class GroupedSides(NamedTuple):
    """Columns of metrics and of ratings, with gaps, and the groups of their rows."""

    x: Floats
    y: Floats
    groups: RowGroups

    def parts(self) -> Iterator["CompleteColumns"]:
        """The columns that have values in the same rows, together."""
        for rows, xs, ys in without_gaps(self.x, self.y):
            groups = replace(self.groups, of=self.groups.of[rows])
            sides = GroupedSides(self.x[np.ix_(rows, xs)], self.y[np.ix_(rows, ys)], groups)
            yield CompleteColumns(rows, (xs[:, None], ys), sides)


class CompleteColumns(NamedTuple):
    """The columns that have values in the same rows."""

    rows: Ints
    where: tuple[Ints, Ints]
    """The indices of these columns among all metrics and aspects."""
    sides: GroupedSides


def in_groups(name: str, sides: GroupedSides) -> Floats:
    """The coefficient in each group, (groups, metrics, aspects)."""
    coefficients = np.full((sides.groups.count, sides.x.shape[1], sides.y.shape[1]), np.nan)
    for part in sides.parts():
        coefficients[:, part.where[0], part.where[1]] = coefficients_in_groups(name, *part.sides)
    return coefficients


def permutation_p_values(
    sides: GroupedSides,
    names: Sequence[str],
    values: Sequence[Floats],
    orders: Callable[[Ints], Iterator[Ints]],
) -> list[Floats]:
    """P-values of each coefficient's values, from what it would be in other orders of the rows."""
    p_values_by_name = [np.full(value.shape, np.nan) for value in values]
    for part in sides.parts():
        forms = [form_to_shuffle(name, *part.sides) for name in names]
        observed = [value[part.where] for value in values]
        for of_name, p in zip(p_values_by_name, p_values(observed, forms, orders(part.rows)), strict=True):
            of_name[part.where] = p
    return p_values_by_name
