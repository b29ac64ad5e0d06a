"""Pictures of what was found, as files: functions over arrays and labels; nothing is computed here."""

from dialoscope.report.figures.drawing import ready, save
from dialoscope.report.figures.forest import Row, intervals
from dialoscope.report.figures.matrix import clustermap, dendrogram, heatmap
from dialoscope.report.figures.scattered import Panel, scatter

__all__ = ["Panel", "Row", "clustermap", "dendrogram", "heatmap", "intervals", "ready", "save", "scatter"]
