"""Perplexity of replies to a language model."""

import math
from dataclasses import dataclass

import numpy as np

from dialoscope.metrics.base import Bounds, SumMetric
from dialoscope.metrics.likelihoods import ReadInContext
from dialoscope.tally import Floats


@dataclass(frozen=True)
class Perplexity(SumMetric, ReadInContext):
    """Among how many equally likely tokens a language model might as well choose the next one of a reply."""

    name = "perplexity"
    version = 2
    paper = "https://arxiv.org/abs/2001.09977"
    higher_is_better = False

    @property
    def bounds(self) -> Bounds:
        """1 is certainty."""
        return Bounds(1, math.inf)

    @property
    def relative_tolerance(self) -> float:
        """What shifts a logarithm multiplies the number."""
        return self.tolerance

    def of_many(self, counts: Floats) -> Floats:
        """From the tokens of all replies together, so that long replies count for more."""
        sums, tokens = counts.T
        return np.asarray(np.exp(-sums / np.maximum(tokens, 1)))
