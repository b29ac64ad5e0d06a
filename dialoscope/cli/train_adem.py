"""The command `train adem`."""

from pathlib import Path
from typing import Annotated

import typer

from dialoscope.cli import options, screen


def adem(
    data: Annotated[list[str], typer.Argument(help="Files of replies with context, references and ratings.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The checkpoint's folder.")],
    aspect: Annotated[
        list[str], typer.Option(help="What was rated; of several the first that a reply is rated for.")
    ] = ["overall"],
    scale: Annotated[
        list[str],
        typer.Option(metavar="ASPECT=LOW-HIGH", help="An aspect's scale, where it is no usual one."),
    ] = [],
    model: Annotated[
        str | None, typer.Option(help="Whose vectors: an asset, a folder, a name on the hub.")
    ] = None,
    dims: Annotated[int | None, typer.Option(help="How many principal components are kept.")] = None,
    turns: Annotated[int | None, typer.Option(help="The last turns of a context that are read.")] = None,
    l2: Annotated[float | None, typer.Option(help="How strongly it is held to the identity.")] = None,
    steps: Annotated[int | None, typer.Option(help="Of the descent, at most.")] = None,
    patience: Annotated[int | None, typer.Option(help="Steps without improvement before it stops.")] = None,
    folds: Annotated[int | None, typer.Option(help="In how many parts contexts are cut.")] = None,
    seeds: Annotated[int | None, typer.Option(help="How often they are cut, each time otherwise.")] = None,
    seed: Annotated[int | None, typer.Option(help="For all that chance decides.")] = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, ...; the first GPU if there is one.")] = None,
    licence: Annotated[str, typer.Option(help="Of the data, for the card.")] = "",
) -> None:
    """Train ADEM, which foretells how people rate a reply."""
    from dialoscope.training.recipes import AdemRecipe
    from dialoscope.training.train_adem import train_adem

    recipe = AdemRecipe().given(
        model=model, dims=dims, turns=turns, l2=l2, steps=steps, patience=patience, folds=folds, seeds=seeds,
        seed=seed, device=device,
    )  # fmt: skip
    scales = options.scales(scale)
    found = train_adem(data, output, recipe, aspects=aspect, scales=scales, licence=licence)
    screen.show(f"{found.folder}: sha256 {found.hash}")
