"""Training task of language models: the tokens of dialogues, and right replies among wrong ones."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM

from dialoscope.models.engines.token_ids import Vocabulary, load_tokenizer
from dialoscope.training.contrastive import Candidates, CandidateSampler, TokenIds, divide, join_lines
from dialoscope.training.dialogue_split import Split, Turns
from dialoscope.training.engines.adapted import Learner
from dialoscope.training.engines.batches import compute_preference, pad
from dialoscope.training.negatives import list_exchanges
from dialoscope.training.recipes import LmRecipe
from dialoscope.training.styles import STYLES


class DialogueBatch(NamedTuple):
    """Texts for the loss of tokens, and candidates for the contrastive loss."""

    texts: list[TokenIds]
    candidates: list[Candidates]


class DialogueTask:
    """Prediction of each token of a dialogue, and of the right reply among wrong ones."""

    def __init__(self, recipe: LmRecipe, data: Split) -> None:
        self.recipe, self.data = recipe, data
        self.learner = Learner(AutoModelForCausalLM, recipe, "CAUSAL_LM")
        self.model = self.learner.model
        self._words = Vocabulary(load_tokenizer(self.learner.files.folder))
        config = self.learner.config
        begin = config.bos_token_id if config.bos_token_id is not None else config.eos_token_id
        self._begin = [] if begin is None else [int(begin[0] if isinstance(begin, list) else begin)]
        self._longest = min(recipe.max_tokens, getattr(config, "max_position_embeddings", recipe.max_tokens))
        self._sampler = CandidateSampler(recipe, self._words, self._begin, self._longest)
        self._exchanges = list_exchanges(data.train, recipe.turns) if recipe.contrast else []
        self._validation = self._sampler.validation(data.validation) if recipe.contrast else []

    def batches(self, epoch: int) -> Sequence[DialogueBatch]:
        """Texts of similar length together, in random order; dialogues restart elsewhere in each epoch."""
        rng = np.random.default_rng([self.recipe.seed, epoch])
        texts = [text for turns in self.data.train for text in self._vary(turns, rng)]
        batches = _batch_by_length(self._tokenize(texts), self.recipe.batch)
        candidates = divide(
            self._sampler.sample(self._exchanges, epoch) if self.recipe.contrast else [], len(batches)
        )
        orders = (rng.permutation(len(batches)).tolist() for _ in range(2))
        return [
            DialogueBatch(batches[index], candidates[other]) for index, other in zip(*orders, strict=True)
        ]

    def loss(self, batch: DialogueBatch) -> torch.Tensor:
        """The mean loss of the tokens, plus the weighted mean of the contrastive loss."""
        summed, count = self._sum_losses(batch.texts)
        loss = summed / count
        if batch.candidates:
            contrastive = _contrastive_losses(self._log_likelihoods(batch.candidates)).mean()
            loss = loss + self.recipe.contrast * contrastive
        return loss

    def validate(self) -> float:
        """The loss on validation dialogues as they are written."""
        loss = self.mean_loss(self.data.validation)
        if self.recipe.contrast:
            contrastive = _contrastive_losses(self._compare(self._validation)).mean()
            loss += self.recipe.contrast * float(contrastive)
        return loss

    def figures(self, dialogues: Sequence[Turns]) -> dict[str, float]:
        """The figures of held-out dialogues for the card."""
        figures = {"perplexity": self.perplexity(dialogues)}
        if self.recipe.contrast:
            figures["right preferred"] = self.preference(dialogues)
        return figures

    def perplexity(self, dialogues: Sequence[Turns]) -> float:
        """The perplexity by token."""
        self.model.eval()
        with torch.inference_mode():
            return float(torch.tensor(self.mean_loss(dialogues), dtype=torch.float64).exp())

    def preference(self, dialogues: Sequence[Turns]) -> float:
        """The share of exchanges in which the right reply is likelier than a wrong one."""
        self.model.eval()
        with torch.inference_mode():
            scores = self._compare(self._sampler.validation(dialogues))
            return float(compute_preference(scores.double().numpy()).mean())

    def mean_loss(self, dialogues: Sequence[Turns]) -> float:
        """The mean loss of the tokens of dialogues."""
        summed, count = 0.0, 0
        texts = self._tokenize([join_lines(turns) for turns in dialogues])
        for batch in _batch_by_length(texts, self.recipe.batch):
            loss, tokens = self._sum_losses(batch)
            summed, count = summed + float(loss), count + tokens
        return summed / count if count else math.nan

    def _vary(self, turns: Turns, rng: np.random.Generator) -> Iterator[str]:
        """The texts of a dialogue that restarts between some turns, perhaps in another style."""
        if rng.random() < self.recipe.restyle:
            style = STYLES[rng.integers(len(STYLES))]
            turns = tuple(map(style, turns))
        restarts = np.flatnonzero(rng.random(len(turns)) < self.recipe.begin)
        for part in np.split(np.array(turns, object), restarts):
            if len(part):
                yield join_lines(tuple(part))

    def _tokenize(self, texts: Sequence[str]) -> list[TokenIds]:
        return [[*self._begin, *ids][: self._longest] for ids in self._words.encode(texts)]

    def _compare(self, candidates: Sequence[Candidates]) -> torch.Tensor:
        """The mean log-probabilities of right and wrong replies, in batches."""
        tokens = sum(len(candidate.ids) for own in candidates for candidate in own)
        parts = divide(candidates, -(-tokens // self.recipe.batch))
        return torch.cat([self._log_likelihoods(part) for part in parts if part]).cpu()

    def _log_likelihoods(self, candidates: Sequence[Candidates]) -> torch.Tensor:
        """The mean log-probability of each reply's tokens, a padded row for each exchange."""
        every = [candidate for own in candidates for candidate in own]
        ids, mask = pad([candidate.ids for candidate in every], 0, self.learner.device)
        begins = torch.tensor([candidate.begins for candidate in every], device=ids.device)
        scored = mask.bool() & (torch.arange(ids.shape[1], device=ids.device) >= begins[:, None])
        losses = self._losses(ids, mask, scored)
        sums = (
            torch.zeros(scored[:, 1:].shape, device=ids.device).masked_scatter(scored[:, 1:], losses).sum(1)
        )
        counts = [len(own) for own in candidates]
        rows = sums.new_full((len(candidates), max(counts)), -math.inf)
        filled = torch.arange(max(counts)) < torch.tensor(counts)[:, None]
        return rows.masked_scatter(filled.to(ids.device), -sums / scored[:, 1:].sum(1).clamp(min=1))

    def _sum_losses(self, batch: Sequence[TokenIds]) -> tuple[torch.Tensor, int]:
        ids, mask = pad(batch, 0, self.learner.device)
        losses = self._losses(ids, mask, mask.bool())
        return losses.sum(), len(losses)

    def _losses(self, ids: torch.Tensor, mask: torch.Tensor, scored: torch.Tensor) -> torch.Tensor:
        """The cross-entropy of each scored token, except the first of a text."""
        with self.learner.half:
            logits = self.model(input_ids=ids, attention_mask=mask).logits
        wanted = scored[:, 1:]
        return cross_entropy(logits[:, :-1][wanted].float(), ids[:, 1:][wanted], reduction="none")


def _contrastive_losses(scores: torch.Tensor) -> torch.Tensor:
    """The cross-entropy of the first reply of each row among those beside it."""
    return -torch.log_softmax(scores, 1)[:, 0]


def _batch_by_length(texts: Sequence[TokenIds], budget: int) -> list[list[TokenIds]]:
    """Texts of similar length together, at most so many tokens in a batch, padding included."""
    batches: list[list[TokenIds]] = [[]]
    for text in sorted((text for text in texts if len(text) > 1), key=len):
        if batches[-1] and (len(batches[-1]) + 1) * len(text) > budget:
            batches.append([])
        batches[-1].append(text)
    return [batch for batch in batches if batch]
