"""RUBER: the referenced and the unreferenced part, blended (Tao et al., 2018, https://arxiv.org/abs/1701.03079)."""

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from dialoscope.core.arrays import Floats
from dialoscope.core.errors import MetricError
from dialoscope.core.tally import Sums
from dialoscope.metrics.ruber_referenced import POOLINGS, PooledBesideReferences
from dialoscope.metrics.ruber_unreferenced import JudgedInContext
from dialoscope.metrics.shared.base import Bounds, Fit, GradeMetric, Notes
from dialoscope.text.batch import Batch

Blend = Literal["arithmetic", "geometric", "min", "max"]

BLENDS: Mapping[Blend, Callable[[Floats, Floats], Floats]] = MappingProxyType(
    {
        "arithmetic": lambda unreferenced, referenced: (unreferenced + referenced) / 2,
        "geometric": lambda unreferenced, referenced: np.sqrt(unreferenced * referenced),
        "min": np.minimum,
        "max": np.maximum,
    }
)

PARTS = ("unreferenced", "referenced")
DIGITS = 6
"""The significant digits of a fitted end, few enough to be read and typed again."""
FEW = 20
"""The number of replies below which a warning says that the lowest and highest determine the scale."""


class ScaleEnds(NamedTuple):
    """The values of a part that become 0 and 1; both are 0 where they are to be fitted."""

    low: float
    high: float

    @property
    def is_set(self) -> bool:
        """Whether the ends were set or fitted."""
        return self.low < self.high

    def apply(self, values: Floats) -> Floats:
        """The values on the scale from 0 to 1, clipped; undefined if the ends are not set."""
        if not self.is_set:
            return np.full(len(values), math.nan)
        return np.clip((values - self.low) / (self.high - self.low), 0, 1)


@dataclass(frozen=True)
class Ruber(PooledBesideReferences, JudgedInContext, GradeMetric[Sums]):
    """A blend of RUBER's unreferenced and referenced scores, each on a scale from 0 to 1."""

    name = "ruber"
    version = 1
    paper = "https://arxiv.org/abs/1701.03079"
    needs = frozenset({"context", "references"})

    blend: Blend = "arithmetic"
    """The combination of the two: their mean, the root of their product, the lower, or the higher."""
    unreferenced_low: float = 0.0
    """The probability that becomes 0; where all four are 0, they are fitted to all replies of the run."""
    unreferenced_high: float = 0.0
    """The probability that becomes 1."""
    referenced_low: float = 0.0
    """The cosine that becomes 0."""
    referenced_high: float = 0.0
    """The cosine that becomes 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for part in PARTS:
            span = self._span(part)
            if not (all(map(math.isfinite, span)) and (span.is_set or span == (0, 0))):
                raise MetricError(
                    f"{self.name}: {part}_low ({span.low:g}) must be below {part}_high ({span.high:g}); "
                    "leave both out to fit them to the replies."
                )
        if len({self._span(part).is_set for part in PARTS}) > 1:
            raise MetricError(f"{self.name}: set the scales of both parts, or leave both to be fitted.")

    @property
    def bounds(self) -> Bounds:
        """The bounds of the scale."""
        return Bounds(0, 1)

    @property
    def tolerance(self) -> float:
        """The error of a part on its scale; that of a root is larger near 0."""
        widths = [span.high - span.low for span in map(self._span, PARTS) if span.is_set]
        off = super().tolerance / min([1.0, *widths])
        return math.sqrt(off) if self.blend == "geometric" else off

    @property
    def statistics(self) -> Hashable:
        """The key of both parts with every way of pooling, which serve all scales and blends."""
        return replace(self.unfitted, blend="arithmetic", pooling="max")

    def measure(self, batch: Batch) -> Sums:
        """The probability, and a cosine for each way of pooling."""
        return Sums(np.column_stack([self.judge(batch), self.similarities(batch)]))

    def warnings(self, batch: Batch) -> list[str]:
        """The warnings of both parts."""
        return [*PooledBesideReferences.warnings(self, batch), *JudgedInContext.warnings(self, batch)]

    def score_each(self, tally: Sums) -> Floats:
        """The blended score; undefined where a part is, and on a scale that was never fitted."""
        scaled = [self._span(part).apply(values) for part, values in self._parts(tally).items()]
        return BLENDS[self.blend](*scaled)

    @property
    def to_fit(self) -> bool:
        """Whether the ends of the scales are not set."""
        return not self._span(PARTS[0]).is_set

    @property
    def unfitted(self) -> Self:
        """The metric without scales."""
        return replace(self, **_ends({part: ScaleEnds(0, 0) for part in PARTS}))

    def fit_scale(self, tally: Sums) -> Fit:
        """The metric with the lowest and highest value of these replies; unchanged if there is none."""
        if not self.to_fit:
            return Fit(self)
        parts = self._parts(tally)
        both = np.logical_and.reduce([np.isfinite(values) for values in parts.values()])
        if not both.any():
            return Fit(self, f"{self} is undefined: no reply has both parts, to fit its scale to.")
        ends = {part: _span_of(values[both]) for part, values in parts.items()}
        flat = [part for part, span in ends.items() if not span.is_set]
        if flat:
            return Fit(
                self,
                f"{self} is undefined: all replies have the same {' and the same '.join(flat)} score, "
                "and no scale distinguishes them.",
            )
        return Fit(replace(self, **_ends(ends)), self._warn_of_few(int(both.sum())))

    def notes(self, tally: Sums) -> Notes:
        """The values of both parts that became 0 and 1, once they are fitted."""
        return Notes({} if self.to_fit else _ends({part: self._span(part) for part in PARTS}, " "))

    def _span(self, part: str) -> ScaleEnds:
        return ScaleEnds(getattr(self, f"{part}_low"), getattr(self, f"{part}_high"))

    def _parts(self, tally: Sums) -> dict[str, Floats]:
        rows = tally.rows.astype(float)
        return dict(zip(PARTS, (rows[:, 0], rows[:, 1 + POOLINGS.index(self.pooling)]), strict=True))

    def _warn_of_few(self, count: int) -> str:
        if count >= FEW:
            return ""
        return (
            f"The scale of {self} was fitted to {count} replies, so that the lowest and highest of them "
            "determine it; fit it to more, or take that of a larger run with --scales-from RUN "
            "(scales_from=)."
        )


def _span_of(values: Floats) -> ScaleEnds:
    """Return the lowest and the highest value, rounded; ends that are equal then are no scale."""
    return ScaleEnds(*(float(f"{end:.{DIGITS}g}") for end in (values.min(), values.max())))


def _ends(spans: Mapping[str, ScaleEnds], joint: str = "_") -> dict[str, Any]:
    """Return the ends of all scales by the names of their settings."""
    return {
        f"{part}{joint}{end}": value for part, span in spans.items() for end, value in span._asdict().items()
    }
