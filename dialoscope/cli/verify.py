"""The verb `verify`."""

from pathlib import Path
from typing import Annotated

import typer

from dialoscope.cli import options, screen
from dialoscope.cli.options import Licence, RepliesOf, Run
from dialoscope.core.progress import bar


def verify(
    run: Run,
    data: Annotated[
        list[Path], typer.Option("--data", help="Where the data is now, if not where it was scored.")
    ] = [],
    replies: RepliesOf = [],
    real: Annotated[
        Path | None, typer.Option(help="Where the corpus is now that the run was compared with.")
    ] = None,
    licence: Licence = None,
) -> None:
    """Score the data of a run again and say whether its numbers still hold."""
    import dialoscope

    with bar("Verifying", None) as progress:
        found = dialoscope.verify(
            run, data, replies=options.replies(replies), real=real, licence=licence, progress=progress
        )
    if found.holds:
        screen.show(f"{run} holds: {found.checked} numbers made again, all equal.")
        return
    screen.complain(f"{run} does not hold:\n" + "\n".join(found.differences))
    raise typer.Exit(1)
