"""A causal language model at work: texts become tokens, tokens packs, packs log-probabilities."""

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
from dialoscope.models.engines.device import chosen_device, gpu_kernels, halving, torch_dtype
from dialoscope.models.engines.packing import Pack, Piece, cut, packed
from dialoscope.models.engines.token_ids import Vocabulary, load_tokenizer
from dialoscope.models.locations import find_model
from dialoscope.models.protocols import Continuation, Generation

if TYPE_CHECKING:
    from dialoscope.models.language_model import TransformerLanguageModel

FIRST_TEXTS, MOST_TEXTS = 512, 8192
"""Texts planned together while the tokens of the next are made: few at first, so that computing begins early,
then twice as many each time, so that few trees are cut."""

BUDGET = {"cpu": 1024, "cuda": 32768}
"""Tokens in a pack. On a processor what passes between layers then stays in its cache."""

LOGITS_AT_ONCE = {"cpu": 128, "cuda": 8192}
"""Scored tokens whose logits are made together."""

LEAST_BUDGET = 64


class Decoder(Protocol):
    """A causal language model that reads packs."""

    def hidden(self, ids: torch.Tensor, positions: torch.Tensor, attention: TreeAttention) -> torch.Tensor:
        """What the model makes of each token."""

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """How it rates every token of its vocabulary as the next."""


class LanguageModelEngine:
    """The weights of a description, and what they say of texts."""

    def __init__(self, description: "TransformerLanguageModel") -> None:
        self.description = description
        self.model = find_model(description.model, description.revision)
        self.config = self.model.config
        self.device = chosen_device(description.device)
        self.dtype = torch_dtype(description.dtype)
        self.words = Vocabulary(load_tokenizer(self.model.folder))
        self.window = description.limit
        self.start = self._start_tokens() if description.start == "bos" else ()

    @cached_property
    def decoder(self) -> Decoder:
        """Our own where the model is of the plain kind, else that of transformers."""
        if llama.fits(self.config, self.model.folder):
            return llama.Llama(self.config, self.model, self.device, self.dtype)
        side = import_engine("causal", f"The language model {self.description.model}")
        found: Decoder = side.packable_or_plain(self.model, self.device, self.dtype)
        return found

    def _start_tokens(self) -> tuple[int, ...]:
        config = {**(self.config.get("text_config") or {}), **self.config}
        found = config.get("bos_token_id")
        found = config.get("eos_token_id") if found is None else found
        if isinstance(found, list):
            found = found[0]
        if found is None:
            raise BackendError(
                f"The model {self.description.model} has no token that begins a text; use start='none'."
            )
        return (int(found),)

    def log_probabilities(
        self, texts: Sequence[Continuation], places: Sequence[int]
    ) -> Iterator[tuple[int, Floats]]:
        """For each text, its place and the log-probabilities of its tokens, in the order they are ready."""
        order = sorted(range(len(texts)), key=lambda place: texts[place].prefix)
        parts = list(_growing(order))
        with ThreadPoolExecutor(1) as ahead:
            waiting = [ahead.submit(self._pieces, [texts[place] for place in part]) for part in parts[:1]]
            for part, after in pairwise([*parts, []]):
                pieces = waiting.pop().result()
                if after:
                    waiting.append(ahead.submit(self._pieces, [texts[place] for place in after]))
                for place, values in _joined(pieces, self._scored):
                    yield places[part[place]], values

    def _pieces(self, texts: Sequence[Continuation]) -> list[list[Piece]]:
        """Each text as tokens, cut to what the model can see."""
        tokens = self.words.encode_pairs([text.prefix for text in texts], [text.text for text in texts])
        return [cut(prefix, text, self.start, self.window) for prefix, text in tokens]

    def _scored(self, pieces: Sequence[Piece]) -> Iterator[tuple[int, Floats]]:
        """Each piece's place and log-probabilities; a pack is planned while the one before is computed."""
        todo = dict(enumerate(pieces))

        def work(budget: int) -> Iterator[tuple[int, Floats]]:
            places = list(todo)
            ready: tuple[Pack, torch.Tensor] | None = None
            for pack in packed([todo[place] for place in places], budget):
                started = (pack, self._pack_scores(pack))
                if ready:
                    yield from taken(places, *ready)
                ready = started
            if ready:
                yield from taken(places, *ready)

        def taken(places: list[int], pack: Pack, scores: torch.Tensor) -> Iterator[tuple[int, Floats]]:
            ends = np.cumsum(pack.lengths)[:-1]
            for place, values in zip(pack.pieces, np.split(scores.cpu().numpy(), ends), strict=True):
                del todo[places[place]]
                yield places[place], values

        budget = self.description.budget or BUDGET.get(self.device.type, BUDGET["cpu"])
        return halving(work, budget, LEAST_BUDGET)

    @torch.inference_mode()
    def _pack_scores(self, pack: Pack) -> torch.Tensor:
        """The log-probability of each scored token; logits are made of nothing else."""
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
        """Texts for each prompt."""
        side = import_engine("generation", f"The language model {self.description.model}")
        written: list[list[str]] = side.Writer.of(self).write(prompts, how)
        return written


def _log_probability(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """In float32, however precise the logits are."""
    if kernels := gpu_kernels(logits.device):
        found: torch.Tensor = kernels.log_probability(logits, targets)
        return found
    return -cross_entropy(logits.float(), targets, reduction="none")


def _growing(order: Sequence[int]) -> Iterator[Sequence[int]]:
    begin, size = 0, FIRST_TEXTS
    while begin < len(order):
        yield order[begin : begin + size]
        begin, size = begin + size, min(2 * size, MOST_TEXTS)


def _joined(
    texts: Sequence[list[Piece]], scored: Callable[[Sequence[Piece]], Iterator[tuple[int, Floats]]]
) -> Iterator[tuple[int, Floats]]:
    """Texts whose pieces are all scored, in the order in which they become so."""
    owners = [place for place, pieces in enumerate(texts) for _ in pieces]
    firsts = np.cumsum([0, *(len(pieces) for pieces in texts)])
    found: dict[int, Floats] = {}
    left = [len(pieces) for pieces in texts]
    yield from ((place, np.zeros(0)) for place, pieces in enumerate(texts) if not pieces)
    for piece, values in scored([piece for pieces in texts for piece in pieces]):
        owner = owners[piece]
        found[piece] = values
        left[owner] -= 1
        if not left[owner]:
            yield owner, np.concatenate([found.pop(one) for one in range(firsts[owner], firsts[owner + 1])])
