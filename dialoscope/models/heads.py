"""Classifiers of right and wrong replies: the heads that `dialoscope train ruber` writes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, get_args

import numpy as np

import dialoscope.models.registry as assets
from dialoscope.core.arrays import Floats
from dialoscope.core.errors import BackendError
from dialoscope.core.safe_text import printable
from dialoscope.core.signature import signature
from dialoscope.models.asset_kinds import collect_asset_names, matching_assets
from dialoscope.models.cache import compute_cached, text_key
from dialoscope.models.checkpoints import WEIGHTS, TrainedModel, check_weights, weights_hash
from dialoscope.models.content import content_hash
from dialoscope.models.engines import import_engine
from dialoscope.models.features import Features, Pooling, resolve_embedding
from dialoscope.models.head_kinds import Objective, Representation
from dialoscope.models.locations import SPEC, configuration, is_folder
from dialoscope.models.protocols import Encoder, Pair, WordVectors
from dialoscope.models.truncation import Cut, find_cuts, keep_latest

if TYPE_CHECKING:
    from dialoscope.models.engines.heads import HeadEngine

RECIPE = "ruber"
"""The recipe in the spec of these checkpoints."""
WORD_VECTORS = "word vectors"
"""The key in a spec whose value is the precision of the word vectors in training."""
HALF = "half precision"
VERDICTS = ("wrong", "right")
"""The classes of replies."""


class Shape(NamedTuple):
    """The architecture of a head."""

    representation: Representation
    objective: Objective
    units: int
    """Units of each recurrent layer, in each direction."""
    layers: int
    """Number of recurrent layers."""
    perceptron: tuple[int, ...]
    """Widths of the hidden layers of the perceptron."""
    dropout: float

    @property
    def recurrent(self) -> bool:
        """Whether texts are read by a recurrent network instead of being pooled."""
        return self.representation == "bi-gru"

    @property
    def pooling(self) -> Pooling:
        """How the vectors of words are pooled, if they are."""
        return "mean" if self.representation == "mean" else "max"

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "Shape":
        """Create the architecture from the settings of a recipe."""
        fields = {name: settings[name] for name in cls._fields}
        shape = cls(**{**fields, "perceptron": tuple(fields["perceptron"])})
        sizes = (shape.units, shape.layers, *shape.perceptron)
        if not all(isinstance(size, int) and size > 0 for size in sizes):
            raise ValueError("sizes of layers must be positive integers")
        if shape.representation not in get_args(Representation) or shape.objective not in get_args(Objective):
            raise ValueError(f"there is no head with {shape.representation!r} and {shape.objective!r}")
        return shape


def is_head(name: str) -> bool:
    """Whether a text names the folder, or an asset, of a head."""
    folder = _find_folder(name)
    if folder is None or not ((folder / SPEC).is_file() and (folder / WEIGHTS).is_file()):
        return False
    return bool(configuration(folder, SPEC).get("recipe") == RECIPE)


def _find_folder(name: str) -> Path | None:
    """Return the folder that a text names, or the folder of an asset that is part of the package."""
    if is_folder(name):
        return Path(name).expanduser()
    asset = assets.ASSETS.get(name)
    return assets.locate(name) if asset and asset.shipped and asset.kind == "classifier" else None


@dataclass(frozen=True)
class HeadClassifier(TrainedModel):
    """A classifier of replies: a small network on top of an encoder or word vectors."""

    name: ClassVar[str] = "head"
    version: ClassVar[int] = 2
    labels: ClassVar[tuple[str, ...]] = VERDICTS

    embedding: str = field(default="", compare=False, kw_only=True)
    """Location of the encoder or word vectors, if it has changed since training; others are refused."""

    @property
    def folder(self) -> Path | None:
        """The folder of the checkpoint, which may be part of the package."""
        return _find_folder(self.model)

    @property
    def fingerprint(self) -> str:
        """The hash of the checkpoint and of its encoder or word vectors."""
        checkpoint = self._checkpoint
        return sha256(f"{checkpoint.hash} on {checkpoint.embedding.fingerprint}".encode()).hexdigest()

    @property
    def asset_names(self) -> tuple[str, ...]:
        """The names of the assets that the model consists of, for their licences."""
        embedding = self.embedding or self.read_training_setting("embedding")
        names = collect_asset_names([resolve_embedding(embedding)]) if embedding else ()
        return (*matching_assets(self.model), *names)

    def classify(self, pairs: Sequence[Pair]) -> Floats:
        """Probabilities of wrong and right, one row per pair of context (one turn per line) and reply.

        NaN where context or reply is empty.
        """
        if not pairs:
            return np.zeros((0, 2))
        shortened = self._shorten(pairs)

        def compute(indices: Sequence[int]) -> Iterable[tuple[int, Floats]]:
            contexts, replies = zip(*(shortened[index] for index in indices), strict=True)
            right = self._engine.right(contexts, replies)
            return zip(indices, np.stack([1 - right, right], axis=1), strict=True)

        identity = f"{signature(self)} {self.fingerprint}"
        keys = [text_key(*pair) for pair in shortened]
        return np.stack(compute_cached(identity, keys, compute, label=f"Classifying with {self.model}"))

    def cut(self, pairs: Sequence[Pair]) -> Cut:
        """The pairs that lose the beginning of the context, or the end of the reply."""
        contexts, replies = ([pair[side] for pair in self._last_turns(pairs)] for side in range(2))
        context, reply = (find_cuts(self._checkpoint.embedding, texts) for texts in (contexts, replies))
        return Cut(context.limit, context.end, reply.end)

    def _shorten(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Return the part of each pair that is read: the last turns that fit, and the reply."""
        last = self._last_turns(pairs)
        contexts = keep_latest(self._checkpoint.embedding, [pair.first for pair in last])
        return [Pair(text, pair.second) for text, pair in zip(contexts, last, strict=True)]

    def _last_turns(self, pairs: Sequence[Pair]) -> list[Pair]:
        turns = self._checkpoint.turns
        return [Pair("\n".join(context.split("\n")[-turns:]), reply) for context, reply in pairs]

    @property
    def _checkpoint(self) -> "_HeadCheckpoint":
        checkpoint = _read_checkpoint(self.model, self.embedding, self.device)
        check_weights(checkpoint.folder, checkpoint.weights, self.hash)
        return checkpoint

    @property
    def _engine(self) -> "HeadEngine":
        return _load(self.model, self.embedding, self.device, self.fingerprint)


