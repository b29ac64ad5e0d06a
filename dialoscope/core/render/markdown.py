"""Sections as Markdown."""

from collections.abc import Iterable, Iterator

from dialoscope.core.render.sections import CodeCell, Grid, GridCell, LinkCell, Paragraph, Quantity, Section
from dialoscope.core.safe_text import cell_in_markdown, list_in_markdown, plain_in_markdown


def render_markdown(sections: Iterable[Section]) -> str:
    """Tables, lists and paragraphs; lists that follow each other are one."""
    parts: list[str] = []
    follows_list = False
    for section in sections:
        if isinstance(section, Grid) and section.picture:
            continue
        is_list = not isinstance(section, (Grid, Paragraph)) and not section.title
        text = "\n\n".join(_blocks(section))
        if is_list and follows_list:
            parts[-1] += f"\n{text}"
        else:
            parts.append(text)
        follows_list = is_list
    return "\n\n".join(parts)


def _blocks(section: Section) -> Iterator[str]:
    if isinstance(section, Paragraph):
        yield plain_in_markdown(section)
        return
    if section.title:
        yield plain_in_markdown(section.title)
    yield (
        markdown_table(section) if isinstance(section, Grid) else "\n".join(list_in_markdown(section.lines))
    )


def markdown_table(grid: Grid) -> str:
    """A table, the best of each metric in bold."""
    head, *rows = ("| " + " | ".join(map(_cell, row)) + " |" for row in (grid.head, *grid.rows))
    return "\n".join([head, "|---" * len(grid.head) + "|", *rows])


def _cell(cell: GridCell) -> str:
    text = cell_in_markdown(str(cell))
    if isinstance(cell, CodeCell):
        return f"`{text}`"
    if isinstance(cell, LinkCell):
        return f"[{text}]({cell.target})"
    return f"**{text}**" if isinstance(cell, Quantity) and cell.best else text
