"""Models whose weights, or those of an adapter, are trained and saved."""

import json
import shutil
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from dialoscope.core.errors import TrainingError
from dialoscope.models.engines.causal import load, quiet
from dialoscope.models.engines.device import choose_device
from dialoscope.models.locations import ADAPTER, ADAPTER_WEIGHTS, Model, base_name, configuration, find_model
from dialoscope.training.engines.loop import Task
from dialoscope.training.recipes import TransformerRecipe

_HEADS = ("classifier", "score", "pre_classifier")
"""The names in transformers of the new part of a classifier, all weights of which are trained."""
_FIXED = ("peft_type", "inference_mode", "base_model_name_or_path")
"""The settings that peft sets itself."""
_KEPT = ("lora_alpha", "target_modules", "use_rslora", "fan_in_fan_out", "revision")
"""The settings that an adapter keeps when it is trained further."""
_TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt", "merges.txt")


class Learner:
    """A model of which some weights are trained."""

    def __init__(self, kind: Any, recipe: TransformerRecipe, task: str, labels: Sequence[str] = ()) -> None:  # noqa: ANN401
        self.recipe, self._task, self._labels = recipe, task, labels
        self.files = find_model(recipe.model)
        if self.files.adapter:
            self._check_adapter(self.files.adapter)
        self.device = choose_device(recipe.device)
        torch.manual_seed(recipe.seed)  # for weights that are new
        files = Model(self.files.folder) if recipe.method == "lora" else self.files
        whole, missing = load(kind, files, self.device, torch.float32, "something to train", labels=labels)
        if missing and not labels:
            raise TrainingError(f"{recipe.model} is no whole language model: {missing[0]} is missing.")
        self.body: PreTrainedModel = whole
        self.config = whole.config
        self.config.problem_type = None  # of a classifier with other classes
        self.model: torch.nn.Module = self._add_adapter(whole, missing) if recipe.method == "lora" else whole
        self.half = torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda")

    def _check_adapter(self, adapter: Path) -> None:
        """Refuse an adapter for another task, or of another rank."""
        settings, classes = configuration(adapter, ADAPTER), self.files.config.get("id2label") or {}
        own_labels = tuple(str(classes[number]) for number in sorted(classes, key=int))
        if settings.get("task_type") != self._task or (self._labels and own_labels != tuple(self._labels)):
            raise TrainingError(
                f"{self.recipe.model} is an adapter for another task; start from the model that it belongs "
                f"to: {base_name(adapter)}."
            )
        if self.recipe.method == "lora" and settings.get("r") != self.recipe.rank:
            raise TrainingError(
                f"rank is {self.recipe.rank}, but {self.recipe.model} is an adapter of rank "
                f"{settings.get('r')}, which cannot change when it is trained further."
            )

    def _add_adapter(self, whole: PreTrainedModel, missing: Sequence[str]) -> torch.nn.Module:
        from peft import LoraConfig, get_peft_model

        new = {name.rpartition(".")[0] for name in missing if name.split(".")[0] not in _HEADS}
        heads = [name for name, _ in whole.named_children() if name in _HEADS] + sorted(new)
        layers = _find_layers(whole, heads)
        adapter = self.files.adapter
        self.lora: dict[str, Any] = {
            "peft_type": "LORA",
            "task_type": self._task,
            "base_model_name_or_path": base_name(adapter) if adapter else self.recipe.model,
            "r": self.recipe.rank,
            "lora_alpha": 2 * self.recipe.rank,
            "lora_dropout": self.recipe.dropout,
            "target_modules": layers.names,
            "modules_to_save": heads or None,
            "bias": "none",
            "fan_in_fan_out": layers.transposed,
            "inference_mode": True,
        }
        if adapter:
            settings = configuration(adapter, ADAPTER)
            self.lora |= {name: settings[name] for name in _KEPT if name in settings}
        config = deepcopy({name: value for name, value in self.lora.items() if name not in _FIXED})
        try:
            with quiet():
                adapted = get_peft_model(whole, LoraConfig(**config)).to(self.device)
        except ValueError as error:
            raise TrainingError(
                f"No adapter can be added to {self.recipe.model} ({error}); train all weights: method full."
            ) from error
        if adapter:
            _load_adapter(adapted, adapter)
        return adapted

    def round(self) -> None:
        """Round trained weights to the precision they are saved in, so that figures are of what is saved."""
        if self.recipe.method == "lora":
            with torch.no_grad():
                for weight in self.model.parameters():
                    if weight.requires_grad:
                        weight.copy_(weight.half().float())

    def save(self, folder: Path) -> None:
        """Save an adapter in half precision, or the whole model."""
        if self.recipe.method == "full":
            with quiet():
                self.body.save_pretrained(folder)
            for name in _TOKENIZER:
                if (self.files.folder / name).is_file():
                    shutil.copy(self.files.folder / name, folder / name)
            return
        from peft import get_peft_model_state_dict

        trained = get_peft_model_state_dict(self.model, save_embedding_layers=False)
        weights = {name: weight.detach().half().cpu().contiguous() for name, weight in trained.items()}
        (folder / ADAPTER_WEIGHTS).write_bytes(save(weights))  # readable for others, as save_file's is not
        (folder / ADAPTER).write_text(json.dumps(self.lora, indent=1) + "\n", encoding="utf-8")
        if self._task == "SEQ_CLS":
            _write_config(self.body, self.files, self._labels, folder)


def _load_adapter(adapted: torch.nn.Module, adapter: Path) -> None:
    """Load the weights of an adapter that is trained further."""
    from peft import set_peft_model_state_dict

    try:
        result: Any = set_peft_model_state_dict(adapted, load_file(adapter / ADAPTER_WEIGHTS))
    except (OSError, SafetensorError, RuntimeError) as error:
        raise TrainingError(f"{adapter} does not fit its model: {error}") from error
    if result.unexpected_keys:
        raise TrainingError(f"{adapter} does not fit its model, which has no {result.unexpected_keys[0]}.")


class AdaptedTask(Task, Protocol):
    """A training task whose model is a transformer."""

    learner: Learner


class _Layers(NamedTuple):
    """The layers that an adapter is added to, and whether their weights are transposed."""

    names: list[str]
    transposed: bool


def _find_layers(model: PreTrainedModel, heads: Sequence[str]) -> _Layers:
    """All linear layers except heads and vocabulary; GPT-2 has a class of its own for them."""
    vocabulary = model.get_output_embeddings()  # type: ignore[no-untyped-call]
    layers: dict[type, list[str]] = {torch.nn.Linear: [], Conv1D: []}
    for name, part in model.named_modules():
        is_head = any(name == head or name.startswith(f"{head}.") for head in heads)
        if type(part) in layers and part is not vocabulary and not is_head:
            layers[type(part)].append(name)
    transposed = bool(layers[Conv1D])
    return _Layers(sorted(layers[Conv1D if transposed else torch.nn.Linear]), transposed)


def _write_config(model: PreTrainedModel, files: Model, labels: Sequence[str], folder: Path) -> None:
    """Write the configuration of the base model with the classes, and without its path."""
    config = files.config | {
        "architectures": [type(model).__name__],
        "id2label": {str(number): name for number, name in enumerate(labels)},
        "label2id": {name: number for number, name in enumerate(labels)},
    }
    for name in ("_name_or_path", "problem_type"):
        config.pop(name, None)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
