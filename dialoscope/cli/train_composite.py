"""The verb `train composite`."""

from pathlib import Path
from typing import Annotated

import typer

from dialoscope.cli import screen


def composite(
    data: Annotated[
        list[str], typer.Argument(help="Files of rated replies; each is a corpus, and counts like any other.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The checkpoint's folder.")],
    part: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=METRIC",
            help="A part in place of the usual ones, again for each: pmi=pmi:scale=normalised; with a minus "
            "before the metric where less of it is better: repetition=-repetition-2.",
        ),
    ] = [],
    evenness: Annotated[
        float | None, typer.Option(help="How strongly weights are drawn to each other; 0: not at all.")
    ] = None,
    licence: Annotated[str, typer.Option(help="Of the data, for the card.")] = "",
) -> None:
    """Weigh metrics that need no references as people do, and judge each corpus by the others."""
    from dialoscope.training.composite_fit import CompositeRecipe, part_of
    from dialoscope.training.train_composite import train_composite

    recipe = CompositeRecipe().given(parts=tuple(map(part_of, part)) or None, evenness=evenness)
    found = train_composite(data, output, recipe, licence=licence)
    screen.show(f"{found.folder}: sha256 {found.hash}")
