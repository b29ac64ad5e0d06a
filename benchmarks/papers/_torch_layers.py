"""The model behind `layers.py`, run by transformers in padded batches; importing it loads torch."""

from collections.abc import Iterator, Sequence

import torch

from dialoscope.models.engines.encoder import BUDGET, _pool
from dialoscope.models.engines.padded import load_encoder
from dialoscope.models.engines.reader import Reader, TokenRow
from dialoscope.models.engines.rows import in_batches
from dialoscope.models.locations import find_model
from dialoscope.models.protocols import Pair, Vectors


class EveryLayer:
    """A model with all of its layers, each pooled in every way."""

    def __init__(self, model: str, poolings: Sequence[str]) -> None:
        files = find_model(model)
        self._poolings = poolings
        self._reader = Reader(files.folder, files.config, 0)
        layers = int(files.config["num_hidden_layers"])
        self._padded = load_encoder(files, torch.device("cpu"), torch.float32, layers)

    def read(self, texts: Sequence[Pair], places: Sequence[int]) -> Iterator[tuple[int, Vectors]]:
        """Yield the vectors (layers, poolings, dims) of each text at these places, with its place."""
        return in_batches(self._reader, texts, places, self._pooled, BUDGET["cpu"])

    @torch.inference_mode()
    def _pooled(self, rows: list[TokenRow]) -> list[Vectors]:
        inputs = self._padded._inputs(rows)
        hidden = torch.stack(self._padded._model(**inputs, output_hidden_states=True).hidden_states)
        return [self._each_way(hidden[:, place, : len(row.ids)]) for place, row in enumerate(rows)]

    def _each_way(self, vectors: torch.Tensor) -> Vectors:
        """(layers, poolings, dims) from (layers, tokens, dims)."""
        found: Vectors = torch.stack([_pool(vectors, pooling) for pooling in self._poolings], dim=1).numpy()
        return found
