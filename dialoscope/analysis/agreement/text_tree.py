"""A dendrogram in text: leaves down the left side, merges to the right, the farther the later."""

import numpy as np

from dialoscope.analysis.agreement.clustering import Tree
from dialoscope.core.arrays import Ints

WIDTH = 60
_LEFT, _RIGHT, _UP, _DOWN = 1, 2, 4, 8
_LINES = " ╴╶─╵┘└┴╷┐┌┬│┤├┼"
"""The characters, by the directions in which lines leave them."""


def draw_tree(tree: Tree, cut: float, width: int = WIDTH) -> list[str]:
    """A line for each leaf in the tree's order; ┊ is where the tree is cut."""
    farthest = max([cut, *tree.linkage[:, 2]]) or 1.0
    places = np.zeros((tree.columns, width + 1), np.int64)
    ends = {int(leaf): (row, 0) for row, leaf in enumerate(tree.order)}
    for node, (left, right, distance, _) in enumerate(tree.linkage, start=tree.columns):
        x = max(1, round(distance / farthest * width))
        above, below = sorted(ends.pop(int(side)) for side in (left, right))
        for row, start in (above, below):
            _across(places, row, start, x)
        _down(places, x, above[0], below[0])
        ends[node] = ((above[0] + below[0]) // 2, x)
    return _lines(places, round(cut / farthest * width))


def _across(places: Ints, row: int, start: int, end: int) -> None:
    places[row, start:end] |= _RIGHT
    places[row, start + 1 : end + 1] |= _LEFT


def _down(places: Ints, column: int, top: int, bottom: int) -> None:
    places[top:bottom, column] |= _DOWN
    places[top + 1 : bottom + 1, column] |= _UP


def _lines(places: Ints, cut: int) -> list[str]:
    grid = [[_LINES[directions] for directions in row] for row in places.tolist()]
    for row in grid:
        row[cut] = "┊" if row[cut] == " " else row[cut]
    return ["".join(row).rstrip() for row in grid]
