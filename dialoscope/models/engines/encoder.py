"""Computation of encoders and classifiers: texts to rows of tokens, to batches, to vectors or classes."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch

from dialoscope.core.arrays import Floats
from dialoscope.core.errors import BackendError
from dialoscope.models.engines import bert
from dialoscope.models.engines.device import choose_device, copy_to_cpu, torch_dtype
from dialoscope.models.engines.reader import Reader, TokenRow
from dialoscope.models.engines.rows import in_batches, runs
from dialoscope.models.locations import find_model
from dialoscope.models.protocols import Pair, TokenVectors, Vectors

if TYPE_CHECKING:
    from dialoscope.models.encoder import Transformer, TransformerEncoder

BUDGET = {"cpu": 2048, "cuda": 65536}
"""Number of tokens in a batch. On a CPU, the data between layers then fit into its cache."""


class Body(Protocol):
    """A model that reads rows, the longest first."""

    dims: int

    def hidden(self, rows: Sequence[TokenRow]) -> torch.Tensor:
        """Return the hidden states of all tokens, row after row."""

    def logits(self, rows: Sequence[TokenRow]) -> torch.Tensor:
        """Return the logits of the classes for each row."""


class TransformerEngine:
    """Files, tokenizer, device and budget of an encoder or a classifier."""

    def __init__(self, description: "Transformer") -> None:
        self.model = find_model(description.model, description.revision)
        self.config = self.model.config
        self.device, self.dtype = choose_device(description.device), torch_dtype(description.dtype)
        self.reader = Reader(self.model.folder, self.config, description.max_tokens)
        self.budget = description.budget or BUDGET.get(self.device.type, BUDGET["cpu"])
        self.body: Body


class EncoderEngine(TransformerEngine):
    """Computes vectors of texts and tokens."""

    def __init__(self, description: "TransformerEncoder") -> None:
        super().__init__(description)
        layers = self._layers(description.layer)
        if bert.fits(self.config, self.model.folder):
            self.body = bert.Bert(self.config, self.model, self.device, self.dtype, layers)
        else:
            from dialoscope.models.engines.padded import load_encoder

            self.body = load_encoder(self.model, self.device, self.dtype, layers)

    def _layers(self, layer: int) -> int:
        """Return the number of layers to compute."""
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
        self, texts: Sequence[str | Pair], indices: Sequence[int]
    ) -> Iterator[tuple[int, TokenVectors]]:
        """Yield the index of each text and the vectors of its tokens, in the order of computation."""
        return in_batches(self.reader, texts, indices, self._compute_tokens, self.budget)

    def vectors(
        self, texts: Sequence[str | Pair], indices: Sequence[int], pooling: str
    ) -> Iterator[tuple[int, Vectors]]:
        """Yield the index of each text and its vector, in the order of computation."""
        return in_batches(
            self.reader, texts, indices, partial(self._compute_pooled, pooling=pooling), self.budget
        )

    @torch.inference_mode()
    def _compute_tokens(self, rows: Sequence[TokenRow]) -> list[TokenVectors]:
        hidden = copy_to_cpu(self._hidden(rows)).numpy()
        ends = np.cumsum([0, *(len(row.ids) for row in rows)]).tolist()
        return [
            TokenVectors(row.ids, hidden[begin:end])
            for row, (begin, end) in zip(rows, pairwise(ends), strict=True)
        ]

    @torch.inference_mode()
    def _compute_pooled(self, rows: Sequence[TokenRow], pooling: str) -> list[Vectors]:
        hidden = self._hidden(rows)
        pooled = [_pool(run.of(hidden), pooling) for run in runs(rows)]
        return list(torch.cat(pooled).cpu().numpy())

    def _hidden(self, rows: Sequence[TokenRow]) -> torch.Tensor:
        """Return the hidden states in float32; rows without tokens come last and have none."""
        nonempty = [row for row in rows if len(row.ids)]
        return self.body.hidden(nonempty).float() if nonempty else torch.zeros(0, self.body.dims)


def _pool(vectors: torch.Tensor, pooling: str) -> torch.Tensor:
    """Pool (rows, tokens, dims) to (rows, dims); NaN for rows without tokens."""
    if not vectors.shape[1] or pooling == "mean":
        return vectors.mean(1)
    return vectors[:, 0] if pooling == "first" else vectors.amax(1)


class ClassifierEngine(TransformerEngine):
    """Computes probabilities of classes of pairs of texts."""

    def __init__(self, description: "Transformer") -> None:
        super().__init__(description)
        self.classes = len(self.config.get("id2label") or (0, 1))
        self.multi_label = self.config.get("problem_type") == "multi_label_classification"
        if bert.fits(self.config, self.model.folder):
            layers = int(self.config["num_hidden_layers"])
            self.body = bert.Bert(self.config, self.model, self.device, self.dtype, layers)
        else:
            from dialoscope.models.engines.padded import load_classifier

            self.body = load_classifier(self.model, self.device, self.dtype)

    def probabilities(self, texts: Sequence[Pair], indices: Sequence[int]) -> Iterator[tuple[int, Floats]]:
        """Yield the index of each pair and the probabilities of its classes, in the order of computation."""
        return in_batches(self.reader, texts, indices, self._compute_probabilities, self.budget)

    @torch.inference_mode()
    def _compute_probabilities(self, rows: Sequence[TokenRow]) -> list[Floats]:
        nonempty = [row for row in rows if len(row.ids)]  # rows without tokens come last
        logits = self.body.logits(nonempty).double() if nonempty else torch.zeros(0, self.classes)
        independent = self.classes == 1 or self.multi_label
        probabilities = (logits.sigmoid() if independent else logits.softmax(1)).cpu().numpy()
        return [*probabilities, *np.full((len(rows) - len(nonempty), self.classes), np.nan)]
