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
from dialoscope.core.progress import print_notice
from dialoscope.models.asset_kinds import assets_of_kind, check_kind
from dialoscope.models.content import content_hash

WEIGHTS = "*.safetensors"
_HUB_PATTERNS = [WEIGHTS, "*.safetensors.index.json", "*.json", "*.txt", "*.model", "*.jinja", "merges.txt"]
_IGNORED_NAMES = (".", "README", "LICENSE", "LICENCE", "NOTICE")
_IGNORED_SUFFIXES = frozenset(
    {".md", ".png", ".jpg", ".py", ".bin", ".pt", ".pth", ".ot", ".h5", ".msgpack", ".onnx", ".gguf"}
)
"""Files that cannot change a number: documentation, and weights in formats that are not read."""
_MODEL_KINDS = ("language model", "encoder", "classifier")
_HUB_NAME = re.compile(r"\w[\w.-]{0,95}(/\w[\w.-]{0,95})?", re.ASCII)

SPEC = "spec.json"
"""The file of a checkpoint with its settings, data and figures."""
ADAPTER = "adapter_config.json"
ADAPTER_WEIGHTS = "adapter_model.safetensors"
"""File names of peft; the configuration of an adapter names its base model."""


class Model(NamedTuple):
    """The files of a model."""

    folder: Path
    """The folder with weights, tokenizer and configuration."""
    adapter: Path | None = None
    """The folder of the adapter, if there is one."""

    @property
    def config_folder(self) -> Path:
        """The folder whose config.json applies: that of the adapter if it has one."""
        if self.adapter and (self.adapter / "config.json").is_file():
            return self.adapter
        return self.folder

    @property
    def config(self) -> dict[str, Any]:
        """The content of config.json."""
        return configuration(self.config_folder)


def find_model(model: str, revision: str = "main") -> Model:
    """Return the files of a model; fetch them first if necessary."""
    folder = model_folder(model, revision)
    if not (folder / ADAPTER).is_file():
        return Model(folder)
    base = model_folder(base_name(folder), base_revision(folder))
    if (base / ADAPTER).is_file():
        raise BackendError(f"The base model of the adapter {folder} is {base}, which is an adapter itself.")
    return Model(base, folder)


def base_name(adapter: Path) -> str:
    """Return the name of the base model of an adapter."""
    name = configuration(adapter, ADAPTER).get("base_model_name_or_path")
    if not name or not isinstance(name, str):
        raise BackendError(f"{adapter / ADAPTER} does not name the base model of the adapter.")
    return name


def base_revision(adapter: Path) -> str:
    """Return the revision of the base model on the hub."""
    return str(configuration(adapter, ADAPTER).get("revision") or "main")


def model_folder(model: str, revision: str = "main") -> Path:
    """Return the folder of a model or adapter; fetch it first if necessary."""
    if is_folder(model):
        return _check_folder(Path(model).expanduser(), model)
    if model in assets.ASSETS:
        return assets.locate(check_kind(model, "model", *_MODEL_KINDS))
    if not _HUB_NAME.fullmatch(model):
        raise BackendError(f"There is no folder '{model}'. Name a folder, an asset, or a model on the hub.")
    return _check_folder(_fetch_from_hub(model, revision), model)


def fingerprint(model: str, revision: str = "main") -> str:
    """Return a hash of all files that can change a number: those of the model, its adapter and base model."""
    if model in assets.ASSETS and not is_folder(model):  # the registry has the hash, so nothing is fetched
        own = assets.fingerprint(check_kind(model, "model", *_MODEL_KINDS))
        return _combine(own, fingerprint(base)) if (base := assets.ASSETS[model].base) else own
    folder = model_folder(model, revision)
    own = content_hash(_relevant_files(folder))
    if not (folder / ADAPTER).is_file():
        return own
    find_model(model, revision)  # refuses an adapter whose base model is an adapter, such as itself
    return _combine(own, fingerprint(base_name(folder), base_revision(folder)))


def asset_names(model: str) -> tuple[str, ...]:
    """Return the names of the assets that a model is or was trained from, over all successive trainings.

    Nothing is fetched. Models on the hub are not traced back.
    """
    names, queue = dict[str, None](), [model]
    for name in queue:  # the queue grows in the loop
        if not is_folder(name):
            names.update(dict.fromkeys([name] if name in assets.ASSETS else []))
            continue
        folder = Path(name).expanduser()
        sources = [read_training_setting(folder, setting) for setting in ("model", "teacher")]
        sources += [base_name(folder)] if (folder / ADAPTER).is_file() else []
        queue += [source for source in sources if source and source not in queue]
    return tuple(names)


