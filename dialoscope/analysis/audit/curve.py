"""The curve of a metric's value over the ratio of perturbed replies, and the verdict on it."""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from dialoscope.analysis.coefficients import ranks

SURE = 0.05
"""A change is significant if its p is below this."""

Shape = Literal["falls", "rises", "flat", "uneven", "undefined"]
Verdict = Literal["sees", "uneven", "unsure", "blind", "fooled", "undefined", "untested", "–"]


class Point(NamedTuple):
    """The value at one ratio."""

    ratio: float
    value: float
    low: float
    high: float
    perturbed: int
    """Replies that have another text than the real ones."""
    undefined: int
    """Replies for which the metric has no value."""


@dataclass(frozen=True)
class AuditCurve:
    """One metric under one perturbation."""

    metric: str
    perturbation: str
    points: tuple[Point, ...]
    higher_is_better: bool | None
    tolerance: float
    """Steps no larger than this, relative to the value where that is above 1, are rounding."""
    p: float
    """Significance of the difference between the first and the last point; NaN where it is unknown."""
    signature: str

    @property
    def steps(self) -> tuple[int, ...]:
        """The direction of each step between defined values: 1 up, -1 down, 0 level."""
        return tuple(self._step(*pair) for pair in pairwise(self._defined))

    @property
    def shape(self) -> Shape:
        """The shape of the curve, whichever end is better."""
        if not self.steps:
            return "undefined"
        up, down = 1 in self.steps, -1 in self.steps
        if up and down:
            return "uneven"
        return "rises" if up else "falls" if down else "flat"

    @property
    def worse(self) -> int | None:
        """The number of steps at which the value gets worse; None where neither end is better."""
        return None if self.higher_is_better is None else self.steps.count(self._bad)

    @property
    def spearman(self) -> float:
        """Rank correlation of ratio and badness, 1 where it only gets worse; NaN where nothing moves."""
        if self.higher_is_better is None or self.shape in ("flat", "undefined"):
            return math.nan
        ratios = np.array([point.ratio for point in self.points if not math.isnan(point.value)])
        values = np.array(self._defined) * self._bad
        return float(np.corrcoef(ranks(ratios), ranks(values))[0, 1])

    @property
    def change(self) -> float:
        """The last value less the first, relative to the first; NaN where that is zero or undefined."""
        first, last = self.points[0].value, self.points[-1].value
        return (last - first) / abs(first) if first else math.nan

    @property
    def verdict(self) -> Verdict:
        """Whether the metric sees the perturbation: the last value against the first, then the way there."""
        first, last = self.points[0].value, self.points[-1].value
        if not self.points[-1].perturbed:
            return "untested"
        if math.isnan(first) or math.isnan(last):
            return "undefined"
        if self.higher_is_better is None:
            return "–"
        if self.shape == "flat":
            return "blind"
        if self.p >= SURE:
            return "unsure"
        if self._step(first, last) == -self._bad:
            return "fooled"
        return "uneven" if self.shape == "uneven" else "sees"

    @property
    def _defined(self) -> list[float]:
        return [point.value for point in self.points if not math.isnan(point.value)]

    @property
    def _bad(self) -> int:
        """The direction in which the value gets worse."""
        return -1 if self.higher_is_better else 1

    def _step(self, before: float, after: float) -> int:
        level = abs(after - before) <= self.tolerance * max(1.0, abs(before))
        return 0 if level else 1 if after > before else -1
