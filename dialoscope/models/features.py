"""Texts as vectors of their words or tokens, which heads read: computed once for each text."""

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

_AT_ONCE = 512
"""Texts that are read together; of like length, since what is read together is filled up or sorted anyway."""


def resolve_embedding(name: str, device: str = "auto") -> Encoder | WordVectors:
    """What a text names: word vectors, an encoder, or `fake`; nothing is loaded."""
    from dialoscope.models.encoder import TransformerEncoder
    from dialoscope.models.fakes import FakeEncoder
    from dialoscope.models.vectors import StaticVectors

    if name == "fake":
        return FakeEncoder()
    return StaticVectors(name) if _holds_words(name) else TransformerEncoder(name, device=device)


def _holds_words(name: str) -> bool:
    """Whether word vectors are meant: an asset of them, a file, or a folder that holds no model."""
    if is_folder(name):
        folder = Path(name).expanduser()
        return not any((folder / known).is_file() for known in ("config.json", ADAPTER))
    if name in assets.ASSETS:
        return assets.ASSETS[name].kind == "word vectors"
    return is_file(name)


@dataclass(frozen=True)
class Features:
    """What an encoder, or a set of word vectors, makes of texts.

    A text in which nothing stands, or no word that has a vector, has no features.
    """

    embedding: Encoder | WordVectors

    def pooled(self, texts: Sequence[str], how: Pooling) -> Vectors:
        """A row for each text, the highest or mean values of its vectors; NaN where it has none.

        Both ways are computed at once and kept, so that the other costs nothing later.
        """
        found = self._remembered("pooled", texts, _both)
        return np.stack([rows[get_args(Pooling).index(how)] for rows in found])

    def halves(self, texts: Sequence[str]) -> list[NDArray[np.float16]]:
        """A row for each word or token of each text, in half precision, and kept."""
        return self._remembered("halves", texts, halves)

    def rows(self, texts: Sequence[str]) -> Iterator[tuple[int, Vectors]]:
        """For each text, its place and a row for each of its words or tokens, in the order they are ready."""
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        for begin in range(0, len(order), _AT_ONCE):
            places = order[begin : begin + _AT_ONCE]
            yield from zip(places, self._read([texts[place] for place in places]), strict=True)

    def _remembered(
        self, what: str, texts: Sequence[str], made: Callable[[Vectors], NDArray[Any]]
    ) -> list[NDArray[Any]]:
        def compute(places: Sequence[int]) -> Iterator[tuple[int, NDArray[Any]]]:
            for place, vectors in self.rows([texts[place] for place in places]):
                yield places[place], made(vectors)

        return compute_cached(
            f"features {what} {signature(self.embedding)} {self.embedding.fingerprint}",
            [text_key(text) for text in texts],
            compute,
            what=f"Reading with {self.embedding}",
            keep=not _are_words(self.embedding),  # looking up is faster than remembering
        )

    def _read(self, texts: Sequence[str]) -> list[Vectors]:
        if _are_words(self.embedding):
            return _looked_up(self.embedding, texts)
        found = self.embedding.encode_tokens(texts)
        return [
            one.vectors if text.strip() else one.vectors[:0] for one, text in zip(found, texts, strict=True)
        ]


def halves(vectors: Vectors) -> NDArray[np.float16]:
    """Vectors of words as heads that read word by word get them, in training and in use."""
    return vectors.astype(np.float16)


def _are_words(embedding: Encoder | WordVectors) -> "TypeIs[WordVectors]":
    """Asked of the class, since to ask the thing itself would load it."""
    return hasattr(type(embedding), "vectors")


def _both(vectors: Vectors) -> Vectors:
    """The highest and the mean values."""
    if not len(vectors):
        return np.full((2, vectors.shape[1]), np.nan, np.float32)
    return np.stack([vectors.max(axis=0), vectors.mean(axis=0)])


def _looked_up(embedding: WordVectors, texts: Sequence[str]) -> list[Vectors]:
    """The vectors of those words that have one."""
    from dialoscope.text.tokenizer import Tokenizer

    words = Tokenizer("words")(texts)
    found = embedding.vectors([word for line in words for word in line])
    ends = np.cumsum([len(line) for line in words])[:-1]
    return [part[~np.isnan(part).any(axis=1)] for part in np.split(found, ends)]
