"""Any causal language model that transformers knows, in packs where the model permits it."""

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
from dialoscope.models.engines.packing import Piece, packed
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
    """Without the bars and warnings of transformers."""
    logger = logging.getLogger("transformers")
    before = logger.level
    their_logging.disable_progress_bar()
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


class Loaded(NamedTuple):
    """A model, and the names of weights that its folder lacks, which transformers makes up by chance."""

    model: PreTrainedModel
    lacking: list[str]


def load(
    kind: Any,  # noqa: ANN401
    files: Model,
    device: torch.device,
    dtype: torch.dtype,
    what: str,
    labels: Sequence[str] = (),
) -> Loaded:
    """A model ready to be asked; no code of the folder is run. `what` says what it cannot be loaded as.

    With labels it becomes a classifier of these, whose head is yet to be trained.
    """
    folder = files.folder
    try:
        with quiet():
            model, told = kind.from_pretrained(
                folder,
                config=_config(files, labels),
                dtype=dtype,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                output_loading_info=True,
            )
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as wrong:
        raise BackendError(f"{folder} cannot be loaded as {what}: {wrong}") from wrong
    given = merge(dict(model.named_parameters()), files.adapter) if files.adapter else frozenset()
    model.eval()
    model.to(device)
    return Loaded(model, sorted(set(told["missing_keys"]) - given))


def _config(files: Model, labels: Sequence[str]) -> Any:  # noqa: ANN401 - one of very many classes
    """The adapter's own settings, where it has some: how many classes, and what they are called."""
    config = AutoConfig.from_pretrained(files.config_folder, local_files_only=True, trust_remote_code=False)
    if labels:
        config.id2label = dict(enumerate(labels))
        config.label2id = {name: number for number, name in enumerate(labels)}
    return config


def load_causal(files: Model, device: torch.device, dtype: torch.dtype) -> PreTrainedModel:
    """A language model with its head and every weight."""
    model, lacking = load(AutoModelForCausalLM, files, device, dtype, "a language model")
    if lacking:
        raise BackendError(
            f"{files.folder} is no whole language model: it lacks {len(lacking)} weights, such as "
            f"{lacking[0]}."
        )
    return model


def packable_or_plain(files: Model, device: torch.device, dtype: torch.dtype) -> "Packed | Plain":
    """In packs if that gives the model's own numbers, which is tried; else one text at a time."""
    model = load_causal(files, device, dtype)
    plain, in_packs = Plain(model), Packed(model)
    if not _causal(plain):
        raise BackendError(
            f"{files.folder} holds a model that also reads what follows a word, so it cannot say how likely "
            "a text is. Name a causal language model."
        )
    if _looks_back_so_far(model) or not _takes_trees(model):
        return plain
    return in_packs if _alike(plain, in_packs, device, dtype) else plain


class Packed:
    """A model whose attention is ours: positions and what is seen are told to it for each token."""

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model

    def hidden(self, ids: torch.Tensor, positions: torch.Tensor, attention: TreeAttention) -> torch.Tensor:
        """What the model makes of each token."""
        told = _attention.set(attention)
        try:
            self.model.set_attn_implementation(_TREES)
            found = self.model.base_model(
                input_ids=ids[None], position_ids=positions[None], use_cache=False
            ).last_hidden_state[0]
        finally:
            _attention.reset(told)
        out: torch.Tensor = found
        return out

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """How it rates every token of its vocabulary as the next."""
        head = self.model.get_output_embeddings()
        out: torch.Tensor = head(hidden)
        return out


class Plain:
    """A model that must read each line of a tree from its beginning."""

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model

    def hidden(self, ids: torch.Tensor, positions: torch.Tensor, attention: TreeAttention) -> torch.Tensor:
        """The logits of each token; `logits` has nothing left to do."""
        pack = attention.pack
        rows = []
        for node in pack.nodes:
            line = torch.from_numpy(pack.line(node)).to(ids.device)
            rows.append(self.read(ids[line][None])[-(node.end - node.begin) :])
        return torch.cat(rows)

    def read(self, line: torch.Tensor) -> torch.Tensor:
        """The logits of each token of a line, by nothing but transformers."""
        self.model.set_attn_implementation("sdpa" if self.model._supports_sdpa else "eager")
        out: torch.Tensor = self.model(input_ids=line, use_cache=False).logits[0]
        return out

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """They are there already."""
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
    """The attention that transformers calls, (1, heads, tokens, dims) each."""
    queries, keys, values = (states[0].transpose(0, 1) for states in (query, key, value))
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    return _attention.get()(queries, keys, values, scale)[None], None


AttentionInterface.register(_TREES, _read_with_trees)


def _causal(plain: Plain) -> bool:
    """Whether what a model says of a token is the same whatever follows it."""
    first, other = _some_tokens(plain.model, 2)
    with torch.inference_mode(), quiet():
        one, two = (
            plain.read(torch.tensor([line], device=plain.model.device))[:-1]
            for line in (first, (*first[:-1], other[0]))
        )
    return _near(one, two, plain.model.dtype)


def _looks_back_so_far(model: PreTrainedModel) -> bool:
    """Whether a token sees only so many before it, which a short trial would not show."""
    config = model.config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or ())
    if kinds:
        return kinds != {"full_attention"}
    return bool(getattr(config, "sliding_window", None) or getattr(config, "attention_chunk_size", None))


def _some_tokens(model: PreTrainedModel, lines: int) -> list[tuple[int, ...]]:
    size = model.config.get_text_config().vocab_size
    return [tuple(line) for line in np.random.default_rng(0).integers(0, size, size=(lines, 9)).tolist()]


def _takes_trees(model: PreTrainedModel) -> bool:
    try:
        with quiet():
            model.set_attn_implementation(_TREES)
    except (ValueError, AttributeError):
        return False
    return True


def _alike(plain: Plain, in_packs: Packed, device: torch.device, dtype: torch.dtype) -> bool:
    """Whether a small tree read as a pack has the logits of its lines read one by one."""
    trunk, left, right = _some_tokens(plain.model, 3)
    pieces = [Piece(trunk, left), Piece(trunk, right), Piece((*trunk, *left), right)]
    (pack,) = packed(pieces, 1000)
    ids, positions = (torch.from_numpy(numbers).to(device) for numbers in (pack.ids, pack.positions))
    attention = TreeAttention(pack, device, dtype)
    try:
        with torch.inference_mode(), quiet():
            one, other = (
                decoder.logits(decoder.hidden(ids, positions, attention)).float()
                for decoder in (plain, in_packs)
            )
    except (RuntimeError, TypeError, LookupError, AttributeError):
        return False
    return _near(one, other, dtype)


def _near(one: torch.Tensor, other: torch.Tensor, dtype: torch.dtype) -> bool:
    return bool((one - other).abs().max() <= _NEAR[dtype] * one.abs().max())


_NEAR = {torch.float32: 1e-4, torch.bfloat16: 0.05, torch.float16: 0.01}
