r"""Sections as LaTeX: tables in the style of booktabs (\usepackage{booktabs}), notes as comments."""

import re
from collections.abc import Iterable, Sequence

from dialoscope.core.render.sections import CodeCell, Grid, GridCell, Paragraph, Quantity, Section
from dialoscope.core.safe_text import printable

_CHARACTERS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",
    "`": r"\textasciigrave{}",
    "-": "-{}",  # between two, which would become a dash
    "–": "--",
    "−": "$-$",
    "…": r"\dots{}",
    "·": r"$\cdot$",
    "ρ": r"$\rho$",
    "τ": r"$\tau$",
    "≥": r"$\geq$",
    "→": r"$\rightarrow$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    **{character: f"\\{character}" for character in "&%$#_"},
}
_SPECIAL = re.compile("|".join(map(re.escape, _CHARACTERS)).replace(r"\-", "-(?=-)"))


def render_latex(sections: Iterable[Section]) -> str:
    """Each table as a tabular, to be put into a table with a caption; everything else as comments."""
    shown = (section for section in sections if not (isinstance(section, Grid) and section.picture))
    return "\n\n".join(map(_render, shown))


def escape_latex(text: str) -> str:
    r"""The text such that LaTeX prints it as it is, on one line.

    >>> escape_latex("50%_of {x} & $1")
    '50\\%\\_of \\{x\\} \\& \\$1'
    """
    return _SPECIAL.sub(lambda match: _CHARACTERS[match[0]], printable(text))


def _render(section: Section) -> str:
    if isinstance(section, Grid):
        return "\n".join([*_comments([section.title] if section.title else []), _table(section)])
    if isinstance(section, Paragraph):
        return "\n".join(_comments([section]))
    return "\n".join(_comments([section.title, *section.lines] if section.title else section.lines))


def _comments(lines: Sequence[str]) -> list[str]:
    return [f"% {printable(line)}" for line in lines]


def _table(grid: Grid) -> str:
    names = "l" * grid.stub + "r" * (len(grid.head) - grid.stub)
    head, *rows = (" & ".join(map(_cell, row)) + r" \\" for row in (grid.head, *grid.rows))
    # A row that begins with a bracket or a star would be an argument of the line break before it.
    rows = [f"{{}}{row}" if row.startswith(("[", "*")) else row for row in rows]
    body = [r"\toprule", head, r"\midrule", *rows, r"\bottomrule"]
    return "\n".join([f"\\begin{{tabular}}{{{names}}}", *body, r"\end{tabular}"])


def _cell(cell: GridCell) -> str:
    if isinstance(cell, Quantity):
        text = re.sub(r"-(?=[\d.])", "$-$", escape_latex(str(cell)))
        return f"\\textbf{{{text}}}" if cell.best else text
    text = escape_latex(str(cell))
    return f"\\texttt{{{text}}}" if isinstance(cell, CodeCell) else text
