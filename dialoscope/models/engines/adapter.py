"""Adapters of the kind that peft writes (LoRA), added to the weights that they were trained on top of.

A model with an adapter is then a model like any other: no layer of it works differently, and nothing of peft
is needed to use one.
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
"""Settings that say how an adapter was trained, or what its weights say as well."""
_PLAIN: dict[str, tuple[Any, ...]] = {
    "peft_type": ("LORA",),
    "bias": ("none",),
    "init_lora_weights": (True, False, None, "gaussian", "orthogonal"),
}
"""Settings with the values under which an adapter is a product to be added; other ways to begin, such as
PiSSA, change the weights below as well."""
_WHOLE_TASKS = ("CAUSAL_LM", "SEQ_2_SEQ_LM")
"""Those for which a model has all of its weights before it is trained, so that an adapter has no new ones."""


class _Change(NamedTuple):
    """What becomes of a weight: something is added to it, or it is replaced."""

    name: str
    value: torch.Tensor
    added: bool


def weights_of(model: Model) -> dict[str, torch.Tensor]:
    """The weights of a model in a single file, with those of its adapter."""
    weights = load_file(model.folder / "model.safetensors")
    if model.adapter:
        merge(weights, model.adapter)
    return weights


@torch.no_grad()
def merge(weights: MutableMapping[str, torch.Tensor], adapter: Path) -> frozenset[str]:
    """Change weights as an adapter says; the names of those that it gives.

    Weights of a loaded model are changed in place; others become as precise as the sum needs.
    """
    settings = _settings(adapter)
    may_be_new = settings.get("task_type") not in _WHOLE_TASKS
    given = set()
    for change in _changes(adapter, settings):
        name = _known_as(change.name, weights)
        if name is None and (change.added or not may_be_new):
            raise _misfit(adapter, change)
        if not may_be_new and not change.added and _shared(change.name, weights):
            raise BackendError(
                f"{adapter} changes {change.name}, with which its model reads and writes; with peft what it "
                "writes with stays. Save it as a whole model, with a head of its own."
            )
        given.add(name or change.name)
        _put(weights, change._replace(name=name or change.name), adapter)
    return frozenset(given)


def _known_as(name: str, weights: Mapping[str, torch.Tensor]) -> str | None:
    """The name of the same weights here: with a head above it, a model's names begin with one of its own."""
    if name in weights:
        return name
    bare = name.partition(".")[2]
    if bare in weights:
        return bare
    longer = [known for known in weights if known.partition(".")[2] == name]
    return longer[0] if len(longer) == 1 else None


def _shared(name: str, weights: Mapping[str, torch.Tensor]) -> bool:
    """Whether a language model has no weights of its own to write with, and these are what it reads with."""
    apart = any(head in known for known in weights for head in ("lm_head.", "embed_out."))
    return not apart and any(part in name for part in ("embed", "wte.", "shared."))


def _put(weights: MutableMapping[str, torch.Tensor], change: _Change, adapter: Path) -> None:
    old = weights.get(change.name)
    if old is not None and old.shape != change.value.shape:
        raise _misfit(adapter, change)
    new = old.float() + change.value if old is not None and change.added else change.value
    if isinstance(old, torch.nn.Parameter):
        old.copy_(new)
    else:
        weights[change.name] = new


def _misfit(adapter: Path, change: _Change) -> BackendError:
    return BackendError(f"{adapter} does not fit its model, which has no such weights as {change.name}.")


def _changes(adapter: Path, settings: Mapping[str, Any]) -> Iterator[_Change]:
    path = adapter / ADAPTER_WEIGHTS
    try:
        found = load_file(path)
    except (OSError, SafetensorError) as damaged:
        raise BackendError(f"{path} cannot be read: {damaged}") from damaged
    scale = _scale(adapter, settings)
    for key, value in found.items():
        name, base = key.removeprefix(_BEGIN), key.removesuffix(_DOWN).removesuffix(_UP)
        if base == key:
            if "lora_" in key:
                raise BackendError(f"{path} is not read here: {key} is no part of plain LoRA.")
            yield _Change(name, value.float(), added=False)
        elif base + _DOWN not in found or base + _UP not in found:
            raise BackendError(f"{path} is not whole: {key} stands alone.")
        elif name.endswith(_DOWN):
            product = _product(found[base + _UP], value, path) * scale
            turned = product.T if settings.get("fan_in_fan_out") else product
            yield _Change(f"{name.removesuffix(_DOWN)}.weight", turned, added=True)


def _product(up: torch.Tensor, down: torch.Tensor, path: Path) -> torch.Tensor:
    if up.dim() != 2 or down.dim() != 2 or up.shape[1] != down.shape[0]:
        raise BackendError(f"{path} is not read here: its weights are no pairs of matrices.")
    return up.float() @ down.float()


def _scale(adapter: Path, settings: Mapping[str, Any]) -> float:
    """How much of the product is added."""
    rank, alpha = settings.get("r"), settings.get("lora_alpha")
    if not (isinstance(rank, int) and rank > 0 and isinstance(alpha, int | float) and math.isfinite(alpha)):
        raise BackendError(
            f"{adapter / ADAPTER} cannot be read: r must be 1 or more, and lora_alpha a number."
        )
    return float(alpha / (rank**0.5 if settings.get("use_rslora") else rank))


def _settings(adapter: Path) -> dict[str, Any]:
    found = configuration(adapter, ADAPTER)
    odd = [name for name, known in _PLAIN.items() if found.get(name, known[0]) not in known]
    odd += [name for name, value in found.items() if value and name not in _READ | _IDLE | set(_PLAIN)]
    if odd or "peft_type" not in found:
        kind = ", ".join(f"{name} {found[name]}" for name in odd) or "peft_type not named"
        raise BackendError(
            f"{adapter} is an adapter of a kind that is not read here ({kind[:200]}): plain LoRA is. "
            "Merge it with peft (merge_and_unload) and save the whole model."
        )
    return found
