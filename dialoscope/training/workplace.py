"""The folder of a checkpoint, and the work folder of a training in it."""

import json
import platform
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dialoscope.core.errors import TrainingError
from dialoscope.core.files import check_writable, lock, put_on_disk
from dialoscope.core.json_values import undefined_as_null
from dialoscope.core.redaction import join_without_secrets
from dialoscope.data.jsonl import as_line
from dialoscope.models.checkpoints import Checkpoint
from dialoscope.models.locations import SPEC

HISTORY, CARD = "history.jsonl", "card.md"
_WORK = ".training"


@dataclass(frozen=True)
class State:
    """The progress of a training."""

    epoch: int = 0
    """The current epoch, from 0."""
    step: int = 0
    """The number of finished batches of this epoch."""
    loss: float = 0.0
    """The sum of the losses of these batches."""
    best: float = float("inf")
    without_improvement: int = 0
    history: tuple[Mapping[str, Any], ...] = ()

    @property
    def has_begun(self) -> bool:
        """Whether there is anything to resume."""
        return bool(self.epoch or self.step)

    def after_step(self, loss: float) -> "State":
        """The state after another batch."""
        return replace(self, step=self.step + 1, loss=self.loss + loss)

    def after_epoch(self, validation: float) -> "State":
        """The state after this epoch."""
        is_better = validation < self.best
        entry = {
            "epoch": self.epoch + 1,
            "batches": self.step,
            "training": self.loss / max(self.step, 1),
            "validation": validation,
        }
        return State(
            epoch=self.epoch + 1,
            best=min(validation, self.best) if is_better else self.best,
            without_improvement=0 if is_better else self.without_improvement + 1,
            history=(*self.history, entry),
        )


@dataclass(frozen=True)
class Workplace:
    """The files from which an interrupted training resumes."""

    folder: Path
    identity: Mapping[str, Any]
    """Settings and data; no other training may resume from these files."""

    @property
    def work(self) -> Path:
        """The work folder, which is removed in the end."""
        return self.folder / _WORK

    @property
    def best(self) -> Path:
        """The file of the best weights so far."""
        return self.work / "best.safetensors"

    @property
    def weights(self) -> Path:
        """The file of the weights and the state of the optimizer, as saved last."""
        return self.work / f"{self._read_note()['weights']}"

    def begin(self) -> "Workplace":
        """Make the work folder, if the folder is free or holds the beginning of this very training."""
        refuse_finished(self.folder)
        if self._note.exists():
            if self._read_note()["identity"] != self.identity:
                raise TrainingError(
                    f"{self.folder} holds the beginning of a training with other settings or data; name "
                    "another folder, or remove it."
                )
        elif self.folder.exists() and not self._is_free():
            raise TrainingError(f"{self.folder} is not empty, and holds no training; name another folder.")
        try:
            self.work.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TrainingError(f"{self.folder} cannot be written: {error.strerror}.") from error
        return self

    def _is_free(self) -> bool:
        return self.folder.is_dir() and all(path.name == _WORK for path in self.folder.iterdir())

    @contextmanager
    def hold(self) -> Iterator["Workplace"]:
        """Lock the work folder; a second process waits for the first."""
        self.begin()
        with lock(self.work / "lock", f"Another process trains in {self.folder}; waiting for it to end."):
            try:
                yield self.begin()
            except BaseException:
                self._clear()
                raise

    def _clear(self) -> None:
        """Remove the work folder if there is nothing in it to resume from."""
        if not any(self.work.rglob(self._note.name)):
            shutil.rmtree(self.work, ignore_errors=True)
            with suppress(OSError):  # it holds something else
                self.folder.rmdir()

    def state(self) -> State:
        """The progress that was saved last."""
        if not self._note.exists():
            return State()
        state = self._read_note()["state"]
        best = float("inf") if state["best"] is None else state["best"]
        return State(**{**state, "best": best, "history": tuple(state["history"])})

    def save(self, state: State, write: Callable[[Path], None]) -> None:
        """Write the weights, then the note that names their file."""
        name = f"weights-{state.epoch}-{state.step}.safetensors"
        write(self.fresh(self.work / name))
        self.settle(self.work / name)
        values = asdict(state) | {"best": None if state.best == float("inf") else state.best}
        note = {"identity": self.identity, "weights": name, "state": values}
        self.fresh(self._note).write_text(json.dumps(note), encoding="utf-8")
        self.settle(self._note)
        for old in self.work.glob("weights-*.safetensors"):
            if old.name != name:
                old.unlink()

    def fresh(self, path: Path) -> Path:
        """The path that a file is written to before it is complete."""
        return path.with_name(path.name + ".new")

    def settle(self, path: Path) -> None:
        """Move a complete file to its path."""
        put_on_disk(self.fresh(path))
        self.fresh(path).replace(path)

    @property
    def _note(self) -> Path:
        return self.work / "state.json"

    def _read_note(self) -> dict[str, Any]:
        try:
            note: dict[str, Any] = json.loads(self._note.read_text(encoding="utf-8"))
            if {"identity", "weights", "state"} <= set(note):
                return note
            damaged: Exception | None = None
        except (OSError, ValueError, TypeError, RecursionError) as error:
            damaged = error
        reason = damaged or "it holds no training"
        raise TrainingError(f"{self._note} cannot be read ({reason}); remove {self.folder}.") from damaged


def refuse_finished(folder: Path) -> None:
    """Refuse a folder with a finished checkpoint; a work folder that a kill left in it is removed."""
    if (folder / SPEC).exists():
        shutil.rmtree(folder / _WORK, ignore_errors=True)
        raise TrainingError(f"{folder} holds a finished checkpoint; name another folder.")


def check_folder(folder: str | Path) -> Path:
    """Refuse a folder that no checkpoint can be written to, before any data is read."""
    path = Path(folder)
    try:
        refuse_finished(path)
        check_writable(path / _WORK)
    except OSError as error:
        raise TrainingError(f"{folder} cannot be written: {error.strerror}.") from error
    return path


def describe_run(*packages: str, device: str = "") -> dict[str, str]:
    """The command, the device, and the versions of packages."""
    return {
        "command": join_without_secrets(["dialoscope", *sys.argv[1:]]),
        **({"device": device} if device else {}),
        "python": platform.python_version(),
        **{name: version(name) for name in ("dialoscope", *packages)},
    }


def finish(
    workplace: Workplace, spec: Mapping[str, Any], history: tuple[Mapping[str, Any], ...], card: str
) -> Checkpoint:
    """Write history, card and, last of all, spec.json, which marks the checkpoint as finished."""
    folder = workplace.folder
    (folder / HISTORY).write_text("".join(as_line(entry).decode() for entry in history), encoding="utf-8")
    (folder / CARD).write_text(card, encoding="utf-8")
    checkpoint = Checkpoint(folder, {**spec, "hash": Checkpoint(folder, spec).files_hash})
    fresh = workplace.fresh(folder / SPEC)
    fresh.write_text(
        json.dumps(undefined_as_null(checkpoint.spec), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    workplace.settle(folder / SPEC)
    shutil.rmtree(workplace.work, ignore_errors=True)  # anything left is removed by `refuse_finished`
    return checkpoint
