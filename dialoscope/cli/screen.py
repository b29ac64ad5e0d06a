"""Output: results go to standard output, everything else to standard error."""

import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from dialoscope.core.progress import print_notice

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from matplotlib.figure import Figure

    from dialoscope.core.render.document import Report


def show(text: str) -> None:
    """Print a result."""
    if sys.stdout is not None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def show_report(
    report: "Report",
    form: str,
    *,
    notes: bool = False,
    signatures: bool = False,
    sources: Sequence[str] = (),
) -> None:
    """A report in the form asked for, as wide as the terminal.

    `sources` are lines about models and data, printed after the signatures.
    """
    show(report.printed(form, notes=notes, signatures=signatures, sources=sources, width=width()))


def width() -> int | None:
    """The columns of the terminal; None where the output goes elsewhere."""
    return shutil.get_terminal_size().columns if sys.stdout is not None and sys.stdout.isatty() else None


def draw(figure: "Callable[[], Figure]", plot: "Path | None") -> None:
    """Save a figure, if a file is named."""
    if plot is not None:
        from dialoscope.report import figures

        note(f"Drawn in {figures.save(figure(), plot)}")


def complain(text: str) -> None:
    """Print an error message."""
    print_notice("Error: " + text)


def warn(texts: Iterable[str]) -> None:
    """Print warnings."""
    for text in texts:
        print_notice("Warning: " + text)


def note(text: str) -> None:
    """Print a message that is not part of the result."""
    print_notice(text)
