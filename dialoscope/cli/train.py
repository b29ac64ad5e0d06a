"""The verb `train`, and what can be trained."""

from pathlib import Path
from typing import Annotated

import typer

from dialoscope.cli import screen

train = typer.Typer(no_args_is_help=True, rich_markup_mode=None, add_completion=False)

Folder = Annotated[
    Path, typer.Option("--output", "-o", help="The checkpoint's folder; a training stopped there goes on.")
]
Model = Annotated[str | None, typer.Option(help="What is trained on top of: an asset, a folder, a hub name.")]
Method = Annotated[str | None, typer.Option(help="lora (a small adapter) or full (all weights).")]
Rank = Annotated[int | None, typer.Option(help="Of the adapter's matrices.")]
Epochs = Annotated[int | None, typer.Option(help="How often all is learned from, at most.")]
Rate = Annotated[float | None, typer.Option("--learning-rate", help="At its highest.")]
Batch = Annotated[int | None, typer.Option(help="Tokens (lm) or pairs (nli) learned from at once.")]
Patience = Annotated[int | None, typer.Option(help="Epochs without improvement before it stops.")]
Seed = Annotated[int | None, typer.Option(help="For all that chance decides.")]
Minutes = Annotated[float | None, typer.Option(help="Stop after so long with the best so far.")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, ...; the first GPU if there is one.")]
MaxTokens = Annotated[int | None, typer.Option(help="Of a dialogue or pair; what is longer is cut.")]
Dropout = Annotated[float | None, typer.Option(help="Of what the adapter reads.")]
Tests = Annotated[list[str], typer.Option("--test", help="A file to report figures on; never learned from.")]
Licence = Annotated[str, typer.Option(help="Of the data, for the card.")]


@train.command()
def lm(
    data: Annotated[
        list[str], typer.Argument(help="Files of dialogues, or assets: chitchat, movie-dialogues.")
    ],
    output: Folder,
    validation: Annotated[
        str, typer.Option(help="A file to choose by, or the share of dialogues kept for it.")
    ] = "0.05",
    test: Tests = [],
    avoid: Annotated[list[str], typer.Option(help="A file whose dialogues must not be learned from.")] = [],
    model: Model = None,
    method: Method = None,
    rank: Rank = None,
    epochs: Epochs = None,
    learning_rate: Rate = None,
    batch: Batch = None,
    patience: Patience = None,
    dropout: Dropout = None,
    max_tokens: MaxTokens = None,
    begin: Annotated[float | None, typer.Option(help="How often a text begins anew between turns.")] = None,
    restyle: Annotated[float | None, typer.Option(help="The share written as other corpora write.")] = None,
    seed: Seed = None,
    minutes: Minutes = None,
    device: Device = None,
    licence: Licence = "",
) -> None:
    """Fine-tune a language model on dialogues."""
    from dialoscope.learn import LmRecipe, train_lm

    recipe = LmRecipe().given(
        model=model, method=method, rank=rank, epochs=epochs, learning_rate=learning_rate, batch=batch,
        patience=patience, dropout=dropout, max_tokens=max_tokens, begin=begin, restyle=restyle,
        seed=seed, minutes=minutes, device=device,
    )  # fmt: skip
    kept = _share(validation)
    found = train_lm(data, output, recipe, validation=kept, tests=test, avoid=avoid, licence=licence)
    screen.show(f"{found.folder}: sha256 {found.hash}")


@train.command()
def nli(
    data: Annotated[
        list[str],
        typer.Argument(help="Files of pairs, or snli; FILE:validation=0.1,test=0.2 keeps some apart."),
    ],
    output: Folder,
    dialogues: Annotated[
        list[str], typer.Option(help="A file or asset from which contradictions are made.")
    ] = [],
    test: Tests = [],
    made: Annotated[int | None, typer.Option(help="The most pairs made from dialogues.")] = None,
    model: Model = None,
    method: Method = None,
    rank: Rank = None,
    epochs: Epochs = None,
    learning_rate: Rate = None,
    batch: Batch = None,
    patience: Patience = None,
    dropout: Dropout = None,
    max_tokens: MaxTokens = None,
    seed: Seed = None,
    minutes: Minutes = None,
    device: Device = None,
    licence: Licence = "",
) -> None:
    """Train a classifier that tells what follows from a sentence, and what contradicts it."""
    from dialoscope.learn import NliRecipe, train_nli

    recipe = NliRecipe().given(
        model=model, method=method, rank=rank, epochs=epochs, learning_rate=learning_rate, batch=batch,
        patience=patience, dropout=dropout, max_tokens=max_tokens, made=made, seed=seed, minutes=minutes,
        device=device,
    )  # fmt: skip
    found = train_nli(data, output, recipe, dialogues=dialogues, tests=test, licence=licence)
    screen.show(f"{found.folder}: sha256 {found.hash}")


def _share(text: str) -> str | float:
    """A share of dialogues, or else the name of a file."""
    try:
        return float(text)
    except ValueError:
        return text
