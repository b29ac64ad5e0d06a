"""BLEU (Papineni et al., 2002, https://aclanthology.org/P02-1040)."""

import math
from collections.abc import Hashable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.errors import MetricError
from dialoscope.core.tally import Sums, begins_run
from dialoscope.metrics.shared.base import Bounds, SumMetric
from dialoscope.text.batch import Batch
from dialoscope.text.overlap import overlap
from dialoscope.text.tokenizer import Tokenizer
from dialoscope.text.tokens import references_of, replies_of

# What pycocoevalcap, and so nlg-eval, adds to keep away from zero.
_TINY, _SMALL = 1e-15, 1e-9


@dataclass(frozen=True)
class Bleu(SumMetric):
    """The n-gram precision of a reply against its references, times a brevity penalty."""

    name = "bleu"
    version = 1
    paper = "https://aclanthology.org/P02-1040"
    needs = frozenset({"references"})
    higher_is_better = True
    main_setting = "order"
    variants = MappingProxyType(
        {
            "nlg-eval": MappingProxyType(
                {"tokenizer": "split", "smoothing": "tiny", "effective_order": "never", "scale": 1}
            ),
            "nltk": MappingProxyType(
                {
                    "tokenizer": "treebank",
                    "lowercase": True,
                    "smoothing": "nltk",
                    "effective_order": "never",
                    "scale": 1,
                }
            ),
        }
    )

    order: int = 4
    tokenizer: str = "13a"
    lowercase: bool = False
    smoothing: Literal["exp", "floor", "add-k", "none", "tiny", "nltk"] = "exp"
    effective_order: Literal["reply", "always", "never"] = "reply"
    """Whether orders for which a reply is too short are omitted: for single replies, always, or never."""
    scale: int = 100
    """The value of a perfect reply."""

    def __post_init__(self) -> None:
        super().__post_init__()
        Tokenizer(self.tokenizer)
        if not 1 <= self.order <= 9:
            raise MetricError(f"bleu: order must be between 1 and 9, not {self.order}.")
        if self.scale not in (1, 100):
            raise MetricError(f"bleu: scale must be 1 or 100, not {self.scale}.")

    @property
    def bounds(self) -> Bounds:
        """From 0 to the value of a perfect reply."""
        return Bounds(0, self.scale)

    @property
    def statistics(self) -> Hashable:
        """The key of the counts, which serve all orders up to 4 and every smoothing but NLTK's."""
        return "bleu", max(4, self.order), self.tokenizer, self.lowercase, self._fewest

    def measure(self, batch: Batch) -> Sums:
        """Lengths of reply and reference, then for each order the matching n-grams, then all of them."""
        tokenizer = Tokenizer(self.tokenizer, self.lowercase)
        pairs = overlap(batch, tokenizer)
        lengths = replies_of(batch, tokenizer).lengths
        references = references_of(batch, tokenizer)
        orders = range(1, max(4, self.order) + 1)
        closest = closest_lengths(lengths, references.tokens.lengths, references.owner)
        matching = [pairs.count_clipped(n, len(batch)) for n in orders]
        everything = [np.maximum(lengths - n + 1, self._fewest) for n in orders]
        return Sums(np.stack([lengths, closest, *matching, *everything], axis=1).astype(np.float32))

    @property
    def _fewest(self) -> int:
        """NLTK gives every reply at least one n-gram of each order, a phantom that never matches."""
        return 1 if self.smoothing == "nltk" else 0

    def of_one(self, counts: Floats) -> Floats:
        """Sentence BLEU."""
        return self._finish(counts, effective=self.effective_order != "never")

    def of_many(self, counts: Floats) -> Floats:
        """Corpus BLEU."""
        return self._finish(counts, effective=self.effective_order == "always")

    def _finish(self, sums: Floats, *, effective: bool) -> Floats:
        counts = BleuCounts.of(sums, self.order)
        if self.smoothing == "tiny":
            return counts.tiny() * self.scale
        if self.smoothing == "nltk":
            return counts.nltk() * self.scale
        return counts.sacrebleu(self.smoothing, effective=effective) * (self.scale / 100)


