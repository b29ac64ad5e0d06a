"""Unreferenced RUBER: how well a reply suits its context (Tao et al., 2018; Ghazarian et al., 2019)."""

import math
from dataclasses import dataclass

import numpy as np

from dialoscope.core.arrays import Floats
from dialoscope.core.errors import MetricError
from dialoscope.core.records import Example
from dialoscope.core.tally import Sums
from dialoscope.metrics.shared.base import Bounds, GradeMetric, Metric
from dialoscope.metrics.shared.truncation_notes import note_cutting
from dialoscope.models.classifier import TransformerClassifier
from dialoscope.models.protocols import Classifier, Pair
from dialoscope.text.batch import Batch

RIGHT = ("right", "relevance")
"""The names of the class of right replies: that of models with two classes, and that of a single output."""


@dataclass(frozen=True)
class JudgedInContext(Metric[Sums]):
    """A metric of the probability that a reply is right after its context, by a classifier."""

    tally = Sums
    needs = frozenset({"context"})
    higher_is_better = True
    at_once = True

    model: Classifier = TransformerClassifier("ruber-unreferenced")
    """The classifier: an asset, or the folder of a trained checkpoint; one of its classes must be right."""
    turns: int = 4
    """The number of last turns it reads; a head reads no more of them than it was trained with."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.turns < 1:
            raise MetricError(f"{self.name}: turns must be 1 or more.")

    def announce(self, batch: Batch) -> None:
        """Refuse a model without a class of right replies before any model computes."""
        self._column()

    def judge(self, batch: Batch) -> Floats:
        """Return the probability that each reply is right; undefined without a context or a reply."""
        return batch.once(("judged", self.model, self.turns), lambda: self._classify_replies(batch))

    def warnings(self, batch: Batch) -> list[str]:
        """Warnings about replies that were judged without the oldest part of their context, or their end."""
        pairs = enumerate(read_pair(example, self.turns) for example in batch)
        return note_cutting(batch, self.model, ((row, pair) for row, pair in pairs if pair is not None))

    def _classify_replies(self, batch: Batch) -> Floats:
        pairs = [read_pair(example, self.turns) for example in batch]
        asked = list(dict.fromkeys(pair for pair in pairs if pair is not None))
        probabilities = self.model.classify(asked)[:, self._column()].tolist() if asked else []
        probability_of: dict[Pair | None, float] = {
            None: math.nan,
            **dict(zip(asked, probabilities, strict=True)),
        }
        return np.array([probability_of[pair] for pair in pairs], float)

    def _column(self) -> int:
        labels = self.model.labels
        for label in RIGHT:
            if label in labels:
                return labels.index(label)
        raise MetricError(
            f"{self.name}: {self.model} has no class '{RIGHT[0]}', but {', '.join(labels)}. Name a model "
            "that judges whether a reply suits its context, such as one that dialoscope train ruber made."
        )


@dataclass(frozen=True)
class RuberUnreferenced(JudgedInContext, GradeMetric[Sums]):
    """The probability that a reply is the right one after its context, by a trained classifier."""

    name = "ruber-unreferenced"
    version = 1
    paper = "https://aclanthology.org/W19-2310"

    @property
    def bounds(self) -> Bounds:
        """The bounds of a probability."""
        return Bounds(0, 1)

    def measure(self, batch: Batch) -> Sums:
        """The probability for each reply."""
        return Sums(self.judge(batch)[:, None])

    def score_each(self, tally: Sums) -> Floats:
        """The probability."""
        return np.asarray(tally.rows[:, 0], float)


def read_pair(example: Example, turns: int) -> Pair | None:
    """Return the last turns, one a line, and the reply; None where either is blank."""
    context = "\n".join(" ".join(turn.split()) for turn in example.context[-turns:])
    return Pair(context, example.response) if context.strip() and example.response.strip() else None
