"""The verb `train`, and what can be trained."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialoscope.cli import screen
from dialoscope.cli.help import Verb
from dialoscope.cli.recipe_options import with_recipe
from dialoscope.cli.train_adem import adem
from dialoscope.cli.train_composite import composite
from dialoscope.training.recipes import CrossRecipe, LmRecipe, NliRecipe, RuberRecipe, ruber_recipe

if TYPE_CHECKING:
    from dialoscope.models.checkpoints import Checkpoint

train = typer.Typer(no_args_is_help=True, rich_markup_mode=None, add_completion=False)
train.command(cls=Verb)(composite)
train.command(cls=Verb)(adem)

Dialogues = Annotated[
    list[str],
    typer.Argument(metavar="FILE...", help="Files of dialogues, or assets: chitchat, movie-dialogues."),
]
Folder = Annotated[
    Path,
    typer.Option(
        "--output", "-o", metavar="FOLDER", help="Folder of the checkpoint; an interrupted training resumes."
    ),
]
Validation = Annotated[
    str, typer.Option(metavar="FILE|SHARE", help="Validation file, or share of dialogues held out for it.")
]
Tests = Annotated[list[str], typer.Option("--test", metavar="FILE", help="Test file, never trained on.")]
Avoid = Annotated[
    list[str], typer.Option(metavar="FILE", help="File whose exchanges are excluded from the training data.")
]
Licence = Annotated[str, typer.Option(metavar="TEXT", help="Licence of the data, for the card.")]


@train.command(cls=Verb)
@with_recipe(LmRecipe().replace, {"": LmRecipe})
def lm(
    data: Dialogues,
    output: Folder,
    recipe: LmRecipe,
    validation: Validation = "0.05",
    test: Tests = [],
    avoid: Avoid = [],
    licence: Licence = "",
) -> None:
    """Fine-tune a language model on dialogues."""
    from dialoscope.training.train_lm import train_lm

    share = _share(validation)
    _show(train_lm(data, output, recipe, validation=share, tests=test, avoid=avoid, licence=licence))


@train.command(cls=Verb)
@with_recipe(NliRecipe().replace, {"": NliRecipe})
def nli(
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Files of pairs, or snli; FILE:validation=0.1,test=0.2 holds out shares of a file.",
        ),
    ],
    output: Folder,
    recipe: NliRecipe,
    dialogues: Annotated[
        list[str], typer.Option(metavar="FILE", help="File or asset of dialogues to generate pairs from.")
    ] = [],
    test: Tests = [],
    avoid: Avoid = [],
    licence: Licence = "",
) -> None:
    """Train a classifier of entailment and contradiction."""
    from dialoscope.training.train_nli import train_nli

    _show(train_nli(data, output, recipe, dialogues=dialogues, tests=test, avoid=avoid, licence=licence))


@train.command(cls=Verb)
@with_recipe(ruber_recipe, {"head": RuberRecipe, "cross": CrossRecipe})
def ruber(
    data: Dialogues,
    output: Folder,
    recipe: RuberRecipe | CrossRecipe,
    validation: Validation = "0.05",
    test: Tests = [],
    avoid: Avoid = [],
    licence: Licence = "",
) -> None:
    """Train the unreferenced part of RUBER on dialogues.

    A head (a small network over fixed vectors), or with --representation cross an encoder that is itself
    trained. Defaults and settings differ between the two.
    """
    from dialoscope.training.train_ruber import train_ruber

    share = _share(validation)
    _show(train_ruber(data, output, recipe, validation=share, tests=test, avoid=avoid, licence=licence))


def _share(text: str) -> str | float:
    """A share of dialogues, or else the name of a file."""
    try:
        return float(text)
    except ValueError:
        return text


def _show(checkpoint: "Checkpoint") -> None:
    screen.show(f"{checkpoint.folder}: sha256 {checkpoint.hash}")
