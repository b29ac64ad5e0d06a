"""The base classes and counts of metrics of n-grams."""

import math
from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.errors import MetricError
from dialoscope.core.tally import Tokens
from dialoscope.metrics.shared.base import Amount, Bounds, MeanMetric, PoolMetric
from dialoscope.text.batch import Batch
from dialoscope.text.tokenizer import Tokenizer
from dialoscope.text.tokens import hash_ngrams, reply_words

# Odd, so that multiplying by it (modulo 2**64) loses nothing; not the one that n-grams are hashed with.
_SPREAD = np.int64(-0x4B47D0C5A9F1E1B3)


_AT_A_TIME = 8192


class NgramSettings(Protocol):
    """The settings of a metric of n-grams."""

    name: ClassVar[str]

    @property
    def n(self) -> int:
        """The number of words of an n-gram."""

    @property
    def tokenizer(self) -> str:
        """The name of the tokenizer."""


def check_n(metric: NgramSettings) -> None:
    """Refuse n-grams of no words, and an unknown tokenizer."""
    Tokenizer(metric.tokenizer)
    if not 1 <= metric.n <= 100:
        raise MetricError(f"{metric.name}: n must be between 1 and 100, not {metric.n}.")


@dataclass(frozen=True)
class GramMetric(PoolMetric[Tokens]):
    """A function of the frequency of each n-gram in everything that a system said."""

    tally = Tokens
    main_setting = "n"

    n: int = 2
    tokenizer: str = "words"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_n(self)

    @abstractmethod
    def of_counts(self, counts: Ints, words: int) -> float:
        """The score from the counts of all different n-grams, and the number of words."""

    @property
    def statistics(self) -> Hashable:
        """The key of the words in their order, which serve n-grams of any length."""
        return "words", self.tokenizer

    def measure(self, batch: Batch) -> Tokens:
        """The words of each reply."""
        return reply_words(batch, Tokenizer(self.tokenizer))

    @property
    def depends_on(self) -> Amount | None:
        """The number of words: with more words, fewer n-grams are new, and more are different."""
        return "words"

    def amount(self, tally: Tokens) -> int:
        """The number of words of all replies."""
        return len(tally.ids)

    @abstractmethod
    def score_some(self, tally: Tokens) -> Floats:
        """The score for each of these replies."""

    def score_each(self, tally: Tokens) -> Floats:
        """The score for each reply, in chunks, which sort faster and in less memory than all at once."""
        places = np.split(np.arange(len(tally)), np.arange(_AT_A_TIME, len(tally), _AT_A_TIME))
        return np.concatenate([self.score_some(tally.take(rows)) for rows in places])

    def score(self, tally: Tokens) -> float:
        """The score of all replies; undefined if no reply has n words."""
        return self._of_some(np.bincount(number_ngrams(hash_ngrams(tally, self.n).ids)), len(tally.ids))

    def scores_without(self, tally: Tokens, blocks: Ints) -> Floats:
        """The score with each block left out in turn, by subtracting its counts."""
        grams = hash_ngrams(tally, self.n)
        gram, block = number_ngrams(grams.ids), np.repeat(blocks.astype(np.int32), grams.lengths)
        every = np.bincount(gram)
        words = np.bincount(blocks, weights=tally.lengths).astype(np.int64)
        left = (
            every - np.bincount(gram[block == number], minlength=len(every)) for number in range(len(words))
        )
        totals = (int(words.sum() - own) for own in words)
        return np.array([self._of_some(counts, total) for counts, total in zip(left, totals, strict=True)])

    def _of_some(self, counts: Ints, words: int) -> float:
        there = counts[counts > 0]
        return self.of_counts(there, words) if len(there) else math.nan


@dataclass(frozen=True)
class NgramShare(MeanMetric):
    """The share of a reply's n-grams with some property; undefined for a reply shorter than n words."""

    paper = "https://aclanthology.org/N19-1170"
    higher_is_better = False
    main_setting = "n"

    n: int = 1
    tokenizer: str = "words"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_n(self)

    @property
    def bounds(self) -> Bounds:
        """The bounds of a share."""
        return Bounds(0, 1)

    def grams(self, batch: Batch) -> Tokens:
        """The hashed n-grams of each reply."""
        return hash_ngrams(reply_words(batch, Tokenizer(self.tokenizer)), self.n)


def number_ngrams(grams: Ints) -> NDArray[np.int32]:
    """Renumber the n-grams as 0, 1, 2, …, so that they can be counted repeatedly without sorting."""
    # What np.unique does, in half its memory.
    order = np.argsort(grams)
    new = np.zeros(len(grams), bool)
    in_order = grams[order]
    np.not_equal(in_order[1:], in_order[:-1], out=new[1:])
    del in_order
    numbers = np.empty(len(grams), np.int32)
    numbers[order] = np.cumsum(new, dtype=np.int32)
    return numbers


class CountsInEach(NamedTuple):
    """The frequency of each different n-gram in its text."""

    owner: Ints
    times: Ints


def counts_in_each(grams: Tokens) -> CountsInEach:
    """Return one row for each different n-gram of each text."""
    owner = grams.owner
    keys = within(owner, grams.ids)
    order = np.argsort(keys)
    keys = keys[order]
    first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if len(keys) else order
    return CountsInEach(owner[order[first]], np.diff(np.append(first, len(keys))))


def within(owner: Ints, grams: Ints) -> Ints:
    """Return a number for each n-gram in its text, which is sorted once where a pair is sorted twice."""
    return grams + owner * _SPREAD


def distinct_in_each(grams: Tokens) -> Floats:
    """Return the number of different n-grams of each text."""
    return np.bincount(counts_in_each(grams).owner, minlength=len(grams)).astype(float)
