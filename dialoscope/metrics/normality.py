"""Are an encoder's dimensions normally distributed, as the Fréchet distance takes for granted?"""

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dialoscope.core.arrays import Floats, Ints
from dialoscope.metrics.shared.base import Bounds, Notes
from dialoscope.metrics.shared.distribution import DistributionMetric
from dialoscope.metrics.shared.points import Points

MOST = 5000
"""The maximum number of points tested; the p-value is not known to be valid for more."""


@dataclass(frozen=True)
class Normality(DistributionMetric):
    """The mean p-value of the Shapiro-Wilk test for normality over the dimensions of an encoder."""

    name = "normality"
    version = 2
    paper = "https://aclanthology.org/2021.findings-acl.193"
    higher_is_better = None

    of: Literal["replies", "real"] = "replies"
    """The side whose points are tested."""

    @property
    def needs(self) -> frozenset[str]:
        """Context, and references if people's points are tested."""
        return super().needs if self.of == "real" else frozenset({"context"})

    @property
    def bounds(self) -> Bounds:
        """The bounds of a p-value."""
        return Bounds(0, 1)

    def score(self, tally: Points) -> float:
        """The mean p-value; undefined for fewer than three points."""
        values = self.by_dimension(tally)
        return float(values.mean()) if len(values) else np.nan

    def scores_without(self, tally: Points, blocks: Ints) -> Floats:
        """The score with each block left out in turn."""
        rows = [np.flatnonzero(blocks != block) for block in range(int(blocks.max()) + 1)]
        return np.array([self.score(tally.take(part)) for part in rows])

    def _scores_without_others(self, tally: Points, blocks: Ints) -> Floats:
        return np.empty(0)  # people and the system are not compared here

    def notes(self, tally: Points) -> Notes:
        """The standard deviation over dimensions, and the number of points."""
        p = self.by_dimension(tally)
        cloud = tally.replies if self.of == "replies" else tally.people
        return Notes({"sd": float(np.std(p)) if len(p) else np.nan, "n": float(min(cloud.count, MOST))})

    def by_dimension(self, tally: Points) -> Floats:
        """Return the p-value of each dimension that is not constant."""
        from scipy.stats import shapiro

        cloud = tally.replies if self.of == "replies" else tally.people
        points = cloud.points[:MOST]
        if len(points) < 3:
            return np.zeros(0)
        varied = points[:, np.ptp(points, axis=0) > 0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a dimension takes few values is no news
            return np.array([shapiro(column).pvalue for column in varied.T])
