"""The correlation of a metric with a rated aspect, and how it was computed."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from dialoscope.analysis.coefficients import middle
from dialoscope.analysis.correlation.levels import RandomDraws

MAIN = "spearman"
"""The coefficient that a table is sorted by, where it was asked for."""


def capitalize_name(coefficient: str) -> str:
    """The name of a coefficient, with a capital if it is a person's name."""
    return coefficient.capitalize() if coefficient in ("pearson", "spearman", "kendall") else coefficient


def sign(higher_is_better: bool | None, apart: float) -> int:
    """-1 for a metric for which lower is better, else 1; the sign of `apart` where neither end is better."""
    down = apart < 0 if higher_is_better is None else not higher_is_better
    return -1 if down else 1


class Kind(NamedTuple):
    """A kind of correlation: over replies or systems, all together or in groups."""

    level: str
    group: str

    @property
    def title(self) -> str:
        """The title of a table."""
        return _TITLES[self]

    @property
    def head(self) -> str:
        """The head of a column."""
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
    """One coefficient of a metric with a rated aspect."""

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
    """The p-value, two-sided, of no association."""
    p_holm: float
    """Corrected for the number of metrics."""
    n: int
    """Replies, or systems, with a value and a rating."""
    undefined: int
    """Replies without a value."""
    contexts: int
    groups: int | None
    """The number of groups that have a coefficient."""
    of: int | None
    """The number of groups."""
    ceiling: float
    """The correlation that a metric without error would have, given the raters' noise; NaN if unknown."""
    higher_is_better: bool | None
    why: str
    """Why the value, or its interval, is undefined; empty if it is not."""
    signature: str

    @property
    def kind(self) -> Kind:
        """The kind of correlation."""
        return Kind(self.level, self.group)

    @property
    def agreement(self) -> float:
        """The value less the middle, with the sign turned for a metric for which lower is better."""
        apart = self.value - middle(self.coefficient)
        return apart * sign(self.higher_is_better, apart)


class RatedAspect(NamedTuple):
    """An aspect of replies that people rated."""

    name: str
    rated: int
    """Replies with a rating."""
    replies: int
    ceiling: float
    """The correlation that a metric without error would have over all replies."""
    why: str
    """Why the ceiling is unknown, if so."""
    ceiling_of_systems: float
    """The correlation that it would have over systems."""

    def ceiling_at(self, kind: Kind) -> float:
        """The ceiling at a level; NaN within groups, where there is none."""
        if kind.level == "system":
            return self.ceiling_of_systems
        return self.ceiling if kind.group == "overall" else math.nan


@dataclass(frozen=True)
class CorrelationSettings:
    """The settings of correlations, and the number of replies, contexts and systems."""

    kinds: tuple[Kind, ...]
    coefficients: tuple[str, ...]
    confidence: float
    random_draws: RandomDraws
    replies: int
    contexts: int
    systems: int

    @property
    def main(self) -> str:
        """The coefficient that tables are sorted by."""
        return MAIN if MAIN in self.coefficients else self.coefficients[0]
