"""Heads that learn to tell right replies from wrong ones, with vectors of texts that stay as they are."""

import copy
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
import torch
from safetensors.torch import save
from torch.nn.functional import cross_entropy

from dialoscope.core.arrays import Floats, Ints
from dialoscope.models.engines.device import chosen_device
from dialoscope.models.engines.heads import Head
from dialoscope.models.features import Features, Pooling
from dialoscope.models.heads import Shape
from dialoscope.training.engines.batches import preferred, rank
from dialoscope.training.engines.loop import Loop
from dialoscope.training.head_data import Lesson, Rivals
from dialoscope.training.recipes import RuberRecipe

_AT_ONCE = 256
"""Exchanges that are judged together."""
_BLOCK = 32
"""Batches that are sorted by length together."""


__all__ = ["HeadLoop", "HeadTask", "inputs_of", "lost", "one_thread", "save"]


class Told(NamedTuple):
    """Some texts as a head reads them."""

    vectors: torch.Tensor
    lengths: torch.Tensor | None = None
    """How many words each has, where they are read word by word."""


class Inputs(Protocol):
    """All texts of a training, ready to be read."""

    dims: int
    counts: Ints
    """How many words each text has; where they are pooled, one that has none has 0, any other 1."""

    def of(self, texts: Ints, dtype: torch.dtype) -> Told:
        """These, in this precision."""


class Pooled:
    """A vector for each text."""

    def __init__(self, features: Features, texts: Sequence[str], how: Pooling, device: torch.device) -> None:
        rows = features.pool(texts, how)
        self.dims = rows.shape[1]
        self.counts = np.logical_not(np.isnan(rows).any(axis=1)).astype(np.int64)
        self._rows = torch.from_numpy(rows).to(device)

    def of(self, texts: Ints, dtype: torch.dtype) -> Told:
        """Their rows."""
        return Told(self._rows[torch.from_numpy(texts).to(self._rows.device)].to(dtype))


class WordByWord:
    """A vector for each word of each text, in half precision."""

    def __init__(self, features: Features, texts: Sequence[str], device: torch.device) -> None:
        found = features.half_precision_rows(texts)
        self.dims = found[0].shape[1]
        self.counts = np.array([len(rows) for rows in found])
        self._starts = np.cumsum(self.counts) - self.counts
        self._rows = torch.from_numpy(np.concatenate(found)).to(device)

    def of(self, texts: Ints, dtype: torch.dtype) -> Told:
        """Their rows, filled up to the same length."""
        counts = self.counts[texts]
        steps = np.arange(counts.max())
        places = self._starts[texts][:, None] + np.minimum(steps, counts[:, None] - 1)
        rows = self._rows[torch.from_numpy(places).to(self._rows.device)]
        return Told(rows.to(dtype), torch.from_numpy(counts))


def inputs_of(features: Features, texts: Sequence[str], shape: Shape, device: str) -> Inputs:
    """All texts as a head of this shape reads them."""
    chosen = chosen_device(device)
    if shape.recurrent:
        return WordByWord(features, texts, chosen)
    return Pooled(features, texts, shape.pooling, chosen)


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with a single thread: with so little to do at a time several would wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Batch(NamedTuple):
    """Some exchanges with a wrong reply each, as numbers of texts."""

    queries: Ints
    right: Ints
    wrong: Ints


