"""Where a model is: a folder, an asset, or a name on the Hugging Face hub."""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import dialoscope.models.registry as assets
from dialoscope.core.errors import BackendError, MissingExtra
from dialoscope.core.progress import notice
from dialoscope.models.asset_kinds import assets_of_kind, check_kind
from dialoscope.models.content import content_hash

WEIGHTS = "*.safetensors"
_FETCHED = [WEIGHTS, "*.safetensors.index.json", "*.json", "*.txt", "*.model", "*.jinja", "merges.txt"]
_UNREAD_NAMES = (".", "README", "LICENSE", "LICENCE", "NOTICE")
_UNREAD_SUFFIXES = frozenset(
    {".md", ".png", ".jpg", ".py", ".bin", ".pt", ".pth", ".ot", ".h5", ".msgpack", ".onnx", ".gguf"}
)
"""Of files beside a model: what is about it, and weights in formats that are not read."""
_MODEL_KINDS = ("language model", "encoder", "classifier")
_HUB_NAME = re.compile(r"\w[\w.-]{0,95}(/\w[\w.-]{0,95})?", re.ASCII)

SPEC = "spec.json"
"""Of a checkpoint: what it says of itself."""
ADAPTER = "adapter_config.json"
ADAPTER_WEIGHTS = "adapter_model.safetensors"
"""What peft calls its files; the folder of an adapter names the model that it was trained on top of."""


class Model(NamedTuple):
    """A model's files."""

    folder: Path
    """Weights, tokenizer and configuration."""
    adapter: Path | None = None
    """The folder of what was learned on top of them."""

    @property
    def told(self) -> Path:
        """The folder whose config.json holds: the adapter's, where it has one."""
        own = self.adapter is not None and (self.adapter / "config.json").is_file()
        return self.adapter if own and self.adapter else self.folder

    @property
    def config(self) -> dict[str, Any]:
        """What config.json says."""
        return configuration(self.told)


def find_model(model: str, revision: str = "main") -> Model:
    """The files of a model, fetched first where they must be."""
    folder = model_folder(model, revision)
    if not (folder / ADAPTER).is_file():
        return Model(folder)
    base = model_folder(base_name(folder), base_revision(folder))
    if (base / ADAPTER).is_file():
        raise BackendError(f"{folder} was trained on top of {base}, which is an adapter itself.")
    return Model(base, folder)


def base_name(adapter: Path) -> str:
    """The model that an adapter was trained on top of."""
    found = configuration(adapter, ADAPTER).get("base_model_name_or_path")
    if not found or not isinstance(found, str):
        raise BackendError(f"{adapter / ADAPTER} does not name the model that it belongs to.")
    return found


def base_revision(adapter: Path) -> str:
    """Of the model below, on the hub."""
    return str(configuration(adapter, ADAPTER).get("revision") or "main")


def model_folder(model: str, revision: str = "main") -> Path:
    """The folder of a model or of an adapter, fetched first where it must be."""
    if is_folder(model):
        return _checked(Path(model).expanduser(), model)
    if model in assets.ASSETS:
        return assets.locate(check_kind(model, "model", *_MODEL_KINDS))
    if not _HUB_NAME.fullmatch(model):
        raise BackendError(f"There is no folder '{model}'. Name a folder, an asset, or a model on the hub.")
    return _checked(_from_hub(model, revision), model)


def fingerprint(model: str, revision: str = "main") -> str:
    """A hash of everything that can change a number: of an adapter's files and of the model below them."""
    if model in assets.ASSETS and not is_folder(model):  # known without fetching anything
        own = assets.fingerprint(check_kind(model, "model", *_MODEL_KINDS))
        return _joined(own, fingerprint(base)) if (base := assets.ASSETS[model].base) else own
    folder = model_folder(model, revision)
    own = content_hash(_relevant(folder))
    if not (folder / ADAPTER).is_file():
        return own
    find_model(model, revision)  # an adapter of an adapter is refused, and so is one of itself
    return _joined(own, fingerprint(base_name(folder), base_revision(folder)))


