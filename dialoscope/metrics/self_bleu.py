"""Self-BLEU (Zhu et al., 2018, https://arxiv.org/abs/1802.01886)."""

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from dialoscope.errors import MetricError
from dialoscope.metrics.base import BagMetric, Bounds
from dialoscope.metrics.bleu import BleuCounts
from dialoscope.tally import Bags, Floats, Ints
from dialoscope.text import Batch, Tokenizer, Tokens
from dialoscope.text.tokens import hashed_grams, reply_grams


@dataclass(frozen=True)
class SelfBleu(BagMetric):
    """How well a system's other replies foretell each of its replies: 100 when it always says the same."""

    name = "self-bleu"
    version = 1
    paper = "https://arxiv.org/abs/1802.01886"
    higher_is_better = False
    of_replies = False
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
        """As for BLEU."""
        return Bounds(0, 100)

    @property
    def statistics(self) -> Hashable:
        """The words, in the order in which they were said."""
        return "grams", 1, self.tokenizer

    def measure(self, batch: Batch) -> Bags:
        """The words of each reply."""
        words = reply_grams(batch, Tokenizer(self.tokenizer), 1)
        return Bags(words.ids, words.lengths)

    def score(self, tally: Bags) -> float:
        """The mean sentence BLEU of each reply against all others; undefined for a single reply.

        All others at once cost no more than a sort: what a reply's n-gram is clipped to is how often it
        stands in the one other reply that has it most, which is the highest count, or the second highest
        for the reply that holds the highest itself.
        """
        if len(tally) < 2:
            return math.nan
        orders = range(1, self.order + 1)
        matching = [_found_elsewhere(hashed_grams(Tokens(tally.things, tally.sizes), n)) for n in orders]
        counts = BleuCounts(
            tally.sizes.astype(float),
            _closest_of_others(tally.sizes).astype(float),
            np.stack(matching, axis=1),
            np.stack([np.maximum(tally.sizes - n + 1, 0.0) for n in orders], axis=1),
        )
        return math.fsum(counts.sacrebleu("exp", effective=True)) / len(tally)

    def score_each(self, tally: Bags) -> Floats:
        """A reply alone has no others."""
        return np.full(len(tally), math.nan)


def _found_elsewhere(grams: Tokens) -> Floats:
    """How many n-grams of each reply stand in another reply, at most as often as in one of them."""
    reply = np.repeat(np.arange(len(grams)), grams.lengths)
    order = np.lexsort((reply, grams.ids))
    gram, reply = grams.ids[order], reply[order]
    first = np.flatnonzero(np.append(True, (gram[1:] != gram[:-1]) | (reply[1:] != reply[:-1]))[: len(gram)])
    gram, reply, count = gram[first], reply[first], np.diff(np.append(first, len(gram)))
    clipped = np.minimum(count, _highest_of_others(gram, count))
    return np.bincount(reply, weights=clipped, minlength=len(grams)).astype(float)


def _highest_of_others(gram: Ints, count: Ints) -> Ints:
    """For each row, sorted by n-gram, the highest count that its n-gram has in any other reply."""
    by_count = np.lexsort((-count, gram))
    starts = np.flatnonzero(np.append(True, gram[1:] != gram[:-1])[: len(gram)])
    group = np.cumsum(np.append(True, gram[1:] != gram[:-1])[: len(gram)]) - 1
    sizes = np.diff(np.append(starts, len(gram)))
    highest = by_count[starts]
    second = np.where(sizes > 1, count[by_count[np.minimum(starts + 1, max(0, len(gram) - 1))]], 0)
    others: Ints = count[highest][group]
    others[highest] = second
    return others


def _closest_of_others(lengths: Ints) -> Ints:
    """The length, among all other replies, that is closest to each reply's own; of two, the shorter."""
    kinds, place, how_many = np.unique(lengths, return_inverse=True, return_counts=True)
    far = np.iinfo(np.int64).max // 4
    shorter = np.concatenate(([-far], kinds[:-1]))
    longer = np.concatenate((kinds[1:], [far]))
    nearest = np.where(kinds - shorter <= longer - kinds, shorter, longer)
    return np.where(how_many > 1, kinds, nearest)[place]
