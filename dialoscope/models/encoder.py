"""Encoders in the Hugging Face format, named by a folder, an asset, or a model on the hub."""

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
from dialoscope.models.locations import asset_names, find_model, fingerprint
from dialoscope.models.protocols import Pair, TokenVectors, Vectors
from dialoscope.models.truncation import Cut

if TYPE_CHECKING:
    from dialoscope.models.engines.encoder import EncoderEngine
    from dialoscope.models.engines.reader import Reader

Pooling = Literal["first", "mean", "max"]


@dataclass(frozen=True)
class Transformer:
    """The settings and methods that encoders and classifiers share."""

    name: ClassVar[str]
    version: ClassVar[int]

    model: str
    """A folder, an asset, or a name on the hub."""
    revision: str = field(default="main", kw_only=True)
    """Revision of a model on the hub."""
    dtype: Dtype = field(default="float32", kw_only=True)
    """Precision of the computation. Half precision is much faster on a GPU but gives different numbers."""
    max_tokens: int = field(default=0, kw_only=True)
    """Maximum number of tokens of a text or pair, special tokens included; 0: the limit of the model.
    A longer text loses its end; of a context, metrics pass only the newest part that fits (`latest`). In a
    pair, the first text (the context) loses its beginning, and the second (the reply) loses its end only if
    it is too long by itself."""
    device: str = field(default="auto", compare=False, kw_only=True)
    budget: int = field(default=0, compare=False, kw_only=True)
    """Number of tokens computed at once; 0: chosen by device."""

    def __post_init__(self) -> None:
        if not self.model:
            raise BackendError("A transformer needs a name: a folder, an asset, or a model on the hub.")
        if self.dtype not in get_args(Dtype):
            raise BackendError(f"dtype is '{self.dtype}'; it must be one of: {', '.join(get_args(Dtype))}.")
        for name in ("max_tokens", "budget"):
            if getattr(self, name) < 0:
                raise BackendError(
                    f"{name} is {getattr(self, name)}; it must be 0 (chosen automatically) or more."
                )

    def __str__(self) -> str:
        return self.model

    @property
    def fingerprint(self) -> str:
        """The hash of weights, configuration and tokenizer."""
        return fingerprint(self.model, self.revision)

    def cut(self, texts: Sequence[str | Pair]) -> Cut:
        """The texts that are longer than the model can read, and which part of them it does not read."""
        return self._reader.cut(texts)

    def latest(self, texts: Sequence[str]) -> list[str]:
        """The texts, without the beginning where they are too long, so that their end is read."""
        return [self._reader.latest(text) for text in texts]

    @property
    def _reader(self) -> "Reader":
        return _load_reader(self.model, self.revision, self.max_tokens, self.fingerprint)

    @property
    def asset_names(self) -> tuple[str, ...]:
        """The names of the assets that the model consists of, for their licences."""
        return asset_names(self.model)

    @property
    def _identity(self) -> str:
        """Everything besides the texts that the numbers depend on, as a key of the score cache."""
        return f"{signature(self)} {self.fingerprint}"


@dataclass(frozen=True)
class TransformerEncoder(Transformer):
    """An encoder whose vectors of texts, pairs and tokens come from any of its layers."""

    name: ClassVar[str] = "transformer-encoder"
    version: ClassVar[int] = 1

    model: str = "minilm"
    pooling: Pooling = field(default="mean", kw_only=True)
    """How the vectors of tokens are combined: that of the first token, their mean, or their maximum."""
    layer: int = field(default=-1, kw_only=True)
    """Layer whose output is used: 0 is the embeddings, -1 the last layer; layers above are not computed."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pooling not in get_args(Pooling):
            raise BackendError(
                f"pooling is '{self.pooling}'; it must be one of: {', '.join(get_args(Pooling))}."
            )

    def encode(self, texts: Sequence[str | Pair]) -> Vectors:
        """An array with one row per text; NaN for a text without tokens, special tokens included."""
        if not texts:
            return np.zeros((0, self._engine.body.dims), np.float32)
        vectors = compute_cached(
            self._identity,
            [text_key(text) if isinstance(text, str) else text_key(*text) for text in texts],
            lambda indices: self._engine.vectors(texts, indices, self.pooling),
            label=f"Encoding with {self.model}",
        )
        return np.stack(vectors)

    def encode_tokens(self, texts: Sequence[str | Pair]) -> list[TokenVectors]:
        """The vectors of all tokens of each text, special tokens included; equal texts share their arrays."""
        first = {text: index for index, text in reversed(list(enumerate(texts)))}
        vectors = dict(self._engine.token_vectors(texts, list(first.values())))
        return [vectors[first[text]] for text in texts]

    @property
    def _engine(self) -> "EncoderEngine":
        description = dataclasses.replace(self, pooling="mean")  # all kinds of pooling share the weights
        return _load(description, self.device, self.budget, self.fingerprint)


@lru_cache(maxsize=4)
def _load_reader(model: str, revision: str, max_tokens: int, fingerprint: str) -> "Reader":
    """Load the tokenizer of a model, once for each fingerprint."""
    module = import_engine("reader", f"The model {model}")
    files = find_model(model, revision)
    reader: Reader = module.Reader(files.folder, files.config, max_tokens)
    return reader


@lru_cache(maxsize=2)
def _load(description: TransformerEncoder, device: str, budget: int, fingerprint: str) -> "EncoderEngine":
    """Load the weights, once per process for each description, device, budget and fingerprint."""
    module = import_engine("encoder", f"The encoder {description.model}")
    engine: EncoderEngine = module.EncoderEngine(description)
    return engine
