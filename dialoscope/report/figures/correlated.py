"""Figures of correlations with people: dots of replies, intervals, or a coefficient for each aspect."""

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
"""The most panels of a figure; those of the metrics that correlate best with people are drawn."""


def draw_correlations(correlations: Correlations, kind: str = "scatter") -> "Figure":
    """Draw a figure of one of the kinds."""
    check_kind(kind)
    return {"scatter": _scatter, "intervals": _intervals, "heatmap": _heatmap}[kind](correlations)


def check_kind(kind: str) -> None:
    """Refuse a kind of figure that does not exist."""
    if kind not in KINDS:
        raise DialoscopeError(f"There is no figure '{kind}'. Choose from: {', '.join(KINDS)}.")


def _scatter(correlations: Correlations) -> "Figure":
    """Dots of replies, without the metrics that have no value for a reply."""
    panel, each = correlations.panel, max(1, MOST_PANELS // len(correlations.aspects))
    places = {column.name: index for index, column in enumerate(panel.columns)}
    chosen = [
        (cell, at)
        for at, aspect in enumerate(panel.aspects)
        for cell in [cell for cell in correlations.ranked(aspect) if cell.metric in places][:each]
    ]
    if not chosen:
        raise DialoscopeError(
            "No metric has a value for a reply, so that there are no dots to draw; choose --figure intervals "
            "or heatmap."
        )
    return scatter(
        [
            ScatterPanel(
                cell.metric,
                cell.aspect,
                panel.x[:, places[cell.metric]],
                panel.y[:, at],
                _describe_coefficient(cell),
            )
            for cell, at in chosen
        ]
    )


def _intervals(correlations: Correlations) -> "Figure":
    several = len(correlations.aspects) > 1
    rows = [
        ForestRow(cell.metric, cell.value, cell.low, cell.high, cell.aspect if several else "", cell.ceiling)
        for aspect in correlations.aspects
        for cell in correlations.ranked(aspect.name)
    ]
    title = "" if several else correlations.aspects[0].name
    return intervals(
        rows, f"{capitalize_name(correlations.settings.main)} {correlations.settings.kinds[0].title}", title
    )


def _heatmap(correlations: Correlations) -> "Figure":
    ranked = {
        aspect.name: {cell.metric: cell for cell in correlations.ranked(aspect.name)}
        for aspect in correlations.aspects
    }
    metrics = list(ranked[correlations.aspects[0].name])
    values = [[by_metric[metric].value for by_metric in ranked.values()] for metric in metrics]
    matrix = np.array(values, float).reshape(len(metrics), len(ranked))
    title = f"{capitalize_name(correlations.settings.main)} {correlations.settings.kinds[0].title}"
    return heatmap(matrix, metrics, list(ranked), title)


def _describe_coefficient(cell: Correlation) -> str:
    if cell.kind != Kind("reply", "overall"):
        return ""  # a coefficient of something else than the dots
    return f"{capitalize_name(cell.coefficient)} {format_interval(cell.value, cell.low, cell.high)}"
