"""Heads: small networks that rate a reply from the vectors of its context and of the reply."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch.nn.functional import sigmoid
from torch.nn.utils.rnn import pack_padded_sequence

from dialoscope.core.arrays import Floats
from dialoscope.core.errors import BackendError
from dialoscope.models.engines.device import choose_device
from dialoscope.models.features import to_half

if TYPE_CHECKING:
    from dialoscope.models.features import Features
    from dialoscope.models.heads import Shape

_AT_ONCE = 256
"""Number of texts, or pairs, that are processed together."""


class Head(torch.nn.Module):
    """The unreferenced scorer of RUBER (Tao et al., 2018; Ghazarian et al., 2019).

    Context and reply become vectors q and r, by separate recurrent networks or by pooling; a perceptron
    reads q, r and the number qᵀMr.
    """

    def __init__(self, shape: "Shape", dims: int) -> None:
        super().__init__()
        self.shape = shape
        size = dims
        if shape.recurrent:
            size = 2 * shape.units
            self.query_reader, self.reply_reader = (
                torch.nn.GRU(dims, shape.units, shape.layers, batch_first=True, bidirectional=True)
                for _ in range(2)
            )
        self.bilinear = torch.nn.Parameter(torch.zeros(size, size))
        widths = [2 * size + 1, *shape.perceptron]
        hidden = [
            part
            for before, after in pairwise(widths)
            for part in (torch.nn.Linear(before, after), torch.nn.Tanh())
        ]
        last = torch.nn.Linear(widths[-1], 1 if shape.objective == "ranking" else 2)
        self.perceptron = torch.nn.Sequential(*hidden, torch.nn.Dropout(shape.dropout), last)

    def query(self, rows: torch.Tensor, lengths: torch.Tensor | None = None) -> torch.Tensor:
        """Return the vectors of contexts, (texts, size)."""
        return _read(self.query_reader, rows, lengths) if lengths is not None else rows

    def reply(self, rows: torch.Tensor, lengths: torch.Tensor | None = None) -> torch.Tensor:
        """Return the vectors of replies, (texts, size)."""
        return _read(self.reply_reader, rows, lengths) if lengths is not None else rows

    def forward(self, query: torch.Tensor, reply: torch.Tensor) -> torch.Tensor:
        """Return the output of the last layer: (pairs, 2) for wrong and right, or (pairs, 1)."""
        quadratic = ((query @ self.bilinear) * reply).sum(1, keepdim=True)
        output: torch.Tensor = self.perceptron(torch.cat([query, reply, quadratic], 1))
        return output

    def logit(self, query: torch.Tensor, reply: torch.Tensor) -> torch.Tensor:
        """Return the logit of the probability that each reply is right."""
        output: torch.Tensor = self(query, reply)
        return output[:, 0] if output.shape[1] == 1 else output[:, 1] - output[:, 0]

    def right(self, query: torch.Tensor, reply: torch.Tensor) -> torch.Tensor:
        """Return the probability that each reply is right."""
        return sigmoid(self.logit(query, reply))


def _read(reader: torch.nn.Module, rows: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Return the last states of the top layer in both directions."""
    packed = pack_padded_sequence(rows, lengths, batch_first=True, enforce_sorted=False)
    _, last = reader(packed)
    return torch.cat([last[-2], last[-1]], 1)


class HeadEngine:
    """Computes a head, in double precision so that results do not depend on the batch.

    If `halved`, word vectors are rounded to half precision first, as they were in training.
    """

    def __init__(
        self, weights: Path, shape: "Shape", dims: int, features: "Features", device: str, *, halved: bool
    ) -> None:
        self.features, self.shape, self.halved = features, shape, halved
        self.device = choose_device(device)
        self.head = Head(shape, dims)
        self.head.load_state_dict(read_weights(weights, self.head))
        self.head.double().to(self.device).eval()

    @torch.inference_mode()
    def right(self, queries: Sequence[str], replies: Sequence[str]) -> Floats:
        """Return the probability that each reply is right; NaN if one of the texts has no features."""
        contexts, answers = self._vectors(queries, self.head.query), self._vectors(replies, self.head.reply)
        probabilities = np.full(len(queries), np.nan)
        complete = [
            index
            for index, pair in enumerate(zip(queries, replies, strict=True))
            if pair[0] in contexts and pair[1] in answers
        ]
        for begin in range(0, len(complete), _AT_ONCE):
            indices = complete[begin : begin + _AT_ONCE]
            context_batch = torch.stack([contexts[queries[index]] for index in indices])
            reply_batch = torch.stack([answers[replies[index]] for index in indices])
            probabilities[indices] = self.head.right(context_batch, reply_batch).cpu().numpy()
        return probabilities

    def _vectors(self, texts: Sequence[str], read: Any) -> dict[str, torch.Tensor]:  # noqa: ANN401
        """Return the vector of each unique text with features."""
        unique = list(dict.fromkeys(texts))
        if self.shape.recurrent:
            return dict(self._recurrent(unique, read))
        rows = self.features.pool(unique, self.shape.pooling)
        with_features = np.flatnonzero(~np.isnan(rows).any(axis=1)).tolist()
        vectors = torch.from_numpy(rows[with_features].astype(float)).to(self.device)
        return {unique[index]: vector for index, vector in zip(with_features, vectors, strict=True)}

    def _recurrent(self, texts: Sequence[str], read: Any) -> Iterator[tuple[str, torch.Tensor]]:  # noqa: ANN401
        waiting: dict[str, torch.Tensor] = {}
        for index, rows in self.features.rows(texts):
            if len(rows):
                read_rows = to_half(rows) if self.halved else rows
                waiting[texts[index]] = torch.from_numpy(read_rows.astype(float))
            if len(waiting) == _AT_ONCE:
                yield from self._read_batch(waiting, read)
                waiting = {}
        yield from self._read_batch(waiting, read)

    def _read_batch(self, texts: dict[str, torch.Tensor], read: Any) -> Iterator[tuple[str, torch.Tensor]]:  # noqa: ANN401
        if texts:
            padded = torch.nn.utils.rnn.pad_sequence(list(texts.values()), batch_first=True)
            lengths = torch.tensor([len(rows) for rows in texts.values()])
            yield from zip(texts, read(padded.to(self.device), lengths), strict=True)


def read_weights(path: Path, head: Head) -> dict[str, torch.Tensor]:
    """Load weights, which must have exactly the names and shapes of the head."""
    try:
        weights = load_file(path)
    except (OSError, SafetensorError) as error:
        raise BackendError(f"{path} cannot be read ({error}); train it again.") from error
    expected = head.state_dict()
    for name in sorted(expected.keys() ^ weights.keys()):
        problem = "is missing" if name in expected else "is unexpected"
        raise BackendError(f"{path}: the weight '{name}' {problem}; it is not this kind of head.")
    for name, parameter in expected.items():
        if weights[name].shape != parameter.shape:
            raise BackendError(
                f"{path}: the weight '{name}' has the shape {tuple(weights[name].shape)}, but must have "
                f"{tuple(parameter.shape)}."
            )
    return weights
