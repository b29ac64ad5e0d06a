"""What is learned: to go on with a dialogue, and to tell what follows from a sentence."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

from dialoscope.backends._tokens import vocabulary
from dialoscope.backends._torch_rows import Reader
from dialoscope.backends.base import Pair
from dialoscope.backends.heads import VERDICTS
from dialoscope.errors import TrainingError
from dialoscope.learn._torch_adapted import Learner
from dialoscope.learn.contradictions import LABELS, LabelledPair
from dialoscope.learn.corpus import Split, Turns, share_of
from dialoscope.learn.negatives import Exchange, exchanges, wrong_replies
from dialoscope.learn.pairs import PairSplit
from dialoscope.learn.recipe import CrossRecipe, LmRecipe, NliRecipe, PairRecipe
from dialoscope.learn.styles import STYLES
from dialoscope.surrogates import without_surrogates

_NOTHING = -100
"""Stands where no token is to be foretold."""
_JUDGED_BY = 4000
"""How many exchanges a training is judged by."""
_NO_EPOCH = 2**31
"""What chance is begun with for these."""


class DialogueTask:
    """To foretell each token of a dialogue from those before it."""

    def __init__(self, recipe: LmRecipe, data: Split) -> None:
        self.recipe, self.data = recipe, data
        self.learner = Learner(AutoModelForCausalLM, recipe, "CAUSAL_LM")
        self.model = self.learner.model
        self._words = vocabulary(self.learner.files.folder)
        config = self.learner.config
        begin = config.bos_token_id if config.bos_token_id is not None else config.eos_token_id
        self._begin = [] if begin is None else [int(begin[0] if isinstance(begin, list) else begin)]
        self._longest = min(recipe.max_tokens, getattr(config, "max_position_embeddings", recipe.max_tokens))

    def batches(self, epoch: int) -> Sequence[list[list[int]]]:
        """Texts of like length together, in an order of chance; dialogues begin elsewhere each time."""
        chance = np.random.default_rng([self.recipe.seed, epoch])
        texts = [text for turns in self.data.train for text in self._texts(turns, chance)]
        made = _by_length(self._numbered(texts), self.recipe.batch)
        return [made[place] for place in chance.permutation(len(made))]

    def loss(self, batch: list[list[int]]) -> torch.Tensor:
        """The mean over the tokens of a batch."""
        summed, count = self._off(batch)
        return summed / count

    def validated(self) -> float:
        """The mean over the tokens of whole dialogues, as they are written."""
        return self.mean_loss(self.data.validation)

    def perplexity(self, dialogues: Sequence[Turns]) -> float:
        """How many tokens the model is undecided between, as it were."""
        self.model.eval()
        with torch.inference_mode():
            return float(torch.tensor(self.mean_loss(dialogues), dtype=torch.float64).exp())

    def mean_loss(self, dialogues: Sequence[Turns]) -> float:
        """How far the model is off on dialogues."""
        summed, count = 0.0, 0
        for batch in _by_length(self._numbered([_lines(turns) for turns in dialogues]), self.recipe.batch):
            off, tokens = self._off(batch)
            summed, count = summed + float(off), count + int(tokens)
        return summed / count if count else math.nan

    def _texts(self, turns: Turns, chance: np.random.Generator) -> Iterator[str]:
        if chance.random() < self.recipe.restyle:
            style = STYLES[chance.integers(len(STYLES))]
            turns = tuple(map(style, turns))
        anew = np.flatnonzero(chance.random(len(turns)) < self.recipe.begin)
        for part in np.split(np.array(turns, object), anew):
            if len(part):
                yield _lines(tuple(part))

    def _numbered(self, texts: Sequence[str]) -> list[list[int]]:
        found = self._words.encode_batch_fast(
            [without_surrogates(text) for text in texts], add_special_tokens=False
        )
        return [[*self._begin, *one.ids][: self._longest] for one in found]

    def _off(self, batch: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        ids, mask = _rectangle(batch, 0, self.learner.device)
        targets = torch.where(mask.bool(), ids, _NOTHING)[:, 1:].flatten()
        with self.learner.half:
            logits = self.model(input_ids=ids, attention_mask=mask).logits
        off = cross_entropy(
            logits[:, :-1].flatten(0, 1).float(), targets, ignore_index=_NOTHING, reduction="sum"
        )
        return off, (targets != _NOTHING).sum()


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
        return cross_entropy(self._logits(batch), self._labels(batch))

    def _read(self, pairs: Sequence[LabelledPair]) -> list["_Item"]:
        rows = self._reader.rows([Pair(one.premise, one.hypothesis) for one in pairs], range(len(pairs)))
        by_place = {row.place: row for row in rows}
        return [
            _Item(by_place[place].ids.tolist(), by_place[place].kinds.tolist(), self.labels.index(pair.label))
            for place, pair in enumerate(pairs)
        ]

    def _judged(self, items: Sequence["_Item"]) -> torch.Tensor:
        """What the model says of each."""
        order = sorted(range(len(items)), key=lambda place: len(items[place].ids))
        found = torch.zeros(len(items), len(self.labels))
        for begin in range(0, len(order), self.recipe.batch):
            places = order[begin : begin + self.recipe.batch]
            found[places] = self._logits([items[place] for place in places]).cpu()
        return found

    def _labels(self, batch: list["_Item"]) -> torch.Tensor:
        return torch.tensor([item.label for item in batch], device=self.learner.device)

    def _logits(self, batch: list["_Item"]) -> torch.Tensor:
        ids, mask = _rectangle([item.ids for item in batch], int(self._filler or 0), self.learner.device)
        told = {"input_ids": ids, "attention_mask": mask}
        if self.learner.files.config.get("type_vocab_size", 1) > 1:
            told["token_type_ids"] = _rectangle([item.kinds for item in batch], 0, self.learner.device)[0]
        with self.learner.half:
            found: torch.Tensor = self.model(**told).logits
        return found.float()


class PairTask(_PairTask):
    """To tell entailment, neutrality and contradiction apart."""

    def __init__(self, recipe: NliRecipe, data: PairSplit) -> None:
        super().__init__(recipe)
        self._train = self._read(data.train)
        self._chosen_by = self._read(data.validation)

    def batches(self, epoch: int) -> Sequence[list["_Item"]]:
        """The same pairs each time, in another order."""
        return self._batched(self._train, epoch)

    def validated(self) -> float:
        """The share of pairs that are judged wrongly."""
        return 1 - self._accuracy(self._chosen_by)

    def accuracy(self, pairs: Sequence[LabelledPair]) -> float:
        """The share of pairs that are judged rightly."""
        self.model.eval()
        with torch.inference_mode():
            return self._accuracy(self._read(pairs))

    def _accuracy(self, items: Sequence["_Item"]) -> float:
        right = self._judged(items).argmax(1) == torch.tensor([item.label for item in items])
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
        recipe = self.recipe
        chance = np.random.default_rng([recipe.seed, epoch, 1])
        order = chance.permutation(len(self._train))[: recipe.pairs]
        learned = [_shown(self._train[place], recipe, chance) for place in np.sort(order)]
        return self._batched(self._read(self._pairs(learned, recipe.each, epoch)), epoch)

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
        right, wrong = (found[:, 1] - found[:, 0]).view(-1, 2).unbind(1)
        return float(((right > wrong).double() + (right == wrong).double() / 2).mean())

    def _held(self, dialogues: Sequence[Turns]) -> list["_Item"]:
        """Some exchanges to judge by, always the same: the right reply, and a wrong one."""
        found = sorted(exchanges(dialogues, self.recipe.turns), key=lambda one: share_of(f"{one[:2]}"))
        return self._read(self._pairs(found[:_JUDGED_BY], 1, _NO_EPOCH))

    def _pairs(self, found: Sequence[Exchange], each: int, epoch: int) -> list[LabelledPair]:
        wrong = wrong_replies(found, self.recipe.negatives, each, (self.recipe.seed, epoch))
        return [
            LabelledPair("\n".join(one.context), reply, label)
            for one, others in zip(found, wrong, strict=True)
            for reply, label in ((one.reply, "right"), *((other, "wrong") for other in others))
        ]


def _shown(exchange: Exchange, recipe: CrossRecipe, chance: np.random.Generator) -> Exchange:
    """With as many of its turns as chance says, and perhaps written as other corpora write."""
    said = exchange.context[-int(chance.integers(1, recipe.turns + 1)) :]
    if chance.random() >= recipe.restyle:
        return exchange._replace(context=said)
    style = STYLES[chance.integers(len(STYLES))]
    return exchange._replace(context=tuple(map(style, said)), reply=style(exchange.reply))


class _Item(NamedTuple):
    """A pair as tokens, which sentence each is of, and the number of its label."""

    ids: list[int]
    kinds: list[int]
    label: int


def _lines(turns: Turns) -> str:
    """As the metrics show a dialogue to a model."""
    return "".join(f"{turn}\n" for turn in turns)


def _by_length(texts: Sequence[list[int]], budget: int) -> list[list[list[int]]]:
    """Texts of like length together, so many tokens at once, those that are filled up included."""
    found: list[list[list[int]]] = [[]]
    for text in sorted((text for text in texts if len(text) > 1), key=len):
        if found[-1] and (len(found[-1]) + 1) * len(text) > budget:
            found.append([])
        found[-1].append(text)
    return [batch for batch in found if batch]


def _rectangle(
    rows: Sequence[list[int]], filler: int, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """The rows filled up to equal length, and where something stands."""
    longest = max(map(len, rows))
    whole = np.full((len(rows), longest), filler, np.int64)
    mask = np.zeros((len(rows), longest), np.int64)
    for place, row in enumerate(rows):
        whole[place, : len(row)] = row
        mask[place, : len(row)] = 1
    return torch.from_numpy(whole).to(device), torch.from_numpy(mask).to(device)
