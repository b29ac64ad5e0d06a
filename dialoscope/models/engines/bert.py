"""Encoders and classifiers of the BERT family without padding: BERT, MiniLM, RoBERTa, XLM-R, ELECTRA.

The implementation in transformers gives equal numbers (tested), but importing it takes longer than all the
rest, and on a CPU it spends much time on padding and small operations. Other variants (activations, relative
positions, several shards) are left to transformers.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn.functional import gelu, layer_norm, linear, scaled_dot_product_attention

from dialoscope.core.arrays import Ints
from dialoscope.core.errors import BackendError
from dialoscope.models.engines.adapter import weights_of
from dialoscope.models.engines.reader import TokenRow, padding
from dialoscope.models.engines.rows import Run, runs
from dialoscope.models.locations import Model

_PREFIXES = {
    "bert": "bert.",
    "electra": "electra.",
    "roberta": "roberta.",
    "xlm-roberta": "roberta.",
    "camembert": "roberta.",
}


class _Affine(NamedTuple):
    weight: torch.Tensor
    bias: torch.Tensor


class _Layer(NamedTuple):
    """The weights of one layer; weights with the same input are concatenated."""

    query_key_value: _Affine
    attended: _Affine
    after_attention: _Affine
    up: _Affine
    down: _Affine
    after: _Affine


class _Head(NamedTuple):
    inner: _Affine
    outer: _Affine


_GetWeights = Callable[..., _Affine]


def fits(config: Mapping[str, Any], folder: Path) -> bool:
    """Whether this module supports a model."""
    return (
        config.get("model_type") in _PREFIXES
        and (folder / "model.safetensors").is_file()
        and config.get("hidden_act") == "gelu"
        and config.get("position_embedding_type", "absolute") == "absolute"
        and config.get("embedding_size", config["hidden_size"]) == config["hidden_size"]
        and not config.get("is_decoder")
        and config.get("quantization_config") is None
    )


class Bert:
    """A model that reads rows of tokens; layers above the last requested one are not computed."""

    def __init__(
        self, config: Mapping[str, Any], model: Model, device: torch.device, dtype: torch.dtype, layers: int
    ) -> None:
        self._kind, self._padding = config["model_type"], padding(config)
        self._device, self._flash = device, device.type == "cuda" and dtype != torch.float32
        self.dims, self._heads = int(config["hidden_size"]), int(config["num_attention_heads"])
        self._epsilon = float(config.get("layer_norm_eps", 1e-12))
        weights = {_rename(name, self._kind): weight for name, weight in weights_of(model).items()}

        def get_weights(*names: str) -> _Affine:
            parts = [[weights[f"{name}.{part}"] for name in names] for part in _Affine._fields]
            return _Affine(*(torch.cat(part).to(device, dtype) for part in parts))

        try:
            self._words, self._places, self._kinds = (
                weights[f"embeddings.{name}_embeddings.weight"].to(device, dtype)
                for name in ("word", "position", "token_type")
            )
            self._after_embedding = get_weights("embeddings.LayerNorm")
            self._layers = [_layer(get_weights, f"encoder.layer.{index}") for index in range(layers)]
        except KeyError as missing:
            raise BackendError(
                f"{model.folder} is not a complete model: weights {missing} are missing."
            ) from None
        self._head = _head(get_weights, weights)

    def hidden(self, rows: Sequence[TokenRow]) -> torch.Tensor:
        """Return the hidden states of all tokens, row after row, (tokens, dims)."""
        stream = self._embed(rows)
        attend = self._varlen(rows) if self._flash else self._by_length(runs(rows))
        for layer in self._layers:
            joined = linear(stream, *layer.query_key_value).view(len(stream), 3, self._heads, -1)
            attended = linear(attend(joined).flatten(1), *layer.attended)
            stream = self._normalize(attended.add_(stream), layer.after_attention)
            wide = torch.ops.aten.gelu_(linear(stream, *layer.up))
            stream = self._normalize(linear(wide, *layer.down).add_(stream), layer.after)
        return stream

    def logits(self, rows: Sequence[TokenRow]) -> torch.Tensor:
        """Return the logits of the classes for each row."""
        if self._head is None:
            raise BackendError("This model is not a classifier: it has no classification head.")
        firsts = torch.from_numpy(_starts(rows)[:-1]).to(self._device)
        activate = gelu if self._kind == "electra" else torch.tanh
        return linear(activate(linear(self.hidden(rows)[firsts], *self._head.inner)), *self._head.outer)

    def _embed(self, rows: Sequence[TokenRow]) -> torch.Tensor:
        joined = [np.concatenate([row.ids for row in rows]), np.concatenate([row.kinds for row in rows])]
        ids, kinds, positions = (
            torch.from_numpy(numbers).to(self._device, non_blocking=True)
            for numbers in (*joined, self._positions(rows))
        )
        of = self._kinds[kinds] if len(self._kinds) > 1 else self._kinds[0]
        return self._normalize(self._words[ids].add_(of).add_(self._places[positions]), self._after_embedding)

    def _positions(self, rows: Sequence[TokenRow]) -> Ints:
        """Return positions in each row; in RoBERTa they begin after the number of the padding token."""
        if _PREFIXES[self._kind] != "roberta.":
            starts = _starts(rows)
            return np.arange(starts[-1]) - np.repeat(starts[:-1], np.diff(starts))
        masks = [(row.ids != self._padding).astype(np.int64) for row in rows]
        return np.concatenate([np.cumsum(mask) * mask for mask in masks]) + self._padding

    def _normalize(self, stream: torch.Tensor, norm: _Affine) -> torch.Tensor:
        return layer_norm(stream, (self.dims,), *norm, self._epsilon)

    def _by_length(self, together: Sequence[Run]) -> Callable[[torch.Tensor], torch.Tensor]:
        """Return attention that processes rows of equal length together."""

        def attend(joined: torch.Tensor) -> torch.Tensor:
            attended = [
                scaled_dot_product_attention(*run.of(joined).permute(2, 0, 3, 1, 4)).transpose(1, 2)
                for run in together
            ]
            return (
                torch.cat([rows.flatten(0, 1) for rows in attended])
                if len(attended) > 1
                else attended[0].flatten(0, 1)
            )

        return attend

    def _varlen(self, rows: Sequence[TokenRow]) -> Callable[[torch.Tensor], torch.Tensor]:
        """Return attention that processes all rows at once, on a GPU in half precision."""
        starts = torch.from_numpy(_starts(rows).astype(np.int32)).to(self._device, non_blocking=True)
        longest = max(len(row.ids) for row in rows)

        def attend(joined: torch.Tensor) -> torch.Tensor:
            spans = (starts, starts, longest, longest)
            out: torch.Tensor = torch.ops.aten._flash_attention_forward(
                *joined.unbind(1), *spans, 0.0, False, False
            )[0]
            return out

        return attend


def _starts(rows: Sequence[TokenRow]) -> Ints:
    return np.cumsum([0, *(len(row.ids) for row in rows)])


def _rename(name: str, kind: str) -> str:
    """Return the name of a weight in a model without head, in the current naming."""
    name = name.removeprefix(_PREFIXES[kind])
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")


def _layer(get_weights: _GetWeights, name: str) -> _Layer:
    return _Layer(
        get_weights(*(f"{name}.attention.self.{part}" for part in ("query", "key", "value"))),
        get_weights(f"{name}.attention.output.dense"),
        get_weights(f"{name}.attention.output.LayerNorm"),
        get_weights(f"{name}.intermediate.dense"),
        get_weights(f"{name}.output.dense"),
        get_weights(f"{name}.output.LayerNorm"),
    )


def _head(get_weights: _GetWeights, weights: Mapping[str, torch.Tensor]) -> _Head | None:
    for inner, outer in (("pooler.dense", "classifier"), ("classifier.dense", "classifier.out_proj")):
        if f"{inner}.weight" in weights and f"{outer}.weight" in weights:
            return _Head(get_weights(inner), get_weights(outer))
    return None
