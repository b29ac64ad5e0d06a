"""Referenced RUBER: the cosine of pooled vectors of reply and reference (Tao et al., 2018)."""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np

from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.errors import MetricError
from dialoscope.core.signature import signature
from dialoscope.core.tally import Sums
from dialoscope.metrics.shared.base import Bounds, GradeMetric, Metric
from dialoscope.metrics.shared.matching import Couple, in_chunks, text_size
from dialoscope.metrics.shared.truncation_notes import note_cut_references
from dialoscope.metrics.shared.word_vectors import VectorTexts, WordVectorMetric, cosines
from dialoscope.models.cache import compute_cached, text_key
from dialoscope.models.encoder import TransformerEncoder
from dialoscope.models.named_models import resolve_model
from dialoscope.models.protocols import Backend, Encoder, Vectors, WordVectors
from dialoscope.text.batch import Batch

Pooling = Literal["max", "min", "mean", "max-min"]
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)

FOLDS: Mapping[Pooling, tuple[np.ufunc, ...]] = MappingProxyType(
    {
        "max": (np.maximum,),
        "min": (np.minimum,),
        "mean": (np.add,),  # a sum has the direction of its mean
        "max-min": (np.maximum, np.minimum),
    }
)
"""The functions that pool the vectors of a text in each dimension; results of several are concatenated."""

VERSION = 1
"""Raised if the same vectors give other cosines than before, so that cached scores are not used."""


@dataclass(frozen=True)
class PooledBesideReferences(Metric[Sums]):
    """A metric of the similarity of a reply and a reference, each pooled into one vector."""

    tally = Sums
    needs = frozenset({"references"})
    higher_is_better = True
    at_once = True
    paths = frozenset({"vectors"})

    encoder: Encoder = TransformerEncoder()
    """The encoder of the tokens; `encoder.layer` is the layer whose vectors are pooled."""
    vectors: str = ""
    """Word vectors in place of the encoder: an asset, a file, a folder; empty: the encoder's."""
    pooling: Pooling = "max"
    """The pooling of each dimension: the highest value, the lowest, the mean, or both extremes."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "vectors", str(self.vectors))  # a Path is plain enough
        super().__post_init__()
        if self.vectors and self.encoder != type(self).encoder:
            raise MetricError(f"{self.name}: name either an encoder or vectors, not both.")

    @property
    def backends(self) -> tuple[Backend, ...]:
        """The word vectors if they are set, else the encoder."""
        return tuple(
            self._words if model is self.encoder and self.vectors else model for model in super().backends
        )

    def similarities(self, batch: Batch) -> Floats:
        """The cosine with the best reference, a row for each reply and a column for each way of pooling.

        Undefined without references, and where reply or reference has nothing to pool.
        """
        compare = self._compare_words if self.vectors else self._compare_tokens
        return batch.once(("pooled", self.encoder, self.vectors), lambda: compare(batch))

    def warnings(self, batch: Batch) -> list[str]:
        """Warnings about replies, or their references, that were read without their end."""
        return [] if self.vectors else note_cut_references(batch, self.encoder, str)

    @property
    def _words(self) -> WordVectors:
        vectors: WordVectors = resolve_model(WordVectors, self.vectors)
        return vectors

    def _compare_words(self, batch: Batch) -> Floats:
        pooled = [_PooledWords(vectors=self._words, pooling=pooling) for pooling in POOLINGS]
        return np.stack([metric.grade(batch) for metric in pooled], axis=1)

    def _compare_tokens(self, batch: Batch) -> Floats:
        couples = [
            (row, Couple(example.response, reference))
            for row, example in enumerate(batch)
            for reference in example.references
            if example.response.strip() and reference.strip()
        ]
        similarities = compare_couples(self.encoder, [couple for _, couple in couples])
        best = np.full((len(batch), len(POOLINGS)), math.nan)
        np.fmax.at(best, np.array([row for row, _ in couples], np.int64), similarities)
        return best


@dataclass(frozen=True)
class RuberReferenced(PooledBesideReferences, GradeMetric[Sums]):
    """The cosine similarity of a reply and a reference, as pooled vectors of tokens or words."""

    name = "ruber-referenced"
    version = 1
    paper = "https://arxiv.org/abs/1701.03079"

    @property
    def bounds(self) -> Bounds:
        """The bounds of a cosine."""
        return Bounds(-1, 1)

    @property
    def statistics(self) -> Hashable:
        """The key of the cosines after all ways of pooling."""
        return replace(self, pooling="max")

    def measure(self, batch: Batch) -> Sums:
        """The cosine of each reply for each way of pooling."""
        return Sums(self.similarities(batch))

    def score_each(self, tally: Sums) -> Floats:
        """The cosine after the selected pooling."""
        return np.asarray(tally.rows[:, POOLINGS.index(self.pooling)], float)


@dataclass(frozen=True)
class _PooledWords(WordVectorMetric):
    """The same metric with a fixed vector for each word, independent of its context."""

    name = "ruber-referenced"
    version = 1
    paper = "https://arxiv.org/abs/1701.03079"

    pooling: Pooling = "max"

    def similarities(self, texts: VectorTexts, replies: Ints, references: Ints) -> Floats:
        """The cosine of the pooled vectors."""
        return cosines(*(self._pool(texts, rows) for rows in (replies, references)))

    def _pool(self, texts: VectorTexts, rows: Ints) -> Floats:
        return np.concatenate([texts.fold(rows, fold) for fold in FOLDS[self.pooling]], axis=1)


def compare_couples(encoder: Encoder, couples: Sequence[Couple]) -> Floats:
    """Return the cosines of all couples for each way of pooling, from the score cache where it has them."""
    rows = compute_cached(
        f"pooled cosines v:{VERSION} {signature(encoder)} {encoder.fingerprint}",
        [text_key(*couple) for couple in couples],
        lambda places: _cosines(encoder, couples, places),
        label=f"Comparing with {encoder}",
        use_cache=isinstance(encoder, TransformerEncoder),  # others are quick, or not known to stay the same
    )
    return np.array(rows, float).reshape(-1, len(POOLINGS))


def _cosines(
    encoder: Encoder, couples: Sequence[Couple], places: Sequence[int]
) -> Iterator[tuple[int, Floats]]:
    """Yield the cosines of couples; each text is encoded once, and its tokens are dropped once pooled."""
    texts = list(dict.fromkeys(text for index in places for text in couples[index]))
    pooled = {
        text: _pool(tokens.vectors)
        for chunk in in_chunks(texts, text_size)
        for text, tokens in zip(chunk, encoder.encode_tokens(chunk), strict=True)
    }
    for index in places:
        reply, reference = (pooled[text] for text in couples[index])
        yield index, np.concatenate([cosines(*two) for two in zip(reply, reference, strict=True)]).clip(-1, 1)


def _pool(vectors: Vectors) -> list[Floats]:
    """Return a row for each way of pooling; zeros, which have no direction, for a text without tokens."""
    rows = vectors if len(vectors) else np.zeros((1, vectors.shape[1]), np.float32)
    return [
        np.concatenate([fold.reduce(rows, axis=0) for fold in FOLDS[pooling]]).astype(float)[None]
        for pooling in POOLINGS
    ]
