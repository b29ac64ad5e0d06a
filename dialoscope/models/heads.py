"""Heads that `dialoscope train ruber` leaves behind, as classifiers: is a reply right or wrong?"""

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
from dialoscope.models.asset_kinds import asset_named, asset_names_of
from dialoscope.models.cache import remembered, text_key
from dialoscope.models.checkpoints import WEIGHTS, Trained, check_weights, weights_hash
from dialoscope.models.content import content_hash
from dialoscope.models.engines import import_engine
from dialoscope.models.features import Features, Pooling, embedding_of
from dialoscope.models.head_kinds import Objective, Representation
from dialoscope.models.locations import SPEC, configuration, is_folder
from dialoscope.models.protocols import Encoder, Pair, WordVectors
from dialoscope.models.truncation import Cut, cut_by, latest

if TYPE_CHECKING:
    from dialoscope.models.engines.heads import HeadEngine

RECIPE = "ruber"
"""The recipe of such checkpoints."""
WORD_VECTORS = "word vectors"
"""The entry of a checkpoint that says how vectors of words were rounded in training, if they were."""
HALF = "half precision"
VERDICTS = ("wrong", "right")
"""What a reply is judged to be."""


class Shape(NamedTuple):
    """What a head looks like."""

    representation: Representation
    objective: Objective
    units: int
    """Of each recurrent layer, in each direction."""
    layers: int
    """Recurrent ones."""
    perceptron: tuple[int, ...]
    """The widths of its hidden layers."""
    dropout: float

    @property
    def recurrent(self) -> bool:
        """Whether texts are read word by word, and not pooled."""
        return self.representation == "bi-gru"

    @property
    def pooling(self) -> Pooling:
        """How vectors of words become one of a text, where it is not read."""
        return "mean" if self.representation == "mean" else "max"

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "Shape":
        """From the settings of a recipe."""
        told = {name: settings[name] for name in cls._fields}
        shape = cls(**{**told, "perceptron": tuple(told["perceptron"])})
        sizes = (shape.units, shape.layers, *shape.perceptron)
        if not all(isinstance(size, int) and size > 0 for size in sizes):
            raise ValueError("sizes of layers are whole numbers of 1 or more")
        if shape.representation not in get_args(Representation) or shape.objective not in get_args(Objective):
            raise ValueError(f"there is no head of {shape.representation!r} and {shape.objective!r}")
        return shape


def is_head(name: str) -> bool:
    """Whether a text names the folder, or an asset, of such a checkpoint."""
    folder = _folder(name)
    if folder is None or not ((folder / SPEC).is_file() and (folder / WEIGHTS).is_file()):
        return False
    return bool(configuration(folder, SPEC).get("recipe") == RECIPE)


def _folder(name: str) -> Path | None:
    """A folder, or what an asset that lies in the package is."""
    if is_folder(name):
        return Path(name).expanduser()
    asset = assets.ASSETS.get(name)
    return assets.locate(name) if asset and asset.shipped and asset.kind == "classifier" else None


