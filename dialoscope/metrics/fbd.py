"""Fréchet BERT Distance (Xiang et al., 2021, https://aclanthology.org/2021.findings-acl.193)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

import numpy as np

from dialoscope.errors import MetricError
from dialoscope.metrics.base import Bounds
from dialoscope.metrics.distribution import DistributionMetric
from dialoscope.metrics.frechet import (
    debiased,
    debiased_from_halves,
    debiased_without,
    frechet,
    frechet_without,
    split_half,
)
from dialoscope.metrics.points import Cloud, Points, whole
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

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.seed < 0:
            raise MetricError("fbd: seed must be 0 or more.")

    @property
    def bounds(self) -> Bounds:
        """An estimate without bias falls below 0 as often as above where there is no distance."""
        return Bounds(0 if self.estimator == "plain" else -math.inf, math.inf)

    @property
    def companions(self) -> "tuple[Fbd, ...]":
        """The plain value is mostly bias in small samples, so the debiased one stands beside it."""
        return (replace(self, estimator="debiased"),) if self.estimator == "plain" else ()

    def score(self, tally: Points) -> float:
        """Undefined for fewer than two points on a side (debiased: for fewer than eight)."""
        people, generated = tally.people, tally.generated
        if self.estimator == "plain":
            return self._plain(people, generated)
        if tally.crowd:
            return self._true(people, generated)
        return self._plain(people, generated) - self._common(tally)

    def scores_without(self, tally: Points, blocks: Ints) -> Floats:
        """The same from fewer points; what is taken away from all systems alike stays what it is."""
        people, generated = tally.people, tally.generated
        if not (people.held and generated.held):
            rows = [np.flatnonzero(blocks != block) for block in range(int(blocks.max()) + 1)]
            return np.array([self.score(tally.take(some)) for some in rows])
        if self.estimator == "plain":
            return self._plain_without(people, generated, blocks)
        if tally.crowd:
            return self._true_without(people, generated, blocks)
        return self._plain_without(people, generated, blocks) - self._common(tally)

    def _common(self, tally: Points) -> float:
        """The bias that a system has on these contexts whatever it says: that of saying nothing.

        Real and generated points share their contexts, and how much of a point its context settles is what
        plain values of such samples mostly tell of a system. Halves without common contexts lose it.
        """
        return self._plain(tally.people, tally.silent) - self._true(tally.people, tally.silent)

    def _plain(self, people: Cloud, others: Cloud) -> float:
        return frechet(whole(people), whole(others), squared=self._squared)

    def _true(self, people: Cloud, others: Cloud) -> float:
        if not (people.held and others.held):
            return debiased_from_halves(people.halves, others.halves, squared=self._squared)
        sides = people.points, others.points, people.items, others.items
        return debiased(*sides, squared=self._squared, seed=self.seed)

    def _plain_without(self, people: Cloud, others: Cloud, blocks: Ints) -> Floats:
        left_out = people.blocks(blocks), others.blocks(blocks)
        return frechet_without(people.points, others.points, *left_out, squared=self._squared)

    def _true_without(self, people: Cloud, others: Cloud, blocks: Ints) -> Floats:
        sides = people.points, others.points, people.items, others.items
        left_out = people.blocks(blocks), others.blocks(blocks)
        return debiased_without(*sides, *left_out, squared=self._squared, seed=self.seed)

    @property
    def _squared(self) -> bool:
        return self.mean_term == "squared"

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
        """From how many points it is, and how far off halves of people's own are, and saying nothing."""
        people = tally.people
        sizes = {"n": float(tally.generated.count), "real": float(people.count)}
        if self.estimator == "debiased":
            return sizes
        null = split_half(people.points, people.items, squared=self._squared, seed=self.seed)
        return {
            **sizes,
            "null": null,
            **({} if tally.crowd else {"silence": self._plain(people, tally.silent)}),
        }
