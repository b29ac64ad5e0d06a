"""The base class of metrics on static word vectors: texts as vectors, pairs of texts, the best reference."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.tally import Tokens, begins_run
from dialoscope.metrics.shared.base import Bounds, MeanMetric, ratio
from dialoscope.models.protocols import WordVectors
from dialoscope.models.vectors import StaticVectors
from dialoscope.text.batch import Batch
from dialoscope.text.tokenizer import Tokenizer
from dialoscope.text.tokens import references_of, replies_of, vocabulary_of

NLG_EVAL: Mapping[str, Any] = MappingProxyType(
    {"vectors": StaticVectors(case="as-is"), "tokenizer": "treebank", "unknown": "mean"}
)
"""The settings of nlg-eval."""
FBD: Mapping[str, Any] = MappingProxyType(
    {"vectors": StaticVectors(case="as-is"), "tokenizer": "split", "reference": "first"}
)
"""The settings of the authors of FBD."""

_CELLS = 2**20
"""The maximum number of elements of an array."""
_WORDS = 2**12
"""The number of words of a text that are folded at once, whatever the other texts are."""
_PAIRS = 2**15
"""The number of pairs of texts compared at once."""

MOST_COSINES = 10**9
"""The maximum number of different words of a reply times those of a reference."""


@dataclass(frozen=True)
class WordVectorMetric(MeanMetric):
    """A metric of a reply and a reference as vectors of their words; the best reference counts."""

    needs = frozenset({"references"})
    higher_is_better = True
    at_once = True

    vectors: WordVectors = StaticVectors()
    """The word vectors: an asset, a file, a folder."""
    tokenizer: str = "words"
    unknown: Literal["skip", "zero", "mean"] = "skip"
    """The vector of an unknown word: none, zeros, or the mean of all vectors."""
    reference: Literal["best", "first"] = "best"
    """The reference of several that counts: the best, or the first."""

    def __post_init__(self) -> None:
        super().__post_init__()
        Tokenizer(self.tokenizer)

    @property
    def bounds(self) -> Bounds:
        """The bounds of a cosine."""
        return Bounds(-1, 1)

    @abstractmethod
    def similarities(self, texts: "VectorTexts", replies: Ints, references: Ints) -> Floats:
        """The similarity of each reply and reference, given as indices of texts; NaN where undefined."""

    def grade(self, batch: Batch) -> Floats:
        """The best similarity; undefined if no reference can be compared with the reply."""
        texts, pairs = self._texts(batch), self._pairs(batch)
        parts = [
            self.similarities(
                texts, pairs.replies[start : start + _PAIRS], pairs.references[start : start + _PAIRS]
            )
            for start in range(0, len(pairs.replies), _PAIRS)
        ]
        values = np.concatenate([np.empty(0), *parts]).clip(-1, 1)  # rounding may pass the bounds
        best = np.full(len(batch), math.nan)
        np.fmax.at(best, pairs.owner, values[pairs.row])
        return best

    def _pairs(self, batch: Batch) -> "_Pairs":
        return _make_pairs(batch, only_first=self.reference == "first")

    def _texts(self, batch: Batch) -> "VectorTexts":
        key = ("vector texts", self.vectors, self.tokenizer, self.unknown == "mean")
        return batch.once(key, self._make_texts, batch)

    def _make_texts(self, batch: Batch) -> "VectorTexts":
        tokenizer = Tokenizer(self.tokenizer)
        tokens = Tokens.joined([replies_of(batch, tokenizer), references_of(batch, tokenizer).tokens])
        words = tokens.take(_number_texts(batch).first)
        vectors = batch.once(
            ("word vectors", self.vectors, tokenizer),
            lambda: self.vectors.vectors(list(vocabulary_of(batch, tokenizer))).astype(float),
        )
        unknown = np.isnan(vectors).any(axis=1)
        if self.unknown == "mean":
            return VectorTexts(np.where(unknown[:, None], self.vectors.mean, vectors), words, words.lengths)
        has_vector = ~unknown[words.ids]
        counts = np.bincount(words.owner[has_vector], minlength=len(words))
        return VectorTexts(vectors, Tokens(words.ids[has_vector], counts), words.lengths)


@dataclass(frozen=True, eq=False)
class VectorTexts:
    """The different texts of a batch as vectors of their words."""

    vectors: Floats  # (different words, dims)
    words: Tokens
    """The words of each text that have a vector."""
    lengths: Ints
    """The number of words of each text, including those without a vector."""

    @property
    def dims(self) -> int:
        """The length of each vector."""
        return int(self.vectors.shape[1])

    @cached_property
    def directions(self) -> Floats:
        """The vectors scaled to length 1; vectors of zeros stay as they are."""
        sizes = np.sqrt((self.vectors**2).sum(axis=1, keepdims=True))
        return self.vectors / np.where(sizes > 0, sizes, 1)

    def fold(self, texts: Ints, combine: np.ufunc) -> Floats:
        """Reduce the vectors of each text's words in each dimension; NaN for a text without words."""
        different, places = np.unique(texts, return_inverse=True)
        words = self.words.take(different)
        folded = np.full((len(different), self.dims), math.nan)
        for alike in _alike(words.lengths[:, None], self._most_texts):
            ids = _stack(words, alike)
            starts = range(0, ids.shape[1], _WORDS)
            parts = [combine.reduce(self.vectors[ids[:, at : at + _WORDS]], axis=1) for at in starts]
            folded[alike] = combine.reduce(parts, axis=0)
        return folded[places]

    def best_cosines(self, texts: Ints, others: Ints) -> Floats:
        """Return for each pair of texts the sums of the best cosines of the words of either text.

        They are NaN for texts of too many different words.
        """
        words, other_words = self.words.take(texts), self.words.take(others)
        sums = np.zeros((len(texts), 2))
        lengths = np.stack([words.lengths, other_words.lengths], axis=1)
        too_many = self.have_too_many_cosines(texts, others)
        sums[too_many], lengths[too_many] = math.nan, 0
        for alike in _alike(lengths, self._most_pairs):
            there, back = self._best_of_stacks(_stack(words, alike), _stack(other_words, alike))
            sums[alike] = np.stack([there.sum(axis=1), back.sum(axis=1)], axis=1)
        return sums

    def have_too_many_cosines(self, texts: Ints, others: Ints) -> NDArray[np.bool_]:
        """Return whether each pair of texts has too many different words to be compared."""
        lengths = self.words.lengths
        too_many = lengths[texts] * lengths[others] > MOST_COSINES
        for pair in np.flatnonzero(too_many):
            kinds = [len(np.unique(self.words.take(text).ids)) for text in (texts[[pair]], others[[pair]])]
            too_many[pair] = math.prod(kinds) > MOST_COSINES
        return too_many

    def _best_of_stacks(self, words: Ints, others: Ints) -> tuple[Floats, Floats]:
        """Return the best cosine of each word on either side; long texts compare equal words once."""
        if words.shape[1] * others.shape[1] <= _CELLS:
            return self._best_cosines(words, others)
        (kinds, of_word), (other_kinds, of_other) = (
            np.unique(ids[0], return_inverse=True) for ids in (words, others)
        )
        there, back = self._best_cosines(kinds[None], other_kinds[None])
        return there[:, of_word], back[:, of_other]

    def _best_cosines(self, words: Ints, others: Ints) -> tuple[Floats, Floats]:
        towards = self.directions[others].transpose(0, 2, 1)
        there, back = [], np.full(others.shape, -np.inf)
        step = self._most_words(others.shape[1])
        for start in range(0, words.shape[1], step):
            cosines = self.directions[words[:, start : start + step]] @ towards
            there.append(cosines.max(axis=2))
            back = np.maximum(back, cosines.max(axis=1))
        return np.concatenate(there, axis=1), back

    def _most_texts(self, words: int) -> int:
        return _CELLS // (min(words, _WORDS) * self.dims)

    def _most_words(self, others: int) -> int:
        return max(1, _CELLS // (others + self.dims))

    def _most_pairs(self, words: int, others: int) -> int:
        at_once = min(words, self._most_words(others))
        return _CELLS // (at_once * (others + self.dims) + others * self.dims)


def cosines(vectors: Floats, others: Floats) -> Floats:
    """Return the cosine of each pair of rows; undefined where a row is zeros."""
    sizes = (vectors**2).sum(axis=1) * (others**2).sum(
        axis=1
    )  # one root of both: a row beside itself has just 1
    return ratio((vectors * others).sum(axis=1), np.sqrt(sizes))


def _alike(lengths: Ints, most: Callable[..., int]) -> Iterator[Ints]:
    """Yield rows of the same lengths, none of which is 0, in chunks whose texts fit into one array."""
    order = np.lexsort(lengths.T)
    order = order[lengths[order].all(axis=1)]
    for alike in np.split(order, np.flatnonzero(begins_run(*lengths[order].T))[1:]):
        step = max(1, most(*lengths[alike[0]].tolist())) if len(alike) else 1
        yield from (alike[at : at + step] for at in range(0, len(alike), step))


def _stack(words: Tokens, texts: Ints) -> Ints:
    """Return the words of texts of the same length, a row for each text."""
    return words.take(texts).ids.reshape(len(texts), -1)


class _TextNumbers(NamedTuple):
    """The texts of a batch, replies and then references, with equal numbers for equal texts."""

    numbers: Ints
    first: Ints
    """The index of the first text with each number."""


def _number_texts(batch: Batch) -> _TextNumbers:
    """Number the texts of a batch, once for all metrics."""

    def make() -> _TextNumbers:
        number_of: dict[str, int] = {}
        references = chain.from_iterable(example.references for example in batch)
        texts = chain((example.response for example in batch), references)
        numbers = np.array([number_of.setdefault(text, len(number_of)) for text in texts], np.int64)
        return _TextNumbers(numbers, np.unique(numbers, return_index=True)[1])

    return batch.once("numbered texts", make)


class _Pairs(NamedTuple):
    """The replies and references that are compared, equal pairs once."""

    replies: Ints  # (different pairs,)
    references: Ints
    owner: Ints
    """The reply of each pair, equal pairs included."""
    row: Ints
    """The index of each pair among the different pairs."""


def _make_pairs(batch: Batch, *, only_first: bool) -> _Pairs:
    """Pair replies with all references, or with the first, once for all metrics."""

    def make() -> _Pairs:
        counts = np.array([len(example.references) for example in batch], np.int64)
        numbers, first = _number_texts(batch)
        owner = np.repeat(np.arange(len(batch)), counts)
        codes = numbers[owner] * len(first) + numbers[len(batch) :]
        if only_first:
            is_first = begins_run(owner)
            owner, codes = owner[is_first], codes[is_first]
        pairs, row = np.unique(codes, return_inverse=True)
        return _Pairs(*np.divmod(pairs, max(1, len(first))), owner, row)

    return batch.once(("text pairs", only_first), make)
