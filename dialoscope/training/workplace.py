"""The folder that a training leaves behind, and the one in which it works."""

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
    """How far a training is."""

    epoch: int = 0
    """The one at work, from 0."""
    step: int = 0
    """How many batches of it are done."""
    loss: float = 0.0
    """The sum over these."""
    best: float = float("inf")
    without_improvement: int = 0
    history: tuple[Mapping[str, Any], ...] = ()

    @property
    def begun(self) -> bool:
        """Whether there is something to go on with."""
        return bool(self.epoch or self.step)

    def stepped(self, loss: float) -> "State":
        """One batch further."""
        return replace(self, step=self.step + 1, loss=self.loss + loss)

    def judged(self, validation: float) -> "State":
        """One epoch further."""
        better = validation < self.best
        entry = {
            "epoch": self.epoch + 1,
            "batches": self.step,
            "training": self.loss / max(self.step, 1),
            "validation": validation,
        }
        return State(
            epoch=self.epoch + 1,
            best=min(validation, self.best) if better else self.best,
            without_improvement=0 if better else self.without_improvement + 1,
            history=(*self.history, entry),
        )


@dataclass(frozen=True)
class Workplace:
    """Where a training keeps what it needs to go on after it was stopped."""

    folder: Path
    identity: Mapping[str, Any]
    """Settings and data; another training must not go on with what this one left."""

    @property
    def work(self) -> Path:
        """What is removed in the end."""
        return self.folder / _WORK

    @property
    def best(self) -> Path:
        """The weights that did best so far."""
        return self.work / "best.safetensors"

    @property
    def weights(self) -> Path:
        """Weights and the optimizer's memory at the place last saved."""
        return self.work / f"{self._noted()['weights']}"

    def begin(self) -> "Workplace":
        """Itself, once it is clear that the folder is free, or holds the beginning of this very training."""
        refuse_finished(self.folder)
        if self._note.exists():
            if self._noted()["identity"] != self.identity:
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
        return self.folder.is_dir() and all(one.name == _WORK for one in self.folder.iterdir())

    @contextmanager
    def held(self) -> Iterator["Workplace"]:
        """Itself, for one process at a time; a second waits for the first."""
        self.begin()
        with lock(self.work / "lock", f"Another process trains in {self.folder}; waiting for it to end."):
            try:
                yield self.begin()
            except BaseException:
                self._clear()
                raise

    def _clear(self) -> None:
        """Leave nothing where nothing was done that a training could go on with."""
        if not any(self.work.rglob(self._note.name)):
            shutil.rmtree(self.work, ignore_errors=True)
            with suppress(OSError):  # something else is there
                self.folder.rmdir()

    def state(self) -> State:
        """How far it is."""
        if not self._note.exists():
            return State()
        state = self._noted()["state"]
        best = float("inf") if state["best"] is None else state["best"]
        return State(**{**state, "best": best, "history": tuple(state["history"])})

    def save(self, state: State, write: Callable[[Path], None]) -> None:
        """The note is put in place last, and names the file that belongs to it."""
        name = f"weights-{state.epoch}-{state.step}.safetensors"
        write(self.fresh(self.work / name))
        self.settle(self.work / name)
        told = asdict(state) | {"best": None if state.best == float("inf") else state.best}
        note = {"identity": self.identity, "weights": name, "state": told}
        self.fresh(self._note).write_text(json.dumps(note), encoding="utf-8")
        self.settle(self._note)
        for old in self.work.glob("weights-*.safetensors"):
            if old.name != name:
                old.unlink()

    def fresh(self, path: Path) -> Path:
        """Where a file is written before it is whole."""
        return path.with_name(path.name + ".new")

    def settle(self, path: Path) -> None:
        """Put a whole file in its place."""
        put_on_disk(self.fresh(path))
        self.fresh(path).replace(path)

    @property
    def _note(self) -> Path:
        return self.work / "state.json"

    def _noted(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(self._note.read_text(encoding="utf-8"))
            if {"identity", "weights", "state"} <= set(found):
                return found
            damaged: Exception | None = None
        except (OSError, ValueError, TypeError, RecursionError) as error:
            damaged = error
        why = damaged or "it holds no training"
        raise TrainingError(f"{self._note} cannot be read ({why}); remove {self.folder}.") from damaged


def refuse_finished(folder: Path) -> None:
    """Refuse a folder with a finished checkpoint, and remove what a kill at the very end left in it."""
    if (folder / SPEC).exists():
        shutil.rmtree(folder / _WORK, ignore_errors=True)
        raise TrainingError(f"{folder} holds a finished checkpoint; name another folder.")


def check_folder(folder: str | Path) -> Path:
    """The folder of a checkpoint, refused before any data is read if none can be written there."""
    path = Path(folder)
    try:
        refuse_finished(path)
        check_writable(path / _WORK)
    except OSError as error:
        raise TrainingError(f"{folder} cannot be written: {error.strerror}.") from error
    return path


def made_with(*packages: str, device: str = "") -> dict[str, str]:
    """The command, and what it ran on."""
    return {
        "command": join_without_secrets(["dialoscope", *sys.argv[1:]]),
        **({"device": device} if device else {}),
        "python": platform.python_version(),
        **{name: version(name) for name in ("dialoscope", *packages)},
    }


def finish(
    place: Workplace, spec: Mapping[str, Any], history: tuple[Mapping[str, Any], ...], card: str
) -> Checkpoint:
    """Write what tells of a training beside its weights; spec.json last, which makes it finished."""
    folder = place.folder
    (folder / HISTORY).write_text("".join(as_line(one).decode() for one in history), encoding="utf-8")
    (folder / CARD).write_text(card, encoding="utf-8")
    found = Checkpoint(folder, {**spec, "hash": Checkpoint(folder, spec).files_hash})
    fresh = place.fresh(folder / SPEC)
    fresh.write_text(
        json.dumps(undefined_as_null(found.spec), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    place.settle(folder / SPEC)
    shutil.rmtree(place.work, ignore_errors=True)  # what stays is removed when the folder is named again
    return found