def asset_names(model: str) -> tuple[str, ...]:
    """The assets that a model is or was trained from, over as many trainings as there were.

    Nothing is fetched. Of a model on the hub nothing is known.
    """
    found, waiting = dict[str, None](), [model]
    for name in waiting:  # which grows
        if not is_folder(name):
            found.update(dict.fromkeys([name] if name in assets.ASSETS else []))
            continue
        folder = Path(name).expanduser()
        below = [trained_with(folder, setting) for setting in ("model", "teacher")]
        below += [base_name(folder)] if (folder / ADAPTER).is_file() else []
        waiting += [name for name in below if name and name not in waiting]
    return tuple(found)


def trained_with(folder: Path, setting: str) -> str:
    """What a setting was of the training that left this folder; empty where nothing says so."""
    try:
        return str(json.loads((folder / SPEC).read_text(encoding="utf-8"))["settings"][setting])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""  # what is wrong with it is told when it is used


def _joined(adapter: str, base: str) -> str:
    return sha256(f"{adapter} on {base}".encode()).hexdigest()


def configuration(folder: Path, name: str = "config.json") -> dict[str, Any]:
    """What a file of settings says."""
    path = folder / name
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as damaged:
        raise BackendError(f"{path} cannot be read: {damaged}") from damaged
    if not isinstance(found, dict):
        raise BackendError(f"{path} cannot be read: it holds no settings.")
    return found


def weight_names(folder: Path) -> frozenset[str]:
    """The names of the weights in model.safetensors; none where that cannot be read."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(folder / "model.safetensors", "numpy") as weights:
            return frozenset(weights.keys())
    except (OSError, SafetensorError):
        return frozenset()


def is_folder(model: str) -> bool:
    """Whether a model is named by the folder it lies in."""
    return _names(model, Path.is_dir)


def is_file(name: str) -> bool:
    """Whether a text names a file."""
    return _names(name, Path.is_file)


def _names(text: str, what: Callable[[Path], bool]) -> bool:
    try:
        return what(Path(text).expanduser())
    except (OSError, RuntimeError, ValueError):  # too long a name, nobody's home, a zero byte
        return False


def _relevant(folder: Path) -> Iterator[Path]:
    """All files that can be read, in a fixed order: a tokenizer may have files of any name."""
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.is_file() and not (file.name.startswith(_UNREAD_NAMES) or file.suffix in _UNREAD_SUFFIXES):
            yield file


def _checked(folder: Path, model: str) -> Path:
    """A folder that holds a model in the one format that cannot run code."""
    adapts = (folder / ADAPTER).is_file()
    if adapts and (folder / ADAPTER_WEIGHTS).is_file():
        return folder
    if not adapts and not (folder / "config.json").is_file():
        raise BackendError(f"'{model}' holds no model: {folder} has no config.json.")
    if not any(folder.glob(WEIGHTS)):
        raise BackendError(
            f"'{model}' has no weights as safetensors, the only format read, since others can run code. "
            "Save it again with model.save_pretrained(folder, safe_serialization=True)."
        )
    return folder


def _from_hub(model: str, revision: str) -> Path:
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # it is read when the package is imported
    try:
        from huggingface_hub import snapshot_download
    except ImportError as missing:
        raise MissingExtra(f"The model '{model}'", "huggingface_hub", "neural") from missing
    try:
        return Path(
            snapshot_download(model, revision=revision, allow_patterns=_FETCHED, local_files_only=True)
        )
    except Exception as absent:  # the hub's errors are of many kinds
        if assets.offline():
            raise BackendError(_lacking(model, "and this is offline")) from absent
    notice(f"Fetching {model} ({revision}) from the Hugging Face hub.")
    _hide_bars_where_nobody_looks()
    try:
        return Path(snapshot_download(model, revision=revision, allow_patterns=_FETCHED, etag_timeout=5))
    except Exception as failed:
        reason = str(failed).strip().splitlines() or [type(failed).__name__]
        raise BackendError(_lacking(model, f"and the hub did not give it: {reason[0]}")) from failed


def _hide_bars_where_nobody_looks() -> None:
    watched = sys.stderr is not None and sys.stderr.isatty()
    if not watched and "HF_HUB_DISABLE_PROGRESS_BARS" not in os.environ:
        from huggingface_hub.utils import disable_progress_bars  # type: ignore[attr-defined]

        disable_progress_bars()


def _lacking(model: str, why: str) -> str:
    return (
        f"There is no model '{model}' on this machine, {why}. Name a folder that holds it. {_known_models()}"
    )


def _known_models() -> str:
    return f"These assets are models: {', '.join(assets_of_kind(*_MODEL_KINDS))}."