@dataclass(frozen=True, eq=False)
class BleuCounts:
    """The counts that BLEU is computed from, for many groups of replies at once."""

    length: Floats  # (groups,)
    reference_length: Floats
    matching: Floats  # (groups, orders)
    everything: Floats

    @classmethod
    def of(cls, sums: Floats, order: int) -> "BleuCounts":
        """The counts in rows of statistics, which may hold more orders than are needed."""
        half = (sums.shape[1] - 2) // 2
        return cls(sums[:, 0], sums[:, 1], sums[:, 2 : 2 + order], sums[:, 2 + half : 2 + half + order])

    def sacrebleu(self, smoothing: str, *, effective: bool) -> Floats:
        """BLEU as sacreBLEU computes it, in percent."""
        matching, everything = self.matching, self.everything
        if smoothing == "add-k":
            later = np.arange(matching.shape[1]) > 0
            matching, everything = matching + later, everything + later
        # From the first order on for which the replies are too short, nothing counts.
        reached = np.logical_and.accumulate(everything > 0, axis=1)
        missed = reached & (matching == 0)
        smoothed = np.where(missed, _smooth_counts(smoothing, missed), matching)
        with np.errstate(divide="ignore", invalid="ignore"):
            precision = np.where(reached, 100.0 * smoothed / everything, 0.0)
            # A precision of zero is, as in sacreBLEU, a logarithm so low that the score is zero.
            logs = np.where(precision > 0, np.log(precision), -9999999999.0)
        orders = reached.sum(axis=1) if effective else np.full(len(logs), logs.shape[1])
        counted = np.arange(logs.shape[1]) < orders[:, None]
        mean = np.where(counted, logs, 0.0).sum(axis=1) / np.maximum(orders, 1)
        score = self._brevity() * np.exp(mean)
        return np.where(self.matching.any(axis=1), score, 0.0)

    def tiny(self) -> Floats:
        """BLEU as pycocoevalcap computes it: constants keep every factor above zero."""
        precision = (self.matching + _TINY) / (self.everything + _SMALL)
        ratio = (self.length + _TINY) / (self.reference_length + _SMALL)
        brevity = np.where(ratio < 1, np.exp(1 - 1 / np.minimum(ratio, 1)), 1.0)
        return np.asarray(precision.prod(axis=1) ** (1 / precision.shape[1]) * brevity)

    def nltk(self) -> Floats:
        """BLEU as NLTK computes it without smoothing: without a match at some order it is just above zero."""
        precision = self.matching / np.maximum(self.everything, 1)
        floor = np.finfo(float).tiny
        logs = np.log(np.where(self.matching > 0, precision, floor)) / precision.shape[1]
        score = self._brevity() * np.exp(logs.sum(axis=1))
        return np.where(self.matching[:, 0] > 0, score, 0.0)

    def _brevity(self) -> Floats:
        short = self.length < self.reference_length
        ratio = self.reference_length / np.where(self.length > 0, self.length, 1)
        penalty = np.where(short, np.exp(1 - np.where(short, ratio, 1)), 1.0)
        return np.where(short & (self.length == 0), 0.0, penalty)


def _smooth_counts(smoothing: str, missed: np.ndarray) -> Floats:
    """Return the counts that replace those of orders without a match."""
    if smoothing == "exp":
        return np.asarray(0.5 ** np.cumsum(missed, axis=1))
    return np.full(missed.shape, 0.1 if smoothing == "floor" else 0.0)


def closest_lengths(lengths: Ints, references: Ints, owner: Ints) -> Floats:
    """Return for each reply the reference length closest to its own; NaN without references."""
    # On a tie the shorter wins, as in sacreBLEU; the paper says only "closest".
    distance = np.abs(references - lengths[owner])
    order = np.lexsort((references, distance, owner))
    first = begins_run(owner[order])
    closest = np.full(len(lengths), math.nan)
    closest[owner[order][first]] = references[order][first]
    return closest
