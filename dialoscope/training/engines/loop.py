"""The training loop: the same weights for a seed, also when it was stopped on its way and went on later."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from dialoscope.core.errors import TrainingError
from dialoscope.core.progress import bar, notice
from dialoscope.training.recipes import Course
from dialoscope.training.workplace import State, Workplace

WARM_UP = 0.05
"""The share of all steps over which the learning rate rises."""

Weights = Mapping[str, torch.Tensor]


class Task(Protocol):
    """What is learned: batches, and how far the model is off on each."""

    model: torch.nn.Module

    def batches(self, epoch: int) -> Sequence[Any]:
        """What is learned from in an epoch, in its order: the same each time it is asked."""

    def loss(self, batch: Any) -> torch.Tensor:  # noqa: ANN401 - each task has its own
        """How far the model is off."""

    def validated(self) -> float:
        """How far the model is off on what it did not learn from; lower is better."""


@dataclass
class Loop:
    """A training on its way."""

    task: Task
    recipe: Course
    place: Workplace
    save_every: float = 60.0
    """Seconds between two savings of where the training is."""
    clock: Callable[[], float] = time.monotonic
    began: float = field(init=False)
    saved: float = field(init=False)
    betas: ClassVar[tuple[float, float]] = (0.9, 0.98)
    """How slowly the optimizer forgets."""
    longest: ClassVar[float] = 1.0
    """What a longer gradient is cut to."""

    def __post_init__(self) -> None:
        self.began = self.saved = self.clock()
        self.weights = {name: one for name, one in self.task.model.named_parameters() if one.requires_grad}
        rate = self.recipe.learning_rate
        self.optimizer = torch.optim.AdamW(self.weights.values(), rate, betas=self.betas, weight_decay=0.0)
        self.state = self.place.state()

    def run(self) -> State:
        """Train until it is done; the best weights are in the model then."""
        if self.state.begun:
            self._go_on()
        while self.state.epoch < self.recipe.epochs and not self._stops():
            self._learn_epoch()
        if math.isinf(self.state.best):
            raise TrainingError(
                "The training went astray: after no epoch is its validation a number. Take a lower learning "
                "rate, and another folder."
            )
        _put(self.weights, _read(self.place.best))
        return self.state

    def _stops(self) -> bool:
        """Whether it no longer improves, or time is up and there is something to show for it."""
        late = bool(self.state.history) and self._late()
        return late or self.state.without_improvement >= self.recipe.patience

    def _late(self) -> bool:
        return bool(self.recipe.minutes) and self.clock() - self.began > 60 * self.recipe.minutes

    def _learn_epoch(self) -> None:
        batches = self.task.batches(self.state.epoch)
        self.task.model.train()
        what = f"Epoch {self.state.epoch + 1} of {self.recipe.epochs}"
        with bar(what, len(batches), unit="batches") as shown:
            shown(self.state.step)
            for step in range(self.state.step, len(batches)):
                loss = self._step(batches[step], step, len(batches))
                self.state = self.state.stepped(loss)
                shown(1)
                if self.clock() - self.saved >= self.save_every:
                    self._save()
                if self._late():
                    break
        self._judge()

    def _step(self, batch: Any, step: int, steps: int) -> float:  # noqa: ANN401
        pace = self._pace(step, steps)
        for group in self.optimizer.param_groups:
            group["lr"] = self.recipe.learning_rate * pace
        # What is dropped out depends on the place alone, so that going on later changes nothing.
        torch.manual_seed(self.recipe.seed * 1_000_003 + self.state.epoch * 100_003 + step)
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.task.loss(batch)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.weights.values(), self.longest)
        self.optimizer.step()
        return float(loss.detach())

    def _pace(self, step: int, steps: int) -> float:
        """How fast is learned: rising at first, then falling to nothing."""
        done = (self.state.epoch + step / steps) / self.recipe.epochs
        return min(done / WARM_UP, (1 - done) / (1 - WARM_UP)) if done else 0.1 * WARM_UP

    def _judge(self) -> None:
        self.task.model.eval()
        with torch.inference_mode():
            found = self.task.validated()
        if not math.isnan(found) and found < self.state.best:
            save_file(_kept(self.weights), self.place.fresh(self.place.best))
            self.place.settle(self.place.best)
        self.state = self.state.judged(found)
        last = self.state.history[-1]
        notice(f"Epoch {last['epoch']}: training {last['training']:.4f}, validation {found:.4f}.")
        self._save()

    def _save(self) -> None:
        """Weights, what the optimizer remembers, and the place: all three or none."""
        kept = {f"weight {name}": one for name, one in _kept(self.weights).items()}
        for name, weight in self.weights.items():
            for key, value in self.optimizer.state.get(weight, {}).items():
                kept[f"{key} {name}"] = value.detach().cpu().clone()
        self.place.save(self.state, lambda path: save_file(kept, path))
        self.saved = self.clock()

    def _go_on(self) -> None:
        kept = _read(self.place.weights)
        _put(self.weights, {name: kept[f"weight {name}"] for name in self.weights})
        for name, weight in self.weights.items():
            remembered = {
                key: kept[f"{key} {name}"]
                for key in ("step", "exp_avg", "exp_avg_sq")
                if f"{key} {name}" in kept
            }
            self.optimizer.state[weight] = {
                key: value if key == "step" else value.to(weight.device) for key, value in remembered.items()
            }
        notice(f"Going on with epoch {self.state.epoch + 1} after {self.state.step} batches of it.")


def _kept(weights: Weights) -> dict[str, torch.Tensor]:
    return {name: one.detach().cpu().clone().contiguous() for name, one in weights.items()}


def _read(path: Path) -> dict[str, torch.Tensor]:
    try:
        return load_file(path)
    except (OSError, SafetensorError) as damaged:
        raise TrainingError(f"{path} cannot be read ({damaged}); remove {path.parent.parent}.") from damaged


@torch.no_grad()
def _put(weights: Weights, values: Weights) -> None:
    for name, weight in weights.items():
        weight.copy_(values[name])
