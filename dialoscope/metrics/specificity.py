"""Specificity: how rare a reply's words are (See et al., 2019, https://aclanthology.org/N19-1170)."""

from dataclasses import dataclass

import numpy as np

from dialoscope.core.arrays import Floats
from dialoscope.core.errors import MetricError
from dialoscope.metrics.shared.base import Bounds, MeanMetric, ratio
from dialoscope.metrics.shared.word_counts import WordCounts
from dialoscope.models.protocols import Backend
from dialoscope.text.batch import Batch
from dialoscope.text.tokenizer import Tokenizer
from dialoscope.text.tokens import replies_of, vocabulary_of


@dataclass(frozen=True)
class Specificity(MeanMetric):
    """The mean rarity of a reply's words in everyday language; low for "I do not know"."""

    name = "specificity"
    version = 1
    paper = "https://aclanthology.org/N19-1170"
    higher_is_better = True
    paths = frozenset({"corpus"})

    corpus: str = "talk-words"
    """The source of word counts: the shipped table, or any file of texts or dialogues."""
    tokenizer: str = "words"

    def __post_init__(self) -> None:
        object.__setattr__(self, "corpus", str(self.corpus))  # a Path is plain enough
        super().__post_init__()
        Tokenizer(self.tokenizer)
        if "," in self.corpus:
            raise MetricError("specificity: rename the corpus, since a comma in its name parts settings.")

    @property
    def bounds(self) -> Bounds:
        """From 0, if all words are the commonest, to 1, if none is used by anyone else."""
        return Bounds(0, 1)

    @property
    def backends(self) -> tuple[Backend, ...]:
        """The source of the word counts."""
        return (WordCounts(self.corpus),)

    def grade(self, batch: Batch) -> Floats:
        """The mean rarity of a reply's words; undefined for a reply without words."""
        tokenizer = Tokenizer(self.tokenizer)
        replies = replies_of(batch, tokenizer)
        counts = WordCounts(self.corpus).counts(tokenizer)
        rarity = np.array([counts.rarity(word) for word in vocabulary_of(batch, tokenizer)], float)
        sums = np.bincount(replies.owner, rarity[replies.ids], len(batch))
        return ratio(sums, replies.lengths)
