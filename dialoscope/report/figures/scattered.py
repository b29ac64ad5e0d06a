"""Scatter plots of a metric against ratings, reply by reply."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dialoscope.core.arrays import Floats
from dialoscope.report.figures.drawing import BLUE, ORANGE, canvas, label, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIDE, BESIDE, BELOW = 1.7, 0.62, 0.78
"""Inches of a panel, and between two."""
MOST_DOTS = 100_000
"""A random part of more dots than this is drawn, since files of millions of circles cannot be opened."""
JITTER = 0.012
"""Dots are moved sideways by up to this share of the axis: means of few raters fall on few values."""


class ScatterPanel(NamedTuple):
    """One metric and one rated aspect."""

    metric: str
    aspect: str
    values: Floats
    """The value of the metric for each reply; NaN where it is undefined."""
    ratings: Floats
    """The mean rating of the same replies."""
    told: str = ""
    """The text above the dots, such as "ρ .42 [.35, .49]"."""


@look()
def scatter(panels: Sequence[ScatterPanel], columns: int = 4) -> "Figure":
    """A grid of panels, row by row: dots with jitter, and the least-squares line through the true places."""
    across = max(1, min(columns, len(panels)))
    down = max(1, math.ceil(len(panels) / across))
    width, height = across * (SIDE + BESIDE) + 0.1, down * (SIDE + BELOW)
    figure = canvas(width, height, layout=None)
    for index, panel in enumerate(panels):
        row, column = divmod(index, across)
        left, top = column * (SIDE + BESIDE) + BESIDE, row * (SIDE + BELOW) + 0.4
        axes = figure.add_axes((left / width, 1 - (top + SIDE) / height, SIDE / width, SIDE / height))
        _draw(axes, panel, MOST_DOTS // len(panels))
    return figure


def _draw(axes: "Axes", panel: ScatterPanel, most: int) -> None:
    axes.set_title(f"{label(panel.metric, 26)}\n{label(panel.told, 40)}".strip(), fontsize=7.5, pad=3)
    axes.set_xlabel(label(panel.aspect, 30), labelpad=1)
    axes.locator_params(nbins=5)
    defined = np.isfinite(panel.values) & np.isfinite(panel.ratings)
    x, y = panel.ratings[defined], panel.values[defined]
    if not len(x):
        axes.text(0.5, 0.5, "no rated replies\nwith a value", ha="center", va="center", color="#666666")
        axes.set_xticks([])
        axes.set_yticks([])
        return
    rng = np.random.default_rng(0)
    drawn = np.arange(len(x)) if len(x) <= most else rng.choice(len(x), most, replace=False)
    moved = x[drawn] + rng.uniform(-JITTER, JITTER, len(drawn)) * (np.ptp(x) or 1)
    faint, size = min(0.6, max(0.08, 60 / len(drawn))), 7 if len(drawn) <= 500 else 4
    axes.scatter(moved, y[drawn], s=size, color=BLUE, alpha=faint, linewidths=0)
    if len(x) > 2 and np.ptp(x) > 0:
        ends = np.array([x.min(), x.max()])
        slope, start = np.polyfit(x, y, 1)
        axes.plot(ends, slope * ends + start, color=ORANGE, linewidth=1.2)
