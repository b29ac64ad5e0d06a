"""Train the unreferenced part of RUBER: dialogues become a judge of whether a reply belongs there."""

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

from dialoscope.core.errors import TrainingError
from dialoscope.models.checkpoints import WEIGHTS, Checkpoint
from dialoscope.models.engines import import_engine
from dialoscope.models.features import Features, resolve_embedding
from dialoscope.models.heads import HALF, WORD_VECTORS, Shape
from dialoscope.models.truncation import latest
from dialoscope.training.dialogue_split import Split
from dialoscope.training.head_card import card_of_head
from dialoscope.training.head_data import Lesson, in_part, lesson_of
from dialoscope.training.recipes import CrossRecipe, RuberRecipe
from dialoscope.training.train_transformer import data_told, names_of, split_of, tell, train_cross
from dialoscope.training.workplace import State, Workplace, check_folder, finish, made_with

REPRESENTATIONS = (*RuberRecipe.choices["representation"], CrossRecipe.representation)
"""How a query and a reply can be read."""


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
    """Teach a head, or an encoder itself, to tell replies that people gave from others.

    Args:
        data: Files of dialogues, or assets (chitchat, movie-dialogues).
        folder: Where the checkpoint goes; a training that was stopped there goes on.
        recipe: How: a head over vectors of texts (the default), or an encoder that reads both texts at once.
        validation: A file to choose by and to stop early by, or the share of dialogues that is kept for it.
        tests: Files on which figures are reported.
        avoid: Files whose exchanges must not be learned from either.
        licence: Of the data, for the card.
        save_every: Seconds between two savings of how far it is, for when it is stopped.
    """
    if isinstance(recipe, CrossRecipe):
        return train_cross(
            data, folder, recipe, validation=validation, tests=tests, avoid=avoid, licence=licence,
            save_every=save_every,
        )  # fmt: skip
    recipe = recipe or RuberRecipe()
    path = check_folder(folder)
    recipe.check_licences(names_of(data))
    found = _parted(split_of(data, validation, tests, avoid), recipe.part)
    told = data_told(names_of(data), found, "dialogues", licence)
    lesson = lesson_of(found.train, found.judged, recipe)
    return _trained(recipe, path, lesson, told, save_every)


def ruber_recipe(**chosen: Any) -> RuberRecipe | CrossRecipe:  # noqa: ANN401 - settings of any type
    """The recipe that the settings ask for; those that are None stay as they are, others' are refused."""
    wanted = chosen.get("representation")
    if wanted not in (None, *REPRESENTATIONS):
        raise TrainingError(f"representation is '{wanted}'; it must be one of: {', '.join(REPRESENTATIONS)}.")
    recipe = CrossRecipe() if wanted == CrossRecipe.representation else RuberRecipe()
    known = {one.name for one in dataclasses.fields(recipe)}
    for name, value in chosen.items():
        if value is not None and name not in known:
            raise TrainingError(
                f"{name} is no setting of the representation {recipe.representation}, which has: "
                f"{', '.join(sorted(known))}."
            )
    return recipe.given(**{name: value for name, value in chosen.items() if name in known})


def _parted(found: Split, part: str) -> Split:
    """That part of the dialogues to learn from and to choose by."""
    train, validation = (
        tuple(turns for turns in dialogues if in_part(turns, part))
        for dialogues in (found.train, found.validation)
    )
    if not train or not validation:
        raise TrainingError(
            f"In the part {part} there are {len(train)} dialogues to learn from and {len(validation)} to "
            "choose by; both are needed. Name more dialogues, or take all of them: --part 1/1."
        )
    return dataclasses.replace(found, train=train, validation=validation)


class _Outcome(NamedTuple):
    """What came of one seed."""

    seed: int
    state: State
    figures: Mapping[str, float]
    weights: Any


def _trained(
    recipe: RuberRecipe, folder: Path, lesson: Lesson, data: Mapping[str, Any], save_every: float
) -> Checkpoint:
    embedding = resolve_embedding(recipe.embedding, recipe.device)
    about = {**data, "exchanges": len(lesson.training.right)}
    side = import_engine("head_training", "Training", "dialoscope.training.engines")
    with Workplace(folder, recipe.identity(embedding.fingerprint, about)).held() as place:
        texts, contexts = list(lesson.texts), lesson.contexts.tolist()
        for number, text in zip(
            contexts, latest(embedding, [texts[number] for number in contexts]), strict=True
        ):
            texts[number] = text
        inputs = side.inputs_of(Features(embedding), texts, Shape.of(recipe.settings()), recipe.device)
        known = lesson.among(inputs.counts > 0)
        place.save(State(), Path.touch)  # from here on the folder is this training's
        with side.one_thread():
            return _taught(
                recipe, place, partial(side.HeadTask, lesson=known, inputs=inputs), side, save_every
            )


def _taught(recipe: RuberRecipe, place: Workplace, task_of: Any, side: Any, save_every: float) -> Checkpoint:  # noqa: ANN401
    """All seeds, one after the other."""
    new = task_of(recipe)
    before = _figures(new)
    tell("Before", before)
    found = [
        _learned(recipe.given(seed=seed, seeds=1), task_of, place, side, save_every)
        for seed in range(recipe.seed, recipe.seed + recipe.seeds)
    ]
    told = {
        **place.identity,
        "dims": new.inputs.dims,
        **({WORD_VECTORS: HALF} if new.head.shape.recurrent else {}),
        "before": before,
        "made with": made_with("torch", "numpy", device=new.device.type),
    }
    return _finished(place, found, told, side)


def _learned(recipe: RuberRecipe, task_of: Any, place: Workplace, side: Any, save_every: float) -> _Outcome:  # noqa: ANN401
    """One seed, in a folder of its own below the one at work."""
    identity = {**place.identity, "seed": recipe.seed}
    own = Workplace(place.work / f"seed-{recipe.seed}", identity).begin()
    task = task_of(recipe)
    state = side.HeadLoop(task, recipe, own, save_every).run()
    figures = _figures(task)
    tell(f"Seed {recipe.seed}", figures)
    return _Outcome(recipe.seed, state, figures, task.weights())


def _figures(task: Any) -> dict[str, float]:  # noqa: ANN401
    return {name: value for part in task.lesson.judged for name, value in task.figures(part).items()}


def _finished(place: Workplace, found: Sequence[_Outcome], told: Mapping[str, Any], side: Any) -> Checkpoint:  # noqa: ANN401
    """The best by validation is kept; what came of the others is told beside it."""
    best = min(found, key=lambda one: one.state.best)
    place.fresh(place.folder / WEIGHTS).write_bytes(side.save(best.weights))  # as readable as other files
    place.settle(place.folder / WEIGHTS)
    spec = {
        **told,
        "after": best.figures,
        "kept seed": best.seed,
        "seeds": {name: _spread([one.figures[name] for one in found]) for name in best.figures},
    }
    history = tuple({"seed": one.seed, **entry} for one in found for entry in one.state.history)
    return finish(place, spec, history, card_of_head(place.folder, spec, history))


def _spread(values: Sequence[float]) -> dict[str, Any]:
    """The mean over seeds, how far they scatter, and each."""
    return {"mean": mean(values), "sd": stdev(values) if len(values) > 1 else None, "each": list(values)}
