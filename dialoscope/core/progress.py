"""Progress bars and notices on standard error."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dialoscope.core.safe_text import printable


def print_notice(text: str) -> None:
    """Print a text that is not part of a result, also where standard error is no terminal."""
    if sys.stderr is not None:
        sys.stderr.write("\n".join(printable(line) for line in text.split("\n")) + "\n")
        sys.stderr.flush()


@contextmanager
def progress_bar(title: str, total: int | None, *, unit: str = "bytes") -> Iterator[Callable[[int], None]]:
    """Show a progress bar, and yield a function that advances it; only where standard error is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda amount: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    counter = DownloadColumn() if unit == "bytes" else MofNCompleteColumn()
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        counter,
        TextColumn(unit),
        Remaining(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(printable(title), total=total)
        yield lambda amount: progress.advance(task, amount)
