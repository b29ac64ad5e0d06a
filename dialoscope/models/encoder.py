"""Encoders of the Hugging Face kind: a folder, an asset, or a name on the hub."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from dialoscope.core.errors import BackendError
from dialoscope.core.signature import signature
from dialoscope.models.cache import compute_cached, text_key
from dialoscope.models.engines import import_engine
from dialoscope.models.language_model import Dtype
from dialoscope.models.locations import asset_names, fingerprint, find_model
from dialoscope.models.protocols import Pair, TokenVectors, Vectors
from dialoscope.models.truncation import Cut

if TYPE_CHECKING:
    from dialoscope.models.engines.encoder import EncoderEngine
    from dialoscope.models.engines.reader import Reader

Pooling = Literal["first", "mean", "max"]


@dataclass(frozen=True)
class Transformer:
    """What encoders and classifiers have in common: which model, and how it is used."""

    name: ClassVar[str]
    version: ClassVar[int]

    model: str
    """A folder, an asset, or a name on the hub."""
    revision: str = field(default="main", kw_only=True)
    """Of a model on the hub."""
    dtype: Dtype = field(default="float32", kw_only=True)
    """How precisely it computes. Half precision is much faster on a GPU, and gives other numbers."""
    max_tokens: int = field(default=0, kw_only=True)
    """Tokens that are read of a text or pair, special ones included; 0: as many as the model can. A text that
    is longer loses its end; of a context, metrics give only the newest part that can be read (`latest`).
    Of a pair the first text (the context) loses its beginning, and the second (the reply) loses its end only
    where it is too long all by itself."""
    device: str = field(default="auto", compare=False, kw_only=True)
    budget: int = field(default=0, compare=False, kw_only=True)
    """Tokens computed at once; 0: what suits the device."""

    def __post_init__(self) -> None:
        if not self.model:
            raise BackendError("A transformer needs a name: a folder, an asset, or a name on the hub.")
        if self.dtype not in get_args(Dtype):
            raise BackendError(f"dtype is '{self.dtype}'; it must be one of: {', '.join(get_args(Dtype))}.")
        for name in ("max_tokens", "budget"):
            if getattr(self, name) < 0:
                raise BackendError(f"{name} is {getattr(self, name)}; it must be 0 (what suits) or more.")

    def __str__(self) -> str:
        return self.model

    @property
    def fingerprint(self) -> str:
        """A hash of weights, configuration and tokenizer."""
        return fingerprint(self.model, self.revision)

    def cut(self, texts: Sequence[str | Pair]) -> Cut:
        """Which texts lose what for being longer than the model reads."""
        return self._reader.cut(texts)

    def latest(self, texts: Sequence[str]) -> list[str]:
        """The texts, those that are too long without their beginning, where they would lose their end."""
        return [self._reader.latest(text) for text in texts]

    @property
    def _reader(self) -> "Reader":
        return _read(self.model, self.revision, self.max_tokens, self.fingerprint)

    @property
    def asset_names(self) -> tuple[str, ...]:
        """The assets behind it, for their licences."""
        return asset_names(self.model)

    @property
    def _identity(self) -> str:
        """What its numbers depend on, besides the texts."""
        return f"{signature(self)} {self.fingerprint}"


@dataclass(frozen=True)
class TransformerEncoder(Transformer):
    """Vectors of texts, of pairs, and of their tokens, from any layer of an encoder."""

    name: ClassVar[str] = "transformer-encoder"
    version: ClassVar[int] = 1

    model: str = "minilm"
    pooling: Pooling = field(default="mean", kw_only=True)
    """A text's vector: that of its first token, or the mean or the highest values over all of its tokens."""
    layer: int = field(default=-1, kw_only=True)
    """After which layer vectors are taken: 0 are the embeddings, -1 is the last; none above is computed."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pooling not in get_args(Pooling):
            raise BackendError(
                f"pooling is '{self.pooling}'; it must be one of: {', '.join(get_args(Pooling))}."
            )

    def encode(self, texts: Sequence[str | Pair]) -> Vectors:
        """One row for each text; NaN for one without a token, which special tokens usually prevent."""
        if not texts:
            return np.zeros((0, self._engine.body.dims), np.float32)
        found = compute_cached(
            self._identity,
            [text_key(text) if isinstance(text, str) else text_key(*text) for text in texts],
            lambda places: self._engine.vectors(texts, places, self.pooling),
            what=f"Encoding with {self.model}",
        )
        return np.stack(found)

    def encode_tokens(self, texts: Sequence[str | Pair]) -> list[TokenVectors]:
        """One vector for each token of each text, special ones included; equal texts share their arrays."""
        first = {text: place for place, text in reversed(list(enumerate(texts)))}
        found = dict(self._engine.token_vectors(texts, list(first.values())))
        return [found[first[text]] for text in texts]

    @property
    def _engine(self) -> "EncoderEngine":
        anyhow = dataclasses.replace(self, pooling="mean")  # pooling needs no weights of its own
        return _loaded(anyhow, self.device, self.budget, self.fingerprint)


@lru_cache(maxsize=4)
def _read(model: str, revision: str, max_tokens: int, fingerprint: str) -> "Reader":
    """The tokenizer of a model, loaded once for each content of its folder."""
    side = import_engine("reader", f"The model {model}")
    files = find_model(model, revision)
    reader: Reader = side.Reader(files.folder, files.config, max_tokens)
    return reader


@lru_cache(maxsize=2)
def _loaded(description: TransformerEncoder, device: str, budget: int, fingerprint: str) -> "EncoderEngine":
    """The weights, loaded once for each description, device, content of the folder, and process."""
    side = import_engine("encoder", f"The encoder {description.model}")
    loaded: EncoderEngine = side.EncoderEngine(description)
    return loaded
