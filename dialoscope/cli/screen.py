"""What a person sees: results on standard output, everything else on standard error."""

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dialoscope.printable import printable

if TYPE_CHECKING:
    from dialoscope.results import Table


def show(text: str) -> None:
    """A result."""
    if sys.stdout is not None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def show_table(table: "Table", form: str, *, signatures: bool) -> None:
    """A table in the form asked for; what a reader must know goes with it, but not into what is piped on."""
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
        notes = table.notes() + (table.signatures() if signatures else [])
        show("\n".join(notes) if form == "text" else "\n".join(f"- {text}" for text in notes))


def complain(text: str) -> None:
    """An error, safe to show whatever the data held."""
    _tell("Error: " + text)


def warn(texts: Iterable[str]) -> None:
    """Things to look at."""
    for text in texts:
        _tell("Warning: " + text)


def note(text: str) -> None:
    """Something to know, not part of the result."""
    _tell(text)


def _tell(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write("\n".join(printable(line) for line in text.split("\n")) + "\n")


@contextmanager
def progress(what: str, size: int | None) -> Iterator[Callable[[int], None]]:
    """A bar that moves with the bytes read; nothing where nobody is looking."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda more: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=size)
        yield lambda more: bar.advance(task, more)
