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
    """The aggregation over the tokens of a reply: their mean, or their sum."""
    scale: Literal["raw", "normalised"] = "raw"
    """Natural logarithms, or a share of the reply's own information: 1 if the context determines it."""

    @property
    def bounds(self) -> Bounds:
        """A context can make a reply less likely without limit."""
        return Bounds(-math.inf, math.inf if self.scale == "raw" else 1)

    @property
    def tolerance(self) -> float:
        """The error of a mean, or of a sum of logarithms, to which each token contributes."""
        summed = self.length == "sum" and self.scale == "raw"
        return super().tolerance * (TOKENS if summed else 1)

    @property
    def statistics(self) -> Hashable:
        """The key of both sums over the same tokens, and their number."""
        return "mutual", self.lm, self.turns, self.join, self.spaces

    def announce(self, batch: Batch) -> None:
        """Announce each reply after its context, and without it."""
        texts = self.texts(batch)
        reading(batch, self.lm).add([*texts, *_bare(texts)])

    def measure(self, batch: Batch) -> Sums:
        """The sums and numbers of tokens; undefined where the reply or its context is blank."""
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
    """Return the texts without their contexts; with the same space in front, they have the same tokens."""
    return [Continuation("", text.text) if text is not None else None for text in texts]


def _mutual(in_context: Floats, alone: Floats) -> Sequence[float]:
    """Sum both; a first token without a probability, as it has no context, is omitted on both sides."""
    tokens = min(len(in_context), len(alone))
    if not tokens:
        return [math.nan] * 3
    return [math.fsum(in_context[-tokens:]), math.fsum(alone[-tokens:]), tokens]
