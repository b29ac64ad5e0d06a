"""What a language model learns: to go on with a dialogue, and to tell what people replied from what not."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM

from dialoscope.models.engines.token_ids import Vocabulary, load_tokenizer
from dialoscope.training.contrastive import Arena, Rivals, Text, lines, shared_out
from dialoscope.training.dialogue_split import Split, Turns
from dialoscope.training.engines.adapted import Learner
from dialoscope.training.engines.batches import preferred, rectangle
from dialoscope.training.negatives import exchanges
from dialoscope.training.recipes import LmRecipe
from dialoscope.training.styles import STYLES


class Batch(NamedTuple):
    """What is learned from at once."""

    texts: list[Text]
    rivals: list[Rivals]


class DialogueTask:
    """To foretell each token of a dialogue from those before it, and to prefer the reply that was given."""

    def __init__(self, recipe: LmRecipe, data: Split) -> None:
        self.recipe, self.data = recipe, data
        self.learner = Learner(AutoModelForCausalLM, recipe, "CAUSAL_LM")
        self.model = self.learner.model
        self._words = Vocabulary(load_tokenizer(self.learner.files.folder))
        config = self.learner.config
        begin = config.bos_token_id if config.bos_token_id is not None else config.eos_token_id
        self._begin = [] if begin is None else [int(begin[0] if isinstance(begin, list) else begin)]
        self._longest = min(recipe.max_tokens, getattr(config, "max_position_embeddings", recipe.max_tokens))
        self._arena = Arena(recipe, self._words, self._begin, self._longest)
        self._exchanges = exchanges(data.train, recipe.turns) if recipe.contrast else []
        self._chosen_by = self._arena.judged(data.validation) if recipe.contrast else []

    def batches(self, epoch: int) -> Sequence[Batch]:
        """Texts of like length together, in an order of chance; dialogues begin elsewhere each time."""
        chance = np.random.default_rng([self.recipe.seed, epoch])
        texts = [text for turns in self.data.train for text in self._texts(turns, chance)]
        made = _by_length(self._numbered(texts), self.recipe.batch)
        rivals = shared_out(
            self._arena.drawn(self._exchanges, epoch) if self.recipe.contrast else [], len(made)
        )
        orders = (chance.permutation(len(made)).tolist() for _ in range(2))
        return [Batch(made[one], rivals[other]) for one, other in zip(*orders, strict=True)]

    def loss(self, batch: Batch) -> torch.Tensor:
        """The mean over the tokens of a batch, and over its exchanges."""
        summed, count = self._off(batch.texts)
        off = summed / count
        if batch.rivals:
            off = off + self.recipe.contrast * _undecided(self._liked(batch.rivals)).mean()
        return off

    def validated(self) -> float:
        """The mean over the tokens of whole dialogues, as they are written, and over exchanges of them."""
        off = self.mean_loss(self.data.validation)
        if self.recipe.contrast:
            off += self.recipe.contrast * float(_undecided(self._judged(self._chosen_by)).mean())
        return off

    def figures(self, dialogues: Sequence[Turns]) -> dict[str, float]:
        """How well the model knows dialogues that it did not learn from."""
        found = {"perplexity": self.perplexity(dialogues)}
        if self.recipe.contrast:
            found["right preferred"] = self.preference(dialogues)
        return found

    def perplexity(self, dialogues: Sequence[Turns]) -> float:
        """How many tokens the model is undecided between, as it were."""
        self.model.eval()
        with torch.inference_mode():
            return float(torch.tensor(self.mean_loss(dialogues), dtype=torch.float64).exp())

    def preference(self, dialogues: Sequence[Turns]) -> float:
        """How often a reply that people gave is likelier than a wrong one."""
        self.model.eval()
        with torch.inference_mode():
            found = self._judged(self._arena.judged(dialogues))
            return float(preferred(found.double().numpy()).mean())

    def mean_loss(self, dialogues: Sequence[Turns]) -> float:
        """How far the model is off on dialogues."""
        summed, count = 0.0, 0
        for batch in _by_length(self._numbered([lines(turns) for turns in dialogues]), self.recipe.batch):
            off, tokens = self._off(batch)
            summed, count = summed + float(off), count + tokens
        return summed / count if count else math.nan

    def _texts(self, turns: Turns, chance: np.random.Generator) -> Iterator[str]:
        if chance.random() < self.recipe.restyle:
            style = STYLES[chance.integers(len(STYLES))]
            turns = tuple(map(style, turns))
        anew = np.flatnonzero(chance.random(len(turns)) < self.recipe.begin)
        for part in np.split(np.array(turns, object), anew):
            if len(part):
                yield lines(tuple(part))

    def _numbered(self, texts: Sequence[str]) -> list[Text]:
        return [[*self._begin, *ids][: self._longest] for ids in self._words.encode(texts)]

    def _judged(self, rivals: Sequence[Rivals]) -> torch.Tensor:
        """How likely the right reply and a wrong one are."""
        tokens = sum(len(one.ids) for both in rivals for one in both)
        parts = shared_out(rivals, -(-tokens // self.recipe.batch))
        return torch.cat([self._liked(part) for part in parts if part]).cpu()

    def _liked(self, rivals: Sequence[Rivals]) -> torch.Tensor:
        """The mean log-probability of each reply's tokens, a row for each exchange, filled up at its end."""
        every = [candidate for one in rivals for candidate in one]
        ids, mask = rectangle([candidate.ids for candidate in every], 0, self.learner.device)
        begins = torch.tensor([candidate.begins for candidate in every], device=ids.device)
        told = mask.bool() & (torch.arange(ids.shape[1], device=ids.device) >= begins[:, None])
        each = self._off_each(ids, mask, told)
        off = torch.zeros(told[:, 1:].shape, device=ids.device).masked_scatter(told[:, 1:], each).sum(1)
        counts = [len(one) for one in rivals]
        found = off.new_full((len(rivals), max(counts)), -math.inf)
        there = torch.arange(max(counts)) < torch.tensor(counts)[:, None]
        return found.masked_scatter(there.to(ids.device), -off / told[:, 1:].sum(1).clamp(min=1))

    def _off(self, batch: Sequence[Text]) -> tuple[torch.Tensor, int]:
        ids, mask = rectangle(batch, 0, self.learner.device)
        each = self._off_each(ids, mask, mask.bool())
        return each.sum(), len(each)

    def _off_each(self, ids: torch.Tensor, mask: torch.Tensor, told: torch.Tensor) -> torch.Tensor:
        """How far the model is off on each token that is told, but for first ones."""
        with self.learner.half:
            logits = self.model(input_ids=ids, attention_mask=mask).logits
        return cross_entropy(logits[:, :-1][told[:, 1:]].float(), ids[:, 1:][told[:, 1:]], reduction="none")


def _undecided(liked: torch.Tensor) -> torch.Tensor:
    """How far each first reply is from being chosen among those beside it."""
    return -torch.log_softmax(liked, 1)[:, 0]


def _by_length(texts: Sequence[Text], budget: int) -> list[list[Text]]:
    """Texts of like length together, so many tokens at once, those that are filled up included."""
    found: list[list[Text]] = [[]]
    for text in sorted((text for text in texts if len(text) > 1), key=len):
        if found[-1] and (len(found[-1]) + 1) * len(text) > budget:
            found.append([])
        found[-1].append(text)
    return [batch for batch in found if batch]
