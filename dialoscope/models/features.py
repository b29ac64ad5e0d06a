"""The vectors of words or tokens that heads read, computed once for each text."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

import dialoscope.models.registry as assets
from dialoscope.core.signature import signature
from dialoscope.models.cache import compute_cached, text_key
from dialoscope.models.locations import ADAPTER, is_file, is_folder
from dialoscope.models.protocols import Encoder, Vectors, WordVectors

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Pooling = Literal["max", "mean"]

_BATCH = 512
"""Number of texts of similar length that are read together."""


def resolve_embedding(name: str, device: str = "auto") -> Encoder | WordVectors:
    """Return the word vectors or the encoder that a text names; nothing is loaded."""
    from dialoscope.models.encoder import TransformerEncoder
    from dialoscope.models.fakes import FakeEncoder
    from dialoscope.models.vectors import StaticVectors

    if name == "fake":
        return FakeEncoder()
    return StaticVectors(name) if _names_word_vectors(name) else TransformerEncoder(name, device=device)


def _names_word_vectors(name: str) -> bool:
    """Whether a text names word vectors: such an asset, a file, or a folder that is not a model."""
    if is_folder(name):
        folder = Path(name).expanduser()
        return not any((folder / file).is_file() for file in ("config.json", ADAPTER))
    if name in assets.ASSETS:
        return assets.ASSETS[name].kind == "word vectors"
    return is_file(name)


@dataclass(frozen=True)
class Features:
    """The vectors of texts by an encoder or a set of word vectors.

    An empty text, or a text without known words, has no features.
    """

    embedding: Encoder | WordVectors

    def pool(self, texts: Sequence[str], pooling: Pooling) -> Vectors:
        """Return one row per text, the maximum or mean of its vectors; NaN if it has none.

        Maximum and mean are computed and cached together.
        """
        pooled = self._compute_cached("pooled", texts, _max_and_mean)
        return np.stack([rows[get_args(Pooling).index(pooling)] for rows in pooled])

    def half_precision_rows(self, texts: Sequence[str]) -> list[NDArray[np.float16]]:
        """Return one row per word or token of each text, in half precision; the rows are cached."""
        return self._compute_cached("halves", texts, to_half)

    def rows(self, texts: Sequence[str]) -> Iterator[tuple[int, Vectors]]:
        """Yield the index of each text and one row per word or token of it, shortest texts first."""
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        for begin in range(0, len(order), _BATCH):
            indices = order[begin : begin + _BATCH]
            yield from zip(indices, self._read([texts[index] for index in indices]), strict=True)

    def _compute_cached(
        self, kind: str, texts: Sequence[str], transform: Callable[[Vectors], NDArray[Any]]
    ) -> list[NDArray[Any]]:
        def compute(indices: Sequence[int]) -> Iterator[tuple[int, NDArray[Any]]]:
            for position, vectors in self.rows([texts[index] for index in indices]):
                yield indices[position], transform(vectors)

        return compute_cached(
            f"features {kind} {signature(self.embedding)} {self.embedding.fingerprint}",
            [text_key(text) for text in texts],
            compute,
            label=f"Reading with {self.embedding}",
            use_cache=not _is_word_vectors(self.embedding),  # looking words up is faster than caching
        )

    def _read(self, texts: Sequence[str]) -> list[Vectors]:
        if _is_word_vectors(self.embedding):
            return _look_up(self.embedding, texts)
        tokens = self.embedding.encode_tokens(texts)
        return [
            token.vectors if text.strip() else token.vectors[:0]
            for token, text in zip(tokens, texts, strict=True)
        ]


def to_half(vectors: Vectors) -> NDArray[np.float16]:
    """Round vectors to the precision that recurrent heads read, in training and in use."""
    return vectors.astype(np.float16)


def _is_word_vectors(embedding: Encoder | WordVectors) -> "TypeIs[WordVectors]":
    """Whether the class has the method `vectors`; the object itself would be loaded by this check."""
    return hasattr(type(embedding), "vectors")


def _max_and_mean(vectors: Vectors) -> Vectors:
    if not len(vectors):
        return np.full((2, vectors.shape[1]), np.nan, np.float32)
    return np.stack([vectors.max(axis=0), vectors.mean(axis=0)])


def _look_up(embedding: WordVectors, texts: Sequence[str]) -> list[Vectors]:
    """Return the vectors of the known words of each text."""
    from dialoscope.text.tokenizer import Tokenizer

    words = Tokenizer("words")(texts)
    vectors = embedding.vectors([word for line in words for word in line])
    ends = np.cumsum([len(line) for line in words])[:-1]
    return [rows[~np.isnan(rows).any(axis=1)] for rows in np.split(vectors, ends)]
