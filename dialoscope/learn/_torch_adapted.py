"""Models made ready to learn, and saved with what they learned."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from transformers import PreTrainedModel

from dialoscope.backends._torch_device import chosen_device
from dialoscope.backends._torch_transformers import load, quiet
from dialoscope.backends.models import ADAPTER, ADAPTER_WEIGHTS, Model, found_model
from dialoscope.errors import MissingExtra, TrainingError
from dialoscope.learn.recipe import Recipe

_HEADS = ("classifier", "score", "pre_classifier")
"""What transformers calls the part of a classifier that is new, and so learned as a whole."""
_TOLD = ("peft_type", "inference_mode", "base_model_name_or_path")
"""What peft knows by itself, or would put its own words for."""
_TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt", "merges.txt")


class Learner:
    """A model, of which some weights are learned."""

    def __init__(self, kind: Any, recipe: Recipe, task: str, labels: Sequence[str] = ()) -> None:  # noqa: ANN401
        self.recipe, self._task, self._labels = recipe, task, labels
        self.files = found_model(recipe.model)
        if self.files.adapter:
            raise TrainingError(f"{recipe.model} is an adapter; train on top of a whole model.")
        self.device = chosen_device(recipe.device)
        torch.manual_seed(recipe.seed)  # for weights that are new
        whole = load(kind, self.files, self.device, torch.float32, "something to train", labels=labels).model
        self.body: PreTrainedModel = whole
        self.config = whole.config
        self.model: torch.nn.Module = self._adapted(whole) if recipe.method == "lora" else whole
        self.half = torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda")

    def _adapted(self, whole: PreTrainedModel) -> torch.nn.Module:
        try:
            from peft import LoraConfig, get_peft_model
        except ImportError as missing:
            raise MissingExtra("Training an adapter", missing.name or "peft", "train") from missing
        linear = sorted(_linear(whole))
        heads = [name for name, _ in whole.named_children() if name in _HEADS]
        self.lora: dict[str, Any] = {
            "peft_type": "LORA",
            "task_type": self._task,
            "base_model_name_or_path": self.recipe.model,
            "r": self.recipe.rank,
            "lora_alpha": 2 * self.recipe.rank,
            "lora_dropout": self.recipe.dropout,
            "target_modules": linear,
            "modules_to_save": heads or None,
            "bias": "none",
            "fan_in_fan_out": False,
            "inference_mode": True,
        }
        chosen = {name: value for name, value in self.lora.items() if name not in _TOLD}
        with quiet():
            return get_peft_model(whole, LoraConfig(**chosen)).to(self.device)

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

        learned = get_peft_model_state_dict(self.model)
        save_file(
            {name: one.detach().half().cpu().contiguous() for name, one in learned.items()},
            folder / ADAPTER_WEIGHTS,
        )
        (folder / ADAPTER).write_text(json.dumps(self.lora, indent=1) + "\n", encoding="utf-8")
        if self._task == "SEQ_CLS":
            _write_config(self.body, self.files, self._labels, folder)


def _linear(model: PreTrainedModel) -> set[str]:
    """The names of the layers that an adapter stands beside: all linear ones but heads and vocabulary."""
    head = model.get_output_embeddings()  # type: ignore[no-untyped-call]
    return {
        name
        for name, part in model.named_modules()
        if isinstance(part, torch.nn.Linear) and part is not head and name.split(".")[0] not in _HEADS
    }


def _write_config(model: PreTrainedModel, files: Model, labels: Sequence[str], folder: Path) -> None:
    """The settings of the model below with the classes, and nothing of where it lay."""
    config = files.config | {
        "architectures": [type(model).__name__],
        "id2label": {str(number): name for number, name in enumerate(labels)},
        "label2id": {name: number for number, name in enumerate(labels)},
    }
    config.pop("_name_or_path", None)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
