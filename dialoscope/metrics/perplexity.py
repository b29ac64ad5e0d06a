"""Perplexity of replies to a language model."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dialoscope.core.arrays import Floats
from dialoscope.core.tally import Sums
from dialoscope.metrics.shared.base import Bounds, SumMetric, measure_once, ratio
from dialoscope.metrics.shared.likelihoods import ReadInContext
from dialoscope.text.batch import Batch

_LOWEST_MEAN = -709.0
"""The mean log-probability of tokens below which a reply is left out: exp(710) is beyond a double."""


@dataclass(frozen=True)
class Perplexity(SumMetric, ReadInContext):
    """The perplexity of a language model on a reply after its context."""

    name = "perplexity"
    version = 2
    paper = "https://arxiv.org/abs/2001.09977"
    higher_is_better = False

    @property
    def bounds(self) -> Bounds:
        """From 1, which is certainty, without limit."""
        return Bounds(1, math.inf)

    @property
    def relative_tolerance(self) -> float:
        """The relative error, since an error of the logarithm multiplies the perplexity."""
        return self.tolerance

    def warnings(self, batch: Batch) -> list[str]:
        """Warnings about cut texts, and about perplexities beyond the range of a double."""
        tally = measure_once(self, batch)
        rows = np.flatnonzero(super().defined(tally) & ~self.defined(tally))
        if not len(rows):
            return super().warnings(batch)
        count = f"{len(rows):,} of {len(batch):,} replies {'has' if len(rows) == 1 else 'have'}"
        first = batch[int(rows[0])]
        return [
            *super().warnings(batch),
            f"{count} no {self}, which is beyond what a double holds where the mean log-probability of the "
            f"tokens is below {_LOWEST_MEAN:g}; the first is {first.id!r} of {first.system!r}.",
        ]

    def defined(self, tally: Sums) -> NDArray[np.bool_]:
        """Whether a reply has tokens and a perplexity within the range of a double."""
        sums, tokens = tally.rows.astype(float).T
        return super().defined(tally) & (ratio(sums, tokens) >= _LOWEST_MEAN)

    def of_many(self, counts: Floats) -> Floats:
        """The perplexity of all tokens together, so that long replies count for more."""
        sums, tokens = counts.T
        return np.asarray(np.exp(-sums / np.maximum(tokens, 1)))
