"""Turn a GGUF file of a llama model into the folder that transformers loads, in half precision.

Written with numpy alone, so that the same bytes come out everywhere: the registry holds their hashes.
"""

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dialoscope.models.registry import gguf
from dialoscope.models.registry.gguf import Gguf

Halves = NDArray[np.float16]

_BLOCK_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_CONTROL = 3  # the token type of control tokens


def convert(source: Path, folder: Path) -> None:
    """Write the model and its tokenizer into the folder."""
    model = gguf.read(source)
    _write_json(folder / "config.json", _config(model.metadata))
    _write_json(folder / "generation_config.json", _special_ids(model.metadata))
    _write_json(folder / "tokenizer.json", _tokenizer(model.metadata))
    _write_json(folder / "tokenizer_config.json", _tokenizer_settings(model.metadata))
    _write_weights(folder / "model.safetensors", model)


def _config(metadata: Mapping[str, Any]) -> dict[str, Any]:
    # The file has 32-bit numbers; their shortest decimals are the model's settings.
    epsilon, theta = (
        float(str(np.float32(metadata[f"llama.{name}"])))
        for name in ("attention.layer_norm_rms_epsilon", "rope.freq_base")
    )
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": metadata["llama.vocab_size"],
        "hidden_size": metadata["llama.embedding_length"],
        "intermediate_size": metadata["llama.feed_forward_length"],
        "num_hidden_layers": metadata["llama.block_count"],
        "num_attention_heads": metadata["llama.attention.head_count"],
        "num_key_value_heads": metadata["llama.attention.head_count_kv"],
        "hidden_act": "silu",
        "max_position_embeddings": metadata["llama.context_length"],
        "rms_norm_eps": epsilon,
        "rope_theta": theta,
        "tie_word_embeddings": True,
        "torch_dtype": "float16",
        **_special_ids(metadata),
    }


def _special_ids(metadata: Mapping[str, Any]) -> dict[str, int]:
    return {
        "bos_token_id": metadata["tokenizer.ggml.bos_token_id"],
        "eos_token_id": metadata["tokenizer.ggml.eos_token_id"],
        "pad_token_id": metadata["tokenizer.ggml.padding_token_id"],
    }


def _tokenizer(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return a byte-level BPE that splits digits, which GGUF calls `smollm`, and adds no special tokens."""
    tokens = metadata["tokenizer.ggml.tokens"]
    kinds = metadata["tokenizer.ggml.token_type"]
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    digits = {"type": "Digits", "individual_digits": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": number, "content": tokens[number], **plain}
            for number, kind in enumerate(kinds)
            if kind == _CONTROL
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [digits, byte_level]},
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {token: number for number, token in enumerate(tokens)},
            "merges": metadata["tokenizer.ggml.merges"],
        },
    }


def _tokenizer_settings(metadata: Mapping[str, Any]) -> dict[str, Any]:
    tokens = metadata["tokenizer.ggml.tokens"]
    names = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": metadata["llama.context_length"],
        "clean_up_tokenization_spaces": False,
        "chat_template": metadata["tokenizer.chat_template"],
        **{
            f"{short}_token": tokens[metadata[f"tokenizer.ggml.{long}_token_id"]]
            for short, long in names.items()
        },
    }


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8", newline="\n")


def _write_weights(path: Path, model: Gguf) -> None:
    """Write a safetensors file: the length of a JSON header, the header, and the tensors in its order."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name, info in model.tensors.items():
        size = int(np.prod(info.shape)) * 2
        header[_rename(name)] = {"dtype": "F16", "shape": info.shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name in model.tensors:
            file.write(_read_half(model, name).tobytes())


def _rename(name: str) -> str:
    """Return the name in transformers of a tensor of llama.cpp."""
    if not name.startswith("blk."):
        return {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}[
            name
        ]
    _, number, part, kind = name.split(".")
    return f"model.layers.{number}.{_BLOCK_NAMES[part]}.{kind}"


def _read_half(model: Gguf, name: str) -> Halves:
    weights = model.tensor(name)
    for part, heads in (("attn_q", "head_count"), ("attn_k", "head_count_kv")):
        if part in name:
            weights = _restore_rows(weights, model.metadata[f"llama.attention.{heads}"])
    return weights.astype("<f2")


def _restore_rows(weights: gguf.Floats, heads: int) -> gguf.Floats:
    """Undo the order of a head's rows: llama.cpp rotates neighbours, transformers halves of a head."""
    rows, columns = weights.shape
    paired = weights.reshape(heads, rows // heads // 2, 2, columns)
    return paired.swapaxes(1, 2).reshape(rows, columns)
