"""Training tasks of classifiers of pairs: entailment, and whether a reply belongs to its context."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch.nn.functional import cross_entropy, log_softmax
from transformers import AutoModelForSequenceClassification

from dialoscope.core.errors import TrainingError
from dialoscope.models.engines.reader import Reader
from dialoscope.models.heads import VERDICTS
from dialoscope.models.protocols import Pair
from dialoscope.training.contradictions import CONTRADICTION, LABELS, LabelledPair
from dialoscope.training.dialogue_split import Split, Turns
from dialoscope.training.engines.adapted import Learner
from dialoscope.training.engines.batches import compute_preference, pad
from dialoscope.training.negatives import (
    VALIDATION_EPOCH,
    Exchange,
    list_exchanges,
    sample_exchanges,
    sample_wrong_replies,
    validation_exchanges,
)
from dialoscope.training.nli_pairs import PairSplit
from dialoscope.training.recipes import CrossRecipe, NliRecipe, PairRecipe


class _PairTask:
    """Classification of pairs of texts."""

    labels: tuple[str, ...] = LABELS

    def __init__(self, recipe: PairRecipe) -> None:
        self.recipe = recipe
        self.learner = Learner(AutoModelForSequenceClassification, recipe, "SEQ_CLS", self.labels)
        self.model = self.learner.model
        config = self.learner.files.config
        self._reader = Reader(self.learner.files.folder, config, recipe.max_tokens)
        self._filler = config.get("pad_token_id")
        if self._filler is None:
            raise TrainingError(f"{recipe.model} has no padding token, which a classifier of pairs needs.")

    def _make_batches(self, items: Sequence["_Item"], epoch: int) -> Sequence[list["_Item"]]:
        """Pairs in random order, of similar length within some thousands."""
        rng = np.random.default_rng([self.recipe.seed, epoch])
        order, size = rng.permutation(len(items)), self.recipe.batch
        batches = []
        for block in np.split(order, range(32 * size, len(order), 32 * size)):
            ordered = sorted((items[index] for index in block), key=lambda item: len(item.ids))
            batches += [ordered[begin : begin + size] for begin in range(0, len(ordered), size)]
        return [batches[index] for index in rng.permutation(len(batches))]

    def loss(self, batch: list["_Item"]) -> torch.Tensor:
        """The mean cross-entropy of a batch."""
        targets = torch.tensor([item.odds for item in batch], device=self.learner.device)
        return cross_entropy(self._logits(batch), targets)

    def _tokenize(self, pairs: Sequence[LabelledPair]) -> list["_Item"]:
        texts = [Pair(pair.premise, pair.hypothesis) for pair in pairs]
        rows = {row.text_index: row for row in self._reader.rows(texts, range(len(pairs)))}
        return [
            _Item(rows[index].ids.tolist(), rows[index].kinds.tolist(), self._odds(pair))
            for index, pair in enumerate(pairs)
        ]

    def _odds(self, pair: LabelledPair) -> tuple[float, ...]:
        """The target probability of each class; a label that people gave is certain."""
        return pair.odds or tuple(float(label == pair.label) for label in self.labels)

    def _classify(self, items: Sequence["_Item"]) -> torch.Tensor:
        """The logits of each pair, in the order of the pairs."""
        order = sorted(range(len(items)), key=lambda index: len(items[index].ids))
        logits = torch.zeros(len(items), len(self.labels))
        for begin in range(0, len(order), self.recipe.batch):
            indices = order[begin : begin + self.recipe.batch]
            logits[indices] = self._logits([items[index] for index in indices]).cpu()
        return logits

    def _logits(self, batch: list["_Item"]) -> torch.Tensor:
        ids, mask = pad([item.ids for item in batch], int(self._filler or 0), self.learner.device)
        inputs = {"input_ids": ids, "attention_mask": mask}
        if self.learner.files.config.get("type_vocab_size", 1) > 1:
            inputs["token_type_ids"] = pad([item.kinds for item in batch], 0, self.learner.device)[0]
        with self.learner.half:
            logits: torch.Tensor = self.model(**inputs).logits
        return logits.float()


class EntailmentTask(_PairTask):
    """Classification of pairs as entailment, neutral or contradiction."""

    recipe: NliRecipe

    def __init__(self, recipe: NliRecipe, data: PairSplit) -> None:
        super().__init__(recipe)
        self._train = self._tokenize(data.train)
        self._swapped = self._tokenize_swapped(data.train) if recipe.swapped else []
        self._validation = self._tokenize(data.validation)

    def batches(self, epoch: int) -> Sequence[list["_Item"]]:
        """The same pairs in each epoch in another order, with other ones of them swapped."""
        rng = np.random.default_rng([self.recipe.seed, epoch, 2])
        is_swapped = rng.random(len(self._swapped)) < self.recipe.swapped
        items = list(self._train)
        for index in np.flatnonzero(is_swapped).tolist():
            items[index] = self._swapped[index]
        return self._make_batches(items, epoch)

    def loss(self, batch: list["_Item"]) -> torch.Tensor:
        """The mean cross-entropy; for swapped pairs, entailment and neutral are one class."""
        scores = log_softmax(self._logits(batch), 1)
        targets = torch.tensor([item.odds for item in batch], device=scores.device)
        swapped = torch.tensor([item.swapped for item in batch], device=scores.device)
        merged = scores.clone()
        others = [index for index, label in enumerate(self.labels) if label != CONTRADICTION]
        merged[:, others] = scores[:, others].logsumexp(1, keepdim=True)
        return -(targets * torch.where(swapped[:, None], merged, scores)).sum(1).mean()

    def validate(self) -> float:
        """The share of validation pairs that are misclassified."""
        return 1 - self._accuracy(self._validation)

    def accuracy(self, pairs: Sequence[LabelledPair]) -> float:
        """The share of pairs that are classified correctly."""
        self.model.eval()
        with torch.inference_mode():
            return self._accuracy(self._tokenize(pairs))

    def swapped_accuracy(self, pairs: Sequence[LabelledPair]) -> float:
        """The share of pairs, sides swapped, that are classified correctly as contradiction or none."""
        self.model.eval()
        with torch.inference_mode():
            items = self._tokenize_swapped(pairs)
            predicted = self._classify(items).argmax(1) == self.labels.index(CONTRADICTION)
        actual = torch.tensor([pair.label == CONTRADICTION for pair in pairs])
        return float((predicted == actual).double().mean()) if items else math.nan

    def _tokenize_swapped(self, pairs: Sequence[LabelledPair]) -> list["_Item"]:
        swapped = [pair._replace(premise=pair.hypothesis, hypothesis=pair.premise) for pair in pairs]
        return [item._replace(swapped=True) for item in self._tokenize(swapped)]

    def _accuracy(self, items: Sequence["_Item"]) -> float:
        right = self._classify(items).argmax(1) == torch.tensor([item.odds for item in items]).argmax(1)
        return float(right.double().mean()) if items else math.nan


class ReplyTask(_PairTask):
    """Classification of replies as those that people gave, or others."""

    labels = VERDICTS
    recipe: CrossRecipe

    def __init__(self, recipe: CrossRecipe, data: Split) -> None:
        super().__init__(recipe)
        self._train = list_exchanges(data.train, recipe.turns)
        self._validation = self._tokenize_validation(data.validation)

    def batches(self, epoch: int) -> Sequence[list["_Item"]]:
        """Other exchanges and other negatives in each epoch."""
        rng = np.random.default_rng([self.recipe.seed, epoch, 1])
        exchanges = sample_exchanges(self._train, self.recipe, rng)
        pairs = self._label(exchanges, self.recipe.negatives_per_pair, epoch)
        return self._make_batches(self._tokenize(pairs), epoch)

    def validate(self) -> float:
        """The share of validation exchanges in which the wrong reply is preferred."""
        return 1 - self._preference(self._validation)

    def preference(self, dialogues: Sequence[Turns]) -> float:
        """The share of exchanges in which the right reply is preferred to a wrong one."""
        self.model.eval()
        with torch.inference_mode():
            return self._preference(self._tokenize_validation(dialogues))

    def _preference(self, items: Sequence["_Item"]) -> float:
        logits = self._classify(items)
        return float(compute_preference((logits[:, 1] - logits[:, 0]).view(-1, 2).double().numpy()).mean())

    def _tokenize_validation(self, dialogues: Sequence[Turns]) -> list["_Item"]:
        """The right reply and a wrong one of some exchanges, the same ones each time."""
        exchanges = validation_exchanges(dialogues, self.recipe.turns)
        return self._tokenize(self._label(exchanges, 1, VALIDATION_EPOCH))

    def _label(self, exchanges: Sequence[Exchange], count: int, epoch: int) -> list[LabelledPair]:
        wrong = sample_wrong_replies(exchanges, self.recipe.negatives, count, (self.recipe.seed, epoch))
        return [
            LabelledPair("\n".join(exchange.context), reply, label)
            for exchange, others in zip(exchanges, wrong, strict=True)
            for reply, label in ((exchange.reply, "right"), *((other, "wrong") for other in others))
        ]


class _Item(NamedTuple):
    """A pair as tokens."""

    ids: list[int]
    kinds: list[int]
    """The text of the pair that each token belongs to, 0 or 1."""
    odds: tuple[float, ...]
    """The target probability of each class."""
    swapped: bool = False
