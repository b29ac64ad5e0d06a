"""A decoder of the Llama family, for packs: SmolLM2, Llama 2, and others with the same parts.

The implementation in transformers gives equal numbers (tested), but importing it takes longer than all the
rest, and its many small operations cost a fifth of the time on a CPU. Other variants (biases, scaled
positions, several shards) are left to transformers.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.nn.functional import linear, rms_norm, silu

from dialoscope.core.errors import BackendError
from dialoscope.models.engines.adapter import weights_of
from dialoscope.models.engines.attention import TreeAttention
from dialoscope.models.engines.device import gpu_kernels
from dialoscope.models.locations import Model, weight_names


class _Layer(NamedTuple):
    """The weights of one layer; weights with the same input are concatenated."""

    before_attention: torch.Tensor
    query_key_value: torch.Tensor
    attended: torch.Tensor
    before_gate: torch.Tensor
    gate_up: torch.Tensor
    down: torch.Tensor


class _Rotation(NamedTuple):
    """Cosines and sines of each position, (tokens, dims / 2), in float32."""

    cosine: torch.Tensor
    sine: torch.Tensor


def fits(config: Mapping[str, Any], folder: Path) -> bool:
    """Whether this module supports a model."""
    rope = config.get("rope_parameters") or {}
    return (
        config.get("model_type") == "llama"
        and "model.embed_tokens.weight" in weight_names(folder)
        and ("lm_head.weight" in weight_names(folder)) is not bool(config.get("tie_word_embeddings"))
        and config.get("hidden_act") == "silu"
        and not config.get("attention_bias")
        and not config.get("mlp_bias")
        and not config.get("rope_scaling")
        and rope.get("rope_type", "default") == "default"
        and config.get("quantization_config") is None
    )


class Llama:
    """A decoder of the Llama family that reads packs."""

    def __init__(
        self, config: Mapping[str, Any], model: Model, device: torch.device, dtype: torch.dtype
    ) -> None:
        weights = weights_of(model)
        self.heads = int(config["num_attention_heads"])
        self.key_heads = int(config.get("num_key_value_heads") or self.heads)
        self.dims = int(config.get("head_dim") or config["hidden_size"] // self.heads)
        self.epsilon = float(config["rms_norm_eps"])
        self.theta = float((config.get("rope_parameters") or config).get("rope_theta", 10000.0))

        def get_weights(*names: str) -> torch.Tensor:
            try:
                parts = [weights.pop(f"model.{name}.weight") for name in names]
            except KeyError as missing:
                raise BackendError(f"{model.folder} lacks the weights {missing}; save it again.") from missing
            return (torch.cat(parts) if len(parts) > 1 else parts[0]).to(device, dtype)

        self.embedding = get_weights("embed_tokens")
        self.layers = [
            _layer(get_weights, f"layers.{index}") for index in range(int(config["num_hidden_layers"]))
        ]
        self.last = get_weights("norm")
        untied = weights.pop("lm_head.weight", None)
        self.head = self.embedding if untied is None else untied.to(device, dtype)

    def hidden(self, ids: torch.Tensor, positions: torch.Tensor, attention: TreeAttention) -> torch.Tensor:
        """Return the hidden states of all tokens after the last normalization."""
        stream = self.embedding[ids]
        rotation = self._rotation(positions)
        for layer in self.layers:
            stream += self._attend(
                layer, self._normalize(stream, layer.before_attention), rotation, attention
            )
            stream += linear(
                _apply_gate(linear(self._normalize(stream, layer.before_gate), layer.gate_up)), layer.down
            )
        return self._normalize(stream, self.last)

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the logits of the next token."""
        return linear(hidden, self.head)

    def _normalize(self, stream: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return rms_norm(stream, weight.shape, weight, self.epsilon)

    def _attend(
        self, layer: _Layer, stream: torch.Tensor, rotation: "_Rotation", attention: TreeAttention
    ) -> torch.Tensor:
        joined = linear(stream, layer.query_key_value).view(len(stream), -1, self.dims)
        rotated, value = joined.split([self.heads + self.key_heads, self.key_heads], dim=1)
        query, key = _rotate(rotated, rotation).split([self.heads, self.key_heads], dim=1)
        attended = attention(query, key, value, self.dims**-0.5)
        return linear(attended.flatten(1), layer.attended)

    def _rotation(self, positions: torch.Tensor) -> "_Rotation":
        half = torch.arange(0, self.dims, 2, device=positions.device, dtype=torch.float32)
        angles = positions[:, None].float() / self.theta ** (half / self.dims)
        return _Rotation(angles.cos(), angles.sin())


def _layer(get_weights: Any, name: str) -> _Layer:  # noqa: ANN401
    return _Layer(
        get_weights(f"{name}.input_layernorm"),
        get_weights(*(f"{name}.self_attn.{part}_proj" for part in "qkv")),
        get_weights(f"{name}.self_attn.o_proj"),
        get_weights(f"{name}.post_attention_layernorm"),
        get_weights(f"{name}.mlp.gate_proj", f"{name}.mlp.up_proj"),
        get_weights(f"{name}.mlp.down_proj"),
    )


def _rotate(heads: torch.Tensor, rotation: _Rotation) -> torch.Tensor:
    """Apply rotary position embeddings to heads."""
    if kernels := gpu_kernels(heads.device):
        kernels.rotate(heads, *rotation)
        return heads
    cosine, sine = (part[:, None].to(heads.dtype) for part in rotation)
    first, second = heads.chunk(2, dim=-1)
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1)


def _apply_gate(gate_up: torch.Tensor) -> torch.Tensor:
    if kernels := gpu_kernels(gate_up.device):
        passed: torch.Tensor = kernels.apply_gate(gate_up)
        return passed
    gate, up = gate_up.chunk(2, dim=-1)
    return silu(gate).mul_(up)
