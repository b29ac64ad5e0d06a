"""The course of every training that changes a transformer, whatever its task."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dialoscope.core.errors import MissingExtra
from dialoscope.models.checkpoints import Checkpoint
from dialoscope.models.engines import import_engine
from dialoscope.models.locations import fingerprint
from dialoscope.training.card import card_of
from dialoscope.training.recipes import TransformerRecipe
from dialoscope.training.training_data import announce_figures
from dialoscope.training.workplace import Workplace, describe_run, finish

if TYPE_CHECKING:
    from dialoscope.training.engines.adapted import AdaptedTask
    from dialoscope.training.engines.loop import Loop

Task = TypeVar("Task", bound="AdaptedTask")


def train_transformer(
    recipe: TransformerRecipe,
    folder: Path,
    data: Mapping[str, Any],
    make_task: Callable[[], Task],
    measure: Callable[[Task], dict[str, float]],
    save_every: float,
) -> Checkpoint:
    """Train on a task, or resume where an interrupted training stopped, and write the checkpoint.

    Args:
        recipe: The settings.
        folder: Folder of the checkpoint.
        data: Description of the data, for the card.
        make_task: Loads the model and prepares the data.
        measure: The figures of the model, reported before and after.
        save_every: Seconds between two savings.
    """
    identity = recipe.identity(fingerprint(recipe.model), data)
    make_loop: type[Loop] = import_engine("loop", "Training", "dialoscope.training.engines").Loop
    with Workplace(folder, identity).hold() as workplace:
        task = make_task()
        before = measure(task)
        announce_figures("Before", before)
        state = make_loop(task, recipe, workplace, save_every).run()
        task.learner.round()
        after = measure(task)
        announce_figures("After", after)
        task.learner.save(folder)
        versions = describe_run("torch", "transformers", "peft", device=task.learner.device.type)
        spec = {**identity, "before": before, "after": after, "made with": versions}
        return finish(workplace, spec, state.history, card_of(folder, spec, state.history))


def import_tasks(name: str) -> Any:  # noqa: ANN401 - a module
    """Import a module of tasks; a missing peft is reported before any data is read."""
    try:
        import peft  # noqa: F401
    except ImportError as missing:
        raise MissingExtra("Training", "peft", "train") from missing
    return import_engine(name, "Training", "dialoscope.training.engines")
