"""ROUGE-N, -L and -W (Lin, 2004, https://aclanthology.org/W04-1013).

rouge-score, which the tests compare with, has no ROUGE-W.
"""

import math
from collections.abc import Hashable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np

from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.errors import MetricError
from dialoscope.core.tally import begins_run
from dialoscope.metrics.shared.base import Bounds, MeanMetric
from dialoscope.text.batch import Batch
from dialoscope.text.overlap import Overlap, overlap
from dialoscope.text.tokenizer import Tokenizer

_MOST_PAIRS = MappingProxyType({"l": 10**10, "w": 10**8})
_MOST_PAIRS_OF_SCRIPT = 10**7
"""The words of the reply times those of the reference above which a common subsequence is undefined.

Its time grows with this product, and weighting=rouge-1.5.5 takes ten times as long as weighting=paper.
"""


class _Shares(NamedTuple):
    """The share of each reply that is in each reference, and of the reference that is in the reply."""

    precision: Floats  # (pairs,)
    recall: Floats


@dataclass(frozen=True)
class Rouge(MeanMetric):
    """The overlap of a reply with a reference, in n-grams or common subsequences: recall, precision or F1."""

    name = "rouge"
    version = 1
    paper = "https://aclanthology.org/W04-1013"
    needs = frozenset({"references"})
    higher_is_better = True
    main_setting = "order"
    variants = MappingProxyType(
        {
            "rouge-score": MappingProxyType({"tokenizer": "rouge-score"}),
            "nlg-eval": MappingProxyType({"tokenizer": "nlg-eval", "beta": 1.2, "best": "each"}),
        }
    )

    order: Literal["1", "2", "3", "4", "l", "w"] = "l"
    """The length of n-grams; l: the longest common subsequence; w: the same, weighted by runs."""
    part: Literal["f", "precision", "recall"] = "f"
    tokenizer: str = "words"
    stem: bool = False
    beta: float = 1.0
    """The weight of recall relative to precision in f."""
    best: Literal["f", "each"] = "f"
    """The choice among references: the one with the best f, or the best precision and the best recall."""
    weight: float = 1.2
    """The exponent of w: a run of k words has the value k ** weight."""
    weighting: Literal["paper", "rouge-1.5.5"] = "paper"
    """The definition of w; that of the script ROUGE-1.5.5 differs from its author's paper."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", str(self.order).lower())  # Rouge(1) and Rouge("L") are plain enough
        super().__post_init__()
        Tokenizer(self.tokenizer)
        if not (0 < self.beta <= 1000 and 1 <= self.weight <= 10):
            raise MetricError("rouge: beta must be above 0 and at most 1000, and weight between 1 and 10.")

    @property
    def bounds(self) -> Bounds:
        """The bounds of a share."""
        return Bounds(0, 1)

    def grade(self, batch: Batch) -> Floats:
        """The best scores over the references of each reply; undefined without any, or if one is too long."""
        pairs = overlap(batch, Tokenizer(self.tokenizer, stem=self.stem))
        shares = batch.once(self._of_shares, lambda: self._shares(pairs))
        values = self._best(shares, pairs.owner, len(batch))
        too_long = pairs.owner[np.isnan(shares.recall)]
        if len(too_long):
            values[too_long] = math.nan
            weighting = "" if self.weighting == "paper" else f":weighting={self.weighting}"
            most = f"at most {self._most_pairs:,} pairs of words of a reply and a reference"
            batch.report_undefined(f"rouge-{self.order}{weighting}, which compares {most}", too_long.tolist())
        return values

    def _best(self, shares: _Shares, owner: Ints, replies: int) -> Floats:
        if self.best == "each":
            return self._part(_Shares(*(_highest(share, owner, replies) for share in shares)))
        best = _best_pairs(self._f(shares), owner, replies)
        return np.where(best < 0, math.nan, self._part(shares)[best] if len(owner) else math.nan)

    @property
    def _of_shares(self) -> Hashable:
        """The key of the shares; the settings outside it only select among them."""
        return Rouge, self.order, self.tokenizer, self.stem, self.weight, self.weighting

    def _part(self, shares: _Shares) -> Floats:
        return (
            self._f(shares)
            if self.part == "f"
            else shares.precision
            if self.part == "precision"
            else shares.recall
        )

    def _f(self, shares: _Shares) -> Floats:
        square = self.beta**2
        above = (1 + square) * shares.precision * shares.recall
        below = shares.recall + square * shares.precision
        return np.where(below > 0, above / np.where(below > 0, below, 1), below)

    def _shares(self, pairs: Overlap) -> _Shares:
        of_reply, of_reference = pairs.replies.lengths, pairs.references.lengths
        if self.order in _MOST_PAIRS:
            fits = of_reply * of_reference <= self._most_pairs
            if fits.all():
                return self._subsequence_shares(pairs)
            shares = _Shares(*np.full((2, len(fits)), math.nan))
            fitting = self._subsequence_shares(pairs.take(np.flatnonzero(fits)))
            for all_pairs, fitting_pairs in zip(shares, fitting, strict=True):
                all_pairs[fits] = fitting_pairs
            return shares
        less = int(self.order) - 1
        matches = pairs.matches(less + 1)
        return _Shares(_share(matches, of_reply - less), _share(matches, of_reference - less))

    @property
    def _most_pairs(self) -> int:
        of_script = self.order == "w" and self.weighting == "rouge-1.5.5"
        return _MOST_PAIRS_OF_SCRIPT if of_script else _MOST_PAIRS[self.order]

    def _subsequence_shares(self, pairs: Overlap) -> _Shares:
        if self.order == "l":
            common = pairs.subsequence
            return _Shares(_share(common, pairs.replies.lengths), _share(common, pairs.references.lengths))
        of_reply, of_reference = (
            texts.lengths.astype(float) ** self.weight for texts in (pairs.replies, pairs.references)
        )
        back = 1 / self.weight
        if self.weighting == "rouge-1.5.5":
            # The script weighs the reference's length twice, so that even the same text has less than 1.
            hits = pairs.weighted_hits(self.weight)
            return _Shares(_share(hits, of_reply) ** back, _share(hits, of_reference**self.weight) ** back)
        worth = pairs.weighted_subsequence(self.weight)
        return _Shares(_share(worth, of_reply) ** back, _share(worth, of_reference) ** back)


def _share(part: Ints | Floats, whole: Ints | Floats) -> Floats:
    """Return part over whole; zero if there is no whole, as in rouge-score and ROUGE-1.5.5."""
    return np.asarray(part / np.maximum(whole, 1))


def _best_pairs(f: Floats, owner: Ints, replies: int) -> Ints:
    """Return for each reply its pair with the highest f, the first of equals; -1 without a pair."""
    order = np.lexsort((np.arange(len(f)), -f, owner))
    first = begins_run(owner[order])
    best = np.full(replies, -1)
    best[owner[order][first]] = order[first]
    return best


def _highest(values: Floats, owner: Ints, replies: int) -> Floats:
    highest = np.full(replies, math.nan)
    np.fmax.at(highest, owner, values)
    return highest
