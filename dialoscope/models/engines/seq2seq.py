"""Generation by sequence-to-sequence models such as T5, BART and BlenderBot."""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

import torch
from transformers import AutoModelForSeq2SeqLM, GenerationConfig, LogitsProcessorList, StoppingCriteriaList

from dialoscope.core.errors import BackendError
from dialoscope.models.engines.causal import load, quiet
from dialoscope.models.engines.device import choose_device, halving, torch_dtype
from dialoscope.models.engines.generation import (
    BUDGET,
    Stops,
    batches,
    end_tokens,
    generation_settings,
    sampling_steps,
)
from dialoscope.models.engines.token_ids import Vocabulary, load_tokenizer
from dialoscope.models.locations import Model
from dialoscope.models.protocols import Generation

_USUAL_ROOM = 512
"""Number of tokens that a model reads if its configuration does not say; T5 was trained with 512."""


class Seq2seqWriter:
    """A sequence-to-sequence model, its vocabulary and its settings for generation."""

    def __init__(self, files: Model, device: str, dtype: str) -> None:
        loaded = load(
            AutoModelForSeq2SeqLM,
            files,
            choose_device(device),
            torch_dtype(dtype),
            "a seq2seq model",
        )
        if loaded.missing:
            raise BackendError(
                f"{files.folder} is not a complete seq2seq model: {len(loaded.missing)} weights are missing, "
                f"such as {loaded.missing[0]}."
            )
        self.model: Any = loaded.model
        self.words = Vocabulary(load_tokenizer(files.folder))
        self.budget = BUDGET.get(self.model.device.type, BUDGET["cpu"])
        config = self.model.config
        self.start = getattr(self.model.generation_config, "decoder_start_token_id", None)
        self.start = config.decoder_start_token_id if self.start is None else self.start
        sizes = (getattr(config, name, None) for name in ("max_position_embeddings", "n_positions"))
        self.room = next((int(size) for size in sizes if size), _USUAL_ROOM)
        self.padding = config.pad_token_id or 0
        settings: Any = GenerationConfig
        self.model.generation_config = settings()  # without its own settings, such as penalties

    def write(self, prompts: Sequence[str], how: Generation) -> list[list[str]]:
        """Generate texts for each unique prompt, in batches of prompts of similar length."""
        unique = list(dict.fromkeys(prompts))
        tokens = [self._read(prompt) for prompt in unique]
        todo = sorted(range(len(unique)), key=lambda index: -len(tokens[index]))
        texts_by_prompt: dict[str, list[str]] = {}

        def work(budget: int) -> Iterator[None]:
            for indices in batches(list(todo), [len(ids) for ids in tokens], how, budget):
                batch = [unique[index] for index in indices]
                texts = self._batch([tokens[index] for index in indices], batch, how)
                texts_by_prompt.update(zip(batch, texts, strict=True))
                for index in indices:
                    todo.remove(index)
                yield

        for _ in halving(work, self.budget, 1):
            pass
        return [list(texts_by_prompt[prompt]) for prompt in prompts]

    def _read(self, prompt: str) -> list[int]:
        """Return the tokens of a prompt with special tokens, without its beginning if it is too long."""
        tokenizer = self.words.tokenizer
        special_count = tokenizer.num_special_tokens_to_add(is_pair=False)
        (inner,) = self.words.encode([prompt])
        if len(inner) + special_count > self.room:
            prompt = tokenizer.decode(list(inner[len(inner) + special_count - self.room :]))
        ids: list[int] = tokenizer.encode(prompt, add_special_tokens=True).ids
        return ids[-self.room :] or [self.padding]

    @torch.inference_mode()
    def _batch(self, texts: Sequence[list[int]], prompts: Sequence[str], how: Generation) -> list[list[str]]:
        """Generate the texts for a batch of prompts, padded on the right."""
        copies = how.samples if how.sample else 1
        longest = max(map(len, texts))
        ends = end_tokens(self.model)
        ids = torch.tensor([text + [self.padding] * (longest - len(text)) for text in texts])
        mask = torch.tensor([[1] * len(text) + [0] * (longest - len(text)) for text in texts])
        ids, mask = (rows.repeat_interleave(copies, 0).to(self.model.device) for rows in (ids, mask))
        settings = generation_settings(how, self.padding, ends)
        settings.decoder_start_token_id = self.start
        with quiet():
            out = self.model.generate(
                input_ids=ids,
                attention_mask=mask,
                generation_config=settings,
                logits_processor=sampling_steps(prompts, how) if how.sample else LogitsProcessorList(),
                stopping_criteria=StoppingCriteriaList([Stops(self.words, how.stop, 1)]),
            )
        rows = (list(takewhile(lambda token: token not in ends, row)) for row in out[:, 1:].tolist())
        written = [how.cut_at_stop(self.words.decode(row).lstrip()) for row in rows]
        return [written[start : start + how.samples] for start in range(0, len(written), how.samples)]
