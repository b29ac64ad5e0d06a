"""Heads: small networks that judge a reply by the vectors of what was said and of the reply."""

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
from dialoscope.models.engines.device import chosen_device
from dialoscope.models.features import to_half

if TYPE_CHECKING:
    from dialoscope.models.features import Features
    from dialoscope.models.heads import Shape

_AT_ONCE = 256
"""Texts, or pairs, that are judged together."""


class Head(torch.nn.Module):
    """The unreferenced scorer of RUBER (Tao et al., 2018) and of its heirs (Ghazarian et al., 2019).

    What was said and the reply become a vector each, q and r, by recurrent networks of their own or as they
    come; a perceptron reads q, r and the one number qᵀMr.
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

    def query(self, told: torch.Tensor, lengths: torch.Tensor | None = None) -> torch.Tensor:
        """Vectors of what was said, (texts, size)."""
        return _read(self.query_reader, told, lengths) if lengths is not None else told

    def reply(self, told: torch.Tensor, lengths: torch.Tensor | None = None) -> torch.Tensor:
        """Vectors of replies, (texts, size)."""
        return _read(self.reply_reader, told, lengths) if lengths is not None else told

    def forward(self, query: torch.Tensor, reply: torch.Tensor) -> torch.Tensor:
        """What the last layer says of pairs of vectors: (pairs, 2), wrong and right, or (pairs, 1)."""
        quadratic = ((query @ self.bilinear) * reply).sum(1, keepdim=True)
        found: torch.Tensor = self.perceptron(torch.cat([query, reply, quadratic], 1))
        return found

    def logit(self, query: torch.Tensor, reply: torch.Tensor) -> torch.Tensor:
        """The logit of each reply being a right one."""
        found: torch.Tensor = self(query, reply)
        return found[:, 0] if found.shape[1] == 1 else found[:, 1] - found[:, 0]

    def right(self, query: torch.Tensor, reply: torch.Tensor) -> torch.Tensor:
        """How surely each reply is a right one, between 0 and 1."""
        return sigmoid(self.logit(query, reply))


def _read(reader: torch.nn.Module, told: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The last states of the uppermost layer, from left to right and from right to left."""
    packed = pack_padded_sequence(told, lengths, batch_first=True, enforce_sorted=False)
    _, last = reader(packed)
    return torch.cat([last[-2], last[-1]], 1)


class HeadEngine:
    """A head at work, in double precision so that what stands beside a text does not show.

    If `halved`, vectors of words are rounded to half precision first, as they were in training.
    """

    def __init__(
        self, weights: Path, shape: "Shape", dims: int, features: "Features", device: str, *, halved: bool
    ) -> None:
        self.features, self.shape, self.halved = features, shape, halved
        self.device = chosen_device(device)
        self.head = Head(shape, dims)
        self.head.load_state_dict(read_weights(weights, self.head))
        self.head.double().to(self.device).eval()

    @torch.inference_mode()
    def right(self, queries: Sequence[str], replies: Sequence[str]) -> Floats:
        """How surely each reply is a right one; NaN where either text has no features."""
        said, answers = self._vectors(queries, self.head.query), self._vectors(replies, self.head.reply)
        found = np.full(len(queries), np.nan)
        known = [
            place
            for place, pair in enumerate(zip(queries, replies, strict=True))
            if pair[0] in said and pair[1] in answers
        ]
        for begin in range(0, len(known), _AT_ONCE):
            places = known[begin : begin + _AT_ONCE]
            told = torch.stack([said[queries[place]] for place in places])
            answered = torch.stack([answers[replies[place]] for place in places])
            found[places] = self.head.right(told, answered).cpu().numpy()
        return found

    def _vectors(self, texts: Sequence[str], read: Any) -> dict[str, torch.Tensor]:  # noqa: ANN401
        """The vector of each different text that has features."""
        unique = list(dict.fromkeys(texts))
        if self.shape.recurrent:
            return dict(self._recurrent(unique, read))
        rows = self.features.pool(unique, self.shape.pooling)
        known = np.flatnonzero(~np.isnan(rows).any(axis=1)).tolist()
        vectors = torch.from_numpy(rows[known].astype(float)).to(self.device)
        return {unique[place]: vector for place, vector in zip(known, vectors, strict=True)}

    def _recurrent(self, texts: Sequence[str], read: Any) -> Iterator[tuple[str, torch.Tensor]]:  # noqa: ANN401
        waiting: dict[str, torch.Tensor] = {}
        for place, rows in self.features.rows(texts):
            if len(rows):
                read_rows = to_half(rows) if self.halved else rows
                waiting[texts[place]] = torch.from_numpy(read_rows.astype(float))
            if len(waiting) == _AT_ONCE:
                yield from self._together(waiting, read)
                waiting = {}
        yield from self._together(waiting, read)

    def _together(self, texts: dict[str, torch.Tensor], read: Any) -> Iterator[tuple[str, torch.Tensor]]:  # noqa: ANN401
        if texts:
            told = torch.nn.utils.rnn.pad_sequence(list(texts.values()), batch_first=True)
            lengths = torch.tensor([len(rows) for rows in texts.values()])
            yield from zip(texts, read(told.to(self.device), lengths), strict=True)


def read_weights(path: Path, head: Head) -> dict[str, torch.Tensor]:
    """The weights of a file, which must be those of the head, no more and no fewer."""
    try:
        found = load_file(path)
    except (OSError, SafetensorError) as damaged:
        raise BackendError(f"{path} cannot be read ({damaged}); train it again.") from damaged
    wanted = head.state_dict()
    for name in sorted(wanted.keys() ^ found.keys()):
        problem = "lacks" if name in wanted else "has, and should not have,"
        raise BackendError(f"{path} {problem} the weight '{name}': it is not of this kind of head.")
    for name, one in wanted.items():
        if found[name].shape != one.shape:
            raise BackendError(
                f"{path}: the weight '{name}' is of the shape {tuple(found[name].shape)}, but must be "
                f"{tuple(one.shape)}."
            )
    return found
