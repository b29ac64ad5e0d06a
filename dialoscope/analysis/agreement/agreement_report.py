"""How the metrics of a run agree with each other, in the forms people read and plot."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from dialoscope.analysis.agreement.advice import Advice
from dialoscope.analysis.agreement.clustered import Group, View
from dialoscope.analysis.agreement.text_tree import drawing
from dialoscope.analysis.coefficients import short
from dialoscope.analysis.estimate import UNKNOWN, Estimate
from dialoscope.core.render.document import Report
from dialoscope.core.render.serialization import as_csv, as_json
from dialoscope.core.safe_text import listed_in_markdown, plain_in_markdown, printable
from dialoscope.runs.table import aligned, marked_down


@dataclass(frozen=True)
class About:
    """What is known of one metric."""

    metric: str
    signature: str
    higher_is_better: bool | None
    replies: int
    """For how many it has a value."""
    alike: float
    """The share of them that have its commonest value."""
    length: Estimate
    """How it goes with length (Spearman), sign kept."""
    people: Estimate
    """How it goes with people who rated these replies, sign kept."""
    elsewhere: Estimate
    """Spearman's coefficient with people over the corpora of the shipped table of trust, sign kept."""
    how: str = ""
    """What must be known of the figures with people: that the metric learned from these very ratings."""

    def record(self) -> dict[str, Any]:
        """For programs."""
        estimates = {name: getattr(self, name).numbers for name in ("length", "people", "elsewhere")}
        return {**asdict(self), **estimates}


@dataclass(frozen=True)
class LeftOut:
    """A metric that cannot be compared, and why."""

    metric: str
    why: str


@dataclass(frozen=True)
class Settings:
    """How it was made."""

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
    """What is held constant; empty where nothing is."""
    aspect: str
    """What people rated; empty where they did not."""


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Report):
    """Which metrics go together, which do so because of length alone, and what to make of it."""

    settings: Settings
    metrics: tuple[About, ...]
    plain: View
    without_length: View | None
    """The same with length held constant."""
    left_out: tuple[LeftOut, ...]
    advice: tuple[Advice, ...]
    notes: tuple[str, ...]
    """What a reader must know."""

    def text(self) -> str:
        """For a terminal: heatmap and dendrogram side by side, the clusters, advice, and how to read them."""
        tables = [f"{head}\n\n{aligned(grid)}" if grid else head for head, grid in self._grids().items()]
        advised = "\n".join(["Advice:", *(f"- {one.sentence}" for one in self.advice)])
        return "\n\n".join([_picture(self.plain, self.settings.cut), *tables, advised, "\n".join(self.notes)])

    def markdown(self) -> str:
        """The clusters as tables, advice and notes as lists."""
        tables = [
            f"{plain_in_markdown(head)}\n\n{marked_down(grid)}" if grid else plain_in_markdown(head)
            for head, grid in self._grids().items()
        ]
        lists = ([one.sentence for one in self.advice], self.notes)
        advised, notes = ("\n".join(listed_in_markdown(lines)) for lines in lists)
        return "\n\n".join([*tables, "Advice:", advised, notes])

    def csv(self) -> str:
        """One line for each pair of metrics, in the order of the dendrogram: what a heatmap is made from."""
        rows = self.rows()
        return as_csv(rows, list(rows[0]))

    def json(self) -> str:
        """Everything, undefined as null."""
        found = {
            **asdict(self.settings),
            "metrics": [one.record() for one in self.metrics],
            **_told(self.plain),
            "pairs": self.rows(),
            "without_length": None if self.without_length is None else _told(self.without_length),
            "left_out": [asdict(one) for one in self.left_out],
            "advice": [asdict(one) for one in self.advice],
            "notes": self.notes,
        }
        return as_json(found)

    def rows(self) -> list[dict[str, Any]]:
        """One record for each pair of metrics, in the order of the dendrogram."""
        return [self._pair(i, j) for i, j in combinations(self.plain.tree.order.tolist(), 2)]

    def __repr__(self) -> str:
        return f"<Agreement: {len(self.metrics)} metrics, {len(self.plain.groups)} clusters>"

    def _pair(self, i: int, j: int) -> dict[str, Any]:
        first, second = (self.plain.names[place] for place in (i, j))
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

    def _grids(self) -> dict[str, list[list[str]]]:
        """The clusters as texts with a head row, by what stands above; when length is held, what is new."""
        grids = {f"Clusters at distance {self.settings.cut:g}:": _grid(self.plain.groups)}
        rest = self.without_length
        if rest is not None:
            before = {frozenset(one.metrics) & set(rest.names) for one in self.plain.groups}
            new = [one for one in rest.groups if frozenset(one.metrics) not in before]
            told = f"With {printable(self.settings.length)} held constant {len(rest.groups) - len(new)} of "
            told += f"{len(rest.groups)} clusters are the same{'; these are others:' if new else '.'}"
            grids[told] = _grid(new) if new else []
        return grids


def _grid(groups: Sequence[Group]) -> list[list[str]]:
    return [["mean r", "weakest", "stability", "just so", "cluster"], *map(_row, groups)]


def _row(one: Group) -> list[str]:
    names = ", ".join(map(printable, one.metrics))
    exact = "–" if math.isnan(one.stability.exact) else f"{100 * one.stability.exact:.0f} %"
    return [str(one.r), short(one.weakest), short(one.stability.jaccard), exact, names]


def _picture(view: View, cut: float) -> str:
    """The coefficients as shades, the metrics, and how they come together."""
    shades, tree = view.heatmap(), drawing(view.tree, cut)
    columns = (
        ["r", *shades],
        ["metric", *map(printable, view.order)],
        [f"distance 1 - r, cut at {cut:g}", *tree],
    )
    return aligned(list(zip(*columns, strict=True)))


def _told(view: View) -> dict[str, Any]:
    """A view for programs."""
    return {
        "order": view.order,
        "clusters": [
            {"metrics": one.metrics, **one.r.numbers, "weakest": one.weakest, **one.stability._asdict()}
            for one in view.groups
        ],
        "merges": view.merges(),
    }
