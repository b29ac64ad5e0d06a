"""The verb `verify`."""

from pathlib import Path
from typing import Annotated

import typer

from dialoscope.cli import options, screen
from dialoscope.cli.options import Licence, RepliesOf, Run
from dialoscope.core.progress import progress_bar


def verify(
    run: Run,
    data: Annotated[
        list[Path],
        typer.Option("--data", metavar="FILE", help="Files of the data, if they were moved. Repeatable."),
    ] = [],
    replies: RepliesOf = [],
    real: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File of the dialogues given as --real, if it was moved."),
    ] = None,
    licence: Licence = None,
) -> None:
    """Score a run's data again: do its numbers still hold?"""
    import dialoscope

    with progress_bar("Verifying", None) as progress:
        verification = dialoscope.verify(
            run, data, replies=options.parse_replies(replies), real=real, licence=licence, progress=progress
        )
    if verification.holds:
        screen.show(f"{run} holds: {verification.checked} numbers made again, all equal.")
        return
    screen.complain(f"{run} does not hold:\n" + "\n".join(verification.differences))
    raise typer.Exit(1)
