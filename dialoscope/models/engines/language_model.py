"""Computation of causal language models: texts to tokens, to packs, to log-probabilities."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from dialoscope.core.arrays import Floats
from dialoscope.core.errors import BackendError
from dialoscope.models.engines import import_engine, llama
from dialoscope.models.engines.attention import TreeAttention
from dialoscope.models.engines.device import choose_device, gpu_kernels, halving, torch_dtype
from dialoscope.models.engines.packing import Pack, Piece, cut, make_packs
from dialoscope.models.engines.token_ids import Vocabulary, load_tokenizer
from dialoscope.models.locations import find_model
from dialoscope.models.protocols import Continuation, Generation

if TYPE_CHECKING:
    from dialoscope.models.language_model import TransformerLanguageModel

FIRST_TEXTS, MOST_TEXTS = 512, 8192
"""Number of texts that are packed together while the next ones are tokenized: few at first, so that computing
begins early, then twice as many each time, so that few trees are cut."""

BUDGET = {"cpu": 1024, "cuda": 32768}
"""Number of tokens in a pack. On a CPU, the data between layers then fit into its cache."""

LOGITS_AT_ONCE = {"cpu": 128, "cuda": 8192}
"""Number of scored tokens whose logits are computed together."""

LEAST_BUDGET = 64


class Decoder(Protocol):
    """A causal language model that reads packs."""

    def hidden(self, ids: torch.Tensor, positions: torch.Tensor, attention: TreeAttention) -> torch.Tensor:
        """Return the hidden states of all tokens."""

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the logits of the next token."""


class LanguageModelEngine:
    """The loaded model of a description, which scores and generates texts."""

    def __init__(self, description: "TransformerLanguageModel") -> None:
        self.description = description
        self.model = find_model(description.model, description.revision)
        self.config = self.model.config
        self.device = choose_device(description.device)
        self.dtype = torch_dtype(description.dtype)
        self.words = Vocabulary(load_tokenizer(self.model.folder))
        self.window = description.limit
        self.start = self._start_tokens() if description.start == "bos" else ()

    @cached_property
    def decoder(self) -> Decoder:
        """The implementation in this package if it supports the model, else that of transformers."""
        if llama.fits(self.config, self.model.folder):
            return llama.Llama(self.config, self.model, self.device, self.dtype)
        module = import_engine("causal", f"The language model {self.description.model}")
        decoder: Decoder = module.packable_or_plain(self.model, self.device, self.dtype)
        return decoder

    def _start_tokens(self) -> tuple[int, ...]:
        config = {**(self.config.get("text_config") or {}), **self.config}
        token = config.get("bos_token_id")
        token = config.get("eos_token_id") if token is None else token
        if isinstance(token, list):
            token = token[0]
        if token is None:
            raise BackendError(f"The model {self.description.model} has no start token; use start='none'.")
        return (int(token),)

    def log_probabilities(
        self, texts: Sequence[Continuation], indices: Sequence[int]
    ) -> Iterator[tuple[int, Floats]]:
        """Yield the index of each text and the log-probabilities of its tokens, in any order."""
        order = sorted(range(len(texts)), key=lambda index: texts[index].prefix)
        parts = list(_growing(order))
        with ThreadPoolExecutor(1) as ahead:
            waiting = [ahead.submit(self._pieces, [texts[index] for index in part]) for part in parts[:1]]
            for part, following in pairwise([*parts, []]):
                pieces = waiting.pop().result()
                if following:
                    waiting.append(ahead.submit(self._pieces, [texts[index] for index in following]))
                for index, values in _join_pieces(pieces, self._score):
                    yield indices[part[index]], values

    def _pieces(self, texts: Sequence[Continuation]) -> list[list[Piece]]:
        """Return the tokens of each text in pieces that fit the window."""
        tokens = self.words.encode_pairs([text.prefix for text in texts], [text.text for text in texts])
        return [cut(prefix, text, self.start, self.window) for prefix, text in tokens]

    def _score(self, pieces: Sequence[Piece]) -> Iterator[tuple[int, Floats]]:
        """Yield the index and log-probabilities of each piece; packing runs parallel to the GPU."""
        todo = dict(enumerate(pieces))

        def work(budget: int) -> Iterator[tuple[int, Floats]]:
            indices = list(todo)
            previous: tuple[Pack, torch.Tensor] | None = None
            for pack in make_packs([todo[index] for index in indices], budget):
                current = (pack, self._pack_scores(pack))
                if previous:
                    yield from collect(indices, *previous)
                previous = current
            if previous:
                yield from collect(indices, *previous)

        def collect(indices: list[int], pack: Pack, scores: torch.Tensor) -> Iterator[tuple[int, Floats]]:
            ends = np.cumsum(pack.lengths)[:-1]
            for index, values in zip(pack.pieces, np.split(scores.cpu().numpy(), ends), strict=True):
                del todo[indices[index]]
                yield indices[index], values

        budget = self.description.budget or BUDGET.get(self.device.type, BUDGET["cpu"])
        return halving(work, budget, LEAST_BUDGET)

    @torch.inference_mode()
    def _pack_scores(self, pack: Pack) -> torch.Tensor:
        """Compute the log-probability of each scored token, without logits of other tokens."""
        ids, positions, sources, targets = (
            torch.from_numpy(numbers).to(self.device, non_blocking=True)
            for numbers in (pack.ids, pack.positions, pack.sources, pack.targets)
        )
        hidden = self.decoder.hidden(ids, positions, TreeAttention(pack, self.device, self.dtype))
        at_once = LOGITS_AT_ONCE.get(self.device.type, LOGITS_AT_ONCE["cpu"])
        return torch.cat(
            [
                _log_probability(self.decoder.logits(hidden[rows]), wanted)
                for rows, wanted in zip(sources.split(at_once), targets.split(at_once), strict=True)
            ]
        )

    def generate(self, prompts: Sequence[str], how: Generation) -> list[list[str]]:
        """Generate texts for each prompt."""
        module = import_engine("generation", f"The language model {self.description.model}")
        texts: list[list[str]] = module.Writer.of(self).write(prompts, how)
        return texts


def _log_probability(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Compute the log-probabilities of targets in float32, for logits of any precision."""
    if kernels := gpu_kernels(logits.device):
        values: torch.Tensor = kernels.log_probability(logits, targets)
        return values
    return -cross_entropy(logits.float(), targets, reduction="none")


def _growing(order: Sequence[int]) -> Iterator[Sequence[int]]:
    begin, size = 0, FIRST_TEXTS
    while begin < len(order):
        yield order[begin : begin + size]
        begin, size = begin + size, min(2 * size, MOST_TEXTS)


def _join_pieces(
    texts: Sequence[list[Piece]], score: Callable[[Sequence[Piece]], Iterator[tuple[int, Floats]]]
) -> Iterator[tuple[int, Floats]]:
    """Yield the index and log-probabilities of each text as soon as all of its pieces are scored."""
    owners = [index for index, pieces in enumerate(texts) for _ in pieces]
    firsts = np.cumsum([0, *(len(pieces) for pieces in texts)])
    scores: dict[int, Floats] = {}
    missing = [len(pieces) for pieces in texts]
    yield from ((index, np.zeros(0)) for index, pieces in enumerate(texts) if not pieces)
    for piece, values in score([piece for pieces in texts for piece in pieces]):
        owner = owners[piece]
        scores[piece] = values
        missing[owner] -= 1
        if not missing[owner]:
            yield (
                owner,
                np.concatenate([scores.pop(index) for index in range(firsts[owner], firsts[owner + 1])]),
            )
