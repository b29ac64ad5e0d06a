"""Causal language models in transformers, which read packs if the model permits it."""

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np
import torch

from dialoscope.core.errors import BackendError
from dialoscope.models.engines.adapter import merge
from dialoscope.models.engines.attention import TreeAttention
from dialoscope.models.engines.packing import Piece, make_packs
from dialoscope.models.locations import Model

os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")

from safetensors import SafetensorError
from transformers import AttentionInterface, AutoConfig, AutoModelForCausalLM, PreTrainedModel
from transformers.utils import logging as their_logging

_TREES = "dialoscope_trees"
_attention: ContextVar[TreeAttention] = ContextVar("attention of the pack that is being read")


@contextmanager
def quiet() -> Iterator[None]:
    """Hide the progress bars and warnings of transformers."""
    logger = logging.getLogger("transformers")
    before = logger.level
    their_logging.disable_progress_bar()
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


class Loaded(NamedTuple):
    """A model, and the names of missing weights, which transformers has initialized randomly."""

    model: PreTrainedModel
    missing: list[str]


def load(
    kind: Any,  # noqa: ANN401
    files: Model,
    device: torch.device,
    dtype: torch.dtype,
    what: str,
    labels: Sequence[str] = (),
) -> Loaded:
    """Load a model without running code from its folder; `what` names the kind of model in errors.

    With labels, the model gets an untrained classification head for them.
    """
    folder = files.folder
    try:
        with quiet():
            model, info = kind.from_pretrained(
                folder,
                config=_config(files, labels),
                dtype=dtype,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                output_loading_info=True,
            )
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
        raise BackendError(f"{folder} cannot be loaded as {what}: {error}") from error
    merged = merge(dict(model.named_parameters()), files.adapter) if files.adapter else frozenset()
    model.eval()
    model.to(device)
    return Loaded(model, sorted(set(info["missing_keys"]) - merged))


def _config(files: Model, labels: Sequence[str]) -> Any:  # noqa: ANN401 - one of very many classes
    """Return the configuration, which an adapter may replace, for example to set the labels."""
    config = AutoConfig.from_pretrained(files.config_folder, local_files_only=True, trust_remote_code=False)
    if labels:
        config.id2label = dict(enumerate(labels))
        config.label2id = {name: number for number, name in enumerate(labels)}
    return config


def load_causal(files: Model, device: torch.device, dtype: torch.dtype) -> PreTrainedModel:
    """Load a language model; missing weights are an error."""
    model, missing = load(AutoModelForCausalLM, files, device, dtype, "a language model")
    if missing:
        raise BackendError(
            f"{files.folder} is not a complete language model: {len(missing)} weights are missing, such as "
            f"{missing[0]}."
        )
    return model


def packable_or_plain(files: Model, device: torch.device, dtype: torch.dtype) -> "Packed | Plain":
    """Return a decoder that reads packs if a test shows equal numbers, else one that reads single texts."""
    model = load_causal(files, device, dtype)
    plain, in_packs = Plain(model), Packed(model)
    if not _is_causal(plain):
        raise BackendError(
            f"{files.folder} contains a model that also attends to later tokens, so that it does not define "
            "probabilities of texts. Name a causal language model."
        )
    if _has_local_attention(model) or not _accepts_trees(model):
        return plain
    return in_packs if _gives_equal_logits(plain, in_packs, device, dtype) else plain


