"""Sections as plain text: aligned columns, which continue below where they do not fit."""

from collections.abc import Iterable, Sequence
from unicodedata import combining, east_asian_width

from dialoscope.core.render.sections import Grid, GridCell, Paragraph, Quantity, Section
from dialoscope.core.safe_text import printable


def render_text(sections: Iterable[Section], width: int | None = None) -> str:
    """The sections one below the other, tables no wider than so many columns where a cell leaves a choice."""
    return "\n\n".join(_render(section, width) for section in sections)


def _render(section: Section, width: int | None) -> str:
    if isinstance(section, Paragraph):
        return printable(section)
    if isinstance(section, Grid):
        lines = _table(section, width)
    else:
        lines = [f"- {printable(line)}" if section.bullets else printable(line) for line in section.lines]
    return "\n".join([printable(section.title), *lines] if section.title else lines)


def _table(grid: Grid, width: int | None) -> list[str]:
    """The lines of a table, of the shorter of its two orientations where it does not fit."""
    blocks = _blocks(grid, width)
    if grid.turns and len(blocks) > 1:
        turned = _blocks(grid.transpose(), width)
        if sum(map(len, turned)) < sum(map(len, blocks)):
            blocks = turned
    return [line for number, block in enumerate(blocks) for line in ([""] * bool(number) + block)]


def _blocks(grid: Grid, width: int | None) -> list[list[str]]:
    """The table cut between columns, each part with the columns that name the rows."""
    texts = [[printable(name) for name in grid.head], *(list(map(_text, row)) for row in grid.rows)]
    widths = [max(map(columns_of, column)) for column in zip(*texts, strict=True)]
    stub = list(range(grid.stub))
    blocks: list[list[int]] = [[]]
    for column in range(grid.stub, len(widths)):
        used = sum(widths[other] + 2 for other in (*stub, *blocks[-1]))
        if width is not None and blocks[-1] and used + widths[column] > width:
            blocks.append([])
        blocks[-1].append(column)
    return [_align([[row[column] for column in (*stub, *block)] for row in texts]) for block in blocks]


def _align(texts: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(columns_of, column)) for column in zip(*texts, strict=True)]
    lines = [
        "  ".join(text + " " * (width - columns_of(text)) for text, width in zip(row, widths, strict=True))
        for row in texts
    ]
    head, *rows = (line.rstrip() for line in lines)
    return [head, "  ".join("─" * width for width in widths), *rows]


def _text(cell: GridCell) -> str:
    text = printable(str(cell))
    return f"{text} *" if isinstance(cell, Quantity) and cell.best else text


def columns_of(text: str) -> int:
    """The columns a text takes on a screen: East Asian characters take two, marks none."""
    return sum(2 if east_asian_width(c) in "WF" else not combining(c) for c in text)
