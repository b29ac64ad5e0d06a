"""LoRA adapters in the format of peft, merged into the weights of their base model.

A model with a merged adapter has ordinary layers, and peft is not needed to use it.
"""

import math
from collections.abc import Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from dialoscope.core.errors import BackendError
from dialoscope.models.locations import ADAPTER, ADAPTER_WEIGHTS, Model, configuration

_BEGIN = "base_model.model."
_DOWN, _UP = ".lora_A.weight", ".lora_B.weight"
_READ = frozenset({"r", "lora_alpha", "use_rslora", "fan_in_fan_out"})
_IDLE = frozenset(
    {
        "auto_mapping", "base_model_name_or_path", "exclude_modules", "inference_mode", "layers_pattern",
        "layers_to_transform", "lora_dropout", "megatron_core", "modules_to_save", "peft_version",
        "qalora_group_size", "revision", "runtime_config", "target_modules", "task_type",
    }
)  # fmt: skip
"""Settings that only affect training, or that the weights imply."""
_PLAIN: dict[str, tuple[Any, ...]] = {
    "peft_type": ("LORA",),
    "bias": ("none",),
    "init_lora_weights": (True, False, None, "gaussian", "orthogonal"),
}
"""Supported values of settings, with which the adapter is a product that is added to the weights. Other
initializations, such as PiSSA, change the base weights too."""
_WHOLE_TASKS = ("CAUSAL_LM", "SEQ_2_SEQ_LM")
"""Tasks for which an adapter cannot have new weights, since the base model already has a head."""


class _Change(NamedTuple):
    """A change of a weight: a value that is added to it or replaces it."""

    name: str
    value: torch.Tensor
    added: bool


def weights_of(model: Model) -> dict[str, torch.Tensor]:
    """Load the weights of a model in a single file, and merge its adapter."""
    weights = load_file(model.folder / "model.safetensors")
    if model.adapter:
        merge(weights, model.adapter)
    return weights


@torch.no_grad()
def merge(weights: MutableMapping[str, torch.Tensor], adapter: Path) -> frozenset[str]:
    """Merge an adapter into weights; return the names of the weights that it changes.

    Parameters of a loaded model are changed in place; other tensors are replaced, in float32.
    """
    settings = _settings(adapter)
    may_be_new = settings.get("task_type") not in _WHOLE_TASKS
    names = set()
    for change in _changes(adapter, settings):
        name = _match_name(change.name, weights)
        if name is None and (change.added or not may_be_new):
            raise _mismatch(adapter, change)
        if not may_be_new and not change.added and _is_shared(change.name, weights):
            raise BackendError(
                f"{adapter} changes {change.name}, which the model shares between embedding and output; peft "
                "leaves the output unchanged. Save it as a whole model with a separate head."
            )
        names.add(name or change.name)
        _apply(weights, change._replace(name=name or change.name), adapter)
    return frozenset(names)


def _match_name(name: str, weights: Mapping[str, torch.Tensor]) -> str | None:
    """Return the name of a weight in this model, whose names may have another prefix."""
    if name in weights:
        return name
    bare = name.partition(".")[2]
    if bare in weights:
        return bare
    matches = [candidate for candidate in weights if candidate.partition(".")[2] == name]
    return matches[0] if len(matches) == 1 else None


def _is_shared(name: str, weights: Mapping[str, torch.Tensor]) -> bool:
    """Whether a weight is an embedding that the language model also uses as its output layer."""
    has_head = any(head in key for key in weights for head in ("lm_head.", "embed_out."))
    return not has_head and any(part in name for part in ("embed", "wte.", "shared."))


def _apply(weights: MutableMapping[str, torch.Tensor], change: _Change, adapter: Path) -> None:
    old = weights.get(change.name)
    if old is not None and old.shape != change.value.shape:
        raise _mismatch(adapter, change)
    new = old.float() + change.value if old is not None and change.added else change.value
    if isinstance(old, torch.nn.Parameter):
        old.copy_(new)
    else:
        weights[change.name] = new


def _mismatch(adapter: Path, change: _Change) -> BackendError:
    return BackendError(f"{adapter} does not fit its base model, which has no matching weight {change.name}.")


def _changes(adapter: Path, settings: Mapping[str, Any]) -> Iterator[_Change]:
    path = adapter / ADAPTER_WEIGHTS
    try:
        weights = load_file(path)
    except (OSError, SafetensorError) as error:
        raise BackendError(f"{path} cannot be read: {error}") from error
    scale = _scale(adapter, settings)
    for key, value in weights.items():
        name, base = key.removeprefix(_BEGIN), key.removesuffix(_DOWN).removesuffix(_UP)
        if base == key:
            if "lora_" in key:
                raise BackendError(f"{path} is not supported: {key} is not part of plain LoRA.")
            yield _Change(name, value.float(), added=False)
        elif base + _DOWN not in weights or base + _UP not in weights:
            raise BackendError(f"{path} is incomplete: {key} has no counterpart.")
        elif name.endswith(_DOWN):
            product = _product(weights[base + _UP], value, path) * scale
            delta = product.T if settings.get("fan_in_fan_out") else product
            yield _Change(f"{name.removesuffix(_DOWN)}.weight", delta, added=True)


def _product(up: torch.Tensor, down: torch.Tensor, path: Path) -> torch.Tensor:
    if up.dim() != 2 or down.dim() != 2 or up.shape[1] != down.shape[0]:
        raise BackendError(f"{path} is not supported: its weights are not pairs of matrices.")
    return up.float() @ down.float()


def _scale(adapter: Path, settings: Mapping[str, Any]) -> float:
    """Return the factor of the product."""
    rank, alpha = settings.get("r"), settings.get("lora_alpha")
    if not (isinstance(rank, int) and rank > 0 and isinstance(alpha, int | float) and math.isfinite(alpha)):
        raise BackendError(
            f"{adapter / ADAPTER} cannot be read: r must be 1 or more, and lora_alpha a number."
        )
    return float(alpha / (rank**0.5 if settings.get("use_rslora") else rank))


def _settings(adapter: Path) -> dict[str, Any]:
    settings = configuration(adapter, ADAPTER)
    unsupported = [name for name, values in _PLAIN.items() if settings.get(name, values[0]) not in values]
    unsupported += [
        name for name, value in settings.items() if value and name not in _READ | _IDLE | set(_PLAIN)
    ]
    if unsupported or "peft_type" not in settings:
        kind = ", ".join(f"{name} {settings[name]}" for name in unsupported) or "peft_type not named"
        raise BackendError(
            f"{adapter} is an adapter of an unsupported kind ({kind[:200]}); only plain LoRA is supported. "
            "Merge it with peft (merge_and_unload) and save the whole model."
        )
    return settings
