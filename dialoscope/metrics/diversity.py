"""Diversity of replies to variants of one query (Pang et al., 2020)."""

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.errors import MetricError
from dialoscope.core.tally import Tokens, ranges
from dialoscope.metrics.shared.base import AdditiveMetric, Amount, Bounds, Notes, ratio
from dialoscope.metrics.shared.ngrams import check_n, counts_in_each
from dialoscope.text.batch import Batch
from dialoscope.text.tokenizer import Tokenizer
from dialoscope.text.tokens import hash_ngrams, hash_texts, reply_words

FEWEST = 2
"""The minimum number of replies of a group that has a value."""

# Odd, so that multiplying by it (modulo 2**64) loses nothing.
_SPREAD = np.int64(-0x3C6EF372FE94F82B)


@dataclass(frozen=True)
class Diversity(AdditiveMetric[Tokens]):
    """The entropy of the n-grams in a system's replies to variants of one query, mean over queries."""

    name = "diversity"
    version = 1
    paper = "https://aclanthology.org/2020.acl-main.333"
    needs = frozenset({"group"})
    higher_is_better = True
    tally = Tokens
    main_setting = "n"
    variants = MappingProxyType(
        {"pang-code": MappingProxyType({"tokenizer": "spaces", "log": "e", "short": "whole"})}
    )

    n: int = 2
    tokenizer: str = "words"
    log: Literal["2", "e"] = "2"
    """The base of the logarithm: bits, or nats."""
    short: Literal["none", "whole"] = "none"
    """The n-grams of a reply shorter than n words: none, or one, the reply as a whole."""
    seed: int = 0
    """The seed of the baseline, which samples replies to unrelated queries."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_n(self)
        if self.seed < 0:
            raise MetricError(f"diversity: seed must be 0 or above, not {self.seed}.")

    @property
    def bounds(self) -> Bounds:
        """From 0 without limit; at most the logarithm of the number of n-grams in a group."""
        return Bounds(0, math.inf)

    @property
    def statistics(self) -> Hashable:
        """The key of the words of each reply, preceded by a number for its group."""
        return "grouped words", self.tokenizer

    def measure(self, batch: Batch) -> Tokens:
        """The words of each reply after its group's number; none for a reply that is in no group."""
        words = reply_words(batch, Tokenizer(self.tokenizer))
        rows = np.array([row for row, example in enumerate(batch) if example.group], np.int64)
        # Of this system: replies of others to the same variants are another group.
        keys = hash_texts(
            [f"{len(example.system)}:{example.system}{example.group}" for example in batch if example.group]
        )
        grouped = words.take(rows)
        lengths = np.zeros(len(batch), np.int64)
        lengths[rows] = grouped.lengths + 1
        return Tokens(np.insert(grouped.ids, grouped.starts[:-1], keys), lengths)

    def score_each(self, tally: Tokens) -> Floats:
        """The value of the group that the reply is in."""
        groups = _Groups.of(tally)
        values = np.full(len(tally), math.nan)
        values[groups.rows] = self._of_groups(groups)[groups.number]
        return values

    def defined(self, tally: Tokens) -> NDArray[np.bool_]:
        """Whether a reply is in a group of at least two replies, one of which is long enough."""
        return ~np.isnan(self.score_each(tally))

    @property
    def depends_on(self) -> Amount | None:
        """The number of replies: a larger group has more n-grams to vary."""
        return "replies"

    def amount(self, tally: Tokens) -> int:
        """The number of replies that are in groups."""
        return int(np.count_nonzero(tally.lengths))

    def rows(self, tally: Tokens) -> Floats:
        """The value of each group and a 1, once for the group: with the first of its replies."""
        groups = _Groups.of(tally)
        values = self._of_groups(groups)
        first = groups.rows[groups.first()]
        rows = np.zeros((len(tally), 2))
        rows[first] = np.stack([np.nan_to_num(values), ~np.isnan(values)], axis=1)
        return rows

    def finish(self, sums: Floats) -> Floats:
        """The mean over groups; undefined when there are none."""
        return ratio(sums[:, 0], sums[:, 1])

    def notes(self, tally: Tokens) -> Notes:
        """The parts of the entropy of all n-grams, and a warning where groups are of several sizes."""
        return Notes(self._numbers(tally), self._warning(tally))

    def _numbers(self, tally: Tokens) -> Mapping[str, float]:
        """The number of groups, the entropy in groups of unrelated replies, and the parts of that of all.

        A system's replies vary within groups, and between them: the entropy of all its n-grams is the mean
        of those within groups (weighted by n-grams) and the information that the group has on the n-gram.
        """
        groups = _Groups.of(tally)
        groups = groups.some(~np.isnan(self._of_groups(groups)))
        if not groups.count:
            return {"n": 0.0}
        grams = self._grams(groups.words)
        sizes = np.bincount(groups.number, weights=grams.lengths)
        within = math.fsum(sizes / sizes.sum() * self._entropies(grams, groups.number))
        every = float(self._entropies(grams, np.zeros_like(groups.number))[0])
        return {
            "n": float(groups.count),
            "unrelated": self._score_unrelated(groups, grams),
            "within": within,
            "between": max(0.0, every - within),
        }

    def _warning(self, tally: Tokens) -> str:
        """A warning where groups differ in size, as more replies have more n-grams to vary."""
        groups = _Groups.of(tally)
        sizes = groups.sizes()[~np.isnan(self._of_groups(groups))]
        if not len(sizes) or min(sizes) == max(sizes):
            return ""
        return (
            f"{self} is a mean over groups of {min(sizes)} to {max(sizes)} replies, and more replies have "
            "more to vary: compare systems on the same groups, or make groups of one size (augment --full)."
        )

    def _score_unrelated(self, groups: "_Groups", grams: Tokens) -> float:
        """The mean over as many groups of the same sizes, each reply of which answers another query."""
        unrelated = groups.exchange(self.seed)
        if unrelated is None:
            return math.nan
        values = self._entropies(grams.take(unrelated.rows), unrelated.number)
        defined = values[~np.isnan(values)]
        return math.fsum(defined) / len(defined) if len(defined) else math.nan

    def _of_groups(self, groups: "_Groups") -> Floats:
        values = self._entropies(self._grams(groups.words), groups.number)
        return np.where(groups.sizes() >= FEWEST, values, math.nan)

    def _entropies(self, grams: Tokens, group: Ints) -> Floats:
        """The entropy of the n-grams in each group of texts; undefined where there are none."""
        together = grams.take(np.argsort(group, kind="stable"))
        sizes = np.bincount(group, weights=grams.lengths).astype(np.int64)
        owner, times = counts_in_each(Tokens(together.ids, sizes))
        order = np.lexsort((times, owner))  # so that neither the order of replies nor that of hashes shows
        owner, times = owner[order], times[order]
        log: Callable[[Floats], Floats] = np.log2 if self.log == "2" else np.log
        weighted = np.bincount(owner, weights=times * log(times.astype(float)), minlength=len(sizes))
        # Rounding may leave a hair below zero where all n-grams are the same.
        entropy = np.maximum(log(np.maximum(sizes, 1).astype(float)) - ratio(weighted, sizes), 0.0)
        return np.where(sizes > 0, entropy, math.nan)

    def _grams(self, words: Tokens) -> Tokens:
        grams = hash_ngrams(words, self.n)
        return grams if self.short == "none" else _with_short_ones(words, grams, self.n)


