"""Small random models of many architectures, saved as anybody saves a model."""

from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedModel
from transformers.utils import logging

SENTENCES = (
    "hello there, how are you today?",
    "i am fine, thank you. and how are you?",
    "what did you do at the weekend?",
    "we went to the sea, and the water was cold.",
    "do you like tea or coffee in the morning?",
    "i have two dogs and a cat, they like the garden.",
)
BEGIN, END = "<s>", "</s>"
WINDOW = 96

_SHAPE = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": WINDOW,
}
_OLD_SHAPE = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": WINDOW}
_PLAIN_SHAPE = {
    name: size for name, size in _SHAPE.items() if name not in ("num_key_value_heads", "head_dim")
}
_LLAMA = {**_SHAPE, "tie_word_embeddings": False}

MODELS: dict[str, tuple[str, dict[str, object]]] = {
    "gpt2": ("GPT2", _OLD_SHAPE),
    "llama": ("Llama", _LLAMA),
    "llama-tied": (
        "Llama",
        {**_LLAMA, "tie_word_embeddings": True, "num_key_value_heads": 4, "head_dim": 16},
    ),
    "llama-scaled": (
        "Llama",
        {**_LLAMA, "rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 10000.0}},
    ),
    "llama-biased": ("Llama", {**_LLAMA, "attention_bias": True, "mlp_bias": True}),
    "qwen2": ("Qwen2", _SHAPE),
    "qwen3": ("Qwen3", _SHAPE),
    "mistral": ("Mistral", {**_SHAPE, "sliding_window": None}),
    "mistral-sliding": ("Mistral", {**_SHAPE, "sliding_window": 12}),
    "gemma2": (
        "Gemma2",
        {**_SHAPE, "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0, "sliding_window": 12},
    ),
    "gemma2-wide": (
        "Gemma2",
        {**_SHAPE, "attn_logit_softcapping": 2.0, "final_logit_softcapping": None, "sliding_window": 4096},
    ),
    "gemma3": ("Gemma3", {**_SHAPE, "sliding_window": 12}),
    "granite": ("Granite", {**_SHAPE, "logits_scaling": 4.0, "attention_multiplier": 0.3}),
    "cohere": ("Cohere", {**_SHAPE, "logit_scale": 0.5}),
    "opt": (
        "OPT",
        {**_PLAIN_SHAPE, "ffn_dim": 48, "word_embed_proj_dim": 16},
    ),
    "bloom": ("Bloom", {"hidden_size": 32, "n_layer": 2, "n_head": 4}),
    "gpt-neox": ("GPTNeoX", _PLAIN_SHAPE),
    "gpt-neo": (
        "GPTNeo",
        {
            "hidden_size": 32,
            "num_layers": 2,
            "num_heads": 4,
            "attention_types": [[["global", "local"], 1]],
            "window_size": 12,
            "max_position_embeddings": WINDOW,
        },
    ),
    "gptj": ("GPTJ", {**_OLD_SHAPE, "rotary_dim": 4}),
    "phi": ("Phi", _PLAIN_SHAPE),
    "falcon-alibi": ("Falcon", {**_PLAIN_SHAPE, "alibi": True}),
    "mamba": ("Mamba", {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 4}),
}
_CLASSES = {"GPT2": "GPT2LMHeadModel", "Gemma3": "Gemma3ForCausalLM"}
_CONFIGS = {"Gemma3": "Gemma3TextConfig"}


def save_model(name: str, folder: Path, **changes: object) -> Path:
    """A model of this name with its tokenizer; the same weights each time."""
    family, settings = MODELS[name]
    save_tokenizer(folder)
    config = getattr(transformers, _CONFIGS.get(family, f"{family}Config"))(
        **{
            "vocab_size": vocabulary_size(folder),
            "bos_token_id": 0,
            "eos_token_id": 1,
            "pad_token_id": 1,
            **settings,
            **changes,
        }
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = getattr(transformers, _CLASSES.get(family, f"{family}ForCausalLM"))(config)
        stir(model)
    save_quietly(model, folder)
    return folder


def stir(model: PreTrainedModel) -> None:
    """Weights that are large enough for every mistake to show."""
    with torch.no_grad():
        for weight in model.parameters():
            noise = torch.randn(weight.shape)
            if weight.dim() > 1:
                weight.copy_(noise * 0.25)
            else:
                weight.add_(noise * 0.2)
    model.tie_weights()


def save_quietly(model: PreTrainedModel, folder: Path, **how: Any) -> None:
    """Without a bar, which would stand in the output of whichever test comes first."""
    logging.disable_progress_bar()
    model.save_pretrained(folder, **how)


def save_tokenizer(folder: Path) -> None:
    """Pairs of bytes, as GPT-2 has them, learned from a few sentences."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=[BEGIN, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))


def vocabulary_size(folder: Path) -> int:
    size: int = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab_size()
    return size
