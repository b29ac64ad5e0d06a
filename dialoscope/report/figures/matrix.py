"""Figures of the agreement of metrics: a matrix of coefficients, a tree, and both side by side."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dialoscope.analysis.coefficients import format_coefficient
from dialoscope.core.arrays import Floats
from dialoscope.report.figures.drawing import BLUE, bare, canvas, label, look, width_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

CELL = 0.26
"""The side of a cell in inches."""
COLOURS = "RdBu_r"
"""Blue below 0 and red above, a pair that colour-blind people distinguish."""
TREE = 1.6
"""The height of a tree in inches."""
MOST_NUMBERS = 60
"""A longer side than this has colours alone."""


@look()
def heatmap(
    matrix: Floats, labels: Sequence[str], columns: Sequence[str] | None = None, title: str = ""
) -> "Figure":
    """Coefficients between −1 and 1 as colours with their values; hatched where there is none.

    The columns have the same labels as the rows, unless others are given.
    """
    across = labels if columns is None else columns
    beside = width_of([label(text) for text in labels])
    above = width_of([label(text) for text in across])
    figure = canvas(CELL * len(across) + beside + 1.1, CELL * len(labels) + above + 0.6)
    axes = figure.add_subplot()
    _scale(figure, _cells(axes, matrix, labels, across), axes)
    if title:
        axes.set_title(label(title, 80))
    return figure


@look()
def dendrogram(
    linkage: Floats, labels: Sequence[str], support: Floats | None = None, axis: str = "1 − r"
) -> "Figure":
    """The tree of average linkage, leaves downwards; `support` is a number for each merge, shown at it."""
    beside = width_of([label(text) for text in labels])
    figure = canvas(beside + 4, 0.19 * len(labels) + 0.6)
    axes = figure.add_subplot()
    order = _tree(axes, linkage, support)
    axes.yaxis.tick_right()
    axes.set_yticks(range(len(labels)), [label(labels[leaf]) for leaf in order])
    axes.set_xlabel(axis)
    return figure


@look()
def clustermap(
    matrix: Floats, linkage: Floats, labels: Sequence[str], support: Floats | None = None, axis: str = "1 − r"
) -> "Figure":
    """The matrix in the order of the tree, with the tree at its side."""
    beside = width_of([label(text) for text in labels])
    side = CELL * len(labels)
    figure = canvas(TREE + side + beside + 1.1, side + beside + 0.6)
    tree, axes = figure.subplots(1, 2, width_ratios=[TREE, side], sharey=True)
    order = _tree(tree, linkage, support)
    tree.tick_params(axis="y", labelleft=False)
    tree.set_xlabel(axis)
    names = [labels[leaf] for leaf in order]
    image = _cells(axes, matrix[np.ix_(order, order)], names, names)
    axes.yaxis.tick_right()
    axes.tick_params(axis="y", labelleft=False, labelright=True, length=0)
    _scale(figure, image, axes)
    return figure


def _cells(axes: "Axes", matrix: Floats, rows: Sequence[str], columns: Sequence[str]) -> "AxesImage":
    axes.patch.set(facecolor="#EEEEEE", hatch="////", edgecolor="#AAAAAA")
    image = axes.imshow(
        np.ma.masked_invalid(matrix), cmap=COLOURS, vmin=-1, vmax=1, aspect="auto", interpolation="nearest"
    )
    axes.set_xticks(range(len(columns)), [label(text) for text in columns], rotation=90)
    axes.set_yticks(range(len(rows)), [label(text) for text in rows])
    bare(axes)
    if max(matrix.shape, default=0) <= MOST_NUMBERS:
        for row, column in zip(*np.nonzero(np.isfinite(matrix)), strict=True):
            value = matrix[row, column]
            colour = "white" if abs(value) > 0.65 else "black"
            axes.text(
                column, row, format_coefficient(value), ha="center", va="center", color=colour, fontsize=5
            )
    return image


def _scale(figure: "Figure", image: "AxesImage", axes: "Axes") -> None:
    rows = image.get_size()[0]
    bar = figure.colorbar(image, ax=axes, shrink=min(1.0, 8 / rows), aspect=14, pad=0.02, ticks=[-1, 0, 1])
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0)


def _tree(axes: "Axes", linkage: Floats, support: Floats | None) -> list[int]:
    """Draw the merges; the leaves from top to bottom."""
    from scipy.cluster.hierarchy import leaves_list

    order: list[int] = leaves_list(linkage).tolist()
    leaves = len(order)
    where = {leaf: (0.0, float(position)) for position, leaf in enumerate(order)}
    for merge, (first, second, height, _) in enumerate(linkage.tolist()):
        (left, above), (right, below) = where[int(first)], where[int(second)]
        axes.plot([left, height, height, right], [above, above, below, below], color=BLUE, linewidth=0.9)
        where[leaves + merge] = height, (above + below) / 2
        if support is not None and np.isfinite(support[merge]):
            _note(axes, where[leaves + merge], format_coefficient(support[merge]))
    farthest = max(1.0, float(linkage[:, 2].max()) * 1.05)
    axes.set_xlim(farthest, -0.01 * farthest)
    axes.set_ylim(leaves - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    return order


def _note(axes: "Axes", point: tuple[float, float], text: str) -> None:
    """A number beside a merge, on the side away from the leaves, where there is always room."""
    axes.annotate(text, point, (-2, 1.5), textcoords="offset points", fontsize=5, ha="right", va="bottom")
