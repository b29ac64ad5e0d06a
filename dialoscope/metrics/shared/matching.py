"""Greedy matching: each token of a text with the most similar token of another text."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby, pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.signature import signature
from dialoscope.core.tally import ranges
from dialoscope.metrics.shared.base import ratio
from dialoscope.models.cache import compute_cached, text_key
from dialoscope.models.encoder import TransformerEncoder
from dialoscope.models.protocols import Encoder, TokenVectors, Vectors

Bits = NDArray[np.int32]
Thing = TypeVar("Thing")

VERSION = 1
"""Raised if the same vectors give other matches than before, so that cached scores are not used."""

AT_ONCE = 2**19
"""The bytes of text whose vectors are in memory: about 140,000 tokens, 200 MB at 384 dimensions."""

_LONGEST = 2**12
"""The maximum number of bytes that a text counts for, since no encoder reads more."""

_TOGETHER = 256
"""The maximum number of replies to one reference that are matched together."""

_TINY = np.finfo(np.float32).tiny
"""The minimum length of a vector, so that vectors of zeros have cosines of 0."""


class Couple(NamedTuple):
    """A reply and one of its references, as an encoder reads them."""

    reply: str
    reference: str


class TokenMatches(NamedTuple):
    """The tokens of couples: of each couple those of the reply, then those of the reference."""

    tokens: Bits  # (2, tokens)
    """The token's id (-1 - id in a reference), and the bits of its highest cosine with the other side."""
    lengths: Ints  # (couples,)

    @classmethod
    def of(cls, couples: Sequence[Bits]) -> "TokenMatches":
        """The matches of all couples, concatenated."""
        tokens = np.concatenate([np.zeros((2, 0), np.int32), *couples], axis=1)
        return cls(tokens, np.array([couple.shape[1] for couple in couples], np.int64))

    @property
    def is_reference(self) -> NDArray[np.bool_]:
        """Whether each token is in a reference."""
        return np.asarray(self.tokens[0] < 0)

    @property
    def ids(self) -> Ints:
        """The number of each token in the encoder's vocabulary."""
        return np.asarray(np.where(self.is_reference, ~self.tokens[0], self.tokens[0]), np.int64)

    @property
    def cosines(self) -> NDArray[np.float32]:
        """The cosine of each token with the most similar token of the other side."""
        return np.asarray(self.tokens[1].view(np.float32))

    @property
    def owner(self) -> Ints:
        """The couple of each token."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def take(self, couples: Ints) -> "TokenMatches":
        """These couples, in this order."""
        lengths = self.lengths[couples]
        starts = np.cumsum(self.lengths) - self.lengths
        return TokenMatches(self.tokens[:, ranges(starts[couples], lengths)], lengths)


def match_couples(encoder: Encoder, couples: Sequence[Couple]) -> TokenMatches:
    """Return the matches of all couples, from the score cache where it has them."""
    matches = compute_cached(
        f"greedy matching v:{VERSION} {signature(encoder)} {encoder.fingerprint}",
        [text_key(*couple) for couple in couples],
        lambda places: compute_matches(encoder, couples, places),
        label=f"Matching with {encoder}",
        use_cache=isinstance(encoder, TransformerEncoder),  # others are quick, or not known to stay the same
    )
    return TokenMatches.of(matches)


def compute_matches(
    encoder: Encoder, couples: Sequence[Couple], places: Iterable[int]
) -> Iterator[tuple[int, Bits]]:
    """Yield each index with the matches of the couple there, as in `TokenMatches`.

    Couples with the same reference are matched by one product of matrices. Vectors are in memory for some
    references at a time with all replies to them; those of texts that come again wait for it as long as
    they need no more room than the others, so that nearly every text is encoded once.
    """
    groups = _groups(couples, places)
    last = {text: number for number, group in enumerate(groups) for text in group.texts}
    vectors: dict[str, TokenVectors] = {}
    done = 0
    for chunk in in_chunks(groups, lambda group: sum(map(text_size, group.texts))):
        done += len(chunk)
        missing = list(dict.fromkeys(text for group in chunk for text in group.texts if text not in vectors))
        vectors.update(zip(missing, encoder.encode_tokens(missing), strict=True))
        yield from _match_chunk(chunk, vectors)
        vectors = _keep_for_later({text: tokens for text, tokens in vectors.items() if last[text] >= done})


class _Group(NamedTuple):
    """Replies to one reference."""

    reference: str
    replies: list[str]
    places: list[int]

    @property
    def texts(self) -> tuple[str, ...]:
        return self.reference, *self.replies


def _groups(couples: Sequence[Couple], places: Iterable[int]) -> list[_Group]:
    """Group couples by reference, in order of appearance, so that references of a reply stay together."""
    groups: dict[tuple[str, int], _Group] = {}
    replies: Counter[str] = Counter()
    for index in places:
        reply, reference = couples[index]
        number = replies[reference] // _TOGETHER
        group = groups.setdefault((reference, number), _Group(reference, [], []))
        group.replies.append(reply)
        group.places.append(index)
        replies[reference] += 1
    return list(groups.values())


def in_chunks(things: Sequence[Thing], size: Callable[[Thing], int]) -> Iterator[list[Thing]]:
    """Yield chunks that fit into memory."""
    chunk = np.cumsum([size(thing) for thing in things]) // AT_ONCE
    for _, numbered_things in groupby(
        zip(chunk.tolist(), things, strict=True), key=lambda numbered: numbered[0]
    ):
        yield [thing for _, thing in numbered_things]


def text_size(text: str) -> int:
    """Return the size of a text in memory, by bytes, since a rare character is a token or more."""
    return min(len(text.encode("utf-8", "surrogatepass")), _LONGEST) + 4


def _keep_for_later(vectors: Mapping[str, TokenVectors]) -> dict[str, TokenVectors]:
    """Return those that fit into memory as copies, since each is a view of the batch it was computed in."""
    room = AT_ONCE - np.cumsum([text_size(text) for text in vectors])
    return {
        text: TokenVectors(tokens.ids, tokens.vectors.copy())
        for (text, tokens), bytes_left in zip(vectors.items(), room.tolist(), strict=True)
        if bytes_left >= 0
    }


def _match_chunk(chunk: Sequence[_Group], vectors: Mapping[str, TokenVectors]) -> Iterator[tuple[int, Bits]]:
    """Match a chunk in one array, since a reply has few tokens, and yield the part of each couple."""
    ids: list[Ints] = []
    cosines: list[Vectors] = []
    for group in chunk:
        reference, replies = vectors[group.reference], [vectors[reply] for reply in group.replies]
        marked = ~reference.ids
        for reply in replies:
            ids += reply.ids, marked
        for best in _best_cosines(reference.vectors, [reply.vectors for reply in replies]):
            cosines += best
    tokens = np.empty((2, sum(map(len, ids))), np.int32)
    np.concatenate(ids, out=tokens[0], casting="same_kind")
    np.concatenate(cosines, out=tokens[1].view(np.float32))
    ends = np.cumsum(
        [len(own) + len(marked) for own, marked in zip(ids[::2], ids[1::2], strict=True)]
    ).tolist()
    places = [index for group in chunk for index in group.places]
    for index, (begin, end) in zip(places, pairwise([0, *ends]), strict=True):
        yield index, tokens[:, begin:end]


class _Best(NamedTuple):
    """The highest cosine of each token with any of the other side; 0 where that side has none."""

    of_reply: Vectors  # (tokens of the reply,)
    of_reference: Vectors  # (tokens of the reference,)


def _best_cosines(reference: Vectors, replies: Sequence[Vectors]) -> Iterator[_Best]:
    """Yield the highest cosines of each reply and the reference."""
    pairs = _best_of_some(reference, [reply for reply in replies if len(reply)] if len(reference) else [])
    for reply in replies:
        if len(reply) and len(reference):
            yield next(pairs)
        else:
            yield _Best(*(np.zeros(len(vectors), np.float32) for vectors in (reply, reference)))


def _best_of_some(reference: Vectors, replies: Sequence[Vectors]) -> Iterator[_Best]:
    """Yield the highest cosines where every text has a token; it is not advanced if none has."""
    vectors = np.concatenate([reference, *replies])
    cosines = vectors[len(reference) :] @ reference.T
    # Scaled only now, since there are fewer cosines than numbers in the vectors.
    scale = 1 / np.maximum(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)), _TINY)
    cosines *= scale[len(reference) :, None]
    cosines *= scale[: len(reference)]
    ends = list(accumulate(map(len, replies)))
    of_replies, starts = cosines.max(axis=1), [0, *ends[:-1]]
    of_reference = np.maximum.reduceat(cosines, starts, axis=0)
    for start, end, recalled in zip(starts, ends, of_reference, strict=True):
        yield _Best(of_replies[start:end], recalled)


class MatchScores(NamedTuple):
    """The scores of replies against their references."""

    precision: Floats  # (couples,)
    recall: Floats
    f1: Floats


def scores(matches: TokenMatches, unweighted: Ints, weights: Floats) -> MatchScores:
    """Return the weighted mean cosines of the reply's tokens and of the reference's, and their harmonic mean.

    Tokens that are `unweighted` can be matched, but do not count. A couple with a text that has no other
    token scores 0; a text all of whose other tokens weigh nothing has no mean.
    """
    counted = ~np.isin(matches.ids, unweighted)
    weights = np.where(counted, weights, 0.0)
    side, sides = 2 * matches.owner + matches.is_reference, 2 * len(matches.lengths)
    total = np.bincount(side, weights, sides)
    means = ratio(np.bincount(side, weights * matches.cosines, sides), total).clip(-1, 1)
    empty = (np.bincount(side, counted, sides) == 0).reshape(-1, 2).any(axis=1)
    precision, recall = (np.where(empty, 0.0, mean) for mean in means.reshape(-1, 2).T)
    return MatchScores(precision, recall, _harmonic_mean(precision, recall))


def _harmonic_mean(precision: Floats, recall: Floats) -> Floats:
    """Return the harmonic mean, or 0 where the signs differ, since it would not be between the two."""
    apart = precision * recall <= 0
    return np.where(apart, 0.0, 2 * precision * recall / np.where(apart, 1.0, precision + recall))
