"""Checkpoints of trainings: their folders, settings and weights, and the hashes of the weights."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from dialoscope.core.errors import BackendError, TrainingError
from dialoscope.core.files import hash_file
from dialoscope.core.safe_text import printable
from dialoscope.models.locations import SPEC, is_folder, read_training_setting

WEIGHTS = "weights.safetensors"
"""The file of a checkpoint with its weights."""
IN_SPEC = "combination_sha256"
"""The key in a spec for the hash of weights that are part of the spec, as those of a composite."""
SHOWN = 8
"""Number of characters of a hash in a signature."""


@dataclass(frozen=True)
class TrainedModel:
    """A model that was trained by Dialoscope, with its weights in a folder."""

    model: str
    """The folder of the checkpoint."""
    hash: str = field(default="", kw_only=True)
    """First characters of the hash of the weights, which identify them in a signature; empty: any."""
    device: str = field(default="auto", compare=False, kw_only=True)

    def __str__(self) -> str:
        return self.model

    @property
    def folder(self) -> Path | None:
        """The folder of the checkpoint, if it exists."""
        return Path(self.model).expanduser() if is_folder(self.model) else None

    def read_training_setting(self, setting: str) -> str:
        """Return a setting of the training, or an empty string if it is not recorded."""
        return read_training_setting(self.folder, setting) if self.folder else ""

    @property
    def pinned(self) -> Self:
        """The same model with the hash of its current weights, unless it has a hash or no folder."""
        folder = None if self.hash else self.folder
        return replace(self, hash=read_hash(folder)) if folder else self


def weights_hash(files: Iterable[Path]) -> str:
    """Return the hash of the names and contents of files of weights, which a training records."""
    digest = sha256()
    for file in sorted(files):
        digest.update(f"{file.name} {hash_file(file)}\n".encode())
    return digest.hexdigest()


def read_hash(folder: Path) -> str:
    """Return the first characters of the recorded hash of the weights; empty if none is recorded."""
    try:
        return str(json.loads((folder / SPEC).read_text(encoding="utf-8"))["hash"])[:SHOWN]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""  # an error is raised when the model is used


def check_weights(folder: Path, recorded: str, expected: str) -> None:
    """Refuse a checkpoint whose recorded hash does not begin with the expected one."""
    if not recorded.startswith(expected):
        raise BackendError(
            f"The weights in {printable(str(folder))} have the hash {printable(recorded[:SHOWN])}, but those "
            f"with {printable(expected)} are needed: the model was trained again."
        )


@dataclass(frozen=True)
class Checkpoint:
    """The result of a training: the folder of a model, and its spec."""

    folder: Path
    spec: Mapping[str, Any]
    """Recipe, data and figures of the training."""

    @property
    def hash(self) -> str:
        """The hash of the weights, which are separate files or part of the spec."""
        return str(self.spec.get(IN_SPEC) or self.files_hash)

    @property
    def files_hash(self) -> str:
        """The hash of the files of weights."""
        return weights_hash(self.folder.glob("*.safetensors"))

    @staticmethod
    def load(folder: str | Path) -> "Checkpoint":
        """Load a finished checkpoint; an unfinished or damaged one is refused."""
        path = Path(folder)
        try:
            spec = json.loads((path / SPEC).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise TrainingError(f"{path} holds no finished checkpoint: {error}") from error
        checkpoint = Checkpoint(path, spec)
        if not isinstance(spec, dict) or checkpoint.files_hash != spec.get("hash"):
            raise TrainingError(f"{path} is damaged: its weights are not those that the training left there.")
        return checkpoint
