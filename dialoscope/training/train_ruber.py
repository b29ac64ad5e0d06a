"""Train the unreferenced part of RUBER: a classifier of whether a reply belongs to its context."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

from dialoscope.core.errors import TrainingError
from dialoscope.models.checkpoints import WEIGHTS, Checkpoint
from dialoscope.models.engines import import_engine
from dialoscope.models.features import Features, resolve_embedding
from dialoscope.models.heads import HALF, WORD_VECTORS, Shape
from dialoscope.models.truncation import keep_latest
from dialoscope.training.dialogue_split import Split
from dialoscope.training.head_card import card_of_head
from dialoscope.training.head_data import HeadData, is_in_part, make_head_data
from dialoscope.training.recipes import CrossRecipe, RuberRecipe
from dialoscope.training.train_cross import train_cross
from dialoscope.training.training_data import announce_figures, describe_data, file_names, split_files
from dialoscope.training.workplace import State, Workplace, check_folder, describe_run, finish

if TYPE_CHECKING:
    import torch

    from dialoscope.training.engines.head_training import HeadTask


def train_ruber(
    data: Sequence[str | Path] | str | Path,
    folder: str | Path,
    recipe: RuberRecipe | CrossRecipe | None = None,
    *,
    validation: str | Path | float = 0.05,
    tests: Sequence[str | Path] = (),
    avoid: Sequence[str | Path] = (),
    licence: str = "",
    save_every: float = 60.0,
) -> Checkpoint:
    """Train a head, or an encoder itself, to distinguish replies that people gave from others.

    Args:
        data: Files of dialogues, or assets (chitchat, movie-dialogues).
        folder: Folder of the checkpoint; an interrupted training resumes there.
        recipe: The settings of a head over vectors of texts (`RuberRecipe()`, the default), or of an encoder
            that reads both texts at once (`CrossRecipe()`).
        validation: A validation file, or the share of dialogues that is held out for validation.
        tests: Files on which figures are reported.
        avoid: Files whose exchanges are excluded from the training data.
        licence: Licence of the data, for the card.
        save_every: Seconds between two savings, from which an interrupted training resumes.
    """
    if isinstance(recipe, CrossRecipe):
        return train_cross(
            data, folder, recipe, validation=validation, tests=tests, avoid=avoid, licence=licence,
            save_every=save_every,
        )  # fmt: skip
    recipe = recipe or RuberRecipe()
    path = check_folder(folder)
    recipe.check_licences(file_names(data))
    dialogues = _select_part(split_files(data, validation, tests, avoid), recipe.part)
    description = describe_data(file_names(data), dialogues, "dialogues", licence)
    head_data = make_head_data(dialogues.train, dialogues.evaluated, recipe)
    return _train_head(recipe, path, head_data, description, save_every)


def _select_part(dialogues: Split, part: str) -> Split:
    """The training and validation dialogues of a part, such as `2/2`."""
    train, validation = (
        tuple(turns for turns in side if is_in_part(turns, part))
        for side in (dialogues.train, dialogues.validation)
    )
    if not train or not validation:
        raise TrainingError(
            f"The part {part} has {len(train)} dialogues for training and {len(validation)} for validation; "
            "both are needed. Name more dialogues, or take all of them: --part 1/1."
        )
    return dataclasses.replace(dialogues, train=train, validation=validation)


def _train_head(
    recipe: RuberRecipe, folder: Path, data: HeadData, description: Mapping[str, Any], save_every: float
) -> Checkpoint:
    """Encode all texts once, train with each seed, and write the checkpoint of the best."""
    embedding = resolve_embedding(recipe.embedding, recipe.device)
    about = {**description, "exchanges": len(data.training.right)}
    engine = import_engine("head_training", "Training", "dialoscope.training.engines")
    with Workplace(folder, recipe.identity(embedding.fingerprint, about)).hold() as workplace:
        texts, contexts = list(data.texts), data.contexts.tolist()
        shortened = keep_latest(embedding, [texts[number] for number in contexts])
        for number, text in zip(contexts, shortened, strict=True):
            texts[number] = text
        inputs = engine.make_inputs(Features(embedding), texts, Shape.of(recipe.settings()), recipe.device)
        known_data = data.restrict_to(inputs.counts > 0)
        workplace.save(State(), Path.touch)  # from here on the folder is this training's

        def make_task(recipe: RuberRecipe) -> "HeadTask":
            task: HeadTask = engine.HeadTask(recipe, known_data, inputs)
            return task

        with engine.one_thread():
            new = make_task(recipe)
            before = _measure(new)
            announce_figures("Before", before)
            outcomes = [
                _train_seed(recipe.replace(seed=seed, seeds=1), make_task, workplace, save_every)
                for seed in range(recipe.seed, recipe.seed + recipe.seeds)
            ]
        spec = {
            **workplace.identity,
            "dims": new.inputs.dims,
            **({WORD_VECTORS: HALF} if new.head.shape.recurrent else {}),
            "before": before,
            "made with": describe_run("torch", "numpy", device=new.device.type),
        }
        return _write_checkpoint(workplace, outcomes, spec)


class _Outcome(NamedTuple):
    """The result of one seed."""

    seed: int
    state: State
    figures: Mapping[str, float]
    weights: "dict[str, torch.Tensor]"


def _train_seed(
    recipe: RuberRecipe,
    make_task: "Callable[[RuberRecipe], HeadTask]",
    workplace: Workplace,
    save_every: float,
) -> _Outcome:
    """Train with one seed, in a folder of its own within the training's."""
    engine = import_engine("head_training", "Training", "dialoscope.training.engines")
    identity = {**workplace.identity, "seed": recipe.seed}
    own = Workplace(workplace.work / f"seed-{recipe.seed}", identity).begin()
    task = make_task(recipe)
    state = engine.HeadLoop(task, recipe, own, save_every).run()
    figures = _measure(task)
    announce_figures(f"Seed {recipe.seed}", figures)
    return _Outcome(recipe.seed, state, figures, task.weights())


def _measure(task: "HeadTask") -> dict[str, float]:
    return {name: value for part in task.data.evaluated for name, value in task.figures(part).items()}


def _write_checkpoint(
    workplace: Workplace, outcomes: Sequence[_Outcome], spec: Mapping[str, Any]
) -> Checkpoint:
    """Keep the weights that are best on validation; the spec has the figures of all seeds."""
    engine = import_engine("head_training", "Training", "dialoscope.training.engines")
    best = min(outcomes, key=lambda outcome: outcome.state.best)
    weights = workplace.folder / WEIGHTS
    workplace.fresh(weights).write_bytes(engine.save(best.weights))  # as readable as other files
    workplace.settle(weights)
    spec = {
        **spec,
        "after": best.figures,
        "kept seed": best.seed,
        "seeds": {name: _summarise([outcome.figures[name] for outcome in outcomes]) for name in best.figures},
    }
    history = tuple(
        {"seed": outcome.seed, **entry} for outcome in outcomes for entry in outcome.state.history
    )
    return finish(workplace, spec, history, card_of_head(workplace.folder, spec, history))


def _summarise(values: Sequence[float]) -> dict[str, Any]:
    """The mean and standard deviation over seeds, and each value."""
    return {"mean": mean(values), "sd": stdev(values) if len(values) > 1 else None, "each": list(values)}