@dataclass(frozen=True, eq=False)
class _Groups:
    """Replies that are in groups."""

    rows: Ints
    """The index of each among all replies."""
    number: Ints
    """The group of each, numbered from 0 in the order of keys."""
    words: Tokens

    @classmethod
    def of(cls, tally: Tokens) -> "_Groups":
        rows = np.flatnonzero(tally.lengths)
        starts, lengths = tally.starts[:-1][rows], tally.lengths[rows] - 1
        number = np.unique(tally.ids[starts], return_inverse=True)[1].astype(np.int64)
        return cls(rows, number, Tokens(tally.ids[ranges(starts + 1, lengths)], lengths))

    @property
    def count(self) -> int:
        return len(self.sizes())

    def sizes(self) -> Ints:
        """The number of replies of each group."""
        return np.bincount(self.number)

    def first(self) -> Ints:
        """The index of the first reply of each group."""
        return np.unique(self.number, return_index=True)[1]

    def some(self, wanted: NDArray[np.bool_]) -> "_Groups":
        """The selected groups."""
        chosen = np.flatnonzero(wanted[self.number])
        number = np.unique(self.number[chosen], return_inverse=True)[1].astype(np.int64)
        return _Groups(self.rows[chosen], number, self.words.take(chosen))

    def exchange(self, seed: int) -> "_Regrouping | None":
        """Groups of the same sizes, whose replies are all from different groups; None if there are too few.

        With the groups in a random circle, a new one takes a reply from each of those that follow.
        """
        sizes, count = self.sizes(), self.count
        if count < max(sizes):
            return None
        circle = np.random.default_rng(seed).permutation(count)
        new = np.repeat(np.arange(count), sizes[circle])
        step = ranges(np.zeros(count, np.int64), sizes[circle])
        source = circle[(new + step) % count]
        # By what they say, so that the order of the replies does not show.
        order = np.lexsort((_contents(self.words), self.number))
        starts = np.cumsum(sizes) - sizes
        return _Regrouping(order[starts[source] + step % sizes[source]], new)


class _Regrouping(NamedTuple):
    """Replies put into other groups than their own."""

    rows: Ints
    number: Ints


def _contents(words: Tokens) -> Ints:
    """Return a number for the content of each text."""
    numbers = np.zeros(len(words), np.int64)
    position = ranges(np.zeros_like(words.lengths), words.lengths)
    np.add.at(numbers, words.owner, words.ids * (2 * position + 1))
    return numbers


def _with_short_ones(words: Tokens, grams: Tokens, n: int) -> Tokens:
    """Return the n-grams, with one n-gram of all words for each text shorter than n words."""
    short = np.flatnonzero(words.lengths < n)
    codes = np.full(len(short), _SPREAD, np.int64)
    for step in range(n - 1):
        has = np.flatnonzero(words.lengths[short] > step)
        codes[has] = codes[has] * _SPREAD + words.ids[words.starts[short[has]] + step]
    lengths = grams.lengths.copy()
    lengths[short] = 1
    return Tokens(np.insert(grams.ids, grams.starts[short], codes), lengths)
