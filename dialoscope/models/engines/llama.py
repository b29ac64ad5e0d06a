"""A decoder of the Llama family, for packs: SmolLM2, Llama 2, and others with the same parts.

transformers has one too, but importing it takes longer than all of the rest, and its many small steps cost a
fifth of the time on a processor; the numbers of the two are equal (tested). Whatever differs from the plain
form (biases, scaled positions, several shards) is left to transformers.
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
    """The weights of one layer, those that read the same input joined."""

    before_attention: torch.Tensor
    query_key_value: torch.Tensor
    attended: torch.Tensor
    before_gate: torch.Tensor
    gate_up: torch.Tensor
    down: torch.Tensor


class _Turn(NamedTuple):
    """Cosines and sines of each position, (tokens, dims / 2), in float32."""

    cosine: torch.Tensor
    sine: torch.Tensor


def fits(config: Mapping[str, Any], folder: Path) -> bool:
    """Whether a model is of the plain form that this module computes."""
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
    """Weights, and what they make of a pack."""

    def __init__(
        self, config: Mapping[str, Any], model: Model, device: torch.device, dtype: torch.dtype
    ) -> None:
        weights = weights_of(model)
        self.heads = int(config["num_attention_heads"])
        self.key_heads = int(config.get("num_key_value_heads") or self.heads)
        self.dims = int(config.get("head_dim") or config["hidden_size"] // self.heads)
        self.epsilon = float(config["rms_norm_eps"])
        self.theta = float((config.get("rope_parameters") or config).get("rope_theta", 10000.0))

        def taken(*names: str) -> torch.Tensor:
            try:
                parts = [weights.pop(f"model.{name}.weight") for name in names]
            except KeyError as lacking:
                raise BackendError(f"{model.folder} lacks the weights {lacking}; save it again.") from lacking
            return (torch.cat(parts) if len(parts) > 1 else parts[0]).to(device, dtype)

        self.embedding = taken("embed_tokens")
        self.layers = [_layer(taken, f"layers.{place}") for place in range(int(config["num_hidden_layers"]))]
        self.last = taken("norm")
        untied = weights.pop("lm_head.weight", None)
        self.head = self.embedding if untied is None else untied.to(device, dtype)

    def hidden(self, ids: torch.Tensor, positions: torch.Tensor, attention: TreeAttention) -> torch.Tensor:
        """What the model makes of each token, ready for `logits`."""
        stream = self.embedding[ids]
        turn = self._rotation(positions)
        for layer in self.layers:
            stream += self._attended(layer, self._normed(stream, layer.before_attention), turn, attention)
            stream += linear(
                _gated(linear(self._normed(stream, layer.before_gate), layer.gate_up)), layer.down
            )
        return self._normed(stream, self.last)

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """How the model rates every token of its vocabulary as the next."""
        return linear(hidden, self.head)

    def _normed(self, stream: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return rms_norm(stream, weight.shape, weight, self.epsilon)

    def _attended(
        self, layer: _Layer, stream: torch.Tensor, turn: "_Turn", attention: TreeAttention
    ) -> torch.Tensor:
        joined = linear(stream, layer.query_key_value).view(len(stream), -1, self.dims)
        turned, value = joined.split([self.heads + self.key_heads, self.key_heads], dim=1)
        query, key = _turned(turned, turn).split([self.heads, self.key_heads], dim=1)
        found = attention(query, key, value, self.dims**-0.5)
        return linear(found.flatten(1), layer.attended)

    def _rotation(self, positions: torch.Tensor) -> "_Turn":
        half = torch.arange(0, self.dims, 2, device=positions.device, dtype=torch.float32)
        angles = positions[:, None].float() / self.theta ** (half / self.dims)
        return _Turn(angles.cos(), angles.sin())


def _layer(taken: Any, name: str) -> _Layer:  # noqa: ANN401
    return _Layer(
        taken(f"{name}.input_layernorm"),
        taken(*(f"{name}.self_attn.{part}_proj" for part in "qkv")),
        taken(f"{name}.self_attn.o_proj"),
        taken(f"{name}.post_attention_layernorm"),
        taken(f"{name}.mlp.gate_proj", f"{name}.mlp.up_proj"),
        taken(f"{name}.mlp.down_proj"),
    )


def _turned(heads: torch.Tensor, turn: _Turn) -> torch.Tensor:
    """Rotary positions: each half of a head is turned against the other."""
    if kernels := gpu_kernels(heads.device):
        kernels.turn(heads, *turn)
        return heads
    cosine, sine = (part[:, None].to(heads.dtype) for part in turn)
    one, other = heads.chunk(2, dim=-1)
    return torch.cat([one * cosine - other * sine, other * cosine + one * sine], dim=-1)


def _gated(gate_up: torch.Tensor) -> torch.Tensor:
    if kernels := gpu_kernels(gate_up.device):
        passed: torch.Tensor = kernels.gated(gate_up)
        return passed
    gate, up = gate_up.chunk(2, dim=-1)
    return silu(gate).mul_(up)
