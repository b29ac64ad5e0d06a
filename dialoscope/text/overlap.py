"""The n-grams and subsequences that each reply shares with each of its references."""

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
from dialoscope.text.tokens import TokenLists, ngram_positions, references_of, replies_of, vocabulary_of

_LARGEST = 2**62
_TABLE = 2**23
"""Maximum number of cells in the tables that say which words a text has."""
_FREE_CELLS = 2**18
"""Number of padding cells that cost less than another batch."""


@dataclass(frozen=True, eq=False)
class Overlap:
    """The pairs (reply, reference) of a batch: one row for each reference."""

    replies: Tokens
    """The reply of each pair; a reply with three references occurs three times."""
    references: Tokens
    owner: Ints
    """The index of the reply that each pair belongs to, ascending."""
    words: int
    """The number of different words."""

    def matches(self, order: int) -> Ints:
        """Return the number of n-grams that each reply shares with each reference, with minimum counts."""
        shared = self._shared_ngrams(order)
        return _group_sums(shared.pair, shared.count, len(self.owner))

    def count_clipped(self, order: int, replies: int) -> Ints:
        """Return the clipped counts: n-grams count at most as often as in one of the references."""
        shared = self._shared_ngrams(order)
        reply = self.owner[shared.pair]
        if len(np.unique(self.owner)) == len(self.owner):
            return _group_sums(reply, shared.count, replies)
        # One n-gram may match several references: the one with the highest count is used.
        by_gram = np.lexsort((-shared.count, shared.gram, reply))
        reply, gram, count = reply[by_gram], shared.gram[by_gram], shared.count[by_gram]
        best = begins_run(reply, gram)
        return _group_sums(reply[best], count[best], replies)

    def take(self, pairs: Ints) -> "Overlap":
        """Return the overlap of these pairs only."""
        return Overlap(self.replies.take(pairs), self.references.take(pairs), self.owner[pairs], self.words)

    @cached_property
    def subsequence(self) -> Ints:
        """The length of the longest common subsequence of words of each pair."""
        lengths = process.cpdist(
            _as_strings(self.replies), _as_strings(self.references), scorer=LCSseq.similarity, dtype=np.int32
        )
        return lengths.astype(np.int64)

    def weighted_subsequence(self, weight: float) -> Floats:
        """Return Lin's weighted longest common subsequence: a run of k words has the value k**weight."""
        values = np.zeros(len(self.owner))
        pairs = np.flatnonzero(self.subsequence)
        if not len(pairs):
            return values
        replies, references = self._condense(pairs)
        for chunk in _chunks_of_like_size(replies.lengths, references.lengths):
            values[pairs[chunk]] = _weighted_lcs(replies.take(chunk), references.take(chunk), weight)
        return values

    def _condense(self, pairs: Ints) -> tuple[Tokens, Tokens]:
        """Return both texts of these pairs with one filler for every run of words that the other lacks.

        A word without a match copies the best cell so far; a second one adds nothing. This saves much time,
        since a reply shares few words with its reference.
        """
        step = max(1, _TABLE // self.words)
        parts = [pairs[first : first + step] for first in range(0, len(pairs), step)]
        texts = [(self.replies.take(part), self.references.take(part)) for part in parts]
        return (
            Tokens.joined(
                [_replace_unshared(reply, reference, self.words, -1) for reply, reference in texts]
            ),
            Tokens.joined(
                [_replace_unshared(reference, reply, self.words, -2) for reply, reference in texts]
            ),
        )

    def weighted_hits(self, weight: float) -> Floats:
        """Return the variant of ROUGE-1.5.5: the value of the runs of matched words in the reference.

        Unlike in the weighted subsequence, adjacent words of the reference are one run even if they are not
        adjacent in the reply.
        """
        texts = zip(_as_lists(self.references), _as_lists(self.replies), strict=True)
        return np.array(
            [_runs_value(_matched_positions(reference, reply, weight), weight) for reference, reply in texts]
        )

    @cached_property
    def _codes(self) -> "dict[int, _Ngrams]":
        return {1: _Ngrams(self.replies.ids, self.references.ids, self.words)}

    def _ngrams(self, order: int) -> "_Ngrams":
        """Return the code of the n-gram at each word; those that cross the end of a text are never read."""
        if order not in self._codes:
            shorter = self._ngrams(order - 1)
            if shorter.size * self.words >= _LARGEST // (2 * len(self.owner) + 2):
                shorter = shorter.renumber()
            self._codes[order] = shorter.lengthen(self._codes[1], order - 1)
        return self._codes[order]

    def _shared_ngrams(self, order: int) -> "_SharedNgrams":
        grams = self._ngrams(order)
        pairs = len(self.owner)
        if grams.size >= _LARGEST // (2 * pairs + 2):
            grams = grams.renumber()
        keys = np.concatenate(
            [
                _keys(self.replies, grams.replies, order, grams.size),
                _keys(self.references, grams.references, order, grams.size) + 1,
            ]
        )
        keys.sort()
        # Equal keys are adjacent, and a reply's n-gram (even) is followed by that of the reference (odd).
        first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if len(keys) else keys
        kind, count = keys[first], np.diff(np.append(first, len(keys)))
        both = np.flatnonzero((kind[1:] == kind[:-1] + 1) & (kind[1:] & 1 == 1))
        pair, gram = np.divmod(kind[both] >> 1, grams.size)
        return _SharedNgrams(pair, gram, np.minimum(count[both], count[both + 1]))


@dataclass(frozen=True, eq=False)
class _SharedNgrams:
    """N-grams that the reply and the reference of a pair share, with their counts."""

    pair: Ints
    gram: Ints
    count: Ints


@dataclass(frozen=True, eq=False)
class _Ngrams:
    """The codes of the n-grams that begin at each word, all below `size`."""

    replies: Ints
    references: Ints
    size: int

    def lengthen(self, words: "_Ngrams", step: int) -> "_Ngrams":
        """Return the n-grams that are one word longer."""
        return _Ngrams(
            _append(self.replies, words.replies, step, words.size),
            _append(self.references, words.references, step, words.size),
            self.size * words.size,
        )

    def renumber(self) -> "_Ngrams":
        """Return the same n-grams with codes that are as small as possible."""
        kinds, numbers = np.unique(np.concatenate([self.replies, self.references]), return_inverse=True)
        return _Ngrams(numbers[: len(self.replies)], numbers[len(self.replies) :], len(kinds))


def overlap(batch: Batch, tokenizer: Tokenizer) -> Overlap:
    """Return the pairs of every reply of the batch and each of its references."""
    replies = replies_of(batch, tokenizer)
    references = references_of(batch, tokenizer)
    return batch.once(("overlap", tokenizer), _pair, replies, references, batch, tokenizer)


def _pair(replies: Tokens, references: TokenLists, batch: Batch, tokenizer: Tokenizer) -> Overlap:
    words = max(1, len(vocabulary_of(batch, tokenizer)))
    return Overlap(replies.take(references.owner), references.tokens, references.owner, words)


def _append(grams: Ints, words: Ints, step: int, size: int) -> Ints:
    longer = grams * size
    longer[: len(words) - step] += words[step:] if step < len(words) else 0
    return longer


def _keys(tokens: Tokens, codes: Ints, order: int, size: int) -> Ints:
    """Return an even key for each n-gram of each text, made of the pair and the code of the n-gram."""
    positions, counts = ngram_positions(tokens, order)
    pair = np.repeat(np.arange(len(tokens)), counts)
    return (pair * size + codes[positions]) * 2


def _group_sums(group: Ints, count: Ints, groups: int) -> Ints:
    return np.bincount(group, weights=count, minlength=groups).astype(np.int64)


def _as_strings(tokens: Tokens) -> Sequence[Sequence[Hashable]]:
    """Return each text as a string with one character for each word, which rapidfuzz compares fastest."""
    if tokens.ids.max(initial=0) > sys.maxunicode:  # more words than there are characters
        return _as_lists(tokens)
    text = tokens.ids.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
    return [text[start:end] for start, end in pairwise(tokens.starts.tolist())]


def _chunks_of_like_size(rows: Ints, columns: Ints) -> Iterator[Ints]:
    """Yield pairs that are processed together: few padding cells, and at most 512 pairs."""
    by_size = np.argsort(rows * columns, kind="stable")
    first = 0
    while first < len(by_size):
        pairs = by_size[first : first + 512]
        padded = np.maximum.accumulate(rows[pairs]) * np.maximum.accumulate(columns[pairs])
        padded *= np.arange(1, len(pairs) + 1)
        used = np.cumsum(rows[pairs] * columns[pairs])
        fits = (
            int(np.argmax(padded > 8 * used + _FREE_CELLS))
            if (padded > 8 * used + _FREE_CELLS).any()
            else len(pairs)
        )
        yield pairs[: max(1, fits)]
        first += max(1, fits)


def _weighted_lcs(replies: Tokens, references: Tokens, weight: float) -> Floats:
    """Run the dynamic programme of Lin (2004), table 1, for many pairs, one anti-diagonal at a time.

    All cells of an anti-diagonal depend on the two before it only, so they are computed together.
    Cell (i, j) of pair p is in row i, column p of its diagonal's array; the arrays of three diagonals are
    reused in turn.
    """
    left, right = _pad(replies, -1), _pad(references, -2)[::-1]  # (words, pairs)
    rows, columns, pairs = len(left), len(right), len(replies)
    gain = np.diff(np.arange(min(rows, columns) + 2, dtype=float) ** weight)
    before, last, current = (_Diagonal.zeros(rows + 1, pairs) for _ in range(3))
    ends = replies.lengths + references.lengths
    result = np.zeros(pairs)
    for diagonal in range(2, rows + columns + 1):
        low, high = max(1, diagonal - columns), min(rows, diagonal - 1)
        cells, above = slice(low, high + 1), slice(low - 1, high)
        is_equal = left[above] == right[columns - diagonal + low : columns - diagonal + high + 1]
        # Only equal words read the cell before, and those are few.
        matches = np.nonzero(is_equal)
        run = before.run[above][matches]
        np.maximum(last.value[above], last.value[cells], out=current.value[cells])
        current.value[cells][matches] = before.value[above][matches] + gain[run]
        current.run[cells] = 0
        current.run[cells][matches] = run + 1
        ended = np.flatnonzero(ends == diagonal)
        result[ended] = current.value[replies.lengths[ended], ended]
        before, last, current = last, current, before
    return result


class _Diagonal(NamedTuple):
    """The best value so far in each cell, and the length of the run of words that ends there."""

    value: Floats  # (rows, pairs)
    run: NDArray[np.int32]

    @classmethod
    def zeros(cls, rows: int, pairs: int) -> "_Diagonal":
        return cls(np.zeros((rows, pairs)), np.zeros((rows, pairs), np.int32))


def _matched_positions(reference: list[int], reply: list[int], weight: float) -> list[int]:
    """Return the positions in the reference on the path back through Lin's table, last first."""
    steps_up = _steps_up(reference, reply, weight)
    row, column, positions = len(reference), len(reply), []
    while row and column:
        if reference[row - 1] == reply[column - 1]:
            row, column = row - 1, column - 1
            positions.append(row)
        elif steps_up[row][column]:
            row -= 1
        else:
            column -= 1
    return positions


def _steps_up(reference: list[int], reply: list[int], weight: float) -> list[bytearray]:
    """Return for each cell of Lin's table whether the value above is at least the one to the left."""
    above, runs_above = [0.0] * (len(reply) + 1), [0] * (len(reply) + 1)
    steps_up = [bytearray(len(reply) + 1)]
    for word in reference:
        values, runs, ups = [0.0], [0], bytearray(len(reply) + 1)
        for column, other in enumerate(reply, 1):
            ups[column] = above[column] >= values[column - 1]
            run = 0
            if word == other:
                run = runs_above[column - 1] + 1
                values.append(above[column - 1] + run**weight - (run - 1) ** weight)
            else:
                values.append(above[column] if ups[column] else values[column - 1])
            runs.append(run)
        steps_up.append(ups)
        above, runs_above = values, runs
    return steps_up


def _runs_value(positions: list[int], weight: float) -> float:
    """Return the value of the runs of adjacent positions, which are given last first."""
    last = len(positions) - 1
    ends = [-1, *(i for i in range(last) if positions[i] != positions[i + 1] + 1), last]
    return math.fsum((end - start) ** weight for start, end in pairwise(ends) if end > start)


def _as_lists(tokens: Tokens) -> list[list[int]]:
    words, starts = tokens.ids.tolist(), tokens.starts.tolist()
    return [words[start:end] for start, end in pairwise(starts)]


def _replace_unshared(texts: Tokens, others: Tokens, words: int, filler: int) -> Tokens:
    """Return each text with the words that the other lacks replaced by fillers, no two of them adjacent."""
    pair, other = texts.owner, others.owner
    in_other = np.zeros(len(texts) * words, bool)
    in_other[other * words + others.ids] = True
    is_shared = in_other[pair * words + texts.ids]
    keep = is_shared.copy()
    keep[0:1] = True
    keep[1:] |= is_shared[:-1] | (pair[1:] != pair[:-1])
    return Tokens(np.where(is_shared, texts.ids, filler)[keep], np.bincount(pair[keep], minlength=len(texts)))


def _pad(tokens: Tokens, filler: int) -> Ints:
    """Return the texts as columns of one array, padded below with a number that no word has."""
    table = np.full((int(tokens.lengths.max()), len(tokens)), filler)
    table[
        ranges(np.zeros(len(tokens), np.int64), tokens.lengths),
        np.repeat(np.arange(len(tokens)), tokens.lengths),
    ] = tokens.ids
    return table
