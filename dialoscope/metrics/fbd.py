"""Fréchet BERT Distance (Xiang et al., 2021, https://aclanthology.org/2021.findings-acl.193)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

import numpy as np

from dialoscope.metrics.base import Bounds
from dialoscope.metrics.distribution import DistributionMetric
from dialoscope.metrics.frechet import debiased, debiased_from_halves, frechet
from dialoscope.metrics.points import Points, whole
from dialoscope.tally import Floats, Ints


@dataclass(frozen=True)
class Fbd(DistributionMetric):
    """How far apart a system's replies and people's lie, each seen as a Gaussian cloud of encoded pairs."""

    name = "fbd"
    version = 1
    paper = "https://aclanthology.org/2021.findings-acl.193"
    higher_is_better = False
    variants = MappingProxyType({"paper": MappingProxyType({"mean_term": "norm"})})

    estimator: Literal["plain", "debiased"] = "plain"
    """The distance of the samples, which is too large when they are small, or an estimate of the true one."""
    mean_term: Literal["squared", "norm"] = "squared"
    """The distance of the means, squared (the Fréchet distance), or as it is (the formula in the paper)."""
    seed: int = 0
    """For the halves that the debiased estimate and the null are made from."""

    @property
    def bounds(self) -> Bounds:
        """An estimate without bias falls below 0 as often as above where there is no distance."""
        return Bounds(0 if self.estimator == "plain" else -math.inf, math.inf)

    @property
    def companions(self) -> "tuple[Fbd, ...]":
        """The plain value is mostly bias in small samples, so the debiased one stands beside it."""
        return (replace(self, estimator="debiased"),) if self.estimator == "plain" else ()

    def score(self, tally: Points) -> float:
        """Undefined for fewer than two points on a side (debiased: four)."""
        people, generated = tally.people, tally.generated
        squared = self.mean_term == "squared"
        if self.estimator == "plain":
            return frechet(whole(people), whole(generated), squared=squared)
        if people.held and generated.held:
            sides = people.points, generated.points, people.items, generated.items
            return debiased(*sides, squared=squared, seed=self.seed)
        return debiased_from_halves(people.halves, generated.halves, squared=squared)

    def scores_without(self, tally: Points, blocks: Ints) -> Floats:
        """The same from fewer points."""
        rows = [np.flatnonzero(blocks != block) for block in range(int(blocks.max()) + 1)]
        return np.array([self.score(tally.take(some)) for some in rows])

    def caution(self, tally: Points) -> str:
        """With fewer points than dimensions the plain value is mostly bias."""
        few = min(tally.people.count, tally.generated.count)
        if self.estimator == "debiased" or few >= tally.table.dims:
            return ""
        return (
            f"{self} is made from {few} points in {tally.table.dims} dimensions, which makes it larger than "
            f"the true distance; {replace(self, estimator='debiased')} takes that away, and null is what two "
            "halves of people's own replies have."
        )

    def beside(self, tally: Points) -> Mapping[str, float]:
        """How many points there are, and how far apart two halves of what people said are."""
        people = tally.people
        sizes = {"n": float(tally.generated.count), "real": float(people.count)}
        if self.estimator == "debiased":
            return sizes
        null = frechet(*people.halves, squared=self.mean_term == "squared")
        return {**sizes, "null": null}
