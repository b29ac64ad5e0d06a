"""Encoders and classifiers in transformers, with padded batches of rows of similar length."""

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
"""Architectures whose classifier reads the last position of a row."""


def load_encoder(files: Model, device: torch.device, dtype: torch.dtype, layers: int) -> "Padded":
    """Load a model without its head, up to a number of layers."""
    loaded = load(AutoModel, files, device, dtype, "an encoder")
    model = _check_complete(files.folder, loaded, "encoder", optional="pooler")
    encoder = Padded(model, device)
    if layers < model.config.num_hidden_layers:
        encoder.end_after(layers)
    return encoder


def load_classifier(files: Model, device: torch.device, dtype: torch.dtype) -> "Padded":
    """Load a model with its classification head."""
    loaded = load(AutoModelForSequenceClassification, files, device, dtype, "a classifier")
    return Padded(_check_complete(files.folder, loaded, "classifier"), device)


def _check_complete(folder: Path, loaded: Loaded, kind: str, optional: str = "\0") -> PreTrainedModel:
    """Return the model if no weights are missing except optional ones."""
    missing = [name for name in loaded.missing if optional not in name]
    if missing:
        raise BackendError(f"{folder} is not a complete {kind}: the weights {missing[0]} are missing.")
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
        """Return the hidden states of all tokens, row after row, (tokens, dims)."""
        inputs = self._inputs(rows)
        if self._layer is None:
            hidden = self._model(**inputs).last_hidden_state
        else:
            hidden = self._model(**inputs, output_hidden_states=True).hidden_states[self._layer]
        out: torch.Tensor = hidden[inputs["attention_mask"].bool()]
        return out

    def logits(self, rows: Sequence[TokenRow]) -> torch.Tensor:
        """Return the logits of the classes for each row."""
        out: torch.Tensor = self._model(**self._inputs(rows)).logits
        return out

    def end_after(self, layers: int) -> None:
        """Remove the layers above, unless this changes the output of the last requested layer."""
        row = TokenRow(0, np.arange(1, 8), np.zeros(7, np.int64))
        self._layer = layers
        with torch.inference_mode(), quiet():
            wanted = self.hidden([row])
            removal = _LayerRemoval(self._model, layers)
            self._layer = None
            if not torch.allclose(self.hidden([row]), wanted, rtol=1e-3, atol=1e-3):
                removal.undo()
                self._layer = layers

    def _inputs(self, rows: Sequence[TokenRow]) -> dict[str, torch.Tensor]:
        inputs = {
            "input_ids": self._pad([row.ids for row in rows], self._filler),
            "attention_mask": self._pad([np.ones_like(row.ids) for row in rows], 0),
        }
        if self._takes_kinds:
            inputs["token_type_ids"] = self._pad([row.kinds for row in rows], 0)
        return inputs

    def _pad(self, lines: Sequence[Ints], filler: int) -> torch.Tensor:
        longest = max(map(len, lines))
        padded = np.full((len(lines), longest), filler, np.int64)
        for index, line in enumerate(lines):
            begin = longest - len(line) if self._left else 0
            padded[index, begin : begin + len(line)] = line
        return torch.from_numpy(padded).to(self._device)


class _LayerRemoval:
    """Removes the upper layers of a model."""

    def __init__(self, model: PreTrainedModel, layers: int) -> None:
        self._config, self._count = model.config, model.config.num_hidden_layers
        stacks = [
            part for part in model.modules() if isinstance(part, ModuleList) and len(part) == self._count
        ]
        self._above = [(stack, list(stack)[layers:]) for stack in stacks]
        for stack in stacks:
            del stack[layers:]
        self._config.num_hidden_layers = layers  # some models use this number

    def undo(self) -> None:
        """Restore the removed layers."""
        self._config.num_hidden_layers = self._count
        for stack, layers in self._above:
            stack.extend(layers)
