"""A statistic with its interval, or the reason why there is none."""

import math
from typing import NamedTuple

from dialoscope.analysis.coefficients import Coefficient, format_coefficient, format_interval
from dialoscope.core.arrays import Floats
from dialoscope.core.render.sections import Quantity
from dialoscope.runs.resampling import fewest_blocks

UNDEFINED_IN_HALVES = "no interval, for too many random halves have no value"
SAME_IN_HALVES = "no interval, for it is the same in every half of the contexts"


def too_few_contexts(contexts: int, confidence: float) -> str:
    """A note that contexts are too few for an interval; empty if they are not."""
    needed = fewest_blocks(confidence)
    if contexts >= needed:
        return ""
    return f"no interval, for it has {contexts} context{'s' * (contexts != 1)}, and {needed} are needed"


class Estimate(NamedTuple):
    """A statistic with its interval and the number of points; where it is undefined (NaN), the reason."""

    value: float
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    """0 where it is not counted."""
    why: str = ""

    @classmethod
    def of(
        cls,
        coefficient: Coefficient,
        ends: Floats,
        contexts: int,
        confidence: float,
        undefined: str = UNDEFINED_IN_HALVES,
    ) -> "Estimate":
        """A coefficient with the interval from halves of so many contexts, or why there is none."""
        if coefficient.why:
            return cls.undefined(coefficient.why, coefficient.n)
        few = too_few_contexts(contexts, confidence)
        if few:
            return cls(coefficient.value, n=coefficient.n, why=few)
        low, high = map(float, ends)
        why = SAME_IN_HALVES if abs(coefficient.value) == 1 else undefined
        return cls(coefficient.value, low, high, coefficient.n, why if math.isnan(low) else "")

    @classmethod
    def undefined(cls, why: str, n: int = 0) -> "Estimate":
        """An undefined statistic, for this reason."""
        return cls(math.nan, n=n, why=why)

    def __str__(self) -> str:
        return format_interval(self.value, self.low, self.high)

    @property
    def quantity(self) -> Quantity:
        """The statistic as a cell of a table."""
        return Quantity(self.value, self.low, self.high, form=format_coefficient)

    @property
    def numbers(self) -> dict[str, float]:
        """The value and the ends of its interval, by the names that programs read."""
        return {"r": self.value, "low": self.low, "high": self.high}


UNKNOWN = Estimate(math.nan)
