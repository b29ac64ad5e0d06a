"""Train a language model on dialogues."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dialoscope.models.checkpoints import Checkpoint
from dialoscope.training.recipes import LmRecipe
from dialoscope.training.training_data import describe_data, file_names, split_files
from dialoscope.training.transformer_training import import_tasks, train_transformer
from dialoscope.training.workplace import check_folder

if TYPE_CHECKING:
    from dialoscope.training.engines.dialogue_tasks import DialogueTask


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
    """Fine-tune a language model on dialogues.

    Args:
        data: Files of dialogues, or assets (chitchat, movie-dialogues).
        folder: Folder of the checkpoint; an interrupted training resumes there.
        recipe: The settings; `LmRecipe()` by default.
        validation: A validation file, or the share of dialogues that is held out for validation.
        tests: Files whose perplexity is reported, before and after.
        avoid: Files whose dialogues are excluded from the training data.
        licence: Licence of the data, for the card.
        save_every: Seconds between two savings, from which an interrupted training resumes.
    """
    recipe = recipe or LmRecipe()
    path = check_folder(folder)
    recipe.check_licences(file_names(data))
    dialogues = split_files(data, validation, tests, avoid)
    description = describe_data(file_names(data), dialogues, "dialogues", licence)
    tasks = import_tasks("dialogue_tasks")

    def make_task() -> "DialogueTask":
        task: DialogueTask = tasks.DialogueTask(recipe, dialogues)
        return task

    def measure(task: "DialogueTask") -> dict[str, float]:
        return {
            f"{figure}, {name}": value
            for name, part in dialogues.evaluated.items()
            for figure, value in task.figures(part).items()
        }

    return train_transformer(recipe, path, description, make_task, measure, save_every)
