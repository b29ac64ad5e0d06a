"""What long work tells the person who waits for it, on standard error and only where somebody looks."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dialoscope.core.safe_text import printable


def notice(text: str) -> None:
    """Something to know, not part of a result; shown also where nobody looks, so that logs hold it."""
    if sys.stderr is not None:
        sys.stderr.write("\n".join(printable(line) for line in text.split("\n")) + "\n")
        sys.stderr.flush()


@contextmanager
def bar(what: str, total: int | None, *, unit: str = "bytes") -> Iterator[Callable[[int], None]]:
    """A bar that moves as it is told how much more is done; nothing where standard error is no terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda more: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    amount = DownloadColumn() if unit == "bytes" else MofNCompleteColumn()
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        amount,
        TextColumn(unit),
        Remaining(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(printable(what), total=total)
        yield lambda more: shown.advance(task, more)
