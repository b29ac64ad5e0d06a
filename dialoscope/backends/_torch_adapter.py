"""Adapters of the kind that peft writes (LoRA), added to the weights that they were trained on top of.

A model with an adapter is then a model like any other: no layer of it works differently, and nothing of peft
is needed to use one.
"""

from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from dialoscope.backends.models import ADAPTER, ADAPTER_WEIGHTS, Model, configuration
from dialoscope.errors import BackendError

_BEGIN = "base_model.model."
_DOWN, _UP = ".lora_A.weight", ".lora_B.weight"
_OTHERWISE = ("use_dora", "rank_pattern", "alpha_pattern", "megatron_config", "trainable_token_indices")
"""Settings under which the weights mean something else than a product to be added."""


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
    changes = list(_changes(adapter))
    for change in changes:
        _put(weights, change, adapter)
    return frozenset(change.name for change in changes)


def _put(weights: MutableMapping[str, torch.Tensor], change: _Change, adapter: Path) -> None:
    old = weights.get(change.name)
    if old is None and not change.added:
        weights[change.name] = change.value
        return
    if old is None or old.shape != change.value.shape:
        raise BackendError(f"{adapter} does not fit its model, which has no such weights as {change.name}.")
    new = old.float() + change.value if change.added else change.value
    if isinstance(old, torch.nn.Parameter):
        old.copy_(new)
    else:
        weights[change.name] = new


def _changes(adapter: Path) -> Iterator[_Change]:
    settings = _settings(adapter)
    try:
        found = load_file(adapter / ADAPTER_WEIGHTS)
    except (OSError, SafetensorError) as damaged:
        raise BackendError(f"{adapter / ADAPTER_WEIGHTS} cannot be read: {damaged}") from damaged
    rank = int(settings["r"])
    scale = settings["lora_alpha"] / (rank**0.5 if settings.get("use_rslora") else rank)
    for key, value in found.items():
        name = key.removeprefix(_BEGIN)
        if name.endswith(_DOWN):
            up = found.get(key.removesuffix(_DOWN) + _UP)
            if up is None:
                raise BackendError(f"{adapter / ADAPTER_WEIGHTS} is not whole: {key} stands alone.")
            product = up.float() @ value.float() * scale
            turned = product.T if settings.get("fan_in_fan_out") else product
            yield _Change(f"{name.removesuffix(_DOWN)}.weight", turned, added=True)
        elif not name.endswith(_UP):
            yield _Change(name, value.float(), added=False)


def _settings(adapter: Path) -> dict[str, Any]:
    found = configuration(adapter, ADAPTER)
    odd = [name for name in _OTHERWISE if found.get(name)]
    if found.get("peft_type") != "LORA" or found.get("bias", "none") != "none" or odd:
        kind = ", ".join(odd) or f"{found.get('peft_type')}, bias {found.get('bias')}"
        raise BackendError(
            f"{adapter} is an adapter of a kind that is not read here ({kind}): plain LoRA is. Merge it with "
            "peft (merge_and_unload) and save the whole model."
        )
    return found
