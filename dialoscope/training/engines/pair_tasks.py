"""What classifiers of pairs learn: what follows from a sentence, and which replies belong."""

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
from dialoscope.training.engines.batches import preferred, rectangle
from dialoscope.training.negatives import NO_EPOCH, Exchange, drawn, exchanges, judged_by, wrong_replies
from dialoscope.training.nli_pairs import PairSplit
from dialoscope.training.recipes import CrossRecipe, NliRecipe, PairRecipe


class _PairTask:
    """To tell classes of pairs apart."""

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

    def _batched(self, learned: Sequence["_Item"], epoch: int) -> Sequence[list["_Item"]]:
        """Pairs in an order of chance, of like length within some thousands."""
        chance = np.random.default_rng([self.recipe.seed, epoch])
        order, size = chance.permutation(len(learned)), self.recipe.batch
        found = []
        for part in np.split(order, range(32 * size, len(order), 32 * size)):
            items = sorted((learned[place] for place in part), key=lambda item: len(item.ids))
            found += [items[begin : begin + size] for begin in range(0, len(items), size)]
        return [found[place] for place in chance.permutation(len(found))]

    def loss(self, batch: list["_Item"]) -> torch.Tensor:
        """The mean over the pairs of a batch."""
        targets = torch.tensor([item.odds for item in batch], device=self.learner.device)
        return cross_entropy(self._logits(batch), targets)

    def _read(self, pairs: Sequence[LabelledPair]) -> list["_Item"]:
        rows = self._reader.rows([Pair(one.premise, one.hypothesis) for one in pairs], range(len(pairs)))
        by_place = {row.place: row for row in rows}
        return [
            _Item(by_place[place].ids.tolist(), by_place[place].kinds.tolist(), self._odds(pair))
            for place, pair in enumerate(pairs)
        ]

    def _odds(self, pair: LabelledPair) -> tuple[float, ...]:
        """How probable each class is; where people said which it is, it is certain."""
        return pair.odds or tuple(float(label == pair.label) for label in self.labels)

    def _judged(self, items: Sequence["_Item"]) -> torch.Tensor:
        """What the model says of each."""
        order = sorted(range(len(items)), key=lambda place: len(items[place].ids))
        found = torch.zeros(len(items), len(self.labels))
        for begin in range(0, len(order), self.recipe.batch):
            places = order[begin : begin + self.recipe.batch]
            found[places] = self._logits([items[place] for place in places]).cpu()
        return found

    def _logits(self, batch: list["_Item"]) -> torch.Tensor:
        ids, mask = rectangle([item.ids for item in batch], int(self._filler or 0), self.learner.device)
        told = {"input_ids": ids, "attention_mask": mask}
        if self.learner.files.config.get("type_vocab_size", 1) > 1:
            told["token_type_ids"] = rectangle([item.kinds for item in batch], 0, self.learner.device)[0]
        with self.learner.half:
            found: torch.Tensor = self.model(**told).logits
        return found.float()


