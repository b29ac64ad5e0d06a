"""Distinct-n (Li et al., 2016, https://aclanthology.org/N16-1014)."""

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.tally import Tokens
from dialoscope.metrics.shared.base import Bounds, ratio
from dialoscope.metrics.shared.ngrams import GramMetric, distinct_in_each
from dialoscope.text.tokens import hash_ngrams


@dataclass(frozen=True)
class Distinct(GramMetric):
    """The number of different n-grams over the number of all, of a system or as a mean over replies."""

    name = "distinct"
    version = 1
    paper = "https://aclanthology.org/N16-1014"
    higher_is_better = True
    variants = MappingProxyType({"li-2016": MappingProxyType({"over": "words"})})

    level: Literal["system", "reply"] = "system"
    over: Literal["grams", "words"] = "grams"
    """The divisor of the number of different n-grams: words in the paper, n-grams in most later work."""

    @property
    def bounds(self) -> Bounds:
        """The bounds of a share; 1 if no n-gram occurs twice."""
        return Bounds(0, 1)

    def of_counts(self, counts: Ints, words: int) -> float:
        """The number of different n-grams over the number of all."""
        return len(counts) / (words if self.over == "words" else int(counts.sum()))

    def score(self, tally: Tokens) -> float:
        """The score; undefined if no reply has n words."""
        return super().score(tally) if self.level == "system" else _mean(self.score_each(tally))

    def scores_without(self, tally: Tokens, blocks: Ints) -> Floats:
        """The score with each block left out in turn."""
        if self.level == "system":
            return super().scores_without(tally, blocks)
        grades = self.score_each(tally)
        return np.array([_mean(grades[blocks != block]) for block in range(int(blocks.max()) + 1)])

    def score_some(self, tally: Tokens) -> Floats:
        """Different n-grams of the reply over all of its n-grams."""
        grams = hash_ngrams(tally, self.n)
        whole = np.where(grams.lengths > 0, tally.lengths, 0) if self.over == "words" else grams.lengths
        return ratio(distinct_in_each(grams), whole)


def _mean(grades: Floats) -> float:
    defined = grades[~np.isnan(grades)]
    return math.fsum(defined) / len(defined) if len(defined) else math.nan
