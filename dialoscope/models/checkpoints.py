"""Folders that a training left, as backends: which weights they hold, and that they hold them still."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from dialoscope.core.errors import BackendError, TrainingError
from dialoscope.core.files import hash_file
from dialoscope.core.safe_text import printable
from dialoscope.models.locations import SPEC, is_folder, trained_with

WEIGHTS = "weights.safetensors"
"""Of a checkpoint: what was learned."""
IN_SPEC = "combination_sha256"
"""What a spec calls the hash of weights that are in it, as those of a composite are."""
SHOWN = 8
"""So many characters of a hash stand in a signature."""


@dataclass(frozen=True)
class Trained:
    """A backend whose weights are learned here, and lie in a folder."""

    model: str
    """The checkpoint's folder."""
    hash: str = field(default="", kw_only=True)
    """How the hash of its weights begins, so that a number says which weights it is of; empty: any."""
    device: str = field(default="auto", compare=False, kw_only=True)

    def __str__(self) -> str:
        return self.model

    @property
    def folder(self) -> Path | None:
        """Where it lies, if it is there."""
        return Path(self.model).expanduser() if is_folder(self.model) else None

    def trained_with(self, setting: str) -> str:
        """What a setting of the training was; empty where the folder does not say."""
        return trained_with(self.folder, setting) if self.folder else ""

    @property
    def pinned(self) -> Self:
        """With the hash of the weights that are there now; itself where it has one, or there are none."""
        folder = None if self.hash else self.folder
        return replace(self, hash=noted_hash(folder)) if folder else self


def weights_hash(files: Iterable[Path]) -> str:
    """What a training notes of the weights that it leaves: a hash of their names and of what they hold."""
    found = sha256()
    for file in sorted(files):
        found.update(f"{file.name} {hash_file(file)}\n".encode())
    return found.hexdigest()


def noted_hash(folder: Path) -> str:
    """How the hash begins that a training noted of the weights in a folder; empty where it left none."""
    try:
        return str(json.loads((folder / SPEC).read_text(encoding="utf-8"))["hash"])[:SHOWN]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""  # what is wrong with it is told when it is used


def check_weights(folder: Path, noted: str, asked: str) -> None:
    """Refuse a folder whose weights have another hash than the one that is asked for, if any is."""
    if not noted.startswith(asked):
        raise BackendError(
            f"{printable(str(folder))} holds weights with the hash {printable(noted[:SHOWN])}, where those "
            f"with {printable(asked)} are asked for: it was trained again."
        )


@dataclass(frozen=True)
class Checkpoint:
    """What a training left behind: a folder that is a model like any other."""

    folder: Path
    spec: Mapping[str, Any]
    """Recipe, data and figures."""

    @property
    def hash(self) -> str:
        """Of its weights, whether they are files of their own or stand in the spec."""
        return str(self.spec.get(IN_SPEC) or self.files_hash)

    @property
    def files_hash(self) -> str:
        """Of its files of weights."""
        return weights_hash(self.folder.glob("*.safetensors"))

    @staticmethod
    def load(folder: str | Path) -> "Checkpoint":
        """A finished one; one that is not is refused."""
        path = Path(folder)
        try:
            spec = json.loads((path / SPEC).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise TrainingError(f"{path} holds no finished checkpoint: {error}") from error
        found = Checkpoint(path, spec)
        if not isinstance(spec, dict) or found.files_hash != spec.get("hash"):
            raise TrainingError(f"{path} is damaged: its weights are not those that the training left there.")
        return found
