"""Self-BLEU (Zhu et al., 2018, https://arxiv.org/abs/1802.01886)."""

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.errors import MetricError
from dialoscope.core.tally import Tokens, begins_run
from dialoscope.metrics.bleu import BleuCounts
from dialoscope.metrics.shared.base import Bounds, PoolMetric
from dialoscope.metrics.shared.ngrams import number_ngrams
from dialoscope.text.batch import Batch
from dialoscope.text.tokenizer import Tokenizer
from dialoscope.text.tokens import hash_ngrams, reply_words


@dataclass(frozen=True)
class SelfBleu(PoolMetric[Tokens]):
    """The mean BLEU of each reply against the other replies of its system; 100 if all are the same."""

    name = "self-bleu"
    version = 1
    paper = "https://arxiv.org/abs/1802.01886"
    higher_is_better = False
    of_replies = False
    tally = Tokens
    main_setting = "order"

    order: int = 4
    tokenizer: str = "13a"

    def __post_init__(self) -> None:
        super().__post_init__()
        Tokenizer(self.tokenizer)
        if not 1 <= self.order <= 9:
            raise MetricError(f"self-bleu: order must be between 1 and 9, not {self.order}.")

    @property
    def bounds(self) -> Bounds:
        """The bounds of BLEU."""
        return Bounds(0, 100)

    @property
    def statistics(self) -> Hashable:
        """The key of the words of the replies."""
        return "words", self.tokenizer

    def measure(self, batch: Batch) -> Tokens:
        """The words of each reply."""
        return reply_words(batch, Tokenizer(self.tokenizer))

    def score(self, tally: Tokens) -> float:
        """The mean sentence BLEU of each reply against all others; undefined for a single reply."""
        return self._score([_Uses.of(tally, n) for n in range(1, self.order + 1)], tally.lengths)

    def scores_without(self, tally: Tokens, blocks: Ints) -> Floats:
        """The score with each block left out in turn; the sorted n-grams are reused."""
        uses = [_Uses.of(tally, n) for n in range(1, self.order + 1)]
        count = int(blocks.max()) + 1
        return np.array([self._score_of(uses, tally.lengths, blocks != block) for block in range(count)])

    def score_each(self, tally: Tokens) -> Floats:
        """NaN for each reply, since a reply alone has no others."""
        return np.full(len(tally), math.nan)

    def _score_of(self, uses: "list[_Uses]", lengths: Ints, stays: NDArray[np.bool_]) -> float:
        """Return the score of the replies that stay."""
        return self._score([use.of_replies(stays) for use in uses], lengths[stays])

    def _score(self, uses: "list[_Uses]", lengths: Ints) -> float:
        if len(lengths) < 2:
            return math.nan
        counts = BleuCounts(
            lengths.astype(float),
            _closest_of_others(lengths).astype(float),
            np.stack([use.count_shared(len(lengths)) for use in uses], axis=1),
            np.stack([np.maximum(lengths - n, 0.0) for n in range(self.order)], axis=1),
        )
        return math.fsum(counts.sacrebleu("exp", effective=True)) / len(lengths)


@dataclass(frozen=True, eq=False)
class _Uses:
    """The frequency in each reply of each n-gram that occurs more than once, sorted by n-gram."""

    gram: NDArray[np.int32]
    reply: NDArray[np.int32]
    times: NDArray[np.int32]

    @classmethod
    def of(cls, words: Tokens, n: int) -> "_Uses":
        grams = hash_ngrams(words, n)
        gram, reply = (
            number_ngrams(grams.ids),
            np.repeat(np.arange(len(words), dtype=np.int32), grams.lengths),
        )
        # What comes once is found in no other reply; among long n-grams that is nearly all.
        often = (np.bincount(gram) > 1)[gram] if len(gram) else np.empty(0, bool)
        gram, reply = gram[often], reply[often]
        order = np.argsort(gram, kind="stable")  # stable: replies stay in order within an n-gram
        gram, reply = gram[order], reply[order]
        first = np.flatnonzero(begins_run(gram, reply))
        return cls(gram[first], reply[first], np.diff(np.append(first, len(gram))).astype(np.int32))

    def of_replies(self, stays: NDArray[np.bool_]) -> "_Uses":
        """The frequencies in the replies that stay, which are renumbered."""
        number = np.cumsum(stays) - 1
        chosen = stays[self.reply]
        return _Uses(self.gram[chosen], number[self.reply[chosen]].astype(np.int32), self.times[chosen])

    def count_shared(self, replies: int) -> Floats:
        """Return the number of n-grams of each reply that occur in another, clipped to its count there.

        All others at once cost no more than one: that other is the reply which uses the n-gram most often,
        or the runner-up for that reply itself.
        """
        if not len(self.gram):
            return np.zeros(replies)
        new = begins_run(self.gram)
        starts, kind = np.flatnonzero(new), np.cumsum(new) - 1
        most = np.maximum.reduceat(self.times, starts)[kind]
        leads = self.times == most
        alone = np.add.reduceat(leads.astype(np.int64), starts)[kind] == 1
        second = np.maximum.reduceat(np.where(leads, 0, self.times), starts)[kind]
        elsewhere = np.where(leads & alone, second, most)
        times = np.minimum(self.times, elsewhere)
        return np.bincount(self.reply, weights=times, minlength=replies).astype(float)


def _closest_of_others(lengths: Ints) -> Ints:
    """Return the length closest to each reply's own among all other replies; of two, the shorter."""
    kinds, index, counts = np.unique(lengths, return_inverse=True, return_counts=True)
    far = np.iinfo(np.int64).max // 4
    shorter = np.concatenate(([-far], kinds[:-1]))
    longer = np.concatenate((kinds[1:], [far]))
    nearest = np.where(kinds - shorter <= longer - kinds, shorter, longer)
    return np.where(counts > 1, kinds, nearest)[index]
