"""A causal language model that writes: greedy, with beams, or by chance that depends on the seed alone."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import (
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    PreTrainedModel,
    StoppingCriteria,
    StoppingCriteriaList,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from dialoscope.core.errors import BackendError
from dialoscope.models.engines.causal import load_causal, quiet
from dialoscope.models.engines.device import halving
from dialoscope.models.engines.token_ids import Vocabulary
from dialoscope.models.locations import Model
from dialoscope.models.protocols import Generation

if TYPE_CHECKING:
    from dialoscope.models.engines.language_model import LanguageModelEngine

BUDGET = {"cpu": 2048, "cuda": 65536}
"""Tokens of prompts and texts that are in the making together."""


class Writer:
    """A model with its vocabulary, set to write."""

    def __init__(self, model: Any, words: Vocabulary, engine: "LanguageModelEngine") -> None:  # noqa: ANN401 - generate() has no usable type
        self.model, self.words, self.start = model, words, engine.start
        self.room = engine.window
        self.budget = engine.description.budget or BUDGET.get(engine.device.type, BUDGET["cpu"])

    @classmethod
    def of(cls, engine: "LanguageModelEngine") -> "Writer":
        """The writer for an engine's model."""
        model = _writing_model(engine.model, engine.device, engine.dtype, engine.description.fingerprint)
        return cls(model, engine.words, engine)

    def write(self, prompts: Sequence[str], how: Generation) -> list[list[str]]:
        """Texts for each prompt; each different prompt is worked on once, those of like length together."""
        unique = list(dict.fromkeys(prompts))
        starts = [self._begun(tokens, how) for tokens in self.words.encode(unique)]
        todo = sorted(range(len(unique)), key=lambda place: -len(starts[place]))
        found: dict[str, list[str]] = {}

        def work(budget: int) -> Iterator[None]:
            for places in batches(list(todo), [len(start) for start in starts], how, budget):
                texts = self._batch(
                    [starts[place] for place in places], [unique[place] for place in places], how
                )
                for place, some in zip(places, texts, strict=True):
                    found[unique[place]] = some
                    todo.remove(place)
                yield

        for _ in halving(work, self.budget, 1):
            pass
        return [list(found[prompt]) for prompt in prompts]

    def _begun(self, prompt: Sequence[int], how: Generation) -> tuple[int, ...]:
        """What the model reads first; a prompt that is too long loses its oldest tokens."""
        room = self.room - how.max_tokens - len(self.start)
        if room < 1:
            raise BackendError(
                f"max_tokens is {how.max_tokens}, but the model sees only {self.room} tokens at once, "
                "those of the prompt included."
            )
        if not (self.start or prompt):
            raise BackendError("An empty prompt needs a token to begin with; use start='bos'.")
        return (*self.start, *prompt[-room:])

    @torch.inference_mode()
    def _batch(
        self, starts: Sequence[Sequence[int]], prompts: Sequence[str], how: Generation
    ) -> list[list[str]]:
        """What is written after these, side by side, padded on the left."""
        copies = how.samples if how.sample else 1
        longest = max(map(len, starts))
        ends = end_tokens(self.model)
        padding = min(ends, default=0)
        ids = torch.tensor([[padding] * (longest - len(start)) + list(start) for start in starts])
        mask = torch.tensor([[0] * (longest - len(start)) + [1] * len(start) for start in starts])
        ids, mask = (rows.repeat_interleave(copies, 0).to(self.model.device) for rows in (ids, mask))
        with quiet():
            out = self.model.generate(
                input_ids=ids,
                attention_mask=mask,
                generation_config=generation_settings(how, padding, ends),
                logits_processor=chance(prompts, how) if how.sample else LogitsProcessorList(),
                stopping_criteria=StoppingCriteriaList([Stops(self.words, how.stop, longest)]),
            )
        rows = (list(takewhile(lambda token: token not in ends, row)) for row in out[:, longest:].tolist())
        texts = [how.ended(self.words.decode(row)) for row in rows]
        return [texts[place : place + how.samples] for place in range(0, len(texts), how.samples)]


@lru_cache(maxsize=1)
def _writing_model(
    files: Model, device: torch.device, dtype: torch.dtype, fingerprint: str
) -> PreTrainedModel:
    """Loaded once for each content of the folder; its own wishes, such as penalties, are left behind."""
    model = load_causal(files, device, dtype)
    model.generation_config = GenerationConfig()
    return model


def end_tokens(model: PreTrainedModel) -> frozenset[int]:
    """The tokens that end a text."""
    found = model.config.get_text_config().eos_token_id
    return frozenset(found if isinstance(found, list) else [] if found is None else [found])


def batches(places: list[int], lengths: Sequence[int], how: Generation, budget: int) -> Iterator[list[int]]:
    """As many as fit the budget, the longest first."""
    copies = how.samples if how.sample else how.beams
    while places:
        each = (lengths[places[0]] + how.max_tokens) * copies
        yield places[: max(budget // each, 1)]
        del places[: max(budget // each, 1)]


def generation_settings(how: Generation, padding: int, ends: frozenset[int]) -> GenerationConfig:
    """Nothing of the model's own wishes but the tokens that end a text."""
    return GenerationConfig(
        max_new_tokens=how.max_tokens,
        do_sample=False,  # chance is added to the logits instead, so that it depends on the prompt alone
        num_beams=how.beams,
        num_return_sequences=1 if how.sample else how.samples,
        pad_token_id=padding,
        eos_token_id=sorted(ends) or None,
    )


def chance(prompts: Sequence[str], how: Generation) -> LogitsProcessorList:
    """The usual narrowing of the choice, then chance."""
    steps: list[LogitsProcessor] = []
    if how.temperature != 1.0:
        steps.append(TemperatureLogitsWarper(how.temperature))
    if how.top_k:
        steps.append(TopKLogitsWarper(how.top_k))
    if how.top_p < 1.0:
        steps.append(TopPLogitsWarper(how.top_p))
    return LogitsProcessorList([*steps, _Gumbel(prompts, how)])


class _Gumbel(LogitsProcessor):
    """Noise under which the likeliest token is a fair draw, made from seed, prompt and sample."""

    def __init__(self, prompts: Sequence[str], how: Generation) -> None:
        self.chances = [
            np.random.default_rng(_number(f"{how.seed}\0{sample}\0{prompt}"))
            for prompt in prompts
            for sample in range(how.samples)
        ]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        noise = np.stack([chance.gumbel(size=scores.shape[-1]) for chance in self.chances])
        return scores.float() + torch.from_numpy(noise).to(scores.device, torch.float32)


def _number(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest(), "big")


class Stops(StoppingCriteria):
    """A row is done when its text holds one of the words that end it."""

    def __init__(self, words: Vocabulary, stops: Sequence[str], begin: int) -> None:
        self.words, self.stops, self.begin = words, stops, begin

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor, **_: object) -> torch.Tensor:
        """Which rows are done."""
        texts = [self.words.decode(row) for row in input_ids[:, self.begin :].tolist()]
        done = [any(stop in text for stop in self.stops) for text in texts]
        return torch.tensor(done, device=input_ids.device)
