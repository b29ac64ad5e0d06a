"""Copying from the context (See et al., 2019, https://aclanthology.org/N19-1170)."""

from dataclasses import dataclass

import numpy as np

from dialoscope.core.arrays import Floats
from dialoscope.metrics.shared.base import Bounds, MeanMetric, ratio
from dialoscope.metrics.shared.ngrams import check_n, within
from dialoscope.text.batch import Batch
from dialoscope.text.tokenizer import Tokenizer
from dialoscope.text.tokens import contexts_of, hash_words, hashed_grams, reply_words


@dataclass(frozen=True)
class Copying(MeanMetric):
    """The share of a reply's n-grams that stand in its context: a parrot looks relevant to many metrics."""

    name = "copying"
    version = 2
    paper = "https://aclanthology.org/N19-1170"
    needs = frozenset({"context"})
    higher_is_better = False
    main_setting = "n"

    n: int = 2
    tokenizer: str = "words"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_n(self)

    @property
    def bounds(self) -> Bounds:
        """1 when the reply has no n-gram of its own."""
        return Bounds(0, 1)

    def grade(self, batch: Batch) -> Floats:
        """Undefined for a reply shorter than n words, and without a context."""
        tokenizer = Tokenizer(self.tokenizer)
        said = contexts_of(batch, tokenizer)
        said_grams = hashed_grams(hash_words(batch, tokenizer, said.tokens), self.n)
        grams = hashed_grams(reply_words(batch, tokenizer), self.n)
        owner = grams.owner
        owner_said = np.repeat(said.owner, said_grams.lengths)
        copied = np.isin(within(owner, grams.ids), within(owner_said, said_grams.ids))
        has_context = np.array([example.has_context for example in batch], bool)
        return ratio(
            np.bincount(owner, weights=copied, minlength=len(batch)),
            np.where(has_context, grams.lengths, 0),
        )
