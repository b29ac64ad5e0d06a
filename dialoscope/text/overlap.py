"""What each reply has in common with each of its references: n-grams and subsequences."""

import math
import sys
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import LCSseq

from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.tally import Tokens, begins_run, ranges
from dialoscope.text.batch import Batch
from dialoscope.text.tokenizer import Tokenizer
from dialoscope.text.tokens import gram_places, references_of, replies_of, vocabulary_of

_LARGEST = 2**62
_TABLE = 2**23
"""Places in the tables that say which words a text has."""
_FREE_CELLS = 2**18
"""Padding that costs less than another round would."""


@dataclass(frozen=True, eq=False)
class Overlap:
    """The pairs (reply, reference) of a batch: one row for each reference."""

    replies: Tokens
    """The reply of each pair; a reply with three references stands here three times."""
    references: Tokens
    owner: Ints
    """The reply each pair belongs to, ascending."""
    words: int
    """How many different words there are."""

    def matches(self, order: int) -> Ints:
        """How many n-grams each reply shares with each reference, repeated ones as often as in both."""
        found = self._found(order)
        return _sums(found.pair, found.count, len(self.owner))

    def clipped(self, order: int, replies: int) -> Ints:
        """How many n-grams of each reply stand in some reference, at most as often as in one of them."""
        found = self._found(order)
        reply = self.owner[found.pair]
        if len(np.unique(self.owner)) == len(self.owner):
            return _sums(reply, found.count, replies)
        # One n-gram may match several references: the best of them counts.
        by_gram = np.lexsort((-found.count, found.gram, reply))
        reply, gram, count = reply[by_gram], found.gram[by_gram], found.count[by_gram]
        best = begins_run(reply, gram)
        return _sums(reply[best], count[best], replies)

    def take(self, pairs: Ints) -> "Overlap":
        """The overlap of these pairs only."""
        return Overlap(self.replies.take(pairs), self.references.take(pairs), self.owner[pairs], self.words)

    @cached_property
    def subsequence(self) -> Ints:
        """The length of the longest common subsequence of words of each pair."""
        lengths = process.cpdist(
            _as_strings(self.replies), _as_strings(self.references), scorer=LCSseq.similarity, dtype=np.int32
        )
        return lengths.astype(np.int64)

    def weighted_subsequence(self, weight: float) -> Floats:
        """Lin's weighted longest common subsequence: a run of k words is worth k**weight."""
        worth = np.zeros(len(self.owner))
        some = np.flatnonzero(self.subsequence)
        if not len(some):
            return worth
        replies, references = self._condensed(some)
        for chunk in _chunks_of_like_size(replies.lengths, references.lengths):
            worth[some[chunk]] = _weighted(replies.take(chunk), references.take(chunk), weight)
        return worth

    def _condensed(self, pairs: Ints) -> tuple[Tokens, Tokens]:
        """Both texts of these pairs with every stretch of words that the other lacks cut down to one filler.

        A word that matches nothing passes on the best cell so far; a second one has nothing to add. Much is
        gained, for a reply shares few words with its reference.
        """
        step = max(1, _TABLE // self.words)
        parts = [pairs[first : first + step] for first in range(0, len(pairs), step)]
        texts = [(self.replies.take(part), self.references.take(part)) for part in parts]
        return (
            Tokens.joined([_cut(reply, reference, self.words, -1) for reply, reference in texts]),
            Tokens.joined([_cut(reference, reply, self.words, -2) for reply, reference in texts]),
        )

    def weighted_hits(self, weight: float) -> Floats:
        """What ROUGE-1.5.5 takes for it: the worth of the runs of words that are matched in the reference.

        Unlike the weighted subsequence, words that follow each other in the reference are one run even
        when they are apart in the reply.
        """
        texts = zip(_as_lists(self.references), _as_lists(self.replies), strict=True)
        return np.array(
            [_runs_worth(_matched(reference, reply, weight), weight) for reference, reply in texts]
        )

    @cached_property
    def _codes(self) -> "dict[int, _Grams]":
        return {1: _Grams(self.replies.ids, self.references.ids, self.words)}

    def _grams(self, order: int) -> "_Grams":
        """A number for the n-gram that begins at each word; those that leave their text are never read."""
        if order not in self._codes:
            shorter = self._grams(order - 1)
            if shorter.size * self.words >= _LARGEST // (2 * len(self.owner) + 2):
                shorter = shorter.renumbered()
            self._codes[order] = shorter.lengthened(self._codes[1], order - 1)
        return self._codes[order]

    def _found(self, order: int) -> "_Found":
        grams = self._grams(order)
        pairs = len(self.owner)
        if grams.size >= _LARGEST // (2 * pairs + 2):
            grams = grams.renumbered()
        keys = np.concatenate(
            [
                _keys(self.replies, grams.replies, order, grams.size),
                _keys(self.references, grams.references, order, grams.size) + 1,
            ]
        )
        keys.sort()
        # Equal keys stand together, and right behind a reply's n-gram (even) the same of the reference (odd).
        first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if len(keys) else keys
        kind, count = keys[first], np.diff(np.append(first, len(keys)))
        both = np.flatnonzero((kind[1:] == kind[:-1] + 1) & (kind[1:] & 1 == 1))
        pair, gram = np.divmod(kind[both] >> 1, grams.size)
        return _Found(pair, gram, np.minimum(count[both], count[both + 1]))


@dataclass(frozen=True, eq=False)
class _Found:
    """N-grams that a reply and a reference share."""

    pair: Ints
    gram: Ints
    count: Ints


@dataclass(frozen=True, eq=False)
class _Grams:
    """The numbers of the n-grams that begin at each word, all below `size`."""

    replies: Ints
    references: Ints
    size: int

    def lengthened(self, words: "_Grams", step: int) -> "_Grams":
        """The n-grams that are one word longer."""
        return _Grams(
            _append(self.replies, words.replies, step, words.size),
            _append(self.references, words.references, step, words.size),
            self.size * words.size,
        )

    def renumbered(self) -> "_Grams":
        """The same n-grams with small numbers."""
        kinds, numbers = np.unique(np.concatenate([self.replies, self.references]), return_inverse=True)
        return _Grams(numbers[: len(self.replies)], numbers[len(self.replies) :], len(kinds))


def overlap(batch: Batch, tokenizer: Tokenizer) -> Overlap:
    """Every reply of the batch with each of its references."""

    def make() -> Overlap:
        replies = replies_of(batch, tokenizer)
        references = references_of(batch, tokenizer)
        words = max(1, len(vocabulary_of(batch, tokenizer)))
        return Overlap(replies.take(references.owner), references.tokens, references.owner, words)

    return batch.once(("overlap", tokenizer), make)


def _append(grams: Ints, words: Ints, step: int, size: int) -> Ints:
    longer = grams * size
    longer[: len(words) - step] += words[step:] if step < len(words) else 0
    return longer


def _keys(tokens: Tokens, codes: Ints, order: int, size: int) -> Ints:
    """An even number for each n-gram of each text: which pair, which n-gram."""
    places, counts = gram_places(tokens, order)
    pair = np.repeat(np.arange(len(tokens)), counts)
    return (pair * size + codes[places]) * 2


def _sums(group: Ints, count: Ints, groups: int) -> Ints:
    return np.bincount(group, weights=count, minlength=groups).astype(np.int64)


def _as_strings(tokens: Tokens) -> Sequence[Sequence[Hashable]]:
    """Each text as a string with one character for each word, which is what rapidfuzz compares fastest."""
    if tokens.ids.max(initial=0) > sys.maxunicode:  # more words than there are characters
        return _as_lists(tokens)
    text = tokens.ids.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
    return [text[start:end] for start, end in pairwise(tokens.starts.tolist())]


def _chunks_of_like_size(rows: Ints, columns: Ints) -> Iterator[Ints]:
    """Pairs to be worked on together: not many more cells are padded than used, and not too many at once."""
    by_size = np.argsort(rows * columns, kind="stable")
    first = 0
    while first < len(by_size):
        some = by_size[first : first + 512]
        padded = np.maximum.accumulate(rows[some]) * np.maximum.accumulate(columns[some])
        padded *= np.arange(1, len(some) + 1)
        used = np.cumsum(rows[some] * columns[some])
        fits = (
            int(np.argmax(padded > 8 * used + _FREE_CELLS))
            if (padded > 8 * used + _FREE_CELLS).any()
            else len(some)
        )
        yield some[: max(1, fits)]
        first += max(1, fits)


def _weighted(replies: Tokens, references: Tokens, weight: float) -> Floats:
    """The dynamic programme of Lin (2004), table 1, for many pairs at once, one anti-diagonal at a time.

    All cells of an anti-diagonal depend on the two before it only, so they are worked out together.
    Cell (i, j) of pair p stands at row i, column p of its diagonal's array; the arrays of three diagonals
    take turns.
    """
    left, right = _padded(replies, -1), _padded(references, -2)[::-1]  # (words, pairs)
    rows, columns, pairs = len(left), len(right), len(replies)
    gain = np.diff(np.arange(min(rows, columns) + 2, dtype=float) ** weight)
    before, last, now = (_Diagonal.of(rows + 1, pairs) for _ in range(3))
    ends = replies.lengths + references.lengths
    result = np.zeros(pairs)
    for diagonal in range(2, rows + columns + 1):
        low, high = max(1, diagonal - columns), min(rows, diagonal - 1)
        here, above = slice(low, high + 1), slice(low - 1, high)
        same = left[above] == right[columns - diagonal + low : columns - diagonal + high + 1]
        # Only words that are the same read the cell before, and those are few.
        at = np.nonzero(same)
        run = before.run[above][at]
        np.maximum(last.worth[above], last.worth[here], out=now.worth[here])
        now.worth[here][at] = before.worth[above][at] + gain[run]
        now.run[here] = 0
        now.run[here][at] = run + 1
        ended = np.flatnonzero(ends == diagonal)
        result[ended] = now.worth[replies.lengths[ended], ended]
        before, last, now = last, now, before
    return result


class _Diagonal(NamedTuple):
    """For each cell the best worth so far, and the length of the run of words that ends there."""

    worth: Floats  # (rows, pairs)
    run: NDArray[np.int32]

    @classmethod
    def of(cls, rows: int, pairs: int) -> "_Diagonal":
        return cls(np.zeros((rows, pairs)), np.zeros((rows, pairs), np.int32))


def _matched(reference: list[int], reply: list[int], weight: float) -> list[int]:
    """The places in the reference that lie on the way back through Lin's table, last first."""
    steps_up = _steps_up(reference, reply, weight)
    row, column, places = len(reference), len(reply), []
    while row and column:
        if reference[row - 1] == reply[column - 1]:
            row, column = row - 1, column - 1
            places.append(row)
        elif steps_up[row][column]:
            row -= 1
        else:
            column -= 1
    return places


def _steps_up(reference: list[int], reply: list[int], weight: float) -> list[bytearray]:
    """For each cell of Lin's table whether the cell above is worth at least as much as the one before."""
    above, runs_above = [0.0] * (len(reply) + 1), [0] * (len(reply) + 1)
    steps_up = [bytearray(len(reply) + 1)]
    for word in reference:
        worth, runs, ups = [0.0], [0], bytearray(len(reply) + 1)
        for column, other in enumerate(reply, 1):
            ups[column] = above[column] >= worth[column - 1]
            run = 0
            if word == other:
                run = runs_above[column - 1] + 1
                worth.append(above[column - 1] + run**weight - (run - 1) ** weight)
            else:
                worth.append(above[column] if ups[column] else worth[column - 1])
            runs.append(run)
        steps_up.append(ups)
        above, runs_above = worth, runs
    return steps_up


def _runs_worth(places: list[int], weight: float) -> float:
    """The places, last first, cut where they are not neighbours."""
    ends = [-1, *(i for i in range(len(places) - 1) if places[i] != places[i + 1] + 1), len(places) - 1]
    return math.fsum((end - start) ** weight for start, end in pairwise(ends) if end > start)


def _as_lists(tokens: Tokens) -> list[list[int]]:
    words, starts = tokens.ids.tolist(), tokens.starts.tolist()
    return [words[start:end] for start, end in pairwise(starts)]


def _cut(texts: Tokens, others: Tokens, words: int, filler: int) -> Tokens:
    """Each text with the words that its other lacks replaced by fillers, of which no two are neighbours."""
    pair, other = texts.owner, others.owner
    known = np.zeros(len(texts) * words, bool)
    known[other * words + others.ids] = True
    shared = known[pair * words + texts.ids]
    kept = shared.copy()
    kept[0:1] = True
    kept[1:] |= shared[:-1] | (pair[1:] != pair[:-1])
    return Tokens(np.where(shared, texts.ids, filler)[kept], np.bincount(pair[kept], minlength=len(texts)))


def _padded(tokens: Tokens, filler: int) -> Ints:
    """The texts as columns of one array, filled up below with a number that no word has."""
    table = np.full((int(tokens.lengths.max()), len(tokens)), filler)
    table[
        ranges(np.zeros(len(tokens), np.int64), tokens.lengths),
        np.repeat(np.arange(len(tokens)), tokens.lengths),
    ] = tokens.ids
    return table
