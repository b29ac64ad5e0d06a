"""Copying from the context (See et al., 2019, https://aclanthology.org/N19-1170)."""

from dataclasses import dataclass

import numpy as np

from dialoscope.core.arrays import Floats
from dialoscope.metrics.shared.base import ratio
from dialoscope.metrics.shared.ngrams import NgramShare, within
from dialoscope.text.batch import Batch
from dialoscope.text.tokenizer import Tokenizer
from dialoscope.text.tokens import contexts_of, hash_ngrams, hash_words


@dataclass(frozen=True)
class Copying(NgramShare):
    """The share of a reply's n-grams that are in its context; high for a system that repeats its user."""

    name = "copying"
    version = 2
    needs = frozenset({"context"})

    n: int = 2

    def grade(self, batch: Batch) -> Floats:
        """The shares; undefined for a reply shorter than n words, or without a context."""
        contexts = contexts_of(batch, Tokenizer(self.tokenizer))
        context_grams = hash_ngrams(hash_words(batch, Tokenizer(self.tokenizer), contexts.tokens), self.n)
        context_owner = np.repeat(contexts.owner, context_grams.lengths)
        grams = self.grams(batch)
        copied = np.isin(within(grams.owner, grams.ids), within(context_owner, context_grams.ids))
        has_context = np.array([example.has_context for example in batch], bool)
        return ratio(
            np.bincount(grams.owner, weights=copied, minlength=len(batch)),
            np.where(has_context, grams.lengths, 0),
        )
