"""Greedy matching of words by their vectors (Rus and Lintean, 2012, https://aclanthology.org/W12-2018)."""

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from dialoscope.core.arrays import Floats, Ints
from dialoscope.metrics.shared.base import ratio
from dialoscope.metrics.shared.word_vectors import FBD, MOST_COSINES, NLG_EVAL, VectorTexts, WordVectorMetric
from dialoscope.text.batch import Batch


@dataclass(frozen=True)
class Greedy(WordVectorMetric):
    """The mean similarity of each word to its nearest word on the other side, in both directions."""

    name = "greedy"
    version = 1
    paper = "https://aclanthology.org/W12-2018"
    variants = MappingProxyType({"nlg-eval": NLG_EVAL, "fbd": {**FBD, "unknown": "zero"}})

    direction: Literal["both", "reply", "reference"] = "both"
    """The direction of the matching: the mean of both, from the reply, or from the reference."""

    def grade(self, batch: Batch) -> Floats:
        """The similarities; also undefined where two texts have too many different words to compare."""
        values = super().grade(batch)
        texts, pairs = self._texts(batch), self._pairs(batch)
        replies = pairs.owner[texts.have_too_many_cosines(pairs.replies, pairs.references)[pairs.row]]
        if len(replies):
            values[replies] = math.nan
            batch.report_undefined(
                f"greedy, which compares at most {MOST_COSINES:,} pairs of different words of a reply and a "
                "reference",
                replies.tolist(),
            )
        return values

    def similarities(self, texts: VectorTexts, replies: Ints, references: Ints) -> Floats:
        """The mean cosines; a word that counts as zeros has no match, but adds to the length of its text."""
        counted = texts.lengths if self.unknown == "zero" else texts.words.lengths
        lengths = np.stack([counted[replies], counted[references]], axis=1)
        means = ratio(texts.best_cosines(replies, references), lengths)
        undefined = ~lengths.all(axis=1)
        similarities = {"both": means.mean(axis=1), "reply": means[:, 0], "reference": means[:, 1]}
        return np.where(undefined, math.nan, similarities[self.direction])