class HeadTask:
    """To tell the reply that people gave from one that does not belong there."""

    def __init__(self, recipe: RuberRecipe, lesson: Lesson, inputs: Inputs) -> None:
        self.recipe, self.lesson, self.inputs = recipe, lesson, inputs
        self.device = chosen_device(recipe.device)
        torch.manual_seed(recipe.seed)  # for weights that are new
        self.head = Head(Shape.of(recipe.settings()), inputs.dims).to(self.device)
        self.model: torch.nn.Module = self.head

    def batches(self, epoch: int) -> Sequence[Batch]:
        """Exchanges in an order of chance, with some of the wrong replies that stand ready."""
        chance = np.random.default_rng([self.recipe.seed, epoch])
        found = self.lesson.training
        order = chance.random(found.wrong.shape).argsort(axis=1)[:, : self.recipe.each]
        wrong = np.take_along_axis(found.wrong, order, axis=1)
        every = Batch(
            np.repeat(found.queries, wrong.shape[1]), np.repeat(found.right, wrong.shape[1]), wrong.ravel()
        )
        mixed = self._by_length(every, chance.permutation(len(every.right)))
        size = self.recipe.batch
        batches = [_taken(every, mixed[begin : begin + size]) for begin in range(0, len(mixed), size)]
        return [batches[place] for place in chance.permutation(len(batches))]

    def _by_length(self, every: Batch, mixed: Ints) -> Ints:
        """Of like length within some thousands, since a batch takes as long as its longest text."""
        longest = np.max([self.inputs.counts[part] for part in every], axis=0)
        block = _BLOCK * self.recipe.batch
        parts = (mixed[begin : begin + block] for begin in range(0, len(mixed), block))
        return np.concatenate([part[longest[part].argsort(kind="stable")] for part in parts])

    def loss(self, batch: Batch) -> torch.Tensor:
        """The mean over a batch."""
        return self._batch_loss(self.head, batch)

    def validated(self) -> float:
        """The mean loss over what is chosen by."""
        return self._loss(self.head, self.lesson.judged["validation"])

    def figures(self, name: str) -> dict[str, float]:
        """Loss and accuracy against the kinds of replies learned from, and the place among random ones.

        They are computed in double precision, as the head is when it is used.
        """
        head = copy.deepcopy(self.head).double().eval()
        with torch.inference_mode():
            found = self._scores(head, self.lesson.judged[name])
            ranked = self._scores(head, self.lesson.ranked[name])
            return {
                f"loss, {name}": self._loss(head, self.lesson.judged[name]),
                f"accuracy, {name}": float(preferred(found).mean()),
                f"reciprocal rank among {ranked.shape[1]}, {name}": float((1 / rank(ranked)).mean()),
            }

    def weights(self) -> dict[str, torch.Tensor]:
        """What it has learned."""
        return {name: one.detach().cpu().clone() for name, one in self.head.state_dict().items()}

    def _batch_loss(self, head: Head, batch: Batch) -> torch.Tensor:
        queries, replies = self._vectors(head, batch.queries, np.concatenate([batch.right, batch.wrong]))
        right, wrong = head(queries.repeat(2, 1), replies).chunk(2)
        return lost(right, wrong, self.recipe.margin)

    def _vectors(self, head: Head, queries: Ints, replies: Ints) -> tuple[torch.Tensor, torch.Tensor]:
        """Vectors of queries and of replies, as the head reads them, in its precision."""
        dtype = head.bilinear.dtype
        return head.query(*self.inputs.of(queries, dtype)), head.reply(*self.inputs.of(replies, dtype))

    def _loss(self, head: Head, found: Rivals) -> float:
        each = found.wrong.shape[1]
        every = Batch(np.repeat(found.queries, each), np.repeat(found.right, each), found.wrong.ravel())
        summed = 0.0
        for begin in range(0, len(every.right), _AT_ONCE):
            batch = _taken(every, np.arange(begin, min(begin + _AT_ONCE, len(every.right))))
            summed += float(self._batch_loss(head, batch)) * len(batch.right)
        return summed / len(every.right)

    def _scores(self, head: Head, found: Rivals) -> Floats:
        """The logit of each reply being a right one: first the right one, then the wrong ones."""
        candidates = np.column_stack([found.right, found.wrong])
        rows = []
        for begin in range(0, len(candidates), _AT_ONCE):
            some = candidates[begin : begin + _AT_ONCE]
            queries, replies = self._vectors(head, found.queries[begin : begin + _AT_ONCE], some.ravel())
            scores = head.logit(queries.repeat_interleave(some.shape[1], 0), replies)
            rows.append(scores.cpu().numpy().reshape(some.shape))
        return np.concatenate(rows)


def _taken(batch: Batch, places: Ints) -> Batch:
    return Batch(*(part[places] for part in batch))


def lost(right: torch.Tensor, wrong: torch.Tensor, margin: float) -> torch.Tensor:
    """How far a head is off, from what its last layer says of right and of wrong replies.

    With one number for each, the wrong one should be lower by the margin; with two, they are classes.
    """
    if right.shape[1] == 1:
        return (margin - right.sigmoid() + wrong.sigmoid()).clamp(min=0).mean()
    classes = torch.ones(len(right), dtype=torch.long, device=right.device)
    return cross_entropy(torch.cat([right, wrong]), torch.cat([classes, 0 * classes]))


@dataclass
class HeadLoop(Loop):
    """A training whose pace falls when validation no longer improves."""

    recipe: RuberRecipe
    betas: ClassVar[tuple[float, float]] = (0.9, 0.999)
    longest: ClassVar[float] = math.inf

    def _pace(self, step: int, steps: int) -> float:
        return self.recipe.decay ** self._slowed()

    def _slowed(self) -> int:
        """How often so many epochs in a row brought no improvement."""
        best, without, slowed = math.inf, 0, 0
        for entry in self.state.history:
            improved = entry["validation"] < best
            best, without = (entry["validation"], 0) if improved else (best, without + 1)
            slowed += bool(without) and without % self.recipe.slow_after == 0
        return slowed
