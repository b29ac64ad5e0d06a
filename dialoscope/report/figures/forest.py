"""Numbers with their intervals, one below the other."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from dialoscope.report.figures.drawing import BLUE, GREY, ORANGE, canvas, label, look, width_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINE = 0.19
"""The height of a row in inches."""


class ForestRow(NamedTuple):
    """A number with its interval."""

    label: str
    value: float
    low: float
    high: float
    group: str = ""
    """The heading above the rows of one group, which follow each other."""
    ceiling: float = math.nan
    """The largest value that could be reached, drawn as a dash."""


@look()
def intervals(rows: Sequence[ForestRow], axis: str = "", title: str = "") -> "Figure":
    """A forest plot: dots with bars, a line at 0, dashes at what could be reached."""
    groups = list(dict.fromkeys(row.group for row in rows))
    headings = len(groups) if groups != [""] else 0
    beside = width_of([label(row.label) for row in rows])
    figure = canvas(beside + 3.6, LINE * (len(rows) + headings) + 0.75)
    axes = figure.add_subplot()
    _draw(axes, rows, headings=bool(headings))
    axes.axvline(0, color=GREY, linewidth=0.6, zorder=0)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(rows) + headings - 0.4, -0.6)
    dashes = "dashes: the most that could be reached" if any(math.isfinite(r.ceiling) for r in rows) else ""
    axes.set_xlabel("\n".join(filter(None, [label(axis, 80), dashes])))
    if title:
        axes.set_title(label(title, 80))
    return figure


def _draw(axes: "Axes", rows: Sequence[ForestRow], *, headings: bool) -> None:
    places, names = [], []
    y, group = 0, None
    for row in rows:
        if headings and row.group != group:
            text = label(row.group, 50)
            axes.text(0, y, text, transform=axes.get_yaxis_transform(), fontweight="bold", va="center")
            y, group = y + 1, row.group
        _bar(axes, row, y)
        places.append(y)
        names.append(label(row.label))
        y += 1
    axes.set_yticks(places, names)


def _bar(axes: "Axes", row: ForestRow, y: int) -> None:
    if math.isfinite(row.ceiling):
        axes.plot([row.ceiling] * 2, [y - 0.5, y + 0.5], color=ORANGE, linewidth=1, linestyle=(0, (2, 1)))
    if not math.isfinite(row.value):
        axes.text(0, y, " undefined", color="#666666", fontsize=6, va="center")
        return
    if math.isfinite(row.low) and math.isfinite(row.high):
        axes.plot([row.low, row.high], [y, y], color=BLUE, linewidth=1.2, solid_capstyle="butt")
    axes.plot([row.value], [y], color=BLUE, marker="o", markersize=3.2, linestyle="none")
