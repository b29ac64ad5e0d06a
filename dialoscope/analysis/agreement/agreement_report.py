"""The report of the agreement of metrics."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from dialoscope.analysis.agreement.advice import Advice
from dialoscope.analysis.agreement.clustered import Group, View
from dialoscope.analysis.agreement.text_tree import draw_tree
from dialoscope.analysis.coefficients import format_coefficient
from dialoscope.analysis.estimate import UNKNOWN, Estimate
from dialoscope.core.render.document import Report, choose_notes
from dialoscope.core.render.sections import Grid, GridCell, NoteLines, Paragraph, Section


@dataclass(frozen=True)
class MetricSummary:
    """The statistics of one metric."""

    metric: str
    signature: str
    higher_is_better: bool | None
    replies: int
    """The number of replies with a value."""
    alike: float
    """The share of them that have its commonest value."""
    length: Estimate
    """Its correlation with length (Spearman), with its sign."""
    people: Estimate
    """Its correlation with ratings of these replies, with its sign."""
    elsewhere: Estimate
    """Spearman's coefficient with people over the corpora of the shipped table of trust, sign kept."""
    how: str = ""
    """A note on the correlations with ratings: that the metric was trained on these ratings."""

    def record(self) -> dict[str, Any]:
        """The statistics as a record."""
        estimates = {name: getattr(self, name).numbers for name in ("length", "people", "elsewhere")}
        return {**asdict(self), **estimates}


@dataclass(frozen=True)
class ExcludedMetric:
    """A metric that cannot be compared, and why."""

    metric: str
    why: str


@dataclass(frozen=True)
class AgreementSettings:
    """The settings of the agreement of metrics, and the number of replies and contexts."""

    coefficient: str
    cut: float
    draws: int
    confidence: float
    seed: int
    system: str
    """Whose replies; empty for everybody's."""
    replies: int
    contexts: int
    length: str
    """The metric that is held constant; empty where there is none."""
    aspect: str
    """The rated aspect; empty where replies are not rated."""


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Report):
    """The agreement of metrics, with and without length held constant, and advice."""

    settings: AgreementSettings
    metrics: tuple[MetricSummary, ...]
    plain: View
    without_length: View | None
    """The same with length held constant."""
    left_out: tuple[ExcludedMetric, ...]
    advice: tuple[Advice, ...]
    about: tuple[str, ...]
    """The short notes."""
    reading: tuple[str, ...]
    """Explanations of the columns."""

    def notes(self, *, details: bool = False) -> list[str]:
        """The notes: all of them, or the short ones."""
        return choose_notes(self.about, self.reading, details=details)

    def sections(self, *, notes: bool = False) -> list[Section]:
        """Heatmap and dendrogram side by side, the clusters, advice, and how to read them."""
        advice = NoteLines([advice.sentence for advice in self.advice], title="Advice:", bullets=True)
        picture = _picture(self.plain, self.settings.cut)
        return [picture, *self._clusters(), advice, NoteLines(self.notes(details=notes))]

    def content(self) -> dict[str, Any]:
        """The content of the JSON form."""
        return {
            **asdict(self.settings),
            "metrics": [metric.record() for metric in self.metrics],
            **_view_record(self.plain),
            "pairs": self.rows(),
            "without_length": None if self.without_length is None else _view_record(self.without_length),
            "left_out": [asdict(metric) for metric in self.left_out],
            "advice": [asdict(advice) for advice in self.advice],
            "notes": [*self.about, *self.reading],
        }

    def rows(self) -> list[dict[str, Any]]:
        """One record for each pair of metrics, in the order of the dendrogram."""
        return [self._pair(i, j) for i, j in combinations(self.plain.tree.order.tolist(), 2)]

    def __repr__(self) -> str:
        return f"<Agreement: {len(self.metrics)} metrics, {len(self.plain.groups)} clusters>"

    def _pair(self, i: int, j: int) -> dict[str, Any]:
        first, second = self.plain.names[i], self.plain.names[j]
        rest = UNKNOWN
        if self.without_length is not None and {first, second} <= set(self.without_length.names):
            rest = self.without_length.estimate(*map(self.without_length.names.index, (first, second)))
        return {
            "first": first,
            "second": second,
            **self.plain.estimate(i, j).numbers,
            "n": int(self.plain.n[i, j]),
            "why": self.plain.why_undefined(i, j),
            "distance": float(self.plain.distances[i, j]),
            **{f"without_length_{name}": value for name, value in rest.numbers.items()},
        }

    def _clusters(self) -> list[Section]:
        """The clusters, and those that are others when length is held constant."""
        head = Paragraph(f"Clusters at distance {self.settings.cut:g}:")
        sections: list[Section] = [head, _grid(self.plain.groups)]
        rest = self.without_length
        if rest is None:
            return sections
        before = {frozenset(cluster.metrics) & set(rest.names) for cluster in self.plain.groups}
        new = [cluster for cluster in rest.groups if frozenset(cluster.metrics) not in before]
        sections.append(
            Paragraph(
                f"With {self.settings.length} held constant {len(rest.groups) - len(new)} of "
                f"{len(rest.groups)} clusters are the same{'; these are others:' if new else '.'}"
            )
        )
        return [*sections, _grid(new)] if new else sections


def _grid(groups: Sequence[Group]) -> Grid:
    return Grid(["mean r", "weakest", "stability", "just so", "cluster"], list(map(_row, groups)))


def _row(cluster: Group) -> list[GridCell]:
    exact = cluster.stability.exact
    return [
        cluster.r.quantity,
        format_coefficient(cluster.weakest),
        format_coefficient(cluster.stability.jaccard),
        "–" if math.isnan(exact) else f"{100 * exact:.0f} %",
        ", ".join(cluster.metrics),
    ]


def _picture(view: View, cut: float) -> Grid:
    """The coefficients as shades, the metrics, and the dendrogram."""
    rows = list(zip(view.heatmap(), view.order, draw_tree(view.tree, cut), strict=True))
    return Grid(["r", "metric", f"distance 1 - r, cut at {cut:g}"], rows, picture=True)


def _view_record(view: View) -> dict[str, Any]:
    """The record of a view."""
    return {
        "order": view.order,
        "clusters": [
            {
                "metrics": cluster.metrics,
                **cluster.r.numbers,
                "weakest": cluster.weakest,
                **cluster.stability._asdict(),
            }
            for cluster in view.groups
        ],
        "merges": view.merges(),
    }
