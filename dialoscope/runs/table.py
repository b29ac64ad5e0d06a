"""The table of a run: systems × metrics, with notes on the numbers."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from dialoscope.core.errors import DialoscopeError
from dialoscope.core.render.document import (
    Report,
    choose_notes,
    describe_amounts,
    group,
    list_signatures,
)
from dialoscope.core.render.sections import Grid, GridCell, NoteLines, Quantity, Section, number
from dialoscope.core.safe_text import printable

_MEANS = {
    "replies": "Means are over replies: contexts with more replies count more (--mean contexts: alike).",
    "contexts": "Means are over contexts: each counts alike, however many replies it has.",
}
UNEQUAL = 1.1
"""Amounts are unequal if one is more than so many times another."""
BRIEF = 4
"""The number of values beside a value that a short note holds."""


def differ(*amounts: int) -> bool:
    """Whether amounts differ so much that metrics which depend on them are affected."""
    return max(amounts) > UNEQUAL * min(amounts)


class MetricTrust(NamedTuple):
    """The correlation of a metric with ratings, over rated corpora; NaN where it is not known."""

    spearman: float = math.nan
    low: float = math.nan
    high: float = math.nan
    corpora: int = 0
    told: str = ""
    """The same in words, or why it is not known."""

    @property
    def numbers(self) -> dict[str, float]:
        """The correlation as a record; empty where it is not known."""
        return {name: getattr(self, name) for name in self._fields[:-1]} if self.corpora else {}


@dataclass(frozen=True)
class Cell:
    """The value of one metric for one system."""

    system: str
    metric: str
    value: float
    low: float
    high: float
    replies: int
    items: int
    """Different contexts (or ids) they reply to."""
    undefined: int
    """Replies for which the metric has no value."""
    best: bool
    p: float | None
    """Significance of the difference to the best system, where it was asked for; NaN where it is unknown."""
    compared: int | None
    """The number of items that the two systems were compared on."""
    signature: str
    beside: Mapping[str, float] = field(default_factory=dict)
    """Numbers shown next to the value: the number of points, variation between random seeds."""
    depends_on: str = ""
    """The amount that must be equal for the metric: words or replies; empty for a mean of any kind."""
    amount: int = 0
    """The number of words or replies."""
    caution: str = ""
    """A warning about the value."""
    trust: Mapping[str, float] = field(default_factory=dict)
    """The correlation of the metric with ratings, where it was asked for and is known."""
    trust_told: str = ""
    """The same in words, or why it is not known."""


_OPTIONAL = ("p", "compared", "beside", "depends_on", "amount", "caution", "trust", "trust_told")
"""Columns that are left out where no cell has a value."""


@dataclass(frozen=True)
class Table(Report):
    """Cells, metric by metric, each with the systems in the same order."""

    cells: tuple[Cell, ...]
    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    confidence: float
    mean: str = ""
    """Whether means are over replies or contexts; empty where that is the same."""

    def cell(self, system: str, metric: str) -> Cell:
        """The cell of a system and a metric."""
        if system not in self.systems or metric not in self.metrics:
            names = ", ".join((*self.systems, *self.metrics))
            raise DialoscopeError(f"The table has no {metric} of {system}; it has: {names}.")
        return self.cells[self.metrics.index(metric) * len(self.systems) + self.systems.index(system)]

    def grid(self) -> Grid:
        """The values; the longer side goes down, unless the table is too wide."""
        trust = ["trust"] if self._shows_trust else []
        rows: list[list[GridCell]] = [
            [
                metric,
                *(_quantity(self.cell(system, metric)) for system in self.systems),
                *self._trust_of(metric),
            ]
            for metric in self.metrics
        ]
        grid = Grid(["", *self.systems, *trust], rows, turns=True)
        return grid if len(self.metrics) >= len(self.systems) else grid.transpose()

    def sections(self, *, notes: bool = False) -> list[Section]:
        """The values, and how to read them."""
        return [self.grid(), NoteLines(self.notes(details=notes))]

    def rows(self) -> list[dict[str, Any]]:
        """One record for each system and metric."""
        return [asdict(cell) for cell in self.cells]

    def columns(self) -> list[str]:
        """The names of a cell's values; optional ones only where some cell has them."""
        missing = [
            name for name in _OPTIONAL if all(getattr(cell, name) in (None, "", {}) for cell in self.cells)
        ]
        return [name for name in Cell.__dataclass_fields__ if name not in missing]

    def content(self) -> list[dict[str, Any]]:
        """The records without the columns that no cell has a value in."""
        names = self.columns()
        return [{name: row[name] for name in names} for row in self.rows()]

    def signatures(self) -> list[str]:
        """The signatures of the metrics, a line each."""
        return list_signatures((cell.metric, cell.signature) for cell in self.cells)

    def notes(self, *, details: bool = False) -> list[str]:
        """The few notes that every reader needs; or all, with the details of each system."""
        short = [
            *self._legend(),
            *(beside for metric in self.metrics if (beside := self._common_beside(metric))),
            *dict.fromkeys(printable(cell.caution) for cell in self.cells if cell.caution),
            *self._unequal(details=details),
            *self._note_undefined(),
        ]
        parts = list(dict.fromkeys(self._note_partial_comparison()))
        if any(cell.p is not None for cell in self.cells):
            short.append("p: paired test against the best system, not corrected for the number of tests.")
            short += parts if len(parts) == 1 else []
        more = [
            *filter(None, (self._beside_each(metric) for metric in self.metrics)),
            *self._note_undefined_by_system(),
            *self._unknown_trust(),
            *(parts if len(parts) > 1 else []),
        ]
        return choose_notes(short, more, details=details)

    def _own_sections(self, *, notes: bool) -> list[Section]:
        return self.sections(notes=True) if notes else [self.grid()]

    def _legend(self) -> Iterator[str]:
        best = ", * or bold: best system" if any(cell.best for cell in self.cells) else ""
        yield f"[low, high]: {100 * self.confidence:g}% interval{best}."
        if self.mean:
            yield _MEANS[self.mean]
        flat = [cell for cell in self.cells if math.isnan(cell.low) and not math.isnan(cell.value)]
        if any(cell.items > 1 and not cell.caution for cell in flat):
            yield "No interval: the value is the same for all contexts, or known of too few."
        if self._shows_trust:
            yield (
                "trust: Spearman's correlation with ratings of replies as a whole, over rated corpora; "
                "'dialoscope trust' shows each."
            )

    def _unequal(self, *, details: bool) -> Iterator[str]:
        """Metrics that depend on the number of words, where systems say unequally much."""
        groups: dict[tuple[str, tuple[int, ...]], list[str]] = {}
        for metric in self.metrics:
            cells = [self.cell(system, metric) for system in self.systems]
            amounts = tuple(cell.amount for cell in cells)
            if cells[0].depends_on and differ(*amounts):
                groups.setdefault((cells[0].depends_on, amounts), []).append(metric)
        for (kind, amounts), metrics in groups.items():
            yield describe_amounts(
                metrics, kind, dict(zip(self.systems, amounts, strict=True)), details=details
            )

    def _note_undefined(self) -> Iterator[str]:
        """Replies without a value: metrics that are undefined for the same number of them together."""
        counts = {metric: self._undefined_cells(metric) for metric in self.metrics}
        replies = sum(cell.replies for cell in self.cells[: len(self.systems)])
        alike = group(
            ((sum(cell.undefined for cell in cells), cells[0].system if len(cells) == 1 else ""), metric)
            for metric, cells in counts.items()
            if cells
        )
        for (undefined, system), metrics in alike.items():
            names = f"{', '.join(metrics)} {'is' if len(metrics) == 1 else 'are'}"
            of = next((cell.replies for cell in self.cells if cell.system == system), replies)
            whose = f" of {system}" if system else ""
            yield printable(f"{names} undefined for {undefined} of {of} replies{whose}.")

    def _note_undefined_by_system(self) -> Iterator[str]:
        """The numbers of replies without a value for each system, where there are several."""
        for metric in self.metrics:
            cells = self._undefined_cells(metric)
            if len(cells) > 1:
                each = ", ".join(f"{cell.undefined} of {cell.replies} of {cell.system}" for cell in cells)
                yield printable(f"{metric} is undefined for {each}.")

    def _undefined_cells(self, metric: str) -> list[Cell]:
        cells = (self.cell(system, metric) for system in self.systems)
        return [cell for cell in cells if cell.undefined]

    def _common_beside(self, metric: str) -> str:
        """The few numbers beside the values of a metric that are the same for all systems."""
        numbers = [self._beside(system, metric) for system in self.systems]
        if not numbers[0] or len(numbers[0]) > BRIEF or any(other != numbers[0] for other in numbers):
            return ""
        return printable(f"{metric}: {', '.join(numbers[0])}.")

    def _beside_each(self, metric: str) -> str:
        """The numbers beside the values of a metric, once for systems that have the same."""
        if self._common_beside(metric):
            return ""
        each = group((", ".join(self._beside(system, metric)), system) for system in self.systems)
        parts = [f"{', '.join(systems)}: {numbers}" for numbers, systems in each.items() if numbers]
        return printable(f"{metric} of {'; '.join(parts)}.") if parts else ""

    def _beside(self, system: str, metric: str) -> list[str]:
        beside = self.cell(system, metric).beside
        return [f"{name} {_brief(value)}" for name, value in beside.items() if name != "n"]

    def _note_partial_comparison(self) -> Iterator[str]:
        for cell in self.cells:
            if cell.compared is not None and cell.compared < cell.items:
                yield (
                    f"{printable(cell.system)} and the best system are compared on the {cell.compared} of "
                    f"{cell.items} contexts that both answered."
                )

    @property
    def _shows_trust(self) -> bool:
        return any(cell.trust_told for cell in self.cells)

    def _trust_of(self, metric: str) -> list[str]:
        """The last cell of a metric's row, where trust was asked for."""
        cell = self.cell(self.systems[0], metric)
        return [cell.trust_told if cell.trust else "–"] if self._shows_trust else []

    def _unknown_trust(self) -> Iterator[str]:
        """Why the trust of some metrics is not known."""
        unknown = [cell for cell in self.cells if cell.trust_told and not cell.trust]
        for why, metrics in group((cell.trust_told, cell.metric) for cell in unknown).items():
            yield printable(f"No trust of {', '.join(metrics)}: {why}.")


def best_of(scores: Mapping[str, float], higher_is_better: bool | None) -> str | None:
    """The system with the best score, where one end is the better one and there is a choice."""
    defined = {system: score for system, score in scores.items() if not math.isnan(score)}
    if higher_is_better is None or len(scores) < 2 or not defined:
        return None
    return (max if higher_is_better else min)(defined, key=lambda system: defined[system])


def _quantity(cell: Cell) -> Quantity:
    n = _brief(cell.beside["n"]) if "n" in cell.beside else ""
    return Quantity(cell.value, cell.low, cell.high, n=n, p=cell.p, best=cell.best)


def _brief(value: float) -> str:
    """A count as it is, any other number as in the table."""
    return f"{value:.0f}" if math.isfinite(value) and value == round(value) else number(value)