class PairTask(_PairTask):
    """To tell entailment, neutrality and contradiction apart."""

    recipe: NliRecipe

    def __init__(self, recipe: NliRecipe, data: PairSplit) -> None:
        super().__init__(recipe)
        self._train = self._read(data.train)
        self._swapped = self._read_swapped(data.train) if recipe.swapped else []
        self._chosen_by = self._read(data.validation)

    def batches(self, epoch: int) -> Sequence[list["_Item"]]:
        """The same pairs each time, in another order, and others of them with their sides swapped."""
        chance = np.random.default_rng([self.recipe.seed, epoch, 2])
        swapped = chance.random(len(self._swapped)) < self.recipe.swapped
        learned = list(self._train)
        for place in np.flatnonzero(swapped).tolist():
            learned[place] = self._swapped[place]
        return self._batched(learned, epoch)

    def loss(self, batch: list["_Item"]) -> torch.Tensor:
        """The mean over the pairs of a batch; of swapped ones all that does not contradict is one class."""
        judged = log_softmax(self._logits(batch), 1)
        targets = torch.tensor([item.odds for item in batch], device=judged.device)
        swapped = torch.tensor([item.swapped for item in batch], device=judged.device)
        either = judged.clone()
        others = [place for place, label in enumerate(self.labels) if label != CONTRADICTION]
        either[:, others] = judged[:, others].logsumexp(1, keepdim=True)
        return -(targets * torch.where(swapped[:, None], either, judged)).sum(1).mean()

    def validated(self) -> float:
        """The share of pairs that are judged wrongly."""
        return 1 - self._accuracy(self._chosen_by)

    def accuracy(self, pairs: Sequence[LabelledPair]) -> float:
        """The share of pairs that are judged rightly."""
        self.model.eval()
        with torch.inference_mode():
            return self._accuracy(self._read(pairs))

    def either_way(self, pairs: Sequence[LabelledPair]) -> float:
        """The share of pairs of which it is rightly judged, with their sides swapped, if they contradict."""
        self.model.eval()
        with torch.inference_mode():
            items = self._read_swapped(pairs)
            found = self._judged(items).argmax(1) == self.labels.index(CONTRADICTION)
        said = torch.tensor([pair.label == CONTRADICTION for pair in pairs])
        return float((found == said).double().mean()) if items else math.nan

    def _read_swapped(self, pairs: Sequence[LabelledPair]) -> list["_Item"]:
        turned = [pair._replace(premise=pair.hypothesis, hypothesis=pair.premise) for pair in pairs]
        return [item._replace(swapped=True) for item in self._read(turned)]

    def _accuracy(self, items: Sequence["_Item"]) -> float:
        right = self._judged(items).argmax(1) == torch.tensor([item.odds for item in items]).argmax(1)
        return float(right.double().mean()) if items else math.nan


class ReplyTask(_PairTask):
    """To tell replies that people gave from others."""

    labels = VERDICTS
    recipe: CrossRecipe

    def __init__(self, recipe: CrossRecipe, data: Split) -> None:
        super().__init__(recipe)
        self._train = exchanges(data.train, recipe.turns)
        self._chosen_by = self._held(data.validation)

    def batches(self, epoch: int) -> Sequence[list["_Item"]]:
        """Other exchanges and other wrong replies each time."""
        learned = drawn(self._train, self.recipe, np.random.default_rng([self.recipe.seed, epoch, 1]))
        return self._batched(self._read(self._pairs(learned, self.recipe.each, epoch)), epoch)

    def validated(self) -> float:
        """How often a wrong reply is preferred."""
        return 1 - self._preference(self._chosen_by)

    def preference(self, dialogues: Sequence[Turns]) -> float:
        """How often a reply that people gave is preferred to a wrong one."""
        self.model.eval()
        with torch.inference_mode():
            return self._preference(self._held(dialogues))

    def _preference(self, items: Sequence["_Item"]) -> float:
        found = self._judged(items)
        return float(preferred((found[:, 1] - found[:, 0]).view(-1, 2).double().numpy()).mean())

    def _held(self, dialogues: Sequence[Turns]) -> list["_Item"]:
        """Some exchanges to judge by, always the same: the right reply, and a wrong one."""
        return self._read(self._pairs(judged_by(dialogues, self.recipe.turns), 1, NO_EPOCH))

    def _pairs(self, found: Sequence[Exchange], each: int, epoch: int) -> list[LabelledPair]:
        wrong = wrong_replies(found, self.recipe.negatives, each, (self.recipe.seed, epoch))
        return [
            LabelledPair("\n".join(one.context), reply, label)
            for one, others in zip(found, wrong, strict=True)
            for reply, label in ((one.reply, "right"), *((other, "wrong") for other in others))
        ]


class _Item(NamedTuple):
    """A pair as tokens, which sentence each is of, how probable each class is, if its sides are swapped."""

    ids: list[int]
    kinds: list[int]
    odds: tuple[float, ...]
    swapped: bool = False
