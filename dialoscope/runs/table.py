"""A table of systems and metrics, in the forms people paste it into."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple
from unicodedata import combining, east_asian_width

from dialoscope.core.errors import DialoscopeError
from dialoscope.core.json_values import undefined_as_null
from dialoscope.core.render.document import gathered
from dialoscope.core.render.serialization import as_csv, as_json
from dialoscope.core.safe_text import cell_in_markdown, printable

_MEANS = {
    "replies": "Means are over replies: contexts with more replies count more (--mean contexts: alike).",
    "contexts": "Means are over contexts: each counts alike, however many replies it has.",
}
UNEQUAL = 1.1
"""Amounts of which one is so many times another are unequal."""


def differ(*amounts: int) -> bool:
    """Whether some systems say so much more than others that metrics which depend on that differ by it."""
    return max(amounts) > UNEQUAL * min(amounts)


class Bold(str):
    """A cell that Markdown shows in bold."""

    __slots__ = ()


class Trusted(NamedTuple):
    """How a metric goes with what people say, over rated corpora; NaN where that is not known."""

    spearman: float = math.nan
    low: float = math.nan
    high: float = math.nan
    corpora: int = 0
    told: str = ""
    """The same in words, or why it is not known."""

    @property
    def numbers(self) -> dict[str, float]:
        """What was measured; nothing where it was not."""
        return {name: getattr(self, name) for name in self._fields[:-1]} if self.corpora else {}


@dataclass(frozen=True)
class Cell:
    """What one metric says of one system."""

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
    """How many items the two systems were compared on."""
    signature: str
    beside: Mapping[str, float] = field(default_factory=dict)
    """What must be seen next to the value: from how many points it is, how much it varies by chance."""
    depends_on: str = ""
    """What the metric needs equally much of: words or replies; nothing where it is a mean of some kind."""
    amount: int = 0
    """The number of these."""
    caution: str = ""
    """Why the value should not be taken at its word."""
    trust: Mapping[str, float] = field(default_factory=dict)
    """How the metric goes with what people say, where it was asked for and is known."""
    trust_told: str = ""
    """The same in words, or why it is not known."""


_OPTIONAL = ("p", "compared", "beside", "depends_on", "amount", "caution", "trust", "trust_told")
"""What is left out where no cell has it."""


@dataclass(frozen=True)
class Table:
    """Cells, metric by metric, each with the systems in the same order."""

    cells: tuple[Cell, ...]
    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    confidence: float
    mean: str = ""
    """What means are over, replies or contexts; nothing where that is the same."""

    def cell(self, system: str, metric: str) -> Cell:
        """What the metric says of the system."""
        if system not in self.systems or metric not in self.metrics:
            known = ", ".join((*self.systems, *self.metrics))
            raise DialoscopeError(f"The table has no {metric} of {system}; it has: {known}.")
        return self.cells[self.metrics.index(metric) * len(self.systems) + self.systems.index(system)]

    def grid(self, best: Callable[[str], str] = str) -> list[list[str]]:
        """Texts with a head row and a head column; the longer side goes down, and `best` marks the best."""
        across = [["", *map(printable, self.systems), *self._trust_of(None)]]
        for metric in self.metrics:
            row = [self.cell(system, metric) for system in self.systems]
            texts = (best(_text(cell)) if cell.best else _text(cell) for cell in row)
            across.append([printable(metric), *texts, *self._trust_of(metric)])
        down = len(self.metrics) >= len(self.systems)
        return across if down else [list(row) for row in zip(*across, strict=True)]

    def text(self, width: int | None = None) -> str:
        """For a terminal or a mail; the best of each metric is starred. Columns that do not fit go below."""
        grid = self.grid(best="{} *".format)
        widths = [max(map(_width, column)) for column in zip(*grid, strict=True)]
        blocks: list[list[int]] = [[]]
        for place in range(1, len(widths)):
            used = widths[0] + sum(widths[other] + 2 for other in blocks[-1])
            if width is not None and blocks[-1] and used + widths[place] + 2 > width:
                blocks.append([])
            blocks[-1].append(place)
        return "\n\n".join(
            aligned([[row[place] for place in (0, *block)] for row in grid]) for block in blocks
        )

    def __str__(self) -> str:
        return self.text()

    def markdown(self) -> str:
        """For a README or an issue; the best of each metric is bold."""
        return marked_down(self.grid(best=Bold))

    def csv(self) -> str:
        """One line for each system and metric."""
        rows = [{name: _in_one(value) for name, value in row.items()} for row in self.rows()]
        return as_csv(rows, self._shown())

    def json(self) -> str:
        """A list of objects, undefined as null."""
        return as_json(self.records())

    def records(self) -> list[dict[str, Any]]:
        """The objects of `json`, with None for undefined numbers, without columns that no cell fills."""
        names = self._shown()
        return [{name: undefined_as_null(row[name]) for name in names} for row in self.rows()]

    def rows(self) -> list[dict[str, Any]]:
        """One record for each system and metric."""
        return [asdict(cell) for cell in self.cells]

    def notes(self) -> list[str]:
        """What a reader must know to read the table."""
        best = ", * or bold: best system" if any(cell.best for cell in self.cells) else ""
        notes = [f"[low, high]: {100 * self.confidence:g}% interval{best}."]
        if self.mean:
            notes.append(_MEANS[self.mean])
        flat = [cell for cell in self.cells if math.isnan(cell.low) and not math.isnan(cell.value)]
        if any(cell.items > 1 and not cell.caution for cell in flat):
            notes.append("No interval: the value is the same for all contexts, or known of too few.")
        undefined = [cell for cell in self.cells if cell.undefined]
        notes += [*filter(None, map(self._beside, self.metrics)), *self._trust_notes()]
        notes += dict.fromkeys(printable(cell.caution) for cell in self.cells if cell.caution)
        notes += self._unequal()
        notes += [
            f"{printable(cell.metric)} is undefined for {cell.undefined} of {cell.replies} replies "
            f"of {printable(cell.system)}."
            for cell in undefined[:10]
        ]
        if len(undefined) > 10:
            notes.append(f"… and for some replies in {len(undefined) - 10} more cells.")
        if self._tested():
            notes.append("p: paired test against the best system, not corrected for the number of tests.")
            notes += dict.fromkeys(self._compared_on_part())
        return notes

    def _unequal(self) -> Iterator[str]:
        """Metrics that depend on how much a system says, where systems say unequally much."""
        found: dict[tuple[str, tuple[int, ...]], list[str]] = {}
        for metric in self.metrics:
            cells = [self.cell(system, metric) for system in self.systems]
            amounts = tuple(cell.amount for cell in cells)
            if cells[0].depends_on and differ(*amounts):
                found.setdefault((cells[0].depends_on, amounts), []).append(printable(metric))
        for (what, amounts), metrics in found.items():
            each = ", ".join(
                f"{printable(system)} {amount}" for system, amount in zip(self.systems, amounts, strict=True)
            )
            yield f"{', '.join(metrics)} depend{'s' * (len(metrics) == 1)} on the number of {what}: {each}."

    def _beside(self, metric: str) -> str:
        """What stands beside the values of a metric, if anything, once for systems that have the same."""
        details = self._details(metric)
        if not details:
            return ""
        if len(details) == 1:
            return f"{printable(metric)}: {next(iter(details))}."
        parts = (f"{', '.join(map(printable, systems))}: {text}" for text, systems in details.items())
        return f"{printable(metric)} of {'; '.join(parts)}."

    def _details(self, metric: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for system in self.systems:
            beside = self.cell(system, metric).beside
            text = ", ".join(f"{name} {_brief(value)}" for name, value in beside.items() if name != "n")
            if text:
                found.setdefault(text, []).append(system)
        return found

    def _compared_on_part(self) -> Iterator[str]:
        for cell in self.cells:
            if cell.compared is not None and cell.compared < cell.items:
                yield (
                    f"{printable(cell.system)} and the best system are compared on the {cell.compared} of "
                    f"{cell.items} contexts that both answered."
                )

    def _trust_of(self, metric: str | None) -> list[str]:
        """A last column, where trust was asked for: its head, or what is known of a metric."""
        if not any(cell.trust_told for cell in self.cells):
            return []
        if metric is None:
            return ["trust"]
        cell = self.cell(self.systems[0], metric)
        return [printable(cell.trust_told) if cell.trust else "–"]

    def _trust_notes(self) -> Iterator[str]:
        """How to read the column, and why some of it is empty."""
        if self._trust_of(None):
            yield (
                "trust: Spearman's correlation with what people said of replies as a whole, over rated "
                "corpora; 'dialoscope trust' shows each."
            )
        unknown = [cell for cell in self.cells if cell.trust_told and not cell.trust]
        for why, named in gathered((cell.trust_told, cell.metric) for cell in unknown).items():
            yield printable(f"No trust of {', '.join(named)}: {why}.")

    def signatures(self) -> list[str]:
        """How each number was made."""
        return list(dict.fromkeys(printable(f"{cell.metric}: {cell.signature}") for cell in self.cells))

    def _shown(self) -> list[str]:
        """The columns of a list of cells."""
        missing = [
            name for name in _OPTIONAL if not any(_is_there(getattr(cell, name)) for cell in self.cells)
        ]
        return [name for name in Cell.__dataclass_fields__ if name not in missing]

    def _tested(self) -> bool:
        return any(cell.p is not None for cell in self.cells)


def aligned(grid: Sequence[Sequence[str]]) -> str:
    """Rows of texts, the first a head, in columns as wide as what they hold."""
    widths = [max(map(_width, column)) for column in zip(*grid, strict=True)]
    lines = ["  ".join(map(_filled, row, widths)).rstrip() for row in grid]
    return "\n".join([lines[0], "  ".join("─" * width for width in widths), *lines[1:]])


def marked_down(grid: Sequence[Sequence[str]]) -> str:
    """Rows of texts, the first a head, as a table in Markdown."""
    rows = ["| " + " | ".join(map(_marked, row)) + " |" for row in grid]
    return "\n".join([rows[0], "|---" * len(grid[0]) + "|", *rows[1:]])


def _marked(cell: str) -> str:
    plain = cell_in_markdown(cell)
    return f"**{plain}**" if isinstance(cell, Bold) else plain


def _width(text: str) -> int:
    """The columns a text takes on a screen: East Asian characters take two, marks none."""
    return sum(2 if east_asian_width(c) in "WF" else not combining(c) for c in text)


def _filled(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def best_of(scores: Mapping[str, float], higher_is_better: bool | None) -> str | None:
    """The system with the best score, where one end is the better one and there is a choice."""
    defined = {system: score for system, score in scores.items() if not math.isnan(score)}
    if higher_is_better is None or len(scores) < 2 or not defined:
        return None
    return (max if higher_is_better else min)(defined, key=lambda system: defined[system])


def _text(cell: Cell) -> str:
    value = number(cell.value)
    if not math.isnan(cell.low):
        value += f" [{number(cell.low)}, {number(cell.high)}]"
    if "n" in cell.beside:
        value += f" n={_brief(cell.beside['n'])}"
    return value if cell.p is None else f"{value} {_p(cell.p)}"


def _p(p: float) -> str:
    text = chance(p)
    return f"p{text}" if text.startswith("<") else f"p={text}"


def chance(p: float) -> str:
    """A p-value as papers write it: .012, <.001."""
    if math.isnan(p):
        return "–"
    return "<.001" if p < 0.001 else f"{p:.3f}".replace("0.", ".")


def number(value: float) -> str:
    """Enough digits to tell systems apart, no more."""
    if math.isnan(value):
        return "–"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def _brief(value: float) -> str:
    """A count as it is, any other number as in the table."""
    return f"{value:.0f}" if math.isfinite(value) and value == round(value) else number(value)


def _is_there(value: object) -> bool:
    return value is not None and value != "" and value != {}


def _in_one(value: object) -> object:
    """Several numbers as one text."""
    if not isinstance(value, dict):
        return value
    return " ".join(f"{name}={'' if math.isnan(one) else f'{one:.10g}'}" for name, one in value.items())
