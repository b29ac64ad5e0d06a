"""The parts of reports: grids of typed cells, notes and paragraphs. Renderers escape their texts."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace


def number(value: float) -> str:
    """Format a number with enough digits to distinguish systems."""
    if math.isnan(value):
        return "–"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def p_value(p: float) -> str:
    """Format a p-value as in papers: .012, <.001."""
    if math.isnan(p):
        return "–"
    return "<.001" if p < 0.001 else f"{p:.3f}".replace("0.", ".")


@dataclass(frozen=True)
class Quantity:
    """A number in a table with its interval and p-value; NaN where it is undefined."""

    value: float
    low: float = math.nan
    high: float = math.nan
    form: Callable[[float], str] = number
    """The function that formats the value and the ends of its interval."""
    n: str = ""
    """The number of points, where it is shown."""
    p: float | None = None
    best: bool = False
    """Whether it is marked as the best of its kind."""

    def __str__(self) -> str:
        text = self.form(self.value)
        if not math.isnan(self.low):
            text += f" [{self.form(self.low)}, {self.form(self.high)}]"
        if self.n:
            text += f" n={self.n}"
        if self.p is None:
            return text
        p = p_value(self.p)
        return f"{text} p{p}" if p.startswith("<") else f"{text} p={p}"


class CodeCell(str):
    """A text such as a command, shown as code."""

    __slots__ = ()


@dataclass(frozen=True)
class LinkCell:
    """A text with a link, where the form has links."""

    text: str
    target: str

    def __str__(self) -> str:
        return self.text


GridCell = str | Quantity | LinkCell


@dataclass(frozen=True)
class Grid:
    """A table: a head row, and rows of as many cells."""

    head: Sequence[str]
    rows: Sequence[Sequence[GridCell]]
    title: str = ""
    stub: int = 1
    """The number of columns that name a row, and are repeated where the table is cut."""
    picture: bool = False
    """Whether the columns are drawn with characters, which text alone can show."""
    turns: bool = False
    """Whether rows and columns may change places where the table is too wide; only with a stub of 1."""

    def transpose(self) -> "Grid":
        """The table with rows and columns exchanged."""
        columns = zip(*self.rows, strict=True)
        head, *rows = ([name, *cells] for name, cells in zip(self.head, columns, strict=True))
        return replace(self, head=[str(cell) for cell in head], rows=rows)


@dataclass(frozen=True)
class NoteLines:
    """Sentences, a line each."""

    lines: Sequence[str]
    title: str = ""
    bullets: bool = False
    """Whether plain text shows them as a list, as Markdown always does."""


class Paragraph(str):
    """A line between two tables."""

    __slots__ = ()


Section = Grid | NoteLines | Paragraph