@dataclass(frozen=True)
class HeadClassifier(Trained):
    """How probable it is that a reply is right, by a head over an encoder or word vectors."""

    name: ClassVar[str] = "head"
    version: ClassVar[int] = 2
    labels: ClassVar[tuple[str, ...]] = VERDICTS

    embedding: str = field(default="", compare=False, kw_only=True)
    """Where its encoder or word vectors are, if not where they were in training; others are refused."""

    @property
    def folder(self) -> Path | None:
        """Where it lies; one that is shipped lies in the package."""
        return _folder(self.model)

    @property
    def fingerprint(self) -> str:
        """A hash of the checkpoint and of the encoder or word vectors below."""
        read = self._read
        return sha256(f"{read.hash} on {read.embedding.fingerprint}".encode()).hexdigest()

    @property
    def asset_names(self) -> tuple[str, ...]:
        """The assets behind it, for their licences."""
        embedding = self.embedding or self.trained_with("embedding")
        below = asset_names_of([embedding_of(embedding)]) if embedding else ()
        return (*asset_named(self.model), *below)

    def classify(self, pairs: Sequence[Pair]) -> Floats:
        """A row for each pair of what was said, a turn on each line, and a reply: wrong, right.

        NaN where either says nothing.
        """
        if not pairs:
            return np.zeros((0, 2))
        shown = self._shown(pairs)

        def compute(places: Sequence[int]) -> Iterable[tuple[int, Floats]]:
            said, replies = zip(*(shown[place] for place in places), strict=True)
            right = self._engine.right(said, replies)
            return zip(places, np.stack([1 - right, right], axis=1), strict=True)

        identity = f"{signature(self)} {self.fingerprint}"
        keys = [text_key(*pair) for pair in shown]
        return np.stack(remembered(identity, keys, compute, what=f"Judging with {self.model}"))

    def cut(self, pairs: Sequence[Pair]) -> Cut:
        """Which pairs lose the beginning of what was said, or the end of the reply."""
        said, replies = ([pair[side] for pair in self._last_turns(pairs)] for side in range(2))
        before, after = (cut_by(self._read.embedding, texts) for texts in (said, replies))
        return Cut(before.limit, before.end, after.end)

    def _shown(self, pairs: Sequence[Pair]) -> list[Pair]:
        """What is read of each pair: the last turns, the oldest of which go where all are too long."""
        last = self._last_turns(pairs)
        said = latest(self._read.embedding, [pair.first for pair in last])
        return [Pair(text, pair.second) for text, pair in zip(said, last, strict=True)]

    def _last_turns(self, pairs: Sequence[Pair]) -> list[Pair]:
        turns = self._read.turns
        return [Pair(_last(said, turns), reply) for said, reply in pairs]

    @property
    def _read(self) -> "_Read":
        read = _read(self.model, self.embedding, self.device)
        check_weights(read.folder, read.weights, self.hash)
        return read

    @property
    def _engine(self) -> "HeadEngine":
        return _loaded(self.model, self.embedding, self.device, self.fingerprint)


def _last(said: str, turns: int) -> str:
    """The last turns of those that stand on a line each."""
    return "\n".join(said.split("\n")[-turns:])


class _Read(NamedTuple):
    """What a checkpoint says of itself."""

    folder: Path
    shape: Shape
    dims: int
    turns: int
    embedding: Encoder | WordVectors
    hash: str
    """Of its files."""
    weights: str
    """The hash that the training noted of the weights."""
    halved: bool
    """Whether vectors of words were rounded to half precision in training; older checkpoints do not say."""


def _read(model: str, embedding: str, device: str) -> _Read:
    folder = _folder(model)
    if folder is None or not is_head(model):
        raise BackendError(
            f"'{printable(model)}' is no folder of a head; `dialoscope train ruber` makes one."
        )
    spec = configuration(folder, SPEC)
    try:
        settings = spec["settings"]
        shape, turns, trained = Shape.of(settings), int(settings["turns"]), str(settings["embedding"])
        fingerprint, weights, dims = str(spec["model"]), str(spec["hash"]), int(spec["dims"])
    except KeyError as lacking:
        raise BackendError(f"{folder / SPEC} is damaged: {lacking} is lacking.") from lacking
    except (TypeError, ValueError, OverflowError) as damaged:
        raise BackendError(f"{folder / SPEC} is damaged: {damaged}.") from damaged
    found = embedding_of(embedding or trained, device)
    if found.fingerprint != fingerprint:
        raise BackendError(
            f"{folder} was trained with '{printable(trained)}', and '{printable(str(found))}' is not, or no "
            "longer, the same. Name the place of the right one (`embedding`), or train again."
        )
    files = content_hash((folder / SPEC, folder / WEIGHTS))
    return _Read(folder, shape, dims, turns, found, files, weights, spec.get(WORD_VECTORS) == HALF)


@lru_cache(maxsize=2)
def _loaded(model: str, embedding: str, device: str, fingerprint: str) -> "HeadEngine":
    """The weights, loaded once for each description, content of the folder, and process."""
    read = _read(model, embedding, device)
    side = import_engine("heads", f"The head {model}")
    path = read.folder / WEIGHTS
    loaded: HeadEngine = side.HeadEngine(
        path, read.shape, read.dims, Features(read.embedding), device, halved=read.halved
    )
    if weights_hash([path]) != read.weights:
        raise BackendError(f"{path} is damaged: these are not the weights that the training left there.")
    return loaded
