"""Repetition within a reply (See et al., 2019, https://aclanthology.org/N19-1170)."""

from dataclasses import dataclass

from dialoscope.core.arrays import Floats
from dialoscope.metrics.shared.base import ratio
from dialoscope.metrics.shared.ngrams import NgramShare, distinct_in_each
from dialoscope.text.batch import Batch


@dataclass(frozen=True)
class Repetition(NgramShare):
    """The share of a reply's n-grams that it has used before; it confounds length and diversity."""

    name = "repetition"
    version = 1

    def grade(self, batch: Batch) -> Floats:
        """The shares; undefined for a reply shorter than n words."""
        grams = self.grams(batch)
        return ratio(grams.lengths - distinct_in_each(grams), grams.lengths)
