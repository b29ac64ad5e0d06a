"""Vectors after every layer of an encoder, pooled in every way, from one pass over the texts.

`TransformerEncoder` computes one layer and one pooling at a time, which is what a metric needs; a grid over
all of them would read each text dozens of times. This encoder is for looking at such a grid alone: it reads a
text once, with the same tokens and weights, and keeps what it found in the score cache.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, ClassVar, get_args

import numpy as np

from dialoscope.models.cache import compute_cached, text_key
from dialoscope.models.encoder import Pooling
from dialoscope.models.locations import configuration, fingerprint, model_folder
from dialoscope.models.protocols import Pair, TokenVectors, Vectors

if TYPE_CHECKING:
    from benchmarks.papers._torch_layers import EveryLayer

POOLINGS: tuple[str, ...] = get_args(Pooling)


@dataclass(frozen=True)
class LayerEncoder:
    """One cell of the grid; all cells of a model share the pass over the texts."""

    name: ClassVar[str] = "every-layer"
    version: ClassVar[int] = 1

    model: str
    layer: int
    pooling: str

    def __str__(self) -> str:
        return f"{self.model}, layer {self.layer}, {self.pooling}"

    @property
    def fingerprint(self) -> str:
        """A hash of the model's files."""
        return fingerprint(self.model, "main")

    def encode(self, texts: Sequence[Pair]) -> Vectors:
        """One row for each pair."""
        return _every(self.model, tuple(texts))[:, self.layer, POOLINGS.index(self.pooling)]

    def encode_tokens(self, texts: Sequence[Pair]) -> list[TokenVectors]:
        """Not needed for distances between distributions."""
        raise NotImplementedError


def layers_of(model: str) -> int:
    """How many layers a model has, besides the embeddings."""
    return int(configuration(model_folder(model, "main"))["num_hidden_layers"])


@lru_cache(maxsize=1)
def _every(model: str, texts: tuple[Pair, ...]) -> Vectors:
    """(texts, layers, poolings, dims)."""
    found = compute_cached(
        f"every-layer v:1 {fingerprint(model, 'main')}",
        [text_key(*text) for text in texts],
        lambda places: _body(model).read(texts, places),
        label=f"All layers of {model}",
    )
    return np.stack(found)


@cache
def _body(model: str) -> "EveryLayer":
    from benchmarks.papers._torch_layers import EveryLayer

    return EveryLayer(model, POOLINGS)
