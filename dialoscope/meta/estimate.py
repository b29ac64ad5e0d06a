"""A number that was found, with how far it can be relied on."""

import math
from typing import NamedTuple

from dialoscope.coefficients import bracketed


class Estimate(NamedTuple):
    """A number with its interval, and from how many things it is; where it is undefined (NaN), why."""

    value: float
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    """0 where it is not counted."""
    why: str = ""

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
