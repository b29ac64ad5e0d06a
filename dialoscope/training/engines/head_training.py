"""Training of heads that distinguish right replies from wrong ones by fixed vectors of texts."""

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
from dialoscope.models.engines.device import choose_device
from dialoscope.models.engines.heads import Head
from dialoscope.models.features import Features, Pooling
from dialoscope.models.heads import Shape
from dialoscope.training.engines.batches import compute_preference, rank
from dialoscope.training.engines.loop import Loop
from dialoscope.training.head_data import HeadData, IndexedExchanges
from dialoscope.training.recipes import RuberRecipe

_EVALUATED = 256
"""The number of exchanges in a batch of evaluation."""
_BLOCK = 32
"""The number of batches that are sorted by length together."""


__all__ = ["HeadLoop", "HeadTask", "head_loss", "make_inputs", "one_thread", "save"]


class TextVectors(NamedTuple):
    """Texts as a head reads them."""

    vectors: torch.Tensor
    lengths: torch.Tensor | None = None
    """The number of words of each text, where texts are read word by word."""


class Inputs(Protocol):
    """All texts of a training as vectors."""

    dims: int
    counts: Ints
    """The number of words of each text; where they are pooled, 0 for a text without words, else 1."""

    def of(self, texts: Ints, dtype: torch.dtype) -> TextVectors:
        """The vectors of texts by their numbers, in a precision."""


class PooledInputs:
    """A vector for each text."""

    def __init__(
        self, features: Features, texts: Sequence[str], pooling: Pooling, device: torch.device
    ) -> None:
        rows = features.pool(texts, pooling)
        self.dims = rows.shape[1]
        self.counts = np.logical_not(np.isnan(rows).any(axis=1)).astype(np.int64)
        self._rows = torch.from_numpy(rows).to(device)

    def of(self, texts: Ints, dtype: torch.dtype) -> TextVectors:
        """The rows of texts by their numbers."""
        return TextVectors(self._rows[torch.from_numpy(texts).to(self._rows.device)].to(dtype))


class WordInputs:
    """A vector for each word of each text, in half precision."""

    def __init__(self, features: Features, texts: Sequence[str], device: torch.device) -> None:
        vectors = features.half_precision_rows(texts)
        self.dims = vectors[0].shape[1]
        self.counts = np.array([len(rows) for rows in vectors])
        self._starts = np.cumsum(self.counts) - self.counts
        self._rows = torch.from_numpy(np.concatenate(vectors)).to(device)

    def of(self, texts: Ints, dtype: torch.dtype) -> TextVectors:
        """The rows of texts by their numbers, padded to the same length."""
        counts = self.counts[texts]
        steps = np.arange(counts.max())
        indices = self._starts[texts][:, None] + np.minimum(steps, counts[:, None] - 1)
        rows = self._rows[torch.from_numpy(indices).to(self._rows.device)]
        return TextVectors(rows.to(dtype), torch.from_numpy(counts))


def make_inputs(features: Features, texts: Sequence[str], shape: Shape, device: str) -> Inputs:
    """The vectors of all texts, as a head of this shape reads them."""
    if shape.recurrent:
        return WordInputs(features, texts, choose_device(device))
    return PooledInputs(features, texts, shape.pooling, choose_device(device))


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with a single thread, which is faster for matrices as small as these."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class HeadBatch(NamedTuple):
    """Exchanges with a wrong reply each, as numbers of texts."""

    queries: Ints
    right: Ints
    wrong: Ints


