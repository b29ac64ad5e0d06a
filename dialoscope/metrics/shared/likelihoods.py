"""The log-probability of a reply and the paper's scale for it, which coherence and fluency share."""

import math
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from dialoscope.core.arrays import Floats
from dialoscope.core.errors import MetricError
from dialoscope.core.tally import Sums
from dialoscope.metrics.shared.base import Bounds, Fit, GradeMetric, Metric, Notes, ratio
from dialoscope.metrics.shared.reading import Join, Spaces, Texts, in_context, note_cut_texts, reading, totals
from dialoscope.models.language_model import TransformerLanguageModel
from dialoscope.models.protocols import LanguageModel
from dialoscope.text.batch import Batch

DEFAULT = TransformerLanguageModel("smollm2-dialog")
"""The language model where none is named; one reading of it serves all that is made of likelihoods."""

DIGITS = 6
"""The significant digits of a fitted floor, few enough to be read and typed again."""

TOKENS = 30
"""The number of tokens of a long reply, for the tolerance of sums over them."""


@dataclass(frozen=True)
class ReadInContext(Metric[Sums]):
    """A metric made from the log-probabilities of a reply after its context."""

    tally = Sums
    needs = frozenset({"context"})
    at_once = True

    lm: LanguageModel = DEFAULT
    """The language model: an asset, a folder, a name on the hub, or a server's address#model."""
    turns: int = 0
    """The number of last turns that the model reads; 0: all."""
    join: Join = "newline"
    """The separator of turns, and of the last turn and the reply."""
    spaces: Spaces = field(default="strip", kw_only=True)
    """Whether spaces around a reply are left out, as a language model makes much of them, or kept."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.turns < 0:
            raise MetricError(f"{self.name}: turns must be 0 (all) or more.")

    @property
    def statistics(self) -> Hashable:
        """The key of the sums and numbers of tokens, which serve several metrics."""
        return "in context", self.lm, self.turns, self.join, self.spaces

    def announce(self, batch: Batch) -> None:
        """Announce each reply after its context."""
        reading(batch, self.lm).add(self.texts(batch))

    def measure(self, batch: Batch) -> Sums:
        """The sums and numbers of tokens; undefined where the reply or its context is blank."""
        return totals(reading(batch, self.lm).answers(self.texts(batch)))

    def warnings(self, batch: Batch) -> list[str]:
        """Warnings about replies that were read without all of their context."""
        return note_cut_texts(batch, self.lm, self.texts(batch))

    def texts(self, batch: Batch) -> Texts:
        """Each reply after its context."""
        return in_context(batch, self.turns, self.join, self.spaces)


@dataclass(frozen=True)
class ScaledLikelihood(GradeMetric[Sums]):
    """The mean log-probability of replies, as it is or on a scale from 0 to 1."""

    tally = Sums
    higher_is_better = True
    fits = "floor"

    length: Literal["mean", "sum"] = "mean"
    """The aggregation over the tokens of a reply: their mean, or their sum, which favours short replies."""
    scale: Literal["normalised", "raw"] = "normalised"
    """The scale: 0 at the floor and below, 1 for certainty; or unscaled natural logarithms."""
    percentile: float = 5.0
    """The percentile of all replies that becomes the floor, where that is fitted."""
    floor: float = 0.0
    """The log-probability that becomes 0; 0: fitted to all replies of the run."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.percentile < 100:
            raise MetricError(f"{self.name}: percentile must be 0 or more and below 100.")
        if not (self.floor <= 0 and math.isfinite(self.floor)):
            raise MetricError(
                f"{self.name}: floor must be below 0, as log-probabilities are, or 0 to fit it to replies."
            )
        if self.scale == "raw" and self.floor:
            raise MetricError(f"{self.name}: a floor is of no use with scale=raw; leave one of them out.")

    @property
    def bounds(self) -> Bounds:
        """The bounds of the scale; a probability is at most 1."""
        return Bounds(-math.inf, 0) if self.scale == "raw" else Bounds(0, 1)

    @property
    def tolerance(self) -> float:
        """The error of a mean, or of a sum of logarithms, to which each token contributes."""
        summed = self.length == "sum" and self.scale == "raw"
        return super().tolerance * (TOKENS if summed else 1)

    def score_each(self, tally: Sums) -> Floats:
        """The value on the scale; undefined if its floor was never fitted."""
        raw = self._raw(tally)
        if self.scale == "raw":
            return raw
        return ratio(np.maximum(raw, self.floor) - self.floor, np.full(len(raw), -self.floor))

    @property
    def to_fit(self) -> bool:
        """Whether there is a scale without a floor."""
        return self.scale == "normalised" and not self.floor

    def fit_scale(self, tally: Sums) -> Fit:
        """The metric with a percentile of these replies as its floor; unchanged if there is none."""
        if not self.to_fit:
            return Fit(self)
        raw = self._raw(tally)
        raw = raw[np.isfinite(raw)]
        if not len(raw):
            return Fit(self, f"{self} is undefined: no reply has a log-probability to fit its floor to.")
        floor = float(np.percentile(raw, self.percentile))
        if floor == raw.max():
            return Fit(
                self,
                f"{self} is undefined: nearly all replies are equally likely, and no floor distinguishes "
                "them.",
            )
        return Fit(replace(self, floor=float(f"{floor:.{DIGITS}g}")), self._warn_of_few(len(raw)))

    def notes(self, tally: Sums) -> Notes:
        """The log-probability that became 0."""
        return Notes({"floor": self.floor} if self.floor else {})

    def _raw(self, tally: Sums) -> Floats:
        sums, tokens = tally.rows.astype(float).T
        return sums if self.length == "sum" else ratio(sums, tokens)

    def _warn_of_few(self, count: int) -> str:
        """A warning if the percentile is between the two lowest of few replies."""
        if count * self.percentile >= 100:
            return ""
        return (
            f"The floor of {self} was fitted to {count} replies, so that one or two of them determine it; "
            "fit it to more, or take that of a larger run with --scales-from RUN (scales_from=)."
        )
