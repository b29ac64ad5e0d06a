"""Models made ready to learn, and saved with what they learned."""

import json
import shutil
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from dialoscope.core.errors import TrainingError
from dialoscope.models.engines.causal import load, quiet
from dialoscope.models.engines.device import chosen_device
from dialoscope.models.locations import ADAPTER, ADAPTER_WEIGHTS, Model, base_name, configuration, find_model
from dialoscope.training.recipes import Recipe

_HEADS = ("classifier", "score", "pre_classifier")
"""What transformers calls the part of a classifier that is new, and so learned as a whole."""
_TOLD = ("peft_type", "inference_mode", "base_model_name_or_path")
"""What peft knows by itself, or would put its own words for."""
_KEPT = ("lora_alpha", "target_modules", "use_rslora", "fan_in_fan_out", "revision")
"""What stays of an adapter that is trained further."""
_TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt", "merges.txt")


class Learner:
    """A model, of which some weights are learned."""

    def __init__(self, kind: Any, recipe: Recipe, task: str, labels: Sequence[str] = ()) -> None:  # noqa: ANN401
        self.recipe, self._task, self._labels = recipe, task, labels
        self.files = find_model(recipe.model)
        if self.files.adapter:
            self._check_adapter(self.files.adapter)
        self.device = chosen_device(recipe.device)
        torch.manual_seed(recipe.seed)  # for weights that are new
        below = Model(self.files.folder) if recipe.method == "lora" else self.files
        whole, lacking = load(kind, below, self.device, torch.float32, "something to train", labels=labels)
        if lacking and not labels:
            raise TrainingError(f"{recipe.model} is no whole language model: it lacks {lacking[0]}.")
        self.body: PreTrainedModel = whole
        self.config = whole.config
        self.config.problem_type = None  # that of a classifier below, whose classes are others
        self.model: torch.nn.Module = self._adapted(whole, lacking) if recipe.method == "lora" else whole
        self.half = torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda")

    def _check_adapter(self, adapter: Path) -> None:
        """Refuse one that learned something else, or whose matrices are of another size."""
        settings, classes = configuration(adapter, ADAPTER), self.files.config.get("id2label") or {}
        known = tuple(str(classes[place]) for place in sorted(classes, key=int))
        if settings.get("task_type") != self._task or (self._labels and known != tuple(self._labels)):
            raise TrainingError(
                f"{self.recipe.model} is an adapter that learned something else; train on top of what it was "
                f"trained on top of: {base_name(adapter)}."
            )
        if self.recipe.method == "lora" and settings.get("r") != self.recipe.rank:
            raise TrainingError(
                f"rank is {self.recipe.rank}, but {self.recipe.model} is an adapter of rank "
                f"{settings.get('r')}, which it keeps when it is trained further."
            )

    def _adapted(self, whole: PreTrainedModel, lacking: Sequence[str]) -> torch.nn.Module:
        from peft import LoraConfig, get_peft_model

        new = {name.rpartition(".")[0] for name in lacking if name.split(".")[0] not in _HEADS}
        heads = [name for name, _ in whole.named_children() if name in _HEADS] + sorted(new)
        beside, turned = _places(whole, heads)
        adapter = self.files.adapter
        self.lora: dict[str, Any] = {
            "peft_type": "LORA",
            "task_type": self._task,
            "base_model_name_or_path": base_name(adapter) if adapter else self.recipe.model,
            "r": self.recipe.rank,
            "lora_alpha": 2 * self.recipe.rank,
            "lora_dropout": self.recipe.dropout,
            "target_modules": beside,
            "modules_to_save": heads or None,
            "bias": "none",
            "fan_in_fan_out": turned,
            "inference_mode": True,
        }
        if adapter:
            kept = configuration(adapter, ADAPTER)
            self.lora |= {name: kept[name] for name in _KEPT if name in kept}
        chosen = deepcopy({name: value for name, value in self.lora.items() if name not in _TOLD})
        try:
            with quiet():
                adapted = get_peft_model(whole, LoraConfig(**chosen)).to(self.device)
        except ValueError as error:
            raise TrainingError(
                f"No adapter can be trained beside {self.recipe.model} ({error}); train it as a whole, with "
                "method full."
            ) from error
        if adapter:
            _begin_with(adapted, adapter)
        return adapted

    def round(self) -> None:
        """Make learned weights as coarse as they will be saved, so that figures are of what is saved."""
        if self.recipe.method == "lora":
            with torch.no_grad():
                for weight in self.model.parameters():
                    if weight.requires_grad:
                        weight.copy_(weight.half().float())

    def save(self, folder: Path) -> None:
        """An adapter of half precision, or the whole model."""
        if self.recipe.method == "full":
            with quiet():
                self.body.save_pretrained(folder)
            for name in _TOKENIZER:
                if (self.files.folder / name).is_file():
                    shutil.copy(self.files.folder / name, folder / name)
            return
        from peft import get_peft_model_state_dict

        learned = get_peft_model_state_dict(self.model, save_embedding_layers=False)
        kept = {name: one.detach().half().cpu().contiguous() for name, one in learned.items()}
        (folder / ADAPTER_WEIGHTS).write_bytes(save(kept))  # readable for others, as save_file's is not
        (folder / ADAPTER).write_text(json.dumps(self.lora, indent=1) + "\n", encoding="utf-8")
        if self._task == "SEQ_CLS":
            _write_config(self.body, self.files, self._labels, folder)


def _begin_with(adapted: torch.nn.Module, adapter: Path) -> None:
    """Put what an adapter learned into one that shall go on from there."""
    from peft import set_peft_model_state_dict

    try:
        found: Any = set_peft_model_state_dict(adapted, load_file(adapter / ADAPTER_WEIGHTS))
    except (OSError, SafetensorError, RuntimeError) as error:
        raise TrainingError(f"{adapter} does not fit its model: {error}") from error
    if found.unexpected_keys:
        raise TrainingError(f"{adapter} does not fit its model, which has no {found.unexpected_keys[0]}.")


class _Places(NamedTuple):
    """The layers that an adapter stands beside, and whether their weights lie the other way round."""

    names: list[str]
    turned: bool


def _places(model: PreTrainedModel, heads: Sequence[str]) -> _Places:
    """All linear layers but heads and vocabulary; those of GPT-2 are of a kind of their own."""
    vocabulary = model.get_output_embeddings()  # type: ignore[no-untyped-call]
    found: dict[type, list[str]] = {torch.nn.Linear: [], Conv1D: []}
    for name, part in model.named_modules():
        learned_whole = any(name == head or name.startswith(f"{head}.") for head in heads)
        if type(part) in found and part is not vocabulary and not learned_whole:
            found[type(part)].append(name)
    turned = bool(found[Conv1D])
    return _Places(sorted(found[Conv1D if turned else torch.nn.Linear]), turned)


def _write_config(model: PreTrainedModel, files: Model, labels: Sequence[str], folder: Path) -> None:
    """The settings of the model below with the classes, and nothing of where it lay."""
    config = files.config | {
        "architectures": [type(model).__name__],
        "id2label": {str(number): name for number, name in enumerate(labels)},
        "label2id": {name: number for number, name in enumerate(labels)},
    }
    for name in ("_name_or_path", "problem_type"):
        config.pop(name, None)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
