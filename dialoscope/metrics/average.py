"""Average: the cosine of mean word vectors (Liu et al., 2016, https://aclanthology.org/D16-1230)."""

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from dialoscope.core.arrays import Floats, Ints
from dialoscope.metrics.shared.word_vectors import FBD, NLG_EVAL, VectorTexts, WordVectorMetric, cosines


@dataclass(frozen=True)
class Average(WordVectorMetric):
    """The cosine similarity of the mean word vectors of a reply and a reference."""

    name = "average"
    version = 1
    paper = "https://aclanthology.org/D16-1230"
    variants = MappingProxyType({"nlg-eval": NLG_EVAL, "fbd": FBD})

    def similarities(self, texts: VectorTexts, replies: Ints, references: Ints) -> Floats:
        """The cosine of sums, which is that of means; a word that counts as zeros changes neither."""
        return cosines(*(texts.fold(rows, np.add) for rows in (replies, references)))
