"""Pointwise mutual information of reply and context (Li et al., 2016, https://aclanthology.org/N16-1014)."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dialoscope.core.arrays import Floats
from dialoscope.core.tally import Sums
from dialoscope.metrics.shared.base import Bounds, GradeMetric, ratio
from dialoscope.metrics.shared.likelihoods import TOKENS, ReadInContext
from dialoscope.metrics.shared.reading import Texts, reading
from dialoscope.models.protocols import Continuation
from dialoscope.text.batch import Batch


@dataclass(frozen=True)
class Pmi(GradeMetric[Sums], ReadInContext):
    """The log-probability of a reply after its context minus that without it, by a language model."""

    name = "pmi"
    version = 2
    paper = "https://aclanthology.org/N16-1014"
    higher_is_better = True

    length: Literal["mean", "sum"] = "mean"
    """Over the tokens of a reply: their mean, or their sum."""
    scale: Literal["raw", "normalised"] = "raw"
    """Natural logarithms, or as a share of the reply's own information: 1 where the context tells it all."""

    @property
    def bounds(self) -> Bounds:
        """A context can make a reply less likely without limit."""
        return Bounds(-math.inf, math.inf if self.scale == "raw" else 1)

    @property
    def tolerance(self) -> float:
        """A sum of logarithms is off by what each of them is."""
        summed = self.length == "sum" and self.scale == "raw"
        return super().tolerance * (TOKENS if summed else 1)

    @property
    def statistics(self) -> Hashable:
        """Both sums over the same tokens, and their number."""
        return "mutual", self.lm, self.turns, self.join, self.spaces

    def announce(self, batch: Batch) -> None:
        """The reply after its context and without it."""
        texts = self.texts(batch)
        reading(batch, self.lm).add([*texts, *_bare(texts)])

    def measure(self, batch: Batch) -> Sums:
        """Undefined where the reply or what comes before it is blank."""
        texts = self.texts(batch)
        read = reading(batch, self.lm)
        rows = [_mutual(*pair) for pair in zip(read.answers(texts), read.answers(_bare(texts)), strict=True)]
        return Sums(np.array(rows, float).reshape(-1, 3))

    def score_each(self, tally: Sums) -> Floats:
        """Log P(reply | context) - log P(reply), for each token, for all, or as a share of -log P(reply)."""
        in_context, alone, tokens = tally.rows.astype(float).T
        gain = in_context - alone
        if self.scale == "normalised":
            return ratio(gain, -alone)
        return gain if self.length == "sum" else ratio(gain, tokens)


def _bare(texts: Texts) -> Texts:
    """The same texts with nothing before them: with the same space in front, they have the same tokens."""
    return [Continuation("", text.text) if text is not None else None for text in texts]


def _mutual(in_context: Floats, alone: Floats) -> Sequence[float]:
    """A first token that has no probability where nothing stands before it is left out on both sides."""
    tokens = min(len(in_context), len(alone))
    if not tokens:
        return [math.nan] * 3
    return [math.fsum(in_context[-tokens:]), math.fsum(alone[-tokens:]), tokens]
