"""Entropy of the n-grams a system uses (Zhang et al., 2018, https://arxiv.org/abs/1809.05972)."""

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from dialoscope.metrics.base import BagMetric, Bounds, ratio
from dialoscope.metrics.grams import check_n, counts_in_each, measure_grams
from dialoscope.tally import Bags, Floats
from dialoscope.text import Batch


@dataclass(frozen=True)
class Entropy(BagMetric):
    """How evenly a system's n-grams are spread, in bits: unlike Distinct, it sees how often each comes."""

    name = "entropy"
    version = 1
    paper = "https://arxiv.org/abs/1809.05972"
    higher_is_better = True
    main_setting = "n"

    n: int = 2
    tokenizer: str = "words"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_n(self)

    @property
    def bounds(self) -> Bounds:
        """At most the logarithm of the number of n-grams."""
        return Bounds(0, np.inf)

    @property
    def statistics(self) -> Hashable:
        """Shared by all metrics of the same n-grams."""
        return "grams", self.n, self.tokenizer

    def measure(self, batch: Batch) -> Bags:
        """The n-grams of each reply."""
        return measure_grams(self, batch)

    def score(self, tally: Bags) -> float:
        """Undefined when no reply is n words long."""
        total = len(tally.things)
        if not total:
            return math.nan
        # Sorted, so that neither the order of the replies nor that of the hashes shows in the last digit.
        counts, how_many = np.unique(tally.counts(), return_counts=True)
        return math.log2(total) - math.fsum(how_many * counts * np.log2(counts)) / total

    def score_each(self, tally: Bags) -> Floats:
        """The entropy of the n-grams of each reply alone."""
        owner, times = counts_in_each(tally)
        weighted = np.bincount(owner, weights=times * np.log2(times), minlength=len(tally))
        return np.asarray(np.log2(np.maximum(tally.sizes, 1)) - ratio(weighted, tally.sizes))
