"""Encoders and classifiers at work: texts become rows of tokens, rows batches, batches vectors or classes."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch

from dialoscope.core.arrays import Floats
from dialoscope.core.errors import BackendError
from dialoscope.models.engines import bert
from dialoscope.models.engines.device import chosen_device, fetched, torch_dtype
from dialoscope.models.engines.reader import Reader, TokenRow
from dialoscope.models.engines.rows import in_batches, runs
from dialoscope.models.locations import find_model
from dialoscope.models.protocols import Pair, TokenVectors, Vectors

if TYPE_CHECKING:
    from dialoscope.models.encoder import Transformer, TransformerEncoder

BUDGET = {"cpu": 2048, "cuda": 65536}
"""Tokens in a batch. On a processor what passes between layers then stays in its cache."""


class Body(Protocol):
    """A model that reads rows, the longest first."""

    dims: int

    def hidden(self, rows: Sequence[TokenRow]) -> torch.Tensor:
        """What it makes of each token, row after row."""

    def logits(self, rows: Sequence[TokenRow]) -> torch.Tensor:
        """How it rates the classes of each row."""


class TransformerEngine:
    """What encoders and classifiers share: a folder, a tokenizer, a device."""

    def __init__(self, description: "Transformer") -> None:
        self.model = find_model(description.model, description.revision)
        self.config = self.model.config
        self.device, self.dtype = chosen_device(description.device), torch_dtype(description.dtype)
        self.reader = Reader(self.model.folder, self.config, description.max_tokens)
        self.budget = description.budget or BUDGET.get(self.device.type, BUDGET["cpu"])
        self.body: Body


class EncoderEngine(TransformerEngine):
    """Vectors of texts."""

    def __init__(self, description: "TransformerEncoder") -> None:
        super().__init__(description)
        layers = self._layers(description.layer)
        if bert.fits(self.config, self.model.folder):
            self.body = bert.Bert(self.config, self.model, self.device, self.dtype, layers)
        else:
            from dialoscope.models.engines.padded import load_encoder

            self.body = load_encoder(self.model, self.device, self.dtype, layers)

    def _layers(self, layer: int) -> int:
        """How many layers are to be computed."""
        names = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
        count = next((int(self.config[name]) for name in names if name in self.config), None)
        if count is None:
            raise BackendError(
                f"{self.model.folder / 'config.json'} does not say how many layers the model has."
            )
        layers = layer if layer >= 0 else count + 1 + layer
        if not 0 <= layers <= count:
            raise BackendError(
                f"layer is {layer}; {self.model.folder.name} has {count} layers, so that it must be between "
                f"{-count - 1} and {count} (0: the embeddings, -1: the last)."
            )
        return layers

    def token_vectors(
        self, texts: Sequence[str | Pair], places: Sequence[int]
    ) -> Iterator[tuple[int, TokenVectors]]:
        """For each text, its place and the vectors of its tokens, in the order they are ready."""
        return in_batches(self.reader, texts, places, self._apart, self.budget)

    def vectors(
        self, texts: Sequence[str | Pair], places: Sequence[int], pooling: str
    ) -> Iterator[tuple[int, Vectors]]:
        """For each text, its place and its vector, in the order they are ready."""
        return in_batches(self.reader, texts, places, partial(self._pooled, pooling=pooling), self.budget)

    @torch.inference_mode()
    def _apart(self, rows: Sequence[TokenRow]) -> list[TokenVectors]:
        hidden = fetched(self._hidden(rows)).numpy()
        ends = np.cumsum([0, *(len(row.ids) for row in rows)]).tolist()
        return [
            TokenVectors(row.ids, hidden[begin:end])
            for row, (begin, end) in zip(rows, pairwise(ends), strict=True)
        ]

    @torch.inference_mode()
    def _pooled(self, rows: Sequence[TokenRow], pooling: str) -> list[Vectors]:
        hidden = self._hidden(rows)
        found = [_pool(run.of(hidden), pooling) for run in runs(rows)]
        return list(torch.cat(found).cpu().numpy())

    def _hidden(self, rows: Sequence[TokenRow]) -> torch.Tensor:
        """In float32, however precise the model is; rows without a token come last and have none."""
        read = [row for row in rows if len(row.ids)]
        return self.body.hidden(read).float() if read else torch.zeros(0, self.body.dims)


def _pool(vectors: torch.Tensor, pooling: str) -> torch.Tensor:
    """One vector for each row, (rows, dims) from (rows, tokens, dims); undefined without a token."""
    if not vectors.shape[1] or pooling == "mean":
        return vectors.mean(1)
    return vectors[:, 0] if pooling == "first" else vectors.amax(1)


class ClassifierEngine(TransformerEngine):
    """Classes of pairs of texts."""

    def __init__(self, description: "Transformer") -> None:
        super().__init__(description)
        self.classes = len(self.config.get("id2label") or (0, 1))
        self.several = self.config.get("problem_type") == "multi_label_classification"
        if bert.fits(self.config, self.model.folder):
            layers = int(self.config["num_hidden_layers"])
            self.body = bert.Bert(self.config, self.model, self.device, self.dtype, layers)
        else:
            from dialoscope.models.engines.padded import load_classifier

            self.body = load_classifier(self.model, self.device, self.dtype)

    def probabilities(self, texts: Sequence[Pair], places: Sequence[int]) -> Iterator[tuple[int, Floats]]:
        """For each pair, its place and how probable each class is, in the order they are ready."""
        return in_batches(self.reader, texts, places, self._probable, self.budget)

    @torch.inference_mode()
    def _probable(self, rows: Sequence[TokenRow]) -> list[Floats]:
        read = [row for row in rows if len(row.ids)]  # those without a token come last
        logits = self.body.logits(read).double() if read else torch.zeros(0, self.classes)
        one = self.classes == 1 or self.several
        found = (logits.sigmoid() if one else logits.softmax(1)).cpu().numpy()
        return [*found, *np.full((len(rows) - len(read), self.classes), np.nan)]
