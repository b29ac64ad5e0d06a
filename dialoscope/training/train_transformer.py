"""Train: data and a recipe become a checkpoint."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dialoscope.core.errors import MissingExtra, TrainingError
from dialoscope.core.progress import notice
from dialoscope.models.checkpoints import Checkpoint
from dialoscope.models.engines import import_engine
from dialoscope.models.locations import fingerprint
from dialoscope.training.card import card_of
from dialoscope.training.dialogue_split import Split, split
from dialoscope.training.distillation import teacher_of
from dialoscope.training.nli_pairs import PairSplit, split_pairs
from dialoscope.training.recipes import CrossRecipe, LmRecipe, NliRecipe, Recipe
from dialoscope.training.workplace import State, Workplace, check_folder, finish, made_with


def train_lm(
    data: Sequence[str | Path] | str | Path,
    folder: str | Path,
    recipe: LmRecipe | None = None,
    *,
    validation: str | Path | float = 0.05,
    tests: Sequence[str | Path] = (),
    avoid: Sequence[str | Path] = (),
    licence: str = "",
    save_every: float = 60.0,
) -> Checkpoint:
    """Teach a language model how people talk.

    Args:
        data: Files of dialogues, or assets (chitchat, movie-dialogues).
        folder: Where the checkpoint goes; a training that was stopped there goes on.
        recipe: How; the default where nothing is given.
        validation: A file to choose by and to stop early by, or the share of dialogues that is kept for it.
        tests: Files whose perplexity is reported, before and after.
        avoid: Files whose dialogues must not be learned from either.
        licence: Of the data, for the card.
        save_every: Seconds between two savings of how far it is, for when it is stopped.
    """
    recipe = recipe or LmRecipe()
    path = check_folder(folder)
    recipe.check_licences(names_of(data))
    found = split_of(data, validation, tests, avoid)
    about = data_told(names_of(data), found, "dialogues", licence)
    side = _side("dialogue_tasks")

    def figures(task: Any) -> dict[str, float]:  # noqa: ANN401 - torch's side
        return {
            f"{what}, {name}": value
            for name, part in found.judged.items()
            for what, value in task.figures(part).items()
        }

    return _trained(recipe, path, about, lambda: side.DialogueTask(recipe, found), figures, save_every)


def train_nli(
    data: Sequence[str | Path] | str | Path,
    folder: str | Path,
    recipe: NliRecipe | None = None,
    *,
    dialogues: Sequence[str | Path] = (),
    tests: Sequence[str | Path] = (),
    avoid: Sequence[str | Path] = (),
    licence: str = "",
    save_every: float = 60.0,
) -> Checkpoint:
    """Teach an encoder to tell what follows from a sentence and what contradicts it.

    Args:
        data: Files of pairs, or `snli`; behind each may stand what is kept apart: `:validation=0.1,test=0.2`.
        folder: Where the checkpoint goes; a training that was stopped there goes on.
        recipe: How; the default where nothing is given.
        dialogues: Files or assets from which contradictions are made, or pairs that the recipe's teacher
            judges.
        tests: Files whose accuracy is reported (`snli-test` is that of SNLI).
        avoid: Files whose dialogues must not be learned from.
        licence: Of the data, for the card.
        save_every: Seconds between two savings of how far it is, for when it is stopped.
    """
    recipe = recipe or NliRecipe()
    path = check_folder(folder)
    recipe.check_licences([*names_of(data), *names_of(dialogues)])
    side = _side("pair_tasks")
    if recipe.teacher and not names_of(dialogues):
        raise TrainingError("A teacher judges pairs from dialogues: name at least one file of dialogues.")
    teacher = teacher_of(recipe.teacher, recipe.device) if recipe.teacher else None
    found = split_pairs(
        names_of(data),
        names_of(tests),
        names_of(dialogues),
        recipe.made,
        recipe.seed,
        teacher,
        names_of(avoid),
    )
    about = data_told([*names_of(data), *names_of(dialogues)], found, "pairs", licence)

    def figures(task: Any) -> dict[str, float]:  # noqa: ANN401
        parts = {"validation": found.validation, **found.tests}
        told = {f"accuracy, {name}": task.accuracy(part) for name, part in parts.items()}
        if recipe.swapped:
            told |= {f"swapped, {name}": task.either_way(part) for name, part in parts.items()}
        return told

    return _trained(recipe, path, about, lambda: side.PairTask(recipe, found), figures, save_every)


def train_cross(
    data: Sequence[str | Path] | str | Path,
    folder: str | Path,
    recipe: CrossRecipe | None = None,
    *,
    validation: str | Path | float = 0.05,
    tests: Sequence[str | Path] = (),
    avoid: Sequence[str | Path] = (),
    licence: str = "",
    save_every: float = 60.0,
) -> Checkpoint:
    """Teach an encoder to tell replies that people gave from others; arguments as of `train_lm`."""
    recipe = recipe or CrossRecipe()
    path = check_folder(folder)
    recipe.check_licences(names_of(data))
    found = split_of(data, validation, tests, avoid)
    about = data_told(names_of(data), found, "dialogues", licence)
    side = _side("pair_tasks")

    def figures(task: Any) -> dict[str, float]:  # noqa: ANN401
        return {f"right preferred, {name}": task.preference(part) for name, part in found.judged.items()}

    return _trained(recipe, path, about, lambda: side.ReplyTask(recipe, found), figures, save_every)


def _trained(
    recipe: Recipe,
    folder: Path,
    data: Mapping[str, Any],
    task_of: Callable[[], Any],
    figures: Callable[[Any], dict[str, float]],
    save_every: float,
) -> Checkpoint:
    identity = recipe.identity(fingerprint(recipe.model), data)
    loop_of = import_engine("loop", "Training", "dialoscope.training.engines").Loop
    with Workplace(folder, identity).held() as place:
        task = task_of()
        before = figures(task)
        tell("Before", before)
        state: State = loop_of(task, recipe, place, save_every).run()
        task.learner.round()
        after = figures(task)
        tell("After", after)
        task.learner.save(folder)
        told = made_with("torch", "transformers", "peft", device=task.learner.device.type)
        spec = {**identity, "before": before, "after": after, "made with": told}
        return finish(place, spec, state.history, card_of(folder, spec, state.history))


def split_of(
    data: Sequence[str | Path] | str | Path,
    validation: str | Path | float,
    tests: Sequence[str | Path],
    avoid: Sequence[str | Path],
) -> Split:
    """The dialogues of files and assets, however they are named, by what becomes of them."""
    kept = validation if isinstance(validation, float | int) else str(validation)
    return split(names_of(data), kept, names_of(tests), names_of(avoid))


def tell(when: str, figures: Mapping[str, float]) -> None:
    """Say what figures were before or after."""
    notice(f"{when}: " + "; ".join(f"{name} {value:.4g}" for name, value in figures.items()) + ".")


def data_told(names: Sequence[str], found: Split | PairSplit, what: str, licence: str) -> dict[str, Any]:
    """What is learned from, for the card; how much it is, is told."""
    notice(
        f"{len(found.train):,} {what} to learn from, {len(found.validation):,} to choose by; "
        f"{found.removed:,} were left out because they also stand in what is kept apart."
    )
    return {
        "files": [Path(name).name for name in names],
        "sha256": found.hash,
        "training": len(found.train),
        "validation": len(found.validation),
        "removed": found.removed,
        "licence": licence,
    }


def names_of(given: Sequence[str | Path] | str | Path) -> list[str]:
    """Files and assets as texts, one or several of them."""
    several = [given] if isinstance(given, str | Path) else given
    if isinstance(given, str | Path) and not str(given):
        raise TrainingError("There is nothing to learn from: name at least one file.")
    return [str(one) for one in several]


def _side(name: str) -> Any:  # noqa: ANN401
    try:
        import peft  # noqa: F401 - asked for before hours are spent
    except ImportError as missing:
        raise MissingExtra("Training", "peft", "train") from missing
    return import_engine(name, "Training", "dialoscope.training.engines")
