"""Ratings foretold from vectors of context, reference and reply, which `dialoscope train adem` learns."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.errors import BackendError, MissingExtra
from dialoscope.core.records import Example
from dialoscope.core.safe_text import printable
from dialoscope.models.asset_kinds import asset_names_of
from dialoscope.models.checkpoints import WEIGHTS, Trained, check_weights, weights_hash
from dialoscope.models.content import content_hash
from dialoscope.models.encoder import TransformerEncoder
from dialoscope.models.locations import SPEC, configuration
from dialoscope.models.named_models import resolve_model
from dialoscope.models.protocols import Encoder
from dialoscope.models.truncation import Cut, find_cuts, latest

RECIPE = "adem"
"""The recipe of such checkpoints."""


class Sides(NamedTuple):
    """Vectors of what a reply answers, of what people said in its place, and of the reply: a row each."""

    context: Floats
    reference: Floats
    reply: Floats

    def take(self, rows: Ints) -> "Sides":
        """Those of some replies."""
        return Sides(*(side[rows] for side in self))


@dataclass(frozen=True, eq=False)
class Bilinear:
    """(cᵀMr̂ + rᵀNr̂ − α) / β over vectors in fewer dimensions, and how far it was seen to hold."""

    mean: Floats  # (vectors' dims,)
    """What is taken from each vector first."""
    axes: Floats  # (vectors' dims, dims)
    """The directions that are kept of it."""
    context_matrix: Floats  # (dims, dims)
    """M, between context and reply."""
    reference_matrix: Floats  # (dims, dims)
    """N, between reference and reply."""
    scale: Floats  # (2,)
    """α and β."""
    centre: Floats  # (2 dims + 2,)
    """Where context and reply lie in training, and how much of each is in no direction that is kept."""
    spread: Floats  # (2 dims + 2,)
    """How far they lie around it, in each of these."""
    limit: Floats  # (1,)
    """The strangeness within which 99 of 100 rated replies to unknown contexts lay."""

    def ratings(self, sides: Sides) -> Floats:
        """What people would say of each reply."""
        context, reference, reply = (self.projected(side) for side in sides)
        alpha, beta = self.scale
        both = context @ self.context_matrix + reference @ self.reference_matrix
        return np.asarray(((both * reply).sum(axis=1) - alpha) / beta)

    def strangeness(self, sides: Sides) -> Floats:
        """How far context and reply of each lie from what was learned from; 1 is the limit.

        What is lost of them counts most, where it is more than usual: directions that training texts never
        took are not among those that are kept.
        """
        away = (self.places(sides) - self.centre) / self.spread
        lost = np.maximum(away[:, -2:], 0)
        squares = (away[:, :-2] ** 2).mean(axis=1) + (lost**2).sum(axis=1)
        return np.asarray(np.sqrt(squares) / self.limit)

    def projected(self, vectors: Floats) -> Floats:
        """In the dimensions that are kept."""
        return np.asarray((vectors - self.mean) @ self.axes)

    def places(self, sides: Sides) -> Floats:
        """Context and reply in the dimensions that are kept, and the length of what is lost of each."""
        both = [(self.projected(side), side - self.mean) for side in (sides.context, sides.reply)]
        lost = [np.linalg.norm(whole - kept @ self.axes.T, axis=1) for kept, whole in both]
        return np.column_stack([*(kept for kept, _ in both), *lost])

    def arrays(self) -> dict[str, Floats]:
        """All that is learned, by name."""
        return {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}


def reply_texts(reply: Example, turns: int) -> tuple[str, tuple[str, ...]]:
    """The last turns that say something, on a line each, and the references that do."""
    said = [turn for turn in reply.context if turn.strip()]
    return "\n".join(said[-turns:]), tuple(one for one in reply.references if one.strip())


def encode_replies(encoder: Encoder, replies: Sequence[Example], turns: int) -> Sides:
    """The vectors of replies, of which each has all that it must; of several references the mean."""
    texts = [reply_texts(reply, turns) for reply in replies]
    said = latest(encoder, [before for before, _ in texts])
    references = [one for _, several in texts for one in several]
    every = [*said, *(reply.response for reply in replies), *references]
    numbers = {text: place for place, text in enumerate(dict.fromkeys(every))}
    vectors = encoder.encode(list(numbers)).astype(float)
    rows = vectors[[numbers[text] for text in every]]
    context, reply, of_references = np.split(rows, [len(replies), 2 * len(replies)])
    counts = np.array([len(several) for _, several in texts])
    sums = np.add.reduceat(of_references, np.cumsum(counts) - counts)
    return Sides(context, sums / counts[:, None], reply)


def has_inputs(reply: Example) -> bool:
    """Whether there is something to judge a reply by, and something to judge."""
    said, references = reply_texts(reply, 1)
    return bool(said and references and reply.response.strip())


def resolve_encoder(name: str, device: str = "auto") -> Encoder:
    """The encoder that a text names; nothing is loaded."""
    found: Encoder = resolve_model(Encoder, name, default=TransformerEncoder(device=device))
    return found


@dataclass(frozen=True)
class BilinearRegressor(Trained):
    """How people would rate a reply, foretold by a checkpoint of `dialoscope train adem`."""

    name: ClassVar[str] = "bilinear"
    version: ClassVar[int] = 2

    model: str = ""
    encoder: str = field(default="", compare=False, kw_only=True)
    """Where its encoder is, if not where it was in training; another is refused."""

    @property
    def fingerprint(self) -> str:
        """A hash of the checkpoint and of the encoder below."""
        read = self._read()
        return sha256(f"{read.files} on {read.encoder.fingerprint}".encode()).hexdigest()

    @property
    def asset_names(self) -> tuple[str, ...]:
        """The assets behind it, for their licences."""
        encoder = self.encoder or self.trained_with("model")
        return asset_names_of([resolve_encoder(encoder)]) if encoder else ()

    def rate(self, replies: Sequence[Example]) -> Floats:
        """The rating and the strangeness of each; NaN for one without words, context or reference."""
        found = np.full((len(replies), 2), np.nan)
        whole = [place for place, reply in enumerate(replies) if has_inputs(reply)]
        read = self._read()
        if whole:
            learned = _loaded(str(read.folder), read.weights, read.files)
            sides = encode_replies(read.encoder, [replies[place] for place in whole], read.turns)
            if sides.reply.shape[1] != len(learned.mean):
                raise _damaged(read.folder / WEIGHTS, "its sizes are not those of its encoder's vectors")
            found[whole] = np.column_stack([learned.ratings(sides), learned.strangeness(sides)])
        return found

    def cut(self, replies: Sequence[Example]) -> Cut:
        """Which replies lose the beginning of their context, or the end of themselves or of a reference."""
        read = self._read()
        texts = [reply_texts(reply, read.turns) for reply in replies]
        before = find_cuts(read.encoder, [said for said, _ in texts])
        after = find_cuts(read.encoder, [reply.response for reply in replies])
        references = [find_cuts(read.encoder, several).end.any() for _, several in texts]
        return Cut(before.limit, before.end, after.end | np.array(references, bool))

    def _read(self) -> "_Read":
        return _read(self)


class _Read(NamedTuple):
    """What a checkpoint says of itself."""

    folder: Path
    turns: int
    encoder: Encoder
    files: str
    """A hash of them."""
    weights: str
    """The hash that the training noted of the weights."""


def _read(described: BilinearRegressor) -> _Read:
    if not described.model:
        raise BackendError(
            "adem needs a checkpoint, and none is shipped, since rated replies may seldom be passed on. "
            "Train one with: dialoscope train adem RATED.jsonl -o FOLDER, and name it so: "
            "adem:checkpoint=FOLDER."
        )
    folder, spec = _spec(described.model)
    try:
        turns, trained = int(spec["settings"]["turns"]), str(spec["settings"]["model"])
        fingerprint, weights = str(spec["model"]), str(spec["hash"])
    except (KeyError, TypeError, ValueError, OverflowError) as wrong:
        raise _damaged(folder / SPEC, f"{wrong} is lacking or wrong") from wrong
    check_weights(folder, weights, described.hash)
    encoder = resolve_encoder(described.encoder or trained, described.device)
    if encoder.fingerprint != fingerprint:
        raise BackendError(
            f"{printable(str(folder))} was trained with the encoder '{printable(trained)}', and "
            f"'{printable(str(encoder))}' is not, or no longer, the same. Name the place of the right one "
            "(checkpoint.encoder=FOLDER), or train again."
        )
    return _Read(folder, turns, encoder, content_hash((folder / SPEC, folder / WEIGHTS)), weights)


def _spec(model: str) -> tuple[Path, dict[str, Any]]:
    folder = Path(model).expanduser()
    there = (folder / SPEC).is_file() and (folder / WEIGHTS).is_file()
    spec = configuration(folder, SPEC) if there else {}
    if spec.get("recipe") != RECIPE:
        raise BackendError(
            f"'{printable(model)}' is no checkpoint for adem; dialoscope train adem RATED.jsonl -o FOLDER "
            "makes one."
        )
    return folder, spec


@lru_cache(maxsize=4)
def _loaded(folder: str, weights: str, files: str) -> Bilinear:
    """What was learned, read once for each content of the folder, which `files` is a hash of."""
    path = Path(folder) / WEIGHTS
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file
    except ImportError as missing:
        raise MissingExtra("The metric adem", "safetensors", "neural") from missing
    if weights_hash([path]) != weights:
        raise _damaged(path, "these are not the weights that the training left there")
    try:
        return _checked(load_file(path))
    except (SafetensorError, TypeError, ValueError) as error:
        raise _damaged(path, str(error)) from error


def _checked(arrays: dict[str, Floats]) -> Bilinear:
    """All that must be there, in sizes that fit, and nothing else."""
    found = Bilinear(**arrays)
    size, dims = found.axes.shape
    places = 2 * dims + 2
    sizes = ((size,), (size, dims), (dims, dims), (dims, dims), (2,), (places,), (places,), (1,))
    for (name, array), shape in zip(found.arrays().items(), sizes, strict=True):
        if array.shape != shape or array.dtype != float or not np.isfinite(array).all():
            raise ValueError(f"{name} is not as it should be")
    return found


def _damaged(path: Path, why: str) -> BackendError:
    return BackendError(f"{printable(str(path))} is damaged: {printable(why)}. Train again.")
