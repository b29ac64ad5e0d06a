"""Entropy of the n-grams a system uses (Zhang et al., 2018, https://arxiv.org/abs/1809.05972)."""

import math
from dataclasses import dataclass

import numpy as np

from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.tally import Tokens
from dialoscope.metrics.shared.base import Bounds, ratio
from dialoscope.metrics.shared.ngrams import GramMetric, counts_in_each
from dialoscope.text.tokens import hash_ngrams


@dataclass(frozen=True)
class Entropy(GramMetric):
    """The entropy of a system's n-grams, in bits; unlike Distinct, it depends on their frequencies."""

    name = "entropy"
    version = 1
    paper = "https://arxiv.org/abs/1809.05972"
    higher_is_better = True

    @property
    def bounds(self) -> Bounds:
        """From 0 without limit; at most the logarithm of the number of n-grams."""
        return Bounds(0, np.inf)

    def of_counts(self, counts: Ints, words: int) -> float:
        """The entropy, from the counts of the different n-grams."""
        total = int(counts.sum())
        # Equal counts together, so that neither the order of the replies nor that of the hashes shows.
        count, how_many = np.unique(counts, return_counts=True)
        # Rounding may leave a hair below zero where all n-grams are the same.
        return max(0.0, math.log2(total) - math.fsum(how_many * count * np.log2(count)) / total)

    def score_some(self, tally: Tokens) -> Floats:
        """The entropy of the n-grams of each reply alone."""
        grams = hash_ngrams(tally, self.n)
        owner, times = counts_in_each(grams)
        weighted = np.bincount(owner, weights=times * np.log2(times), minlength=len(grams))
        return np.maximum(np.log2(np.maximum(grams.lengths, 1)) - ratio(weighted, grams.lengths), 0.0)
