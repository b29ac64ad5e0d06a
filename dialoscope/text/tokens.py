"""The words of a batch as integers: equal words, equal numbers, whichever text they stand in."""

from collections import defaultdict
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain

import numpy as np

from dialoscope.core.arrays import Ints
from dialoscope.core.tally import Tokens, ranges
from dialoscope.text.batch import Batch
from dialoscope.text.tokenizer import Tokenizer

# Odd, so that multiplying by it (modulo 2**64, as int64 arrays do) loses nothing.
_SPREAD = np.int64(-0x61C8864680B583EB)


@dataclass(frozen=True, eq=False)
class Ragged:
    """Texts of which each reply has any number."""

    tokens: Tokens
    owner: Ints
    """The reply each text belongs to, ascending."""


def replies_of(batch: Batch, tokenizer: Tokenizer) -> Tokens:
    """What the systems said."""
    texts = [example.response for example in batch]
    return batch.once(("replies", tokenizer), lambda: _number(texts, batch, tokenizer))


def references_of(batch: Batch, tokenizer: Tokenizer) -> Ragged:
    """What people said in their place."""
    return batch.once(("references", tokenizer), lambda: _ragged(batch, tokenizer, "references"))


def contexts_of(batch: Batch, tokenizer: Tokenizer) -> Ragged:
    """The turns before each reply."""
    return batch.once(("contexts", tokenizer), lambda: _ragged(batch, tokenizer, "context"))


def vocabulary_of(batch: Batch, tokenizer: Tokenizer) -> dict[str, int]:
    """The numbers of the words met so far in this batch."""

    def empty() -> dict[str, int]:
        numbers: defaultdict[str, int] = defaultdict()
        numbers.default_factory = numbers.__len__
        return numbers

    return batch.once(("vocabulary", tokenizer), empty)


def reply_words(batch: Batch, tokenizer: Tokenizer) -> Tokens:
    """The words of each reply, hashed."""
    return batch.once(
        ("reply words", tokenizer), lambda: hashed_words(batch, tokenizer, replies_of(batch, tokenizer))
    )


def hashed_words(batch: Batch, tokenizer: Tokenizer, tokens: Tokens) -> Tokens:
    """The words as hashes that mean the same in every batch and on every machine.

    64 bits: among ten million different ones, two share a number with a probability of 3 in a million.
    """
    words = vocabulary_of(batch, tokenizer)
    numbers = batch.once(("hashes", tokenizer, len(words)), lambda: hashes(list(words)))
    return Tokens(numbers[tokens.ids], tokens.lengths)


def hashed_grams(words: Tokens, n: int) -> Tokens:
    """The n-grams of hashed words, hashed."""
    if n == 1:
        return words
    places, counts = gram_places(words, n)
    codes = words.ids[places]
    for step in range(1, n):
        codes = codes * _SPREAD + words.ids[places + step]
    return Tokens(codes, counts)


def gram_places(tokens: Tokens, n: int) -> tuple[Ints, Ints]:
    """Where each n-gram of each text begins, and how many n-grams each text has."""
    counts = np.maximum(tokens.lengths - (n - 1), 0)
    return ranges(tokens.starts[:-1], counts), counts


def _ragged(batch: Batch, tokenizer: Tokenizer, field: str) -> Ragged:
    lists: list[tuple[str, ...]] = [getattr(example, field) for example in batch]
    owner = np.repeat(np.arange(len(lists)), np.fromiter(map(len, lists), np.int64, len(lists)))
    return Ragged(_number(list(chain.from_iterable(lists)), batch, tokenizer), owner)


def _number(texts: list[str], batch: Batch, tokenizer: Tokenizer) -> Tokens:
    words = tokenizer(texts)
    lengths = np.fromiter(map(len, words), np.int64, len(words))
    number = vocabulary_of(batch, tokenizer).__getitem__
    ids = np.fromiter(map(number, chain.from_iterable(words)), np.int64, int(lengths.sum()))
    return Tokens(ids, lengths)


def hashes(texts: list[str]) -> Ints:
    """A number for each text, the same on every machine."""
    digests = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts]
    return np.frombuffer(b"".join(digests), "<i8").astype(np.int64)
