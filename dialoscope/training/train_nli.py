"""Train a classifier of entailment and contradiction."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dialoscope.core.errors import TrainingError
from dialoscope.models.checkpoints import Checkpoint
from dialoscope.training.distillation import load_teacher
from dialoscope.training.nli_pairs import split_pairs
from dialoscope.training.recipes import NliRecipe
from dialoscope.training.training_data import describe_data, file_names
from dialoscope.training.transformer_training import import_tasks, train_transformer
from dialoscope.training.workplace import check_folder

if TYPE_CHECKING:
    from dialoscope.training.engines.pair_tasks import EntailmentTask


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
    """Train a classifier of whether one sentence entails another, contradicts it, or neither.

    Args:
        data: Files of pairs, or `snli`; a file's name may end in the shares to hold out:
            `:validation=0.1,test=0.2`.
        folder: Folder of the checkpoint; an interrupted training resumes there.
        recipe: The settings; `NliRecipe()` by default.
        dialogues: Files or assets of dialogues from which rules generate pairs, or whose pairs the recipe's
            teacher labels.
        tests: Files whose accuracy is reported (`snli-test` is the test set of SNLI).
        avoid: Files whose dialogues are excluded from the training data.
        licence: Licence of the data, for the card.
        save_every: Seconds between two savings, from which an interrupted training resumes.
    """
    recipe = recipe or NliRecipe()
    path = check_folder(folder)
    names, corpora = file_names(data), file_names(dialogues)
    recipe.check_licences([*names, *corpora])
    tasks = import_tasks("pair_tasks")
    if recipe.teacher and not corpora:
        raise TrainingError("A teacher labels pairs from dialogues: name at least one file of dialogues.")
    teacher = load_teacher(recipe.teacher, recipe.device) if recipe.teacher else None
    pairs = split_pairs(
        names, file_names(tests), corpora, recipe.made, recipe.seed, teacher, file_names(avoid)
    )
    description = describe_data([*names, *corpora], pairs, "pairs", licence)

    def make_task() -> "EntailmentTask":
        task: EntailmentTask = tasks.EntailmentTask(recipe, pairs)
        return task

    def measure(task: "EntailmentTask") -> dict[str, float]:
        parts = {"validation": pairs.validation, **pairs.tests}
        figures = {f"accuracy, {name}": task.accuracy(part) for name, part in parts.items()}
        if recipe.swapped:
            figures |= {f"swapped, {name}": task.swapped_accuracy(part) for name, part in parts.items()}
        return figures

    return train_transformer(recipe, path, description, make_task, measure, save_every)
