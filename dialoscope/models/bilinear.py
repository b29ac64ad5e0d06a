"""Regression of ratings on vectors of context, reference and reply, trained by `dialoscope train adem`."""

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
from dialoscope.models.asset_kinds import collect_asset_names
from dialoscope.models.checkpoints import WEIGHTS, TrainedModel, check_weights, weights_hash
from dialoscope.models.content import content_hash
from dialoscope.models.encoder import TransformerEncoder
from dialoscope.models.locations import SPEC, configuration
from dialoscope.models.named_models import resolve_model
from dialoscope.models.protocols import Encoder
from dialoscope.models.truncation import Cut, find_cuts, keep_latest

RECIPE = "adem"
"""The recipe in the spec of these checkpoints."""


class ReplyVectors(NamedTuple):
    """Vectors of contexts, references and replies, one row per reply."""

    context: Floats
    reference: Floats
    reply: Floats

    def take(self, rows: Ints) -> "ReplyVectors":
        """Return the vectors of some replies."""
        return ReplyVectors(*(vectors[rows] for vectors in self))


@dataclass(frozen=True, eq=False)
class Bilinear:
    """The model (cᵀMr̂ + rᵀNr̂ − α) / β on projected vectors, and the region of its training data."""

    mean: Floats  # (vectors' dims,)
    """Mean that is subtracted from each vector."""
    axes: Floats  # (vectors' dims, dims)
    """Principal axes on which vectors are projected."""
    context_matrix: Floats  # (dims, dims)
    """M, between context and reply."""
    reference_matrix: Floats  # (dims, dims)
    """N, between reference and reply."""
    scale: Floats  # (2,)
    """α and β."""
    centre: Floats  # (2 dims + 2,)
    """Mean over the training data of projected context and reply, and of the norms of their residuals."""
    spread: Floats  # (2 dims + 2,)
    """Standard deviation of each of these."""
    limit: Floats  # (1,)
    """The 99th percentile of distances of held-out rated replies, which has strangeness 1."""

    def ratings(self, vectors: ReplyVectors) -> Floats:
        """Return the predicted rating of each reply."""
        context, reference, reply = (self.project(side) for side in vectors)
        alpha, beta = self.scale
        weighted = context @ self.context_matrix + reference @ self.reference_matrix
        return np.asarray(((weighted * reply).sum(axis=1) - alpha) / beta)

    def strangeness(self, vectors: ReplyVectors) -> Floats:
        """Return the distance of context and reply from the training data; 1 is the limit.

        Residuals that are larger than usual have the most weight, since directions that do not occur in the
        training data are not among the axes.
        """
        deviations = (self.positions(vectors) - self.centre) / self.spread
        residuals = np.maximum(deviations[:, -2:], 0)
        squares = (deviations[:, :-2] ** 2).mean(axis=1) + (residuals**2).sum(axis=1)
        return np.asarray(np.sqrt(squares) / self.limit)

    def project(self, vectors: Floats) -> Floats:
        """Return the projections of vectors on the axes."""
        return np.asarray((vectors - self.mean) @ self.axes)

    def positions(self, vectors: ReplyVectors) -> Floats:
        """Return the projections of context and reply, and the norms of their residuals."""
        sides = (vectors.context, vectors.reply)
        projections = [self.project(side) for side in sides]
        residuals = [
            np.linalg.norm(side - self.mean - projection @ self.axes.T, axis=1)
            for side, projection in zip(sides, projections, strict=True)
        ]
        return np.column_stack([*projections, *residuals])

    def arrays(self) -> dict[str, Floats]:
        """Return all arrays by name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


def reply_texts(reply: Example, turns: int) -> tuple[str, tuple[str, ...]]:
    """Return the last non-empty turns of the context, one per line, and the non-empty references."""
    context = [turn for turn in reply.context if turn.strip()]
    return "\n".join(context[-turns:]), tuple(text for text in reply.references if text.strip())


def encode_replies(encoder: Encoder, replies: Sequence[Example], turns: int) -> ReplyVectors:
    """Return the vectors of replies without missing inputs; several references have the mean vector."""
    texts = [reply_texts(reply, turns) for reply in replies]
    contexts = keep_latest(encoder, [context for context, _ in texts])
    all_references = [text for _, references in texts for text in references]
    all_texts = [*contexts, *(reply.response for reply in replies), *all_references]
    numbers = {text: number for number, text in enumerate(dict.fromkeys(all_texts))}
    vectors = encoder.encode(list(numbers)).astype(float)
    rows = vectors[[numbers[text] for text in all_texts]]
    context, reply, reference = np.split(rows, [len(replies), 2 * len(replies)])
    counts = np.array([len(references) for _, references in texts])
    sums = np.add.reduceat(reference, np.cumsum(counts) - counts)
    return ReplyVectors(context, sums / counts[:, None], reply)


def has_inputs(reply: Example) -> bool:
    """Whether a reply, its context and its references are not empty."""
    context, references = reply_texts(reply, 1)
    return bool(context and references and reply.response.strip())


def resolve_encoder(name: str, device: str = "auto") -> Encoder:
    """Return the encoder that a text names; nothing is loaded."""
    encoder: Encoder = resolve_model(Encoder, name, default=TransformerEncoder(device=device))
    return encoder


@dataclass(frozen=True)
class BilinearRegressor(TrainedModel):
    """A regression model that predicts human ratings: a checkpoint of `dialoscope train adem`."""

    name: ClassVar[str] = "bilinear"
    version: ClassVar[int] = 2

    model: str = ""
    encoder: str = field(default="", compare=False, kw_only=True)
    """Location of the encoder, if it has changed since training; another encoder is refused."""

    @property
    def fingerprint(self) -> str:
        """The hash of the checkpoint and of its encoder."""
        checkpoint = _read_checkpoint(self)
        return sha256(f"{checkpoint.files} on {checkpoint.encoder.fingerprint}".encode()).hexdigest()

    @property
    def asset_names(self) -> tuple[str, ...]:
        """The names of the assets that the model consists of, for their licences."""
        encoder = self.encoder or self.read_training_setting("model")
        return collect_asset_names([resolve_encoder(encoder)]) if encoder else ()

    def rate(self, replies: Sequence[Example]) -> Floats:
        """Rating and strangeness of each reply; NaN if the reply, its context or its references are empty."""
        ratings = np.full((len(replies), 2), np.nan)
        complete = [index for index, reply in enumerate(replies) if has_inputs(reply)]
        checkpoint = _read_checkpoint(self)
        if complete:
            model = _load(str(checkpoint.folder), checkpoint.weights, checkpoint.files)
            rated = [replies[index] for index in complete]
            vectors = encode_replies(checkpoint.encoder, rated, checkpoint.turns)
            if vectors.reply.shape[1] != len(model.mean):
                reason = "its sizes differ from those of the encoder's vectors"
                raise _damage_error(checkpoint.folder / WEIGHTS, reason)
            ratings[complete] = np.column_stack([model.ratings(vectors), model.strangeness(vectors)])
        return ratings

    def cut(self, replies: Sequence[Example]) -> Cut:
        """The replies that lose the beginning of the context, or the end of the reply or a reference."""
        checkpoint = _read_checkpoint(self)
        encoder, texts = checkpoint.encoder, [reply_texts(reply, checkpoint.turns) for reply in replies]
        contexts = find_cuts(encoder, [context for context, _ in texts])
        responses = find_cuts(encoder, [reply.response for reply in replies])
        references = np.array([find_cuts(encoder, texts).end.any() for _, texts in texts], bool)
        return Cut(contexts.limit, contexts.end, responses.end | references)


class _AdemCheckpoint(NamedTuple):
    """The content of the spec of a checkpoint."""

    folder: Path
    turns: int
    encoder: Encoder
    files: str
    """The hash of spec and weights."""
    weights: str
    """The hash of the weights that the training recorded."""


def _read_checkpoint(description: BilinearRegressor) -> _AdemCheckpoint:
    if not description.model:
        raise BackendError(
            "adem needs a checkpoint; Dialoscope has none, since rated replies can rarely be redistributed. "
            "Train one with: dialoscope train adem RATED.jsonl -o FOLDER, and use it with: "
            "adem:checkpoint=FOLDER."
        )
    folder, spec = _read_spec(description.model)
    try:
        turns, trained = int(spec["settings"]["turns"]), str(spec["settings"]["model"])
        fingerprint, weights = str(spec["model"]), str(spec["hash"])
    except (KeyError, TypeError, ValueError, OverflowError) as wrong:
        raise _damage_error(folder / SPEC, f"{wrong} is missing or invalid") from wrong
    check_weights(folder, weights, description.hash)
    encoder = resolve_encoder(description.encoder or trained, description.device)
    if encoder.fingerprint != fingerprint:
        raise BackendError(
            f"{printable(str(folder))} was trained with the encoder '{printable(trained)}', but "
            f"'{printable(str(encoder))}' is different now. Give the location of the original one "
            "(checkpoint.encoder=FOLDER), or train again."
        )
    return _AdemCheckpoint(folder, turns, encoder, content_hash((folder / SPEC, folder / WEIGHTS)), weights)


def _read_spec(model: str) -> tuple[Path, dict[str, Any]]:
    folder = Path(model).expanduser()
    exists = (folder / SPEC).is_file() and (folder / WEIGHTS).is_file()
    spec = configuration(folder, SPEC) if exists else {}
    if spec.get("recipe") != RECIPE:
        raise BackendError(
            f"'{printable(model)}' is not a checkpoint for adem; dialoscope train adem RATED.jsonl -o FOLDER "
            "writes one."
        )
    return folder, spec


@lru_cache(maxsize=4)
def _load(folder: str, weights: str, files: str) -> Bilinear:
    """Load the weights, once for each hash `files` of the checkpoint."""
    path = Path(folder) / WEIGHTS
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file
    except ImportError as missing:
        raise MissingExtra("The metric adem", "safetensors", "neural") from missing
    if weights_hash([path]) != weights:
        raise _damage_error(path, "the weights have changed since the training")
    try:
        return _build_model(load_file(path))
    except (SafetensorError, TypeError, ValueError) as error:
        raise _damage_error(path, str(error)) from error


def _build_model(arrays: dict[str, Floats]) -> Bilinear:
    """Create the model from its arrays, after checking their names, shapes, types and values."""
    model = Bilinear(**arrays)
    size, dims = model.axes.shape
    count = 2 * dims + 2
    shapes = ((size,), (size, dims), (dims, dims), (dims, dims), (2,), (count,), (count,), (1,))
    for (name, array), shape in zip(model.arrays().items(), shapes, strict=True):
        if array.shape != shape or array.dtype != float or not np.isfinite(array).all():
            raise ValueError(f"the array {name} is invalid")
    return model


def _damage_error(path: Path, why: str) -> BackendError:
    return BackendError(f"{printable(str(path))} is damaged: {printable(why)}. Train again.")
