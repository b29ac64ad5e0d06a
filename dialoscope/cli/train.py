"""The verb `train`, and what can be trained."""

from pathlib import Path
from typing import Annotated

import typer

from dialoscope.cli import screen
from dialoscope.cli.train_adem import adem
from dialoscope.cli.train_composite import composite
from dialoscope.core.errors import DialoscopeError

train = typer.Typer(no_args_is_help=True, rich_markup_mode=None, add_completion=False)
train.command()(composite)
train.command()(adem)

Folder = Annotated[
    Path, typer.Option("--output", "-o", help="The checkpoint's folder; a training stopped there goes on.")
]
Model = Annotated[str | None, typer.Option(help="What is trained on top of: an asset, a folder, a hub name.")]
Method = Annotated[str | None, typer.Option(help="lora (a small adapter) or full (all weights).")]
Rank = Annotated[int | None, typer.Option(help="Of the adapter's matrices.")]
Epochs = Annotated[int | None, typer.Option(help="How often all is learned from, at most.")]
Rate = Annotated[float | None, typer.Option("--learning-rate", help="At its highest.")]
Batch = Annotated[int | None, typer.Option(help="Learned from at once: tokens (lm), or pairs.")]
Patience = Annotated[int | None, typer.Option(help="Epochs without improvement before it stops.")]
Seed = Annotated[int | None, typer.Option(help="For all that chance decides.")]
Minutes = Annotated[float | None, typer.Option(help="Stop after so long with the best so far.")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, ...; the first GPU if there is one.")]
MaxTokens = Annotated[int | None, typer.Option(help="Of a dialogue or pair; what is longer is cut.")]
Dropout = Annotated[float | None, typer.Option(help="Of what the adapter reads.")]
Tests = Annotated[list[str], typer.Option("--test", help="A file to report figures on; never learned from.")]
Licence = Annotated[str, typer.Option(help="Of the data, for the card.")]

Validation = Annotated[str, typer.Option(help="A file to choose by, or the share of dialogues kept for it.")]
Avoid = Annotated[list[str], typer.Option(help="A file whose exchanges must not be learned from.")]
Embedding = Annotated[str | None, typer.Option(help="Whose vectors: an encoder, word vectors, a folder.")]
Representation = Annotated[
    str | None,
    typer.Option(
        help="bi-gru, max or mean of these vectors; cross: an encoder reads both texts, and learns."
    ),
]
Objective = Annotated[str | None, typer.Option(help="ranking or cross-entropy.")]
Negatives = Annotated[
    list[str],
    typer.Option(
        metavar="KIND,...",
        help="Wrong replies: random, dialogue, near, shuffled, repeated, spliced, generic; again for more.",
    ),
]
Each = Annotated[int | None, typer.Option(help="Wrong replies against each right one.")]
Ready = Annotated[int | None, typer.Option(help="Wrong replies that stand ready; each epoch takes others.")]
Turns = Annotated[int | None, typer.Option(help="The turns before a reply that it is judged by.")]
Pairs = Annotated[int | None, typer.Option(help="The most right replies that are learned from.")]
Part = Annotated[str | None, typer.Option(help="The part of the dialogues: 2/2 is the second half, 1/1 all.")]
Seeds = Annotated[int | None, typer.Option(help="How many trainings, of which the best is kept.")]
Margin = Annotated[float | None, typer.Option(help="Of the ranking.")]
Units = Annotated[int | None, typer.Option(help="Of a recurrent layer, in each direction.")]
Layers = Annotated[int | None, typer.Option(help="Recurrent ones.")]
Perceptron = Annotated[str | None, typer.Option(metavar="WIDTH,...", help="The widths of its hidden layers.")]
Decay = Annotated[float | None, typer.Option(help="The learning rate's factor when it goes no further.")]
SlowAfter = Annotated[int | None, typer.Option(help="Epochs without improvement that make it so.")]
Restyle = Annotated[float | None, typer.Option(help="The share written as other corpora write.")]


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
    restyle: Restyle = None,
    contrast: Annotated[
        float | None, typer.Option(help="How much it counts that right replies are likelier than wrong ones.")
    ] = None,
    negatives: Negatives = [],
    each: Each = None,
    turns: Turns = None,
    pairs: Pairs = None,
    seed: Seed = None,
    minutes: Minutes = None,
    device: Device = None,
    licence: Licence = "",
) -> None:
    """Fine-tune a language model on dialogues."""
    from dialoscope.training.recipes import LmRecipe
    from dialoscope.training.train_transformer import train_lm

    recipe = LmRecipe().given(
        model=model, method=method, rank=rank, epochs=epochs, learning_rate=learning_rate, batch=batch,
        patience=patience, dropout=dropout, max_tokens=max_tokens, begin=begin, restyle=restyle,
        contrast=contrast, negatives=_kinds(negatives), each=each, turns=turns, pairs=pairs, seed=seed,
        minutes=minutes, device=device,
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
    teacher: Annotated[
        str | None, typer.Option(help="A classifier whose verdicts on pairs from dialogues are learned.")
    ] = None,
    test: Tests = [],
    avoid: Avoid = [],
    made: Annotated[int | None, typer.Option(help="The most pairs made from dialogues.")] = None,
    swapped: Annotated[
        float | None, typer.Option(help="The share of pairs read with both sides swapped, in each epoch.")
    ] = None,
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
    from dialoscope.training.recipes import NliRecipe
    from dialoscope.training.train_transformer import train_nli

    recipe = NliRecipe().given(
        model=model, method=method, rank=rank, epochs=epochs, learning_rate=learning_rate, batch=batch,
        patience=patience, dropout=dropout, max_tokens=max_tokens, made=made, teacher=teacher,
        swapped=swapped, seed=seed, minutes=minutes, device=device,
    )  # fmt: skip
    found = train_nli(data, output, recipe, dialogues=dialogues, tests=test, avoid=avoid, licence=licence)
    screen.show(f"{found.folder}: sha256 {found.hash}")


@train.command()
def ruber(
    data: Annotated[
        list[str], typer.Argument(help="Files of dialogues, or assets: chitchat, movie-dialogues.")
    ],
    output: Folder,
    validation: Validation = "0.05",
    test: Tests = [],
    avoid: Avoid = [],
    embedding: Embedding = None,
    representation: Representation = None,
    objective: Objective = None,
    negatives: Negatives = [],
    each: Each = None,
    ready: Ready = None,
    turns: Turns = None,
    pairs: Pairs = None,
    part: Part = None,
    seeds: Seeds = None,
    margin: Margin = None,
    units: Units = None,
    layers: Layers = None,
    perceptron: Perceptron = None,
    decay: Decay = None,
    slow_after: SlowAfter = None,
    model: Model = None,
    method: Method = None,
    rank: Rank = None,
    max_tokens: MaxTokens = None,
    restyle: Restyle = None,
    epochs: Epochs = None,
    learning_rate: Rate = None,
    batch: Batch = None,
    patience: Patience = None,
    dropout: Dropout = None,
    seed: Seed = None,
    minutes: Minutes = None,
    device: Device = None,
    licence: Licence = "",
) -> None:
    """Train a judge of whether a reply belongs to what was said: the unreferenced part of RUBER."""
    from dialoscope.training.train_ruber import ruber_recipe, train_ruber

    recipe = ruber_recipe(
        embedding=embedding, representation=representation, objective=objective, each=each, ready=ready,
        negatives=_kinds(negatives), turns=turns, pairs=pairs, part=part, seeds=seeds, margin=margin,
        units=units, layers=layers, perceptron=_widths(perceptron), decay=decay, slow_after=slow_after,
        model=model, method=method, rank=rank, max_tokens=max_tokens, restyle=restyle, epochs=epochs,
        learning_rate=learning_rate, batch=batch, patience=patience, dropout=dropout, seed=seed,
        minutes=minutes, device=device,
    )  # fmt: skip
    kept = _share(validation)
    found = train_ruber(data, output, recipe, validation=kept, tests=test, avoid=avoid, licence=licence)
    screen.show(f"{found.folder}: sha256 {found.hash}")


def _kinds(told: list[str]) -> tuple[str, ...] | None:
    return tuple(part.strip() for text in told for part in text.split(",")) or None


def _widths(text: str | None) -> tuple[int, ...] | None:
    """`256,512,128` as numbers."""
    if text is None:
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise DialoscopeError(
            f"--perceptron {text} is not understood; write --perceptron 256,512."
        ) from error


def _share(text: str) -> str | float:
    """A share of dialogues, or else the name of a file."""
    try:
        return float(text)
    except ValueError:
        return text
