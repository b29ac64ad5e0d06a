"""What one coefficient says of a metric and of something that people rated, and how it was made."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from dialoscope.analysis.coefficients import middle
from dialoscope.analysis.correlation.levels import RandomDraws

MAIN = "spearman"
"""The coefficient that a table goes by, where it was asked for."""


def capitalize_name(coefficient: str) -> str:
    """With a capital where it bears a person's name."""
    return coefficient.capitalize() if coefficient in ("pearson", "spearman", "kendall") else coefficient


def sign(higher_is_better: bool | None, apart: float) -> int:
    """Which way a metric counts that is so far from the middle; by size where neither end is better."""
    down = apart < 0 if higher_is_better is None else not higher_is_better
    return -1 if down else 1


class Kind(NamedTuple):
    """What is correlated: replies or systems, all together or in groups."""

    level: str
    group: str

    @property
    def title(self) -> str:
        """As the head of a table."""
        return _TITLES[self]

    @property
    def head(self) -> str:
        """As the head of a column."""
        return _HEADS[self]


_TITLES = {
    Kind("reply", "overall"): "over all replies",
    Kind("reply", "system"): "mean over systems, within the replies of each",
    Kind("reply", "item"): "mean over contexts, within the replies to each",
    Kind("system", "overall"): "over systems",
}
_HEADS = {
    Kind("reply", "overall"): "replies",
    Kind("reply", "system"): "by system",
    Kind("reply", "item"): "by item",
    Kind("system", "overall"): "systems",
}


@dataclass(frozen=True)
class Correlation:
    """What one coefficient says of a metric and an aspect that people rated."""

    metric: str
    aspect: str
    level: str
    """reply or system."""
    group: str
    """overall, or what it is the mean over: system or item."""
    coefficient: str
    value: float
    low: float
    high: float
    p: float
    """How often chance alone gives as much, by permutation."""
    p_holm: float
    """Corrected for the number of metrics."""
    n: int
    """Replies, or systems, with a value and a rating."""
    undefined: int
    """Replies without a value."""
    contexts: int
    groups: int | None
    """How many groups have a coefficient."""
    of: int | None
    """How many there are."""
    ceiling: float
    """What a metric without any error could reach, given the raters' noise; NaN where that is unknown."""
    higher_is_better: bool | None
    why: str
    """Where the value, or its interval, is undefined."""
    signature: str

    @property
    def kind(self) -> Kind:
        """What is correlated."""
        return Kind(self.level, self.group)

    @property
    def agreement(self) -> float:
        """How far the value is from the middle, turned over for a metric of which lower is better."""
        apart = self.value - middle(self.coefficient)
        return apart * sign(self.higher_is_better, apart)


class RatedAspect(NamedTuple):
    """Something that people rated."""

    name: str
    rated: int
    """Replies with a rating."""
    replies: int
    ceiling: float
    """What a metric without any error could reach over all replies."""
    why: str
    """Where that is unknown."""
    ceiling_of_systems: float
    """What it could reach over systems."""

    def ceiling_at(self, kind: Kind) -> float:
        """NaN where there is none: within groups."""
        if kind.level == "system":
            return self.ceiling_of_systems
        return self.ceiling if kind.group == "overall" else math.nan


@dataclass(frozen=True)
class CorrelationSettings:
    """How correlations were made."""

    kinds: tuple[Kind, ...]
    coefficients: tuple[str, ...]
    confidence: float
    chance: RandomDraws
    replies: int
    contexts: int
    systems: int

    @property
    def main(self) -> str:
        """The coefficient that tables go by."""
        return MAIN if MAIN in self.coefficients else self.coefficients[0]
