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
    typer.Option("--output", "-o", metavar="FILE", help="JSONL file of the replies; - is standard output."),
]
Samples = Annotated[int, typer.Option("--samples", "-k", min=1, help="Number of replies to each context.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the system's random choices, if it uses one.")]
Workers = Annotated[
    int | None,
    typer.Option(min=1, help="Number of parallel requests; if not named, 8 for a server, else 1."),
]
Name = Annotated[str | None, typer.Option(metavar="NAME", help="Name of the system in the rows.")]
Speaker = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Speaker whose turns the system replaces, in files of whole dialogues."
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Start over, and replace an existing file.")]


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
    """Ask a system for replies to contexts.

    An interrupted run resumes when the same command is given again.
    """
    import dialoscope

    contexts = dialoscope.read_contexts(
        *files,
        columns=options.parse_columns(map),
        separator=separator,
        speaker=speaker,
        format=format,
        on_error=on_error,
    )
    responses = dialoscope.respond(
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
        screen.show("\n".join(responses.lines()))
    for text in responses.summary():
        screen.note(text)
    if complaint := responses.complaint():
        again = "" if output == "-" else "\nRepeat the command to ask only for these."
        screen.complain(complaint + again)
        raise typer.Exit(1)
    screen.note(
        f"{len(responses.rows):,} replies of {responses.name}{'' if output == '-' else f' in {output}'}"
    )
