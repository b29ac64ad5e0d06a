"""Any encoder or classifier that transformers knows, in padded batches of rows of like length."""

import inspect
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch.nn import ModuleList
from transformers import AutoModel, AutoModelForSequenceClassification, PreTrainedModel

from dialoscope.core.arrays import Ints
from dialoscope.core.errors import BackendError
from dialoscope.models.engines.causal import Loaded, load, quiet
from dialoscope.models.engines.reader import TokenRow
from dialoscope.models.locations import Model

_PADDED_LEFT = frozenset({"xlnet"})
"""Architectures whose classifier looks at the last place of a row."""


def load_encoder(files: Model, device: torch.device, dtype: torch.dtype, layers: int) -> "Padded":
    """A model without its head, ended after so many layers."""
    loaded = load(AutoModel, files, device, dtype, "an encoder")
    model = _whole(files.folder, loaded, "encoder", optional="pooler")
    encoder = Padded(model, device)
    if layers < model.config.num_hidden_layers:
        encoder.end_after(layers)
    return encoder


def load_classifier(files: Model, device: torch.device, dtype: torch.dtype) -> "Padded":
    """A model with the head that rates classes."""
    loaded = load(AutoModelForSequenceClassification, files, device, dtype, "a classifier")
    return Padded(_whole(files.folder, loaded, "classifier"), device)


def _whole(folder: Path, loaded: Loaded, what: str, optional: str = "\0") -> PreTrainedModel:
    """The model, if it lacks no weights but optional ones."""
    lacking = [name for name in loaded.lacking if optional not in name]
    if lacking:
        raise BackendError(f"{folder} is no whole {what}: it lacks the weights {lacking[0]}.")
    return loaded.model


class Padded:
    """A model of transformers that reads rows."""

    def __init__(self, model: PreTrainedModel, device: torch.device) -> None:
        self._model, self._device = model, device
        config = model.config
        self.dims = int(config.hidden_size)
        self._filler = int(getattr(config, "pad_token_id", None) or 0)
        self._left = config.model_type in _PADDED_LEFT
        takes_kinds = "token_type_ids" in inspect.signature(model.forward).parameters
        self._takes_kinds = takes_kinds and getattr(config, "type_vocab_size", 2) != 1
        self._layer: int | None = None

    def hidden(self, rows: Sequence[TokenRow]) -> torch.Tensor:
        """What the model makes of each token, row after row, (tokens, dims)."""
        told = self._told(rows)
        if self._layer is None:
            found = self._model(**told).last_hidden_state
        else:
            found = self._model(**told, output_hidden_states=True).hidden_states[self._layer]
        out: torch.Tensor = found[told["attention_mask"].bool()]
        return out

    def logits(self, rows: Sequence[TokenRow]) -> torch.Tensor:
        """How a classifier rates the classes of each row."""
        out: torch.Tensor = self._model(**self._told(rows)).logits
        return out

    def end_after(self, layers: int) -> None:
        """Remove the layers above; where that changes the one asked for, compute them for nothing."""
        row = TokenRow(0, np.arange(1, 8), np.zeros(7, np.int64))
        self._layer = layers
        with torch.inference_mode(), quiet():
            wanted = self.hidden([row])
            removed = _Removed(self._model, layers)
            self._layer = None
            if not torch.allclose(self.hidden([row]), wanted, rtol=1e-3, atol=1e-3):
                removed.put_back()
                self._layer = layers

    def _told(self, rows: Sequence[TokenRow]) -> dict[str, torch.Tensor]:
        told = {
            "input_ids": self._rectangle([row.ids for row in rows], self._filler),
            "attention_mask": self._rectangle([np.ones_like(row.ids) for row in rows], 0),
        }
        if self._takes_kinds:
            told["token_type_ids"] = self._rectangle([row.kinds for row in rows], 0)
        return told

    def _rectangle(self, lines: Sequence[Ints], filler: int) -> torch.Tensor:
        longest = max(map(len, lines))
        whole = np.full((len(lines), longest), filler, np.int64)
        for place, line in enumerate(lines):
            begin = longest - len(line) if self._left else 0
            whole[place, begin : begin + len(line)] = line
        return torch.from_numpy(whole).to(self._device)


class _Removed:
    """The layers above one that were taken out of a model."""

    def __init__(self, model: PreTrainedModel, layers: int) -> None:
        self._config, self._count = model.config, model.config.num_hidden_layers
        stacks = [
            part for part in model.modules() if isinstance(part, ModuleList) and len(part) == self._count
        ]
        self._above = [(stack, list(stack)[layers:]) for stack in stacks]
        for stack in stacks:
            del stack[layers:]
        self._config.num_hidden_layers = layers  # some count by this

    def put_back(self) -> None:
        """As if nothing had happened."""
        self._config.num_hidden_layers = self._count
        for stack, layers in self._above:
            stack.extend(layers)
