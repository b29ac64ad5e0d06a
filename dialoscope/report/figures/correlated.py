"""How metrics agree with people, drawn: dots of replies, intervals, or a coefficient for each aspect."""

from typing import TYPE_CHECKING

import numpy as np

from dialoscope.analysis.coefficients import format_interval
from dialoscope.analysis.correlation.correlation_report import Correlations
from dialoscope.analysis.correlation.estimates import Correlation, Kind, capitalize_name
from dialoscope.core.errors import DialoscopeError
from dialoscope.report.figures.forest import ForestRow, intervals
from dialoscope.report.figures.matrix import heatmap
from dialoscope.report.figures.scattered import ScatterPanel, scatter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = ("scatter", "intervals", "heatmap")
MOST_PANELS = 48
"""More dots than these nobody looks at; the metrics that follow people best are drawn."""


def draw_correlations(found: Correlations, kind: str = "scatter") -> "Figure":
    """A figure of one of the kinds."""
    check_kind(kind)
    return {"scatter": _scatter, "intervals": _intervals, "heatmap": _heatmap}[kind](found)


def check_kind(kind: str) -> None:
    """Say so where there is no such figure."""
    if kind not in KINDS:
        raise DialoscopeError(f"There is no figure '{kind}'. Choose from: {', '.join(KINDS)}.")


def _scatter(found: Correlations) -> "Figure":
    """The replies themselves, so that those metrics are left out that have no value for a reply."""
    panel, each = found.panel, max(1, MOST_PANELS // len(found.aspects))
    places = {one.name: place for place, one in enumerate(panel.columns)}
    chosen = [
        (one, at)
        for at, aspect in enumerate(panel.aspects)
        for one in [cell for cell in found.ranked(aspect) if cell.metric in places][:each]
    ]
    if not chosen:
        raise DialoscopeError(
            "No metric has a value for a reply, so that there are no dots to draw; choose --figure intervals "
            "or heatmap."
        )
    return scatter(
        [
            ScatterPanel(one.metric, one.aspect, panel.x[:, places[one.metric]], panel.y[:, at], _told(one))
            for one, at in chosen
        ]
    )


def _intervals(found: Correlations) -> "Figure":
    several = len(found.aspects) > 1
    rows = [
        ForestRow(cell.metric, cell.value, cell.low, cell.high, cell.aspect if several else "", cell.ceiling)
        for aspect in found.aspects
        for cell in found.ranked(aspect.name)
    ]
    title = "" if several else found.aspects[0].name
    return intervals(rows, f"{capitalize_name(found.settings.main)} {found.settings.kinds[0].title}", title)


def _heatmap(found: Correlations) -> "Figure":
    ranked = {
        aspect.name: {cell.metric: cell for cell in found.ranked(aspect.name)} for aspect in found.aspects
    }
    metrics = list(ranked[found.aspects[0].name])
    values = [[by_metric[metric].value for by_metric in ranked.values()] for metric in metrics]
    matrix = np.array(values, float).reshape(len(metrics), len(ranked))
    title = f"{capitalize_name(found.settings.main)} {found.settings.kinds[0].title}"
    return heatmap(matrix, metrics, list(ranked), title)


def _told(one: Correlation) -> str:
    if one.kind != Kind("reply", "overall"):
        return ""  # a coefficient of something else than the dots
    return f"{capitalize_name(one.coefficient)} {format_interval(one.value, one.low, one.high)}"
