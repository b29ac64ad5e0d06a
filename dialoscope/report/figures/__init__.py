"""Figures as files: functions over arrays and labels; nothing is computed here."""

from dialoscope.report.figures.drawing import check_file, save
from dialoscope.report.figures.forest import ForestRow, intervals
from dialoscope.report.figures.matrix import clustermap, dendrogram, heatmap
from dialoscope.report.figures.scattered import ScatterPanel, scatter

__all__ = [
    "ForestRow",
    "ScatterPanel",
    "check_file",
    "clustermap",
    "dendrogram",
    "heatmap",
    "intervals",
    "save",
    "scatter",
]
