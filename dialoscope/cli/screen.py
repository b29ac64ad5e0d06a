"""Output: results go to standard output, everything else to standard error."""

import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from dialoscope.core.progress import notice
from dialoscope.core.safe_text import listed_in_markdown

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from matplotlib.figure import Figure

    from dialoscope.runs.table import Table


def show(text: str) -> None:
    """Print a result."""
    if sys.stdout is not None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def show_table(table: "Table", form: str, *, signatures: bool, sources: Sequence[str] = ()) -> None:
    """Print a table; its notes follow in the forms for people, not in JSON and CSV.

    `sources` are lines about models and data, printed after the signatures.
    """
    width = shutil.get_terminal_size().columns if sys.stdout is not None and sys.stdout.isatty() else None
    forms = {
        "text": lambda: table.text(width),
        "json": table.json,
        "csv": table.csv,
        "markdown": table.markdown,
    }
    show(forms[form]())
    if form in ("text", "markdown"):
        show("")
        notes = table.notes() + ([*table.signatures(), *sources] if signatures else [])
        show("\n".join(notes if form == "text" else listed_in_markdown(notes)))


def draw(figure: "Callable[[], Figure]", plot: "Path | None") -> None:
    """Save a figure, if a file is named."""
    if plot is not None:
        from dialoscope.report import figures

        note(f"Drawn in {figures.save(figure(), plot)}")


def complain(text: str) -> None:
    """Print an error message."""
    notice("Error: " + text)


def warn(texts: Iterable[str]) -> None:
    """Print warnings."""
    for text in texts:
        notice("Warning: " + text)


def note(text: str) -> None:
    """Print a message that is not part of the result."""
    notice(text)
