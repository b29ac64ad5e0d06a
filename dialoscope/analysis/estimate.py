"""A number that was found, with how far it can be relied on."""

import math
from typing import NamedTuple

from dialoscope.analysis.coefficients import Coefficient, bracketed
from dialoscope.core.arrays import Floats
from dialoscope.runs.resampling import fewest_blocks

FEW_HALVES = "too many random halves of the contexts have no value"
ALIKE = "it is the same in every half of the contexts, and has no interval"


class Estimate(NamedTuple):
    """A number with its interval, and from how many things it is; where it is undefined (NaN), why."""

    value: float
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    """0 where it is not counted."""
    why: str = ""

    @classmethod
    def of(
        cls, found: Coefficient, ends: Floats, contexts: int, confidence: float, lost: str = FEW_HALVES
    ) -> "Estimate":
        """A coefficient with the interval from halves of so many contexts, or why there is none."""
        if found.why:
            return cls.undefined(found.why, found.n)
        fewest = fewest_blocks(confidence)
        if contexts < fewest:
            few = "a single context has" if contexts == 1 else f"{contexts} contexts have"
            return cls(found.value, n=found.n, why=f"{few} no interval; {fewest} are needed")
        low, high = map(float, ends)
        why = "" if not math.isnan(low) else ALIKE if abs(found.value) == 1 else lost
        return cls(found.value, low, high, found.n, why)

    @classmethod
    def undefined(cls, why: str, n: int = 0) -> "Estimate":
        """Nothing, for this reason."""
        return cls(math.nan, n=n, why=why)

    def __str__(self) -> str:
        return bracketed(self.value, self.low, self.high)

    @property
    def numbers(self) -> dict[str, float]:
        """Of a coefficient, by their names, for programs."""
        return {"r": self.value, "low": self.low, "high": self.high}


UNKNOWN = Estimate(math.nan)
