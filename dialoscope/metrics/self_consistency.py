"""Self-consistency: whether a reply contradicts what its speaker said before (Pang et al., 2020)."""

import dataclasses
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from dialoscope.core.arrays import Floats
from dialoscope.core.errors import MetricError
from dialoscope.core.records import Example
from dialoscope.core.tally import Sums
from dialoscope.metrics.shared.base import Bounds, GradeMetric, Notes, TurnEffects
from dialoscope.metrics.shared.truncation_notes import note_cutting
from dialoscope.models.classifier import TransformerClassifier
from dialoscope.models.protocols import Classifier, Pair
from dialoscope.text.batch import Batch

CONTRADICTION = "contradiction"

_MEAN, _MAX, _LAST, _TURN = range(4)
"""The columns of a reply: probabilities of contradiction, and the turn that it contradicts most."""


@dataclass(frozen=True)
class SelfConsistency(GradeMetric[Sums]):
    """1 minus the probability that a reply contradicts its speaker's earlier turns, by an NLI model."""

    name = "self-consistency"
    version = 2
    paper = "https://aclanthology.org/2020.acl-main.333"
    needs = frozenset({"context"})
    higher_is_better = True
    at_once = True
    tally = Sums
    variants = MappingProxyType({"pang-code": MappingProxyType({"over": "last"})})

    nli: Classifier = TransformerClassifier("nli")
    """The model: an asset, a folder, or a name on the hub; one of its classes must be contradiction."""
    over: Literal["mean", "max", "last"] = "mean"
    """The turns of the speaker that count: all equally, the most contradicted one, or the latest."""

    @property
    def bounds(self) -> Bounds:
        """The bounds of a probability."""
        return Bounds(0, 1)

    @property
    def statistics(self) -> Hashable:
        """The key of the judgements, which serve every choice of `over`."""
        return dataclasses.replace(self, over="mean")

    def announce(self, batch: Batch) -> None:
        """Refuse a model without a class for contradiction before any model computes."""
        self._column()

    def measure(self, batch: Batch) -> Sums:
        """The judgements; undefined where the speaker says nothing, or has said nothing before."""
        column = self._column()
        turns = [earlier_turns(example) for example in batch]
        pairs = _pairs(batch, turns)
        judged = self.nli.classify(pairs)[:, column] if pairs else np.zeros(0)
        parts = np.split(judged, np.cumsum([len(places) for places in turns])[:-1]) if turns else []
        rows = [_row(part, places) for part, places in zip(parts, turns, strict=True)]
        return Sums(np.array(rows, float).reshape(-1, 4))

    def warnings(self, batch: Batch) -> list[str]:
        """A warning where speakers are assumed to alternate, and where texts were cut."""
        turns = [earlier_turns(example) for example in batch]
        owners = (row for row, own in enumerate(turns) for _ in own)
        assumed = sum(bool(own) and not example.speakers for own, example in zip(turns, batch, strict=True))
        note = (
            f"For {assumed:,} of {len(batch):,} replies the data do not say who replies and who said each "
            "turn before; for self-consistency turns are taken to alternate."
        )
        read = zip(owners, _pairs(batch, turns), strict=True)
        return [*([note] if assumed else []), *note_cutting(batch, self.nli, read)]

    def score_each(self, tally: Sums) -> Floats:
        """1 minus the probability of contradiction."""
        return 1 - tally.rows[:, {"mean": _MEAN, "max": _MAX, "last": _LAST}[self.over]].astype(float)

    def notes(self, tally: Sums) -> Notes:
        """The turn that each reply contradicts most, and the probability of this contradiction."""
        rows = tally.rows.astype(float)
        return Notes(turns=TurnEffects(rows[:, _TURN], rows[:, _MAX]))

    def _column(self) -> int:
        labels = self.nli.labels
        if CONTRADICTION not in labels:
            raise MetricError(
                f"self-consistency: {self.nli} has no class '{CONTRADICTION}', but {', '.join(labels)}. "
                "Name a model for natural language inference whose configuration (id2label) says what "
                "its classes are."
            )
        return labels.index(CONTRADICTION)


def earlier_turns(example: Example) -> list[int]:
    """Return the positions of the context's turns by the reply's speaker, oldest first.

    None for a reply that says nothing; turns that say nothing are left out.
    """
    if not example.response.strip():
        return []
    return [turn for turn in example.own_turns if example.context[turn].strip()]


def _pairs(batch: Batch, turns: Sequence[Sequence[int]]) -> list[Pair]:
    """Pair each earlier turn of a reply's speaker with the reply."""
    return [
        Pair(example.context[turn], example.response)
        for example, own in zip(batch, turns, strict=True)
        for turn in own
    ]


def _row(judged: Floats, turns: Sequence[int]) -> tuple[float, float, float, float]:
    """Summarise the judgements about one reply; of turns contradicted equally, the latest counts."""
    judgements = zip(judged.tolist(), turns, strict=True)
    defined = [(value, turn) for value, turn in judgements if not math.isnan(value)]
    if not defined:
        return math.nan, math.nan, math.nan, math.nan
    values = [value for value, _ in defined]
    most, where = max(defined)
    return math.fsum(values) / len(values), most, values[-1], float(where)
