"""Generation by causal language models: greedy, with beams, or by sampling that depends only on the seed."""

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
"""Number of tokens of prompts and texts that are generated together."""


class Writer:
    """A causal language model, its vocabulary and its settings for generation."""

    def __init__(self, model: Any, words: Vocabulary, engine: "LanguageModelEngine") -> None:  # noqa: ANN401 - generate() has no usable type
        self.model, self.words, self.start = model, words, engine.start
        self.room = engine.window
        self.budget = engine.description.budget or BUDGET.get(engine.device.type, BUDGET["cpu"])

    @classmethod
    def of(cls, engine: "LanguageModelEngine") -> "Writer":
        """Create the writer for the model of an engine."""
        model = _writing_model(engine.model, engine.device, engine.dtype, engine.description.fingerprint)
        return cls(model, engine.words, engine)

    def write(self, prompts: Sequence[str], how: Generation) -> list[list[str]]:
        """Generate texts for each unique prompt, in batches of prompts of similar length."""
        unique = list(dict.fromkeys(prompts))
        starts = [self._prepare(tokens, how) for tokens in self.words.encode(unique)]
        todo = sorted(range(len(unique)), key=lambda index: -len(starts[index]))
        texts_by_prompt: dict[str, list[str]] = {}

        def work(budget: int) -> Iterator[None]:
            for indices in batches(list(todo), [len(start) for start in starts], how, budget):
                texts = self._batch(
                    [starts[index] for index in indices], [unique[index] for index in indices], how
                )
                for index, samples in zip(indices, texts, strict=True):
                    texts_by_prompt[unique[index]] = samples
                    todo.remove(index)
                yield

        for _ in halving(work, self.budget, 1):
            pass
        return [list(texts_by_prompt[prompt]) for prompt in prompts]

    def _prepare(self, prompt: Sequence[int], how: Generation) -> tuple[int, ...]:
        """Return the tokens of a prompt with start token, without the oldest ones if it is too long."""
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
        """Generate the continuations of a batch of prompts, padded on the left."""
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
                logits_processor=sampling_steps(prompts, how) if how.sample else LogitsProcessorList(),
                stopping_criteria=StoppingCriteriaList([Stops(self.words, how.stop, longest)]),
            )
        rows = (list(takewhile(lambda token: token not in ends, row)) for row in out[:, longest:].tolist())
        texts = [how.cut_at_stop(self.words.decode(row)) for row in rows]
        return [texts[index : index + how.samples] for index in range(0, len(texts), how.samples)]


@lru_cache(maxsize=1)
def _writing_model(
    files: Model, device: torch.device, dtype: torch.dtype, fingerprint: str
) -> PreTrainedModel:
    """Load a model once for each fingerprint, without its own generation settings, such as penalties."""
    model = load_causal(files, device, dtype)
    model.generation_config = GenerationConfig()
    return model


def end_tokens(model: PreTrainedModel) -> frozenset[int]:
    """Return the tokens that end a text."""
    tokens = model.config.get_text_config().eos_token_id
    return frozenset(tokens if isinstance(tokens, list) else [] if tokens is None else [tokens])


def batches(places: list[int], lengths: Sequence[int], how: Generation, budget: int) -> Iterator[list[int]]:
    """Yield batches of indices that fit the budget; the indices are removed from the list."""
    copies = how.samples if how.sample else how.beams
    while places:
        each = (lengths[places[0]] + how.max_tokens) * copies
        yield places[: max(budget // each, 1)]
        del places[: max(budget // each, 1)]


def generation_settings(how: Generation, padding: int, ends: frozenset[int]) -> GenerationConfig:
    """Return settings of transformers; only the end tokens are those of the model."""
    return GenerationConfig(
        max_new_tokens=how.max_tokens,
        do_sample=False,  # Gumbel noise in the logits makes samples depend only on the prompt
        num_beams=how.beams,
        num_return_sequences=1 if how.sample else how.samples,
        pad_token_id=padding,
        eos_token_id=sorted(ends) or None,
    )


def sampling_steps(prompts: Sequence[str], how: Generation) -> LogitsProcessorList:
    """Return the steps of sampling: temperature, top-k and top-p, then Gumbel noise."""
    steps: list[LogitsProcessor] = []
    if how.temperature != 1.0:
        steps.append(TemperatureLogitsWarper(how.temperature))
    if how.top_k:
        steps.append(TopKLogitsWarper(how.top_k))
    if how.top_p < 1.0:
        steps.append(TopPLogitsWarper(how.top_p))
    return LogitsProcessorList([*steps, _Gumbel(prompts, how)])


class _Gumbel(LogitsProcessor):
    """Adds Gumbel noise from seed, prompt and sample number; the most probable token is then a sample."""

    def __init__(self, prompts: Sequence[str], how: Generation) -> None:
        self.rngs = [
            np.random.default_rng(_hash_to_int(f"{how.seed}\0{sample}\0{prompt}"))
            for prompt in prompts
            for sample in range(how.samples)
        ]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        noise = np.stack([rng.gumbel(size=scores.shape[-1]) for rng in self.rngs])
        return scores.float() + torch.from_numpy(noise).to(scores.device, torch.float32)


def _hash_to_int(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest(), "big")


class Stops(StoppingCriteria):
    """Stops a row as soon as its text contains one of the stop strings."""

    def __init__(self, words: Vocabulary, stops: Sequence[str], begin: int) -> None:
        self.words, self.stops, self.begin = words, stops, begin

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor, **_: object) -> torch.Tensor:
        """Return which rows are finished."""
        texts = [self.words.decode(row) for row in input_ids[:, self.begin :].tolist()]
        done = [any(stop in text for stop in self.stops) for text in texts]
        return torch.tensor(done, device=input_ids.device)
