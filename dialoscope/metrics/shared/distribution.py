"""The base class of metrics that compare the distributions of a system's and of people's replies."""

import math
from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.errors import MetricError
from dialoscope.metrics.shared.base import PoolMetric
from dialoscope.metrics.shared.points import Points, pair_of, points_of
from dialoscope.metrics.shared.truncation_notes import note_cutting
from dialoscope.models.corpus import References
from dialoscope.models.encoder import TransformerEncoder
from dialoscope.models.protocols import Backend, Corpus, Encoder
from dialoscope.text.batch import Batch


@dataclass(frozen=True)
class DistributionMetric(PoolMetric[Points]):
    """A metric of the encoded contexts with a system's replies, and with people's replies."""

    of_replies = False
    at_once = True
    tally = Points
    most_blocks = 20

    encoder: Encoder = TransformerEncoder(pooling="first")
    """The encoder of a context with a reply; `encoder.pooling` is first, mean or max."""
    real: Corpus = References()
    """People's replies: `references`, those of the system's own replies, or a file of dialogues."""
    turns: int = 0
    """The number of last turns of the context that are read; 0: all."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.turns < 0:
            raise MetricError(f"{self.name}: turns must be 0 (all) or more.")

    @property
    def needs(self) -> frozenset[str]:
        """Context and references; with a corpus, context alone."""
        return frozenset({"context", "references"} if self._own else {"context"})

    @property
    def backends(self) -> tuple[Backend, ...]:
        """The encoder, and the corpus where there is one."""
        return (self.encoder,) if self._own else (self.encoder, self.real)

    @property
    def statistics(self) -> Hashable:
        """The key of the points, which serve all metrics of distributions."""
        return "points", self.encoder, self.real, self.turns

    @property
    def _own(self) -> bool:
        return isinstance(self.real, References)

    def measure(self, batch: Batch) -> Points:
        """The points, which are made once for all metrics."""
        corpus = None if self._own else self.real
        return batch.once(self.statistics, lambda: points_of(batch, self.encoder, self.turns, corpus))

    def warnings(self, batch: Batch) -> list[str]:
        """Warnings about replies whose context or end was cut for the encoder."""
        pairs = (
            (row, pair_of(example, text, self.turns))
            for row, example in enumerate(batch)
            if example.has_context
            for text in (example.response, *(example.references if self._own else ()))
        )
        return note_cutting(batch, self.encoder, pairs)

    @abstractmethod
    def _scores_without_others(self, tally: Points, blocks: Ints) -> Floats:
        """The number with each block left out of the points of a corpus that are held."""

    def scores_without_others(self, tally: Points, count: int) -> Floats:
        """The scores without blocks of dialogues of a corpus; empty for references, which belong to replies.

        If a sample represents a corpus, its variation is scaled to that of the corpus.
        """
        crowd = tally.crowd
        if crowd is None:
            return np.empty(0)
        dialogue = np.unique(crowd.items, return_inverse=True)[1]
        scores = self._scores_without_others(tally, dialogue % min(count, int(dialogue.max()) + 1))
        if not len(scores):
            return scores
        scale = math.sqrt(len(crowd.points) / crowd.count)
        scaled: Floats = scores.mean() + (scores - scores.mean()) * scale
        return scaled

    def amount(self, tally: Points) -> int:
        """The number of points of replies."""
        return tally.generated.count

    def score_each(self, tally: Points) -> Floats:
        """NaN for each reply, since a reply alone has no distribution."""
        return np.full(len(tally), math.nan)
