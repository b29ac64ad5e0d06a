"""Where a model is: a folder, an asset, or a name on the Hugging Face hub."""

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dialoscope.assets as assets
from dialoscope.backends.content import content_hash
from dialoscope.backends.kinds import assets_of_kind, check_kind
from dialoscope.errors import BackendError, MissingExtra
from dialoscope.progress import notice

WEIGHTS = "*.safetensors"
_FETCHED = [WEIGHTS, "*.safetensors.index.json", "*.json", "*.txt", "*.model", "*.jinja", "merges.txt"]
_UNREAD_NAMES = (".", "README", "LICENSE", "LICENCE", "NOTICE")
_UNREAD_SUFFIXES = frozenset(
    {".md", ".png", ".jpg", ".py", ".bin", ".pt", ".pth", ".ot", ".h5", ".msgpack", ".onnx", ".gguf"}
)
"""Of files beside a model: what is about it, and weights in formats that are not read."""
_MODEL_KINDS = ("language model", "encoder")
_HUB_NAME = re.compile(r"\w[\w.-]{0,95}(/\w[\w.-]{0,95})?", re.ASCII)


def model_folder(model: str, revision: str = "main") -> Path:
    """The folder with the weights, fetched first where it must be."""
    if _is_folder(model):
        return _checked(Path(model).expanduser(), model)
    if model in assets.ASSETS:
        return assets.locate(check_kind(model, "model", *_MODEL_KINDS))
    if not _HUB_NAME.fullmatch(model):
        raise BackendError(f"There is no folder '{model}'. Name a folder, an asset, or a model on the hub.")
    return _checked(_from_hub(model, revision), model)


def fingerprint(model: str, revision: str = "main") -> str:
    """A hash of everything in the model's folder that can change a number."""
    if model in assets.ASSETS and not _is_folder(model):
        return assets.fingerprint(check_kind(model, "model", *_MODEL_KINDS))
    return content_hash(_relevant(model_folder(model, revision)))


def configuration(folder: Path) -> dict[str, Any]:
    """What config.json says."""
    path = folder / "config.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as damaged:
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


def _is_folder(model: str) -> bool:
    try:
        return Path(model).expanduser().is_dir()
    except (OSError, RuntimeError, ValueError):  # too long a name, nobody's home, a zero byte
        return False


def _relevant(folder: Path) -> Iterator[Path]:
    """All files that can be read, in a fixed order: a tokenizer may have files of any name."""
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.is_file() and not (file.name.startswith(_UNREAD_NAMES) or file.suffix in _UNREAD_SUFFIXES):
            yield file


def _checked(folder: Path, model: str) -> Path:
    """A folder that holds a model in the one format that cannot run code."""
    if not (folder / "config.json").is_file():
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
