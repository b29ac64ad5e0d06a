"""The command `train adem`."""

from pathlib import Path
from typing import Annotated

import typer

from dialoscope.cli import options, screen
from dialoscope.cli.recipe_options import with_recipe
from dialoscope.training.recipes import AdemRecipe


@with_recipe(AdemRecipe().replace, {"": AdemRecipe})
def adem(
    data: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Files of replies with context, references and ratings."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Folder of the checkpoint.")
    ],
    recipe: AdemRecipe,
    aspect: Annotated[
        list[str],
        typer.Option(
            metavar="NAME", help="Rated aspect; of several the first that a reply has a rating for."
        ),
    ] = ["overall"],
    scale: Annotated[
        list[str],
        typer.Option(metavar="ASPECT=LOW-HIGH", help="Rating scale of an aspect, where it is no usual one."),
    ] = [],
    licence: Annotated[str, typer.Option(metavar="TEXT", help="Licence of the data, for the card.")] = "",
) -> None:
    """Train ADEM, which predicts ratings of replies."""
    from dialoscope.training.train_adem import train_adem

    scales = options.parse_scales(scale)
    checkpoint = train_adem(data, output, recipe, aspects=aspect, scales=scales, licence=licence)
    screen.show(f"{checkpoint.folder}: sha256 {checkpoint.hash}")
