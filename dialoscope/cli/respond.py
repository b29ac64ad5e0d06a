"""The verb `respond`."""

from pathlib import Path
from typing import Annotated

import typer

from dialoscope.cli import options, screen
from dialoscope.cli.options import Files, Format, Licence, Map, OnError, Separator

Named = Annotated[
    str,
    typer.Option(
        "--system",
        "-s",
        metavar="SPEC",
        help="bot.py:reply, module:function, command:./bot --fast, http://host/v1#model, a model (smollm2; "
        "smollm2,temperature=0.7), retrieval:FILE, file:replies.jsonl.",
    ),
]
Output = Annotated[
    str,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Where the replies go, as JSONL; - is standard output."
    ),
]
Samples = Annotated[int, typer.Option("--samples", "-k", min=1, help="How many replies to each context.")]
Seed = Annotated[int, typer.Option(min=0, help="For the system's chance, as far as it heeds it.")]
Workers = Annotated[
    int | None,
    typer.Option(min=1, help="The most questions at once; 8 for a server, else 1, if not named."),
]
Name = Annotated[str | None, typer.Option(help="What the system is called in the rows.")]
Speaker = Annotated[
    str | None, typer.Option(help="Whose turns the system takes over, in files of whole dialogues.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Begin anew, and replace what is there.")]


def respond(
    files: Files,
    system: Named,
    output: Output,
    samples: Samples = 1,
    seed: Seed = 0,
    workers: Workers = None,
    name: Name = None,
    overwrite: Overwrite = False,
    licence: Licence = None,
    map: Map = [],
    separator: Separator = None,
    speaker: Speaker = None,
    format: Format = None,
    on_error: OnError = "stop",
) -> None:
    """Ask a system for replies; resume after an interruption."""
    import dialoscope

    contexts = dialoscope.read_contexts(
        *files,
        columns=options.columns(map),
        separator=separator,
        speaker=speaker,
        format=format,
        on_error=on_error,
    )
    found = dialoscope.respond(
        contexts,
        system,
        None if output == "-" else Path(output),
        samples=samples,
        seed=seed,
        workers=workers,
        name=name,
        overwrite=overwrite,
        licence=licence,
    )
    if output == "-":
        screen.show("\n".join(found.lines()))
    for text in found.summary():
        screen.note(text)
    if complaint := found.complaint():
        again = "" if output == "-" else "\nThe same command again asks for these alone."
        screen.complain(complaint + again)
        raise typer.Exit(1)
    screen.note(f"{len(found.rows):,} replies of {found.name}{'' if output == '-' else f' in {output}'}")
