"""Extrema: the cosine of the word vectors' extremes (Liu et al., 2016, https://aclanthology.org/D16-1230)."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from dialoscope.core.arrays import Floats, Ints
from dialoscope.metrics.shared.word_vectors import FBD, NLG_EVAL, VectorTexts, WordVectorMetric, cosines


@dataclass(frozen=True)
class Extrema(WordVectorMetric):
    """The cosine similarity of the most extreme word-vector values of a reply and a reference."""

    name = "extrema"
    version = 1
    paper = "https://aclanthology.org/D16-1230"
    variants = MappingProxyType(
        {"nlg-eval": {**NLG_EVAL, "extreme": "nlg-eval"}, "fbd": {**FBD, "extreme": "max"}}
    )

    extreme: Literal["magnitude", "max", "nlg-eval"] = "magnitude"
    """The signed value farthest from 0; the largest; or the farthest, but 0 where that is the lowest."""

    def similarities(self, texts: VectorTexts, replies: Ints, references: Ints) -> Floats:
        """The cosine of the extremes of both texts."""
        return cosines(*(self._extremes(texts, rows) for rows in (replies, references)))

    def _extremes(self, texts: VectorTexts, rows: Ints) -> Floats:
        highest = self._reaching_zero(texts, rows, np.maximum)
        if self.extreme == "max":
            return highest
        lowest = self._reaching_zero(texts, rows, np.minimum)
        farthest = np.where(highest > -lowest, highest, lowest)
        return np.where(lowest == 0, 0, farthest) if self.extreme == "nlg-eval" else farthest

    def _reaching_zero(self, texts: VectorTexts, rows: Ints, combine: np.ufunc) -> Floats:
        """The highest or lowest values, including 0 for a text with words that count as zeros."""
        ends = texts.fold(rows, combine)
        if self.unknown != "zero":
            return ends
        has_zeros = (texts.lengths > texts.words.lengths)[rows]
        return np.where(has_zeros[:, None], combine(ends, 0), ends)
