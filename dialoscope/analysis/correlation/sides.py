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
    """Columns of metrics and of ratings, with gaps, and which of their rows are looked at together."""

    x: Floats
    y: Floats
    groups: RowGroups

    def parts(self) -> Iterator["CompleteColumns"]:
        """Without gaps."""
        for rows, xs, ys in without_gaps(self.x, self.y):
            groups = replace(self.groups, of=self.groups.of[rows])
            sides = GroupedSides(self.x[np.ix_(rows, xs)], self.y[np.ix_(rows, ys)], groups)
            yield CompleteColumns(rows, (xs[:, None], ys), sides)


class CompleteColumns(NamedTuple):
    """Those of the columns that have values in the same rows."""

    rows: Ints
    place: tuple[Ints, Ints]
    """Of these columns among all metrics and aspects."""
    sides: GroupedSides


def in_groups(name: str, sides: GroupedSides) -> Floats:
    """In each group, (groups, metrics, aspects)."""
    found = np.full((sides.groups.count, sides.x.shape[1], sides.y.shape[1]), np.nan)
    for part in sides.parts():
        found[:, part.place[0], part.place[1]] = coefficients_in_groups(name, *part.sides)
    return found


def permutation_p_values(
    sides: GroupedSides,
    names: Sequence[str],
    values: Sequence[Floats],
    orders: Callable[[Ints], Iterator[Ints]],
) -> list[Floats]:
    """P-values of each coefficient's values, from what it would be in other orders of the rows."""
    found = [np.full(value.shape, np.nan) for value in values]
    for part in sides.parts():
        forms = [form_to_shuffle(name, *part.sides) for name in names]
        observed = [value[part.place] for value in values]
        for one, p in zip(found, p_values(observed, forms, orders(part.rows)), strict=True):
            one[part.place] = p
    return found
