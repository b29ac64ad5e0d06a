"""The words of a batch as integers, which are equal for equal words in all its texts."""

from collections import defaultdict
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain

import numpy as np

from dialoscope.core.arrays import Ints
from dialoscope.core.tally import Tokens, ranges
from dialoscope.text.batch import Batch
from dialoscope.text.tokenizer import Tokenizer

# The multiplier is odd, so that multiplying modulo 2**64, as int64 arrays do, is invertible.
_MULTIPLIER = np.int64(-0x61C8864680B583EB)


@dataclass(frozen=True, eq=False)
class TokenLists:
    """Texts that each reply has any number of."""

    tokens: Tokens
    owner: Ints
    """The index of the reply that each text belongs to, ascending."""


def replies_of(batch: Batch, tokenizer: Tokenizer) -> Tokens:
    """Return the words of the replies."""
    texts = [example.response for example in batch]
    return batch.once(("replies", tokenizer), _number_texts, texts, batch, tokenizer)


def references_of(batch: Batch, tokenizer: Tokenizer) -> TokenLists:
    """Return the words of the references."""
    return batch.once(("references", tokenizer), _number_field, batch, tokenizer, "references")


def contexts_of(batch: Batch, tokenizer: Tokenizer) -> TokenLists:
    """Return the words of the turns before each reply."""
    return batch.once(("contexts", tokenizer), _number_field, batch, tokenizer, "context")


def vocabulary_of(batch: Batch, tokenizer: Tokenizer) -> dict[str, int]:
    """Return the number of each word seen so far in this batch."""

    def empty() -> dict[str, int]:
        numbers: defaultdict[str, int] = defaultdict()
        numbers.default_factory = numbers.__len__
        return numbers

    return batch.once(("vocabulary", tokenizer), empty)


def reply_words(batch: Batch, tokenizer: Tokenizer) -> Tokens:
    """Return the hashes of the words of each reply."""
    return batch.once(("reply words", tokenizer), hash_words, batch, tokenizer, replies_of(batch, tokenizer))


def hash_words(batch: Batch, tokenizer: Tokenizer, tokens: Tokens) -> Tokens:
    """Return the words as hashes that are the same in every batch and on every machine.

    They have 64 bits: among ten million different words, two have the same hash with a probability of 3 in
    a million.
    """
    words = vocabulary_of(batch, tokenizer)
    numbers = batch.once(("hashes", tokenizer, len(words)), lambda: hash_texts(list(words)))
    return Tokens(numbers[tokens.ids], tokens.lengths)


def hash_ngrams(words: Tokens, n: int) -> Tokens:
    """Return the hashes of the n-grams of hashed words."""
    if n == 1:
        return words
    positions, counts = ngram_positions(words, n)
    codes = words.ids[positions]
    for step in range(1, n):
        codes = codes * _MULTIPLIER + words.ids[positions + step]
    return Tokens(codes, counts)


def ngram_positions(tokens: Tokens, n: int) -> tuple[Ints, Ints]:
    """Return the position at which each n-gram begins, and the number of n-grams in each text."""
    counts = np.maximum(tokens.lengths - (n - 1), 0)
    return ranges(tokens.starts[:-1], counts), counts


def _number_field(batch: Batch, tokenizer: Tokenizer, field: str) -> TokenLists:
    lists: list[tuple[str, ...]] = [getattr(example, field) for example in batch]
    owner = np.repeat(np.arange(len(lists)), np.fromiter(map(len, lists), np.int64, len(lists)))
    return TokenLists(_number_texts(list(chain.from_iterable(lists)), batch, tokenizer), owner)


def _number_texts(texts: list[str], batch: Batch, tokenizer: Tokenizer) -> Tokens:
    words = tokenizer(texts)
    lengths = np.fromiter(map(len, words), np.int64, len(words))
    number = vocabulary_of(batch, tokenizer).__getitem__
    ids = np.fromiter(map(number, chain.from_iterable(words)), np.int64, int(lengths.sum()))
    return Tokens(ids, lengths)


def hash_texts(texts: list[str]) -> Ints:
    """Return a hash of each text, which is the same on every machine."""
    digests = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts]
    return np.frombuffer(b"".join(digests), "<i8").astype(np.int64)
