"""The command `train composite`."""

from pathlib import Path
from typing import Annotated

import typer

from dialoscope.cli import screen
from dialoscope.cli.recipe_options import with_recipe
from dialoscope.training.recipes import Weighting


@with_recipe(Weighting().replace, {"": Weighting})
def composite(
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...", help="Files of rated replies; each is a corpus, and all have equal weight."
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Folder of the checkpoint.")
    ],
    recipe: Weighting,
    part: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=METRIC",
            help="Part in place of the default ones, repeatable: pmi=pmi:scale=normalised; a minus before "
            "the metric if less is better: repetition=-repetition-2.",
        ),
    ] = [],
    licence: Annotated[str, typer.Option(metavar="TEXT", help="Licence of the data, for the card.")] = "",
) -> None:
    """Fit weights of reference-free metrics to human ratings."""
    from dialoscope.training.composite_fit import PARTS, CompositeRecipe, part_of
    from dialoscope.training.train_composite import train_composite

    parts = tuple(map(part_of, part)) or PARTS
    chosen = CompositeRecipe(parts=parts, evenness=recipe.evenness, knots=recipe.knots)
    checkpoint = train_composite(data, output, chosen, licence=licence)
    screen.show(f"{checkpoint.folder}: sha256 {checkpoint.hash}")