class HeadTask:
    """Classification of replies as right or wrong by a head."""

    def __init__(self, recipe: RuberRecipe, data: HeadData, inputs: Inputs) -> None:
        self.recipe, self.data, self.inputs = recipe, data, inputs
        self.device = choose_device(recipe.device)
        torch.manual_seed(recipe.seed)  # for weights that are new
        self.head = Head(Shape.of(recipe.settings()), inputs.dims).to(self.device)
        self.model: torch.nn.Module = self.head

    def batches(self, epoch: int) -> Sequence[HeadBatch]:
        """Exchanges in random order, with wrong replies sampled from their pools."""
        rng = np.random.default_rng([self.recipe.seed, epoch])
        exchanges = self.data.training
        order = rng.random(exchanges.wrong.shape).argsort(axis=1)[:, : self.recipe.negatives_per_pair]
        wrong = np.take_along_axis(exchanges.wrong, order, axis=1)
        every = HeadBatch(
            np.repeat(exchanges.queries, wrong.shape[1]),
            np.repeat(exchanges.right, wrong.shape[1]),
            wrong.ravel(),
        )
        order = self._sort_by_length(every, rng.permutation(len(every.right)))
        size = self.recipe.batch
        batches = [_take(every, order[begin : begin + size]) for begin in range(0, len(order), size)]
        return [batches[index] for index in rng.permutation(len(batches))]

    def _sort_by_length(self, every: HeadBatch, order: Ints) -> Ints:
        """An order of similar length within some thousands: a batch takes as long as its longest text."""
        longest = np.max([self.inputs.counts[part] for part in every], axis=0)
        block = _BLOCK * self.recipe.batch
        parts = (order[begin : begin + block] for begin in range(0, len(order), block))
        return np.concatenate([part[longest[part].argsort(kind="stable")] for part in parts])

    def loss(self, batch: HeadBatch) -> torch.Tensor:
        """The mean loss of a batch."""
        return self._batch_loss(self.head, batch)

    def validate(self) -> float:
        """The mean loss on validation exchanges."""
        return self._loss(self.head, self.data.evaluated["validation"])

    def figures(self, name: str) -> dict[str, float]:
        """Loss and accuracy against the kinds of negatives in training, and the rank among random ones.

        They are computed in double precision, as the head is when it is used.
        """
        head = copy.deepcopy(self.head).double().eval()
        with torch.inference_mode():
            scores = self._scores(head, self.data.evaluated[name])
            ranked = self._scores(head, self.data.ranked[name])
            return {
                f"loss, {name}": self._loss(head, self.data.evaluated[name]),
                f"accuracy, {name}": float(compute_preference(scores).mean()),
                f"reciprocal rank among {ranked.shape[1]}, {name}": float((1 / rank(ranked)).mean()),
            }

    def weights(self) -> dict[str, torch.Tensor]:
        """A copy of the head's weights."""
        return {name: weight.detach().cpu().clone() for name, weight in self.head.state_dict().items()}

    def _batch_loss(self, head: Head, batch: HeadBatch) -> torch.Tensor:
        queries, replies = self._vectors(head, batch.queries, np.concatenate([batch.right, batch.wrong]))
        right, wrong = head(queries.repeat(2, 1), replies).chunk(2)
        return head_loss(right, wrong, self.recipe.margin)

    def _vectors(self, head: Head, queries: Ints, replies: Ints) -> tuple[torch.Tensor, torch.Tensor]:
        """Vectors of queries and of replies, as the head reads them, in its precision."""
        dtype = head.bilinear.dtype
        return head.query(*self.inputs.of(queries, dtype)), head.reply(*self.inputs.of(replies, dtype))

    def _loss(self, head: Head, exchanges: IndexedExchanges) -> float:
        count = exchanges.wrong.shape[1]
        every = HeadBatch(
            np.repeat(exchanges.queries, count), np.repeat(exchanges.right, count), exchanges.wrong.ravel()
        )
        summed = 0.0
        for begin in range(0, len(every.right), _EVALUATED):
            batch = _take(every, np.arange(begin, min(begin + _EVALUATED, len(every.right))))
            summed += float(self._batch_loss(head, batch)) * len(batch.right)
        return summed / len(every.right)

    def _scores(self, head: Head, exchanges: IndexedExchanges) -> Floats:
        """The logits of the right reply (first column) and of the wrong ones."""
        candidates = np.column_stack([exchanges.right, exchanges.wrong])
        rows = []
        for begin in range(0, len(candidates), _EVALUATED):
            replies = candidates[begin : begin + _EVALUATED]
            numbers = exchanges.queries[begin : begin + _EVALUATED]
            queries, vectors = self._vectors(head, numbers, replies.ravel())
            scores = head.logit(queries.repeat_interleave(replies.shape[1], 0), vectors)
            rows.append(scores.cpu().numpy().reshape(replies.shape))
        return np.concatenate(rows)


def _take(batch: HeadBatch, indices: Ints) -> HeadBatch:
    return HeadBatch(*(column[indices] for column in batch))


def head_loss(right: torch.Tensor, wrong: torch.Tensor, margin: float) -> torch.Tensor:
    """The loss of a head, from the outputs of its last layer for right and for wrong replies.

    One output for each reply: the wrong one should be lower by the margin. Two: logits of the classes.
    """
    if right.shape[1] == 1:
        return (margin - right.sigmoid() + wrong.sigmoid()).clamp(min=0).mean()
    classes = torch.ones(len(right), dtype=torch.long, device=right.device)
    return cross_entropy(torch.cat([right, wrong]), torch.cat([classes, 0 * classes]))


@dataclass
class HeadLoop(Loop):
    """A training whose learning rate falls when validation no longer improves."""

    recipe: RuberRecipe
    betas: ClassVar[tuple[float, float]] = (0.9, 0.999)
    max_norm: ClassVar[float] = math.inf

    def _rate_factor(self, step: int, steps: int) -> float:
        return self.recipe.decay ** self._count_decays()

    def _count_decays(self) -> int:
        """The number of times that `slow_after` epochs in a row brought no improvement."""
        best, without, decays = math.inf, 0, 0
        for entry in self.state.history:
            improved = entry["validation"] < best
            best, without = (entry["validation"], 0) if improved else (best, without + 1)
            decays += bool(without) and without % self.recipe.slow_after == 0
        return decays
