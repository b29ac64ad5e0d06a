"""Relatedness: how near a reply is to what it replies to (Xu et al., 2018, aclanthology.org/D18-1432)."""

from dataclasses import dataclass

import numpy as np

from dialoscope.core.arrays import Floats
from dialoscope.core.errors import MetricError
from dialoscope.metrics.shared.base import Bounds, MeanMetric
from dialoscope.metrics.shared.truncation_notes import note_cutting
from dialoscope.metrics.shared.word_vectors import cosines
from dialoscope.models.encoder import TransformerEncoder
from dialoscope.models.protocols import Encoder
from dialoscope.models.truncation import keep_latest
from dialoscope.text.batch import Batch


@dataclass(frozen=True)
class Relatedness(MeanMetric):
    """The cosine similarity of a reply and the turn before it, as vectors of an encoder."""

    name = "relatedness"
    version = 2
    paper = "https://aclanthology.org/D18-1432"
    needs = frozenset({"context"})
    higher_is_better = True
    at_once = True

    encoder: Encoder = TransformerEncoder("mpnet")
    """The encoder whose vectors of texts are compared."""
    turns: int = 1
    """The number of last turns that represent the context, one on each line."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.turns < 1:
            raise MetricError("relatedness: turns must be 1 or more.")

    @property
    def bounds(self) -> Bounds:
        """The bounds of a cosine."""
        return Bounds(-1, 1)

    def grade(self, batch: Batch) -> Floats:
        """The cosines; undefined where the reply or its context is blank, and for a vector of zeros."""
        contexts = keep_latest(self.encoder, self._contexts(batch))
        replies = [example.response.strip() for example in batch]
        both = np.array(
            [bool(before and reply) for before, reply in zip(contexts, replies, strict=True)], bool
        )
        texts = list(dict.fromkeys(text for text in (*contexts, *replies) if text))
        number_of = {text: number for number, text in enumerate(texts)}
        vectors = self.encoder.encode(texts).astype(float) if texts else np.zeros((0, 1))
        values = np.full(len(batch), np.nan)
        pairs = [(number_of[contexts[row]], number_of[replies[row]]) for row in np.flatnonzero(both)]
        left, right = np.array(pairs, np.int64).reshape(-1, 2).T
        values[both] = cosines(vectors[left], vectors[right]).clip(-1, 1)
        return values

    def warnings(self, batch: Batch) -> list[str]:
        """Warnings about contexts read without their oldest part, and replies read without their end."""
        replies = (example.response.strip() for example in batch)
        return [
            *note_cutting(batch, self.encoder, enumerate(self._contexts(batch)), contexts=True),
            *note_cutting(batch, self.encoder, enumerate(replies)),
        ]

    def _contexts(self, batch: Batch) -> list[str]:
        return ["\n".join(example.context[-self.turns :]).strip() for example in batch]
