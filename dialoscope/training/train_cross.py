"""Train the unreferenced part of RUBER as an encoder that reads a context and a reply together."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dialoscope.models.checkpoints import Checkpoint
from dialoscope.training.recipes import CrossRecipe
from dialoscope.training.training_data import describe_data, file_names, split_files
from dialoscope.training.transformer_training import import_tasks, train_transformer
from dialoscope.training.workplace import check_folder

if TYPE_CHECKING:
    from dialoscope.training.engines.pair_tasks import ReplyTask


def train_cross(
    data: Sequence[str | Path] | str | Path,
    folder: str | Path,
    recipe: CrossRecipe,
    *,
    validation: str | Path | float,
    tests: Sequence[str | Path],
    avoid: Sequence[str | Path],
    licence: str,
    save_every: float,
) -> Checkpoint:
    """Train an encoder to distinguish replies that people gave from others; arguments as of `train_ruber`."""
    path = check_folder(folder)
    recipe.check_licences(file_names(data))
    dialogues = split_files(data, validation, tests, avoid)
    description = describe_data(file_names(data), dialogues, "dialogues", licence)
    tasks = import_tasks("pair_tasks")

    def make_task() -> "ReplyTask":
        task: ReplyTask = tasks.ReplyTask(recipe, dialogues)
        return task

    def measure(task: "ReplyTask") -> dict[str, float]:
        return {
            f"right preferred, {name}": task.preference(part) for name, part in dialogues.evaluated.items()
        }

    return train_transformer(recipe, path, description, make_task, measure, save_every)