class Packed:
    """A model with tree attention, which gets the position and the visible tokens of each token."""

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model

    def hidden(self, ids: torch.Tensor, positions: torch.Tensor, attention: TreeAttention) -> torch.Tensor:
        """Return the hidden states of all tokens."""
        token = _attention.set(attention)
        try:
            self.model.set_attn_implementation(_TREES)
            hidden = self.model.base_model(
                input_ids=ids[None], position_ids=positions[None], use_cache=False
            ).last_hidden_state[0]
        finally:
            _attention.reset(token)
        out: torch.Tensor = hidden
        return out

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the logits of the next token."""
        head = self.model.get_output_embeddings()
        out: torch.Tensor = head(hidden)
        return out


class Plain:
    """A model that reads each line of a tree from its beginning."""

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model

    def hidden(self, ids: torch.Tensor, positions: torch.Tensor, attention: TreeAttention) -> torch.Tensor:
        """Return the logits of all tokens, which `logits` returns unchanged."""
        pack = attention.pack
        rows = []
        for node in pack.nodes:
            line = torch.from_numpy(pack.line(node)).to(ids.device)
            rows.append(self.read(ids[line][None])[-(node.end - node.begin) :])
        return torch.cat(rows)

    def read(self, line: torch.Tensor) -> torch.Tensor:
        """Return the logits of all tokens of a line, computed by transformers."""
        self.model.set_attn_implementation("sdpa" if self.model._supports_sdpa else "eager")
        out: torch.Tensor = self.model(input_ids=line, use_cache=False).logits[0]
        return out

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the logits, which `hidden` has computed."""
        return hidden


def _read_with_trees(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **others: object,
) -> tuple[torch.Tensor, None]:
    """Compute attention for transformers; all arrays are (1, heads, tokens, dims)."""
    queries, keys, values = (states[0].transpose(0, 1) for states in (query, key, value))
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    return _attention.get()(queries, keys, values, scale)[None], None


AttentionInterface.register(_TREES, _read_with_trees)


def _is_causal(plain: Plain) -> bool:
    """Whether the output of a model for a token is independent of later tokens."""
    first, other = _random_tokens(plain.model, 2)
    with torch.inference_mode(), quiet():
        logits, other_logits = (
            plain.read(torch.tensor([line], device=plain.model.device))[:-1]
            for line in (first, (*first[:-1], other[0]))
        )
    return _is_close(logits, other_logits, plain.model.dtype)


def _has_local_attention(model: PreTrainedModel) -> bool:
    """Whether attention is limited to a window, which a short test would not show."""
    config = model.config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or ())
    if kinds:
        return kinds != {"full_attention"}
    return bool(getattr(config, "sliding_window", None) or getattr(config, "attention_chunk_size", None))


def _random_tokens(model: PreTrainedModel, lines: int) -> list[tuple[int, ...]]:
    size = model.config.get_text_config().vocab_size
    return [tuple(line) for line in np.random.default_rng(0).integers(0, size, size=(lines, 9)).tolist()]


def _accepts_trees(model: PreTrainedModel) -> bool:
    try:
        with quiet():
            model.set_attn_implementation(_TREES)
    except (ValueError, AttributeError):
        return False
    return True


def _gives_equal_logits(plain: Plain, in_packs: Packed, device: torch.device, dtype: torch.dtype) -> bool:
    """Whether the logits of a small tree are equal if it is read as a pack and line by line."""
    trunk, left, right = _random_tokens(plain.model, 3)
    pieces = [Piece(trunk, left), Piece(trunk, right), Piece((*trunk, *left), right)]
    (pack,) = make_packs(pieces, 1000)
    ids, positions = (torch.from_numpy(numbers).to(device) for numbers in (pack.ids, pack.positions))
    attention = TreeAttention(pack, device, dtype)
    try:
        with torch.inference_mode(), quiet():
            expected, logits = (
                decoder.logits(decoder.hidden(ids, positions, attention)).float()
                for decoder in (plain, in_packs)
            )
    except (RuntimeError, TypeError, LookupError, AttributeError):
        return False
    return _is_close(expected, logits, dtype)


def _is_close(expected: torch.Tensor, actual: torch.Tensor, dtype: torch.dtype) -> bool:
    return bool((expected - actual).abs().max() <= _TOLERANCE[dtype] * expected.abs().max())


_TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 0.05, torch.float16: 0.01}
