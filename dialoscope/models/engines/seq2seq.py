"""A model that reads a text and writes another: T5, BART, BlenderBot and their like."""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

import torch
from transformers import AutoModelForSeq2SeqLM, GenerationConfig, LogitsProcessorList, StoppingCriteriaList

from dialoscope.core.errors import BackendError
from dialoscope.models.engines.causal import load, quiet
from dialoscope.models.engines.device import chosen_device, halving, torch_dtype
from dialoscope.models.engines.generation import (
    BUDGET,
    Stops,
    batches,
    chance,
    end_tokens,
    generation_settings,
)
from dialoscope.models.engines.token_ids import Vocabulary, load_tokenizer
from dialoscope.models.locations import Model
from dialoscope.models.protocols import Generation

_USUAL_ROOM = 512
"""Tokens that a model reads where it does not say; those of T5 were trained on so many."""


class Seq2seqWriter:
    """The model with its vocabulary, set to write."""

    def __init__(self, files: Model, device: str, dtype: str) -> None:
        found = load(
            AutoModelForSeq2SeqLM,
            files,
            chosen_device(device),
            torch_dtype(dtype),
            "a seq2seq model",
        )
        if found.lacking:
            raise BackendError(
                f"{files.folder} is no whole seq2seq model: it lacks {len(found.lacking)} weights, such as "
                f"{found.lacking[0]}."
            )
        self.model: Any = found.model
        self.words = Vocabulary(load_tokenizer(files.folder))
        self.budget = BUDGET.get(self.model.device.type, BUDGET["cpu"])
        config = self.model.config
        self.start = getattr(self.model.generation_config, "decoder_start_token_id", None)
        self.start = config.decoder_start_token_id if self.start is None else self.start
        sizes = (getattr(config, name, None) for name in ("max_position_embeddings", "n_positions"))
        self.room = next((int(size) for size in sizes if size), _USUAL_ROOM)
        self.padding = config.pad_token_id or 0
        settings: Any = GenerationConfig
        self.model.generation_config = settings()  # its own wishes, such as penalties, are left behind

    def write(self, prompts: Sequence[str], how: Generation) -> list[list[str]]:
        """Texts for each prompt; each different prompt is worked on once, those of like length together."""
        unique = list(dict.fromkeys(prompts))
        tokens = [self._read(prompt) for prompt in unique]
        todo = sorted(range(len(unique)), key=lambda place: -len(tokens[place]))
        found: dict[str, list[str]] = {}

        def work(budget: int) -> Iterator[None]:
            for places in batches(list(todo), [len(one) for one in tokens], how, budget):
                some = [unique[place] for place in places]
                texts = self._batch([tokens[place] for place in places], some, how)
                found.update(zip(some, texts, strict=True))
                for place in places:
                    todo.remove(place)
                yield

        for _ in halving(work, self.budget, 1):
            pass
        return [list(found[prompt]) for prompt in prompts]

    def _read(self, prompt: str) -> list[int]:
        """With the tokens that the model wants around a text; a long one loses its beginning."""
        tokenizer = self.words.tokenizer
        around = tokenizer.num_special_tokens_to_add(is_pair=False)
        (inner,) = self.words.encode([prompt])
        if len(inner) + around > self.room:
            prompt = tokenizer.decode(list(inner[len(inner) + around - self.room :]))
        ids: list[int] = tokenizer.encode(prompt, add_special_tokens=True).ids
        return ids[-self.room :] or [self.padding]

    @torch.inference_mode()
    def _batch(self, texts: Sequence[list[int]], prompts: Sequence[str], how: Generation) -> list[list[str]]:
        """What is written about these, side by side, padded on the right."""
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
                logits_processor=chance(prompts, how) if how.sample else LogitsProcessorList(),
                stopping_criteria=StoppingCriteriaList([Stops(self.words, how.stop, 1)]),
            )
        rows = (list(takewhile(lambda token: token not in ends, row)) for row in out[:, 1:].tolist())
        written = [how.ended(self.words.decode(row).lstrip()) for row in rows]
        return [written[place : place + how.samples] for place in range(0, len(written), how.samples)]