def read_training_setting(folder: Path, setting: str) -> str:
    """Return a setting of the training that wrote this folder, or an empty string if it is not recorded."""
    try:
        return str(json.loads((folder / SPEC).read_text(encoding="utf-8"))["settings"][setting])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""  # an error is raised when the model is used


def _combine(adapter: str, base: str) -> str:
    return sha256(f"{adapter} on {base}".encode()).hexdigest()


def configuration(folder: Path, name: str = "config.json") -> dict[str, Any]:
    """Read a JSON file with settings."""
    path = folder / name
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as damaged:
        raise BackendError(f"{path} cannot be read: {damaged}") from damaged
    if not isinstance(settings, dict):
        raise BackendError(f"{path} cannot be read: it is not a JSON object.")
    return settings


def weight_names(folder: Path) -> frozenset[str]:
    """Return the names of the weights in model.safetensors; none if it cannot be read."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(folder / "model.safetensors", "numpy") as weights:
            return frozenset(weights.keys())
    except (OSError, SafetensorError):
        return frozenset()


def is_folder(model: str) -> bool:
    """Whether a text is the path of a folder."""
    return _satisfies(model, Path.is_dir)


def is_file(name: str) -> bool:
    """Whether a text is the path of a file."""
    return _satisfies(name, Path.is_file)


def _satisfies(text: str, predicate: Callable[[Path], bool]) -> bool:
    try:
        return predicate(Path(text).expanduser())
    except (OSError, RuntimeError, ValueError):  # name too long, unknown user after ~, null byte
        return False


def _relevant_files(folder: Path) -> Iterator[Path]:
    """Yield all files that can change a number, in order; a tokenizer may have files of any name."""
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.is_file() and not (file.name.startswith(_IGNORED_NAMES) or file.suffix in _IGNORED_SUFFIXES):
            yield file


def _check_folder(folder: Path, model: str) -> Path:
    """Return the folder if it contains a model or adapter in safetensors, a format that cannot run code."""
    is_adapter = (folder / ADAPTER).is_file()
    if is_adapter and (folder / ADAPTER_WEIGHTS).is_file():
        return folder
    if not is_adapter and not (folder / "config.json").is_file():
        raise BackendError(f"'{model}' is not a model: {folder} has no config.json.")
    if not any(folder.glob(WEIGHTS)):
        raise BackendError(
            f"'{model}' has no weights in safetensors, the only supported format, since others can run code. "
            "Save it again with model.save_pretrained(folder, safe_serialization=True)."
        )
    return folder


def _fetch_from_hub(model: str, revision: str) -> Path:
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # read by huggingface_hub when it is imported
    try:
        from huggingface_hub import snapshot_download
    except ImportError as missing:
        raise MissingExtra(f"The model '{model}'", "huggingface_hub", "neural") from missing
    try:
        return Path(
            snapshot_download(model, revision=revision, allow_patterns=_HUB_PATTERNS, local_files_only=True)
        )
    except Exception as absent:  # huggingface_hub raises errors of many types
        if assets.is_offline():
            raise BackendError(_missing_model(model, "and Dialoscope is offline")) from absent
    print_notice(f"Fetching {model} ({revision}) from the Hugging Face hub.")
    _hide_bars_without_terminal()
    try:
        return Path(snapshot_download(model, revision=revision, allow_patterns=_HUB_PATTERNS, etag_timeout=5))
    except Exception as failed:
        reason = str(failed).strip().rstrip(".").splitlines() or [type(failed).__name__]
        raise BackendError(_missing_model(model, f"and the download failed: {reason[0]}")) from failed


def _hide_bars_without_terminal() -> None:
    has_terminal = sys.stderr is not None and sys.stderr.isatty()
    if not has_terminal and "HF_HUB_DISABLE_PROGRESS_BARS" not in os.environ:
        from huggingface_hub.utils import disable_progress_bars  # type: ignore[attr-defined]

        disable_progress_bars()


def _missing_model(model: str, why: str) -> str:
    models = ", ".join(assets_of_kind(*_MODEL_KINDS))
    return (
        f"There is no model '{model}' on this machine, {why}. Name the folder of the model. "
        f"These assets are models: {models}."
    )
