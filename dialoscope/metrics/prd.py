"""Precision and recall of distributions (Sajjadi et al., 2018, https://arxiv.org/abs/1806.00035)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.errors import MetricError
from dialoscope.metrics.shared.base import Bounds, Notes, PrecisionRecall, ratio
from dialoscope.metrics.shared.clusters import assign_clusters
from dialoscope.metrics.shared.distribution import DistributionMetric
from dialoscope.metrics.shared.points import SAMPLE, Points


@dataclass(frozen=True)
class Prd(DistributionMetric):
    """The best F1 of precision and recall between the distributions of replies and people's replies."""

    name = "prd"
    version = 2
    paper = "https://aclanthology.org/2021.findings-acl.193"
    higher_is_better = True

    clusters: int = 20
    """The number of clusters of the points of both sides."""
    angles: int = 1001
    """The number of weights between precision and recall."""
    runs: int = 10
    """The number of clusterings, over which precision and recall are averaged."""
    seed: int = 0
    sample: int = 5000
    """The maximum number of points of each side that are clustered, sampled by a hash of their texts."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, low, high in (("clusters", 2, 1000), ("angles", 3, 100_000), ("runs", 1, 1000)):
            if not low <= getattr(self, name) <= high:
                raise MetricError(f"prd: {name} must be between {low} and {high}, not {getattr(self, name)}.")
        if not 2 <= self.sample <= SAMPLE:
            raise MetricError(f"prd: sample must be between 2 and {SAMPLE}, not {self.sample}.")
        if self.seed < 0:
            raise MetricError("prd: seed must be 0 or more.")

    @property
    def bounds(self) -> Bounds:
        """The bounds of an F1."""
        return Bounds(0, 1)

    @property
    def tolerance(self) -> float:
        """The error that arises if a point between two clusters changes its cluster by a rounding error."""
        return max(0.02, super().tolerance)

    def score(self, tally: Points) -> float:
        """The best F1 on the curve; undefined where a side has no point, or clusters have too few."""
        return self._curve(*self._shares(self._cluster_once(tally))).best

    def notes(self, tally: Points) -> Notes:
        """The spread and baseline, a warning where clusters have few points, and the curve."""
        curve = self._curve(*self._shares(self._cluster_once(tally)))
        return Notes(self._numbers(tally), self._warning(tally), curve=curve)

    def _warning(self, tally: Points) -> str:
        """A warning where clusters have few points, since the score is mostly noise then."""
        sizes = tally.generated.count, tally.people.count
        if min(sizes) >= 5 * self.clusters or math.isnan(self.score(tally)):
            return ""
        return (
            f"{self} is made from {sizes[0]} and {sizes[1]} points in {self.clusters} clusters, "
            "which is few: look at its spread, or ask for fewer clusters."
        )

    def _numbers(self, tally: Points) -> Mapping[str, float]:
        """The numbers of points, the spread over clusterings, and the score of people against people."""
        labels = self._cluster_once(tally)
        people, generated = self._shares(labels)
        scores = [
            self._curve(people[run : run + 1], generated[run : run + 1]).best for run in range(len(people))
        ]
        spread = float(np.std(scores, ddof=1)) if len(scores) > 1 else math.nan
        null = tally.once(("null", *self._how), lambda: self._null(tally))
        sizes = {"n": float(labels.generated.shape[1]), "real": float(labels.people.shape[1])}
        return {**sizes, "spread": spread} | ({} if math.isnan(null) else {"null": null})

    def scores_without(self, tally: Points, blocks: Ints) -> Floats:
        """The score with each block left out in turn; the clusters stay the same."""
        labels = self._cluster_once(tally)
        of_people = tally.people.blocks(blocks)[: self.sample]
        of_generated = tally.generated.blocks(blocks)[: self.sample]
        scores = []
        for block in range(int(blocks.max()) + 1):
            stays = _Labels(labels.people[:, of_people != block], labels.generated[:, of_generated != block])
            scores.append(self._curve(*self._shares(stays)).best)
        return np.array(scores)

    def _scores_without_others(self, tally: Points, blocks: Ints) -> Floats:
        labels, of_people = self._cluster_once(tally), blocks[: self.sample]
        left = (
            labels._replace(people=labels.people[:, of_people != block]) for block in range(blocks.max() + 1)
        )
        return np.array([self._curve(*self._shares(part)).best for part in left])

    def _null(self, tally: Points) -> float:
        """Return the score expected of two samples of people's points of these sizes, or NaN.

        It is computed from two halves of people's points without common dialogues. The difference from 1 is
        proportional to the root of 1/n + 1/m.
        """
        points, items = tally.people.points[: self.sample], tally.people.items[: self.sample]
        kinds, item = np.unique(items, return_inverse=True)
        first = np.random.default_rng(self.seed).permutation(len(kinds))[item] % 2 == 0
        halves = self._cluster(points[first], points[~first])
        if not len(halves.people):
            return math.nan
        labels = self._cluster_once(tally)
        sizes, of_halves = ([side.shape[1] for side in clustering] for clustering in (labels, halves))
        scale = math.sqrt(sum(1 / size for size in sizes) / sum(1 / size for size in of_halves))
        return max(0.0, 1 - (1 - self._curve(*self._shares(halves)).best) * scale)

    def _cluster_once(self, tally: Points) -> "_Labels":
        """The cluster of each point in each run, which are the same for the same replies."""
        clouds = tally.people, tally.generated
        return tally.once(
            ("clusters", *self._how),
            lambda: self._cluster(*(cloud.points[: self.sample] for cloud in clouds)),
        )

    @property
    def _how(self) -> tuple[int, ...]:
        return self.clusters, self.runs, self.seed, self.sample

    def _cluster(self, people: Floats, generated: Floats) -> "_Labels":
        if not (len(people) and len(generated)) or len(people) + len(generated) <= self.clusters:
            return _Labels(np.zeros((0, len(people)), np.int64), np.zeros((0, len(generated)), np.int64))
        points = np.concatenate([people, generated])
        runs = np.stack(
            [
                assign_clusters(points, self.clusters, np.random.default_rng([self.seed, run]))
                for run in range(self.runs)
            ]
        )
        return _Labels(runs[:, : len(people)], runs[:, len(people) :])

    def _shares(self, labels: "_Labels") -> tuple[Floats, Floats]:
        """The share of people's points and of the system's that each cluster has in each run."""
        people, generated = (self._shares_of(side) for side in labels)
        return people, generated

    def _shares_of(self, side: Ints) -> Floats:
        if not len(side):
            return np.full((1, self.clusters), math.nan)
        counts = np.stack([np.bincount(run, minlength=self.clusters) for run in side])
        return ratio(counts.astype(float), counts.sum(axis=1)[:, None])

    def _curve(self, people: Floats, generated: Floats) -> PrecisionRecall:
        """Return the curve, averaged over runs."""
        slopes = np.tan(np.arange(1, self.angles + 1) / (self.angles + 1) * math.pi / 2)[:, None]
        precision = np.mean(
            [np.minimum(slopes * real, own).sum(axis=1) for real, own in zip(people, generated, strict=True)],
            axis=0,
        )
        return PrecisionRecall(np.minimum(precision, 1), np.minimum(precision / slopes[:, 0], 1))


class _Labels(NamedTuple):
    """The cluster of each point in each run (runs, points)."""

    people: Ints
    generated: Ints
