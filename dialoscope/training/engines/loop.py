"""The training loop: the same weights for a seed, also when it was interrupted and resumed."""

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
from dialoscope.core.progress import print_notice, progress_bar
from dialoscope.training.recipes import EpochRecipe
from dialoscope.training.workplace import State, Workplace

WARM_UP = 0.05
"""The share of the training over which the learning rate rises."""

Weights = Mapping[str, torch.Tensor]


class Task(Protocol):
    """A model, batches of training data, and losses."""

    model: torch.nn.Module

    def batches(self, epoch: int) -> Sequence[Any]:
        """The batches of an epoch, in their order, which is always the same."""

    def loss(self, batch: Any) -> torch.Tensor:  # noqa: ANN401 - each task has its own
        """The loss of a batch."""

    def validate(self) -> float:
        """The loss, or share of errors, on validation data; lower is better."""


@dataclass
class Loop:
    """A training in progress."""

    task: Task
    recipe: EpochRecipe
    workplace: Workplace
    save_every: float = 60.0
    """Seconds between two savings."""
    clock: Callable[[], float] = time.monotonic
    began: float = field(init=False)
    saved: float = field(init=False)
    betas: ClassVar[tuple[float, float]] = (0.9, 0.98)
    """Coefficients of the running averages of AdamW."""
    max_norm: ClassVar[float] = 1.0
    """The norm to which longer gradients are clipped."""

    def __post_init__(self) -> None:
        self.began = self.saved = self.clock()
        self.weights = {
            name: weight for name, weight in self.task.model.named_parameters() if weight.requires_grad
        }
        rate = self.recipe.learning_rate
        self.optimizer = torch.optim.AdamW(self.weights.values(), rate, betas=self.betas, weight_decay=0.0)
        self.state = self.workplace.state()

    def run(self) -> State:
        """Train until it is done; then the model has the best weights."""
        if self.state.has_begun:
            self._resume()
        while self.state.epoch < self.recipe.epochs and not self._is_done():
            self._run_epoch()
        if math.isinf(self.state.best):
            raise TrainingError(
                "The training diverged: validation is not a number after any epoch. Lower the learning rate, "
                "and name another folder."
            )
        _set_weights(self.weights, _read(self.workplace.best))
        return self.state

    def _is_done(self) -> bool:
        """Whether it no longer improves, or time is up after at least one epoch."""
        is_late = bool(self.state.history) and self._is_late()
        return is_late or self.state.without_improvement >= self.recipe.patience

    def _is_late(self) -> bool:
        return bool(self.recipe.minutes) and self.clock() - self.began > 60 * self.recipe.minutes

    def _run_epoch(self) -> None:
        batches = self.task.batches(self.state.epoch)
        self.task.model.train()
        label = f"Epoch {self.state.epoch + 1} of {self.recipe.epochs}"
        with progress_bar(label, len(batches), unit="batches") as advance:
            advance(self.state.step)
            for step in range(self.state.step, len(batches)):
                loss = self._step(batches[step], step, len(batches))
                self.state = self.state.after_step(loss)
                advance(1)
                if self.clock() - self.saved >= self.save_every:
                    self._save()
                if self._is_late():
                    break
        self._validate()

    def _step(self, batch: Any, step: int, steps: int) -> float:  # noqa: ANN401
        factor = self._rate_factor(step, steps)
        for group in self.optimizer.param_groups:
            group["lr"] = self.recipe.learning_rate * factor
        # Dropout depends on epoch and step alone, so that an interruption changes nothing.
        torch.manual_seed(self.recipe.seed * 1_000_003 + self.state.epoch * 100_003 + step)
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.task.loss(batch)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.weights.values(), self.max_norm)
        self.optimizer.step()
        return float(loss.detach())

    def _rate_factor(self, step: int, steps: int) -> float:
        """The factor of the learning rate: it rises at first, then falls to zero."""
        done = (self.state.epoch + step / steps) / self.recipe.epochs
        return min(done / WARM_UP, (1 - done) / (1 - WARM_UP)) if done else 0.1 * WARM_UP

    def _validate(self) -> None:
        self.task.model.eval()
        with torch.inference_mode():
            validation = self.task.validate()
        if not math.isnan(validation) and validation < self.state.best:
            save_file(_copy(self.weights), self.workplace.fresh(self.workplace.best))
            self.workplace.settle(self.workplace.best)
        self.state = self.state.after_epoch(validation)
        last = self.state.history[-1]
        print_notice(f"Epoch {last['epoch']}: training {last['training']:.4f}, validation {validation:.4f}.")
        self._save()

    def _save(self) -> None:
        """Save weights, the state of the optimizer, and the step: all three or none."""
        tensors = {f"weight {name}": weight for name, weight in _copy(self.weights).items()}
        for name, weight in self.weights.items():
            for key, value in self.optimizer.state.get(weight, {}).items():
                tensors[f"{key} {name}"] = value.detach().cpu().clone()
        self.workplace.save(self.state, lambda path: save_file(tensors, path))
        self.saved = self.clock()

    def _resume(self) -> None:
        tensors = _read(self.workplace.weights)
        _set_weights(self.weights, {name: tensors[f"weight {name}"] for name in self.weights})
        for name, weight in self.weights.items():
            state = {
                key: tensors[f"{key} {name}"]
                for key in ("step", "exp_avg", "exp_avg_sq")
                if f"{key} {name}" in tensors
            }
            self.optimizer.state[weight] = {
                key: value if key == "step" else value.to(weight.device) for key, value in state.items()
            }
        print_notice(f"Resuming epoch {self.state.epoch + 1} after {self.state.step} batches.")


def _copy(weights: Weights) -> dict[str, torch.Tensor]:
    return {name: weight.detach().cpu().clone().contiguous() for name, weight in weights.items()}


def _read(path: Path) -> dict[str, torch.Tensor]:
    try:
        return load_file(path)
    except (OSError, SafetensorError) as damaged:
        raise TrainingError(f"{path} cannot be read ({damaged}); remove {path.parent.parent}.") from damaged


@torch.no_grad()
def _set_weights(weights: Weights, values: Weights) -> None:
    for name, weight in weights.items():
        weight.copy_(values[name])