class _HeadCheckpoint(NamedTuple):
    """The content of the spec of a checkpoint."""

    folder: Path
    shape: Shape
    dims: int
    turns: int
    embedding: Encoder | WordVectors
    hash: str
    """The hash of the files."""
    weights: str
    """The hash of the weights that the training recorded."""
    halved: bool
    """Whether word vectors were rounded to half precision in training; False for older checkpoints."""


def _read_checkpoint(model: str, embedding: str, device: str) -> _HeadCheckpoint:
    folder = _find_folder(model)
    if folder is None or not is_head(model):
        raise BackendError(
            f"'{printable(model)}' is not the folder of a head; `dialoscope train ruber` writes one."
        )
    spec = configuration(folder, SPEC)
    try:
        settings = spec["settings"]
        shape, turns, trained = Shape.of(settings), int(settings["turns"]), str(settings["embedding"])
        fingerprint, weights, dims = str(spec["model"]), str(spec["hash"]), int(spec["dims"])
    except KeyError as missing:
        raise BackendError(f"{folder / SPEC} is damaged: {missing} is missing.") from missing
    except (TypeError, ValueError, OverflowError) as damaged:
        raise BackendError(f"{folder / SPEC} is damaged: {damaged}.") from damaged
    resolved = resolve_embedding(embedding or trained, device)
    if resolved.fingerprint != fingerprint:
        raise BackendError(
            f"{folder} was trained with '{printable(trained)}', but '{printable(str(resolved))}' is "
            "different now. Give the location of the original one (`embedding`), or train again."
        )
    files = content_hash((folder / SPEC, folder / WEIGHTS))
    halved = spec.get(WORD_VECTORS) == HALF
    return _HeadCheckpoint(folder, shape, dims, turns, resolved, files, weights, halved)


@lru_cache(maxsize=2)
def _load(model: str, embedding: str, device: str, fingerprint: str) -> "HeadEngine":
    """Load the weights, once per process for each model, embedding, device and fingerprint."""
    checkpoint = _read_checkpoint(model, embedding, device)
    module = import_engine("heads", f"The head {model}")
    path = checkpoint.folder / WEIGHTS
    features = Features(checkpoint.embedding)
    engine: HeadEngine = module.HeadEngine(
        path, checkpoint.shape, checkpoint.dims, features, device, halved=checkpoint.halved
    )
    if weights_hash([path]) != checkpoint.weights:
        raise BackendError(f"{path} is damaged: the weights have changed since the training.")
    return engine
