"""How likely a language model finds a reply after its context."""

import math
from dataclasses import dataclass
from typing import Literal

from dialoscope.backends import Continuation, LanguageModel
from dialoscope.backends.language_model import TransformerLanguageModel
from dialoscope.errors import MetricError
from dialoscope.metrics.base import Bounds, MeanMetric
from dialoscope.records import Example
from dialoscope.text import Batch


@dataclass(frozen=True)
class Likelihood(MeanMetric):
    """The mean log-probability of a reply's tokens after its context, to a language model."""

    name = "likelihood"
    version = 1
    paper = "https://aclanthology.org/2020.acl-main.333"
    needs = frozenset({"context"})
    higher_is_better = True
    at_once = True

    lm: LanguageModel = TransformerLanguageModel()
    """The language model: an asset, a folder, a name on the hub, or a server's address#model."""
    turns: int = 0
    """How many of the last turns it sees; 0: all."""
    join: Literal["newline", "space"] = "newline"
    """What stands between turns, and between the last one and the reply."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.turns < 0:
            raise MetricError("likelihood: turns must be 0 (all) or more.")

    @property
    def bounds(self) -> Bounds:
        """A probability is at most 1."""
        return Bounds(-math.inf, 0)

    def grade(self, batch: Batch) -> list[float]:
        """Undefined without context, and for a reply without tokens."""
        places = [place for place, example in enumerate(batch) if example.context]
        texts = [self._continuation(batch[place]) for place in places]
        grades = [math.nan] * len(batch)
        for place, found in zip(places, self.lm.log_probabilities(texts), strict=True):
            grades[place] = math.fsum(found) / len(found) if len(found) else math.nan
        return grades

    def _continuation(self, example: Example) -> Continuation:
        """A space belongs to the word that follows it, a newline to the line that it ends."""
        turns, reply = example.context[-self.turns :], example.response
        if self.join == "space":
            return Continuation(" ".join(turns), " " + reply if reply else "")
        return Continuation("".join(f"{turn}\n" for turn in turns), reply)
