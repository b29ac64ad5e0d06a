"""Distinct-n (Li et al., 2016, https://aclanthology.org/N16-1014)."""

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dialoscope.metrics.base import BagMetric, Bounds, ratio
from dialoscope.metrics.grams import check_n, distinct_in_each, measure_grams
from dialoscope.tally import Bags, Floats
from dialoscope.text import Batch


@dataclass(frozen=True)
class Distinct(BagMetric):
    """Different n-grams over all n-grams: in everything a system said, or in each reply and averaged."""

    name = "distinct"
    version = 1
    paper = "https://aclanthology.org/N16-1014"
    higher_is_better = True
    main_setting = "n"

    n: int = 2
    level: Literal["system", "reply"] = "system"
    tokenizer: str = "words"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_n(self)

    @property
    def bounds(self) -> Bounds:
        """1 when nothing is said twice."""
        return Bounds(0, 1)

    @property
    def statistics(self) -> Hashable:
        """Shared by all metrics of the same n-grams."""
        return "grams", self.n, self.tokenizer

    def measure(self, batch: Batch) -> Bags:
        """The n-grams of each reply."""
        return measure_grams(self, batch)

    def score(self, tally: Bags) -> float:
        """Undefined when no reply is n words long."""
        if self.level == "reply":
            grades = self.score_each(tally)
            defined = grades[~np.isnan(grades)]
            return math.fsum(defined) / len(defined) if len(defined) else math.nan
        return len(tally.counts()) / len(tally.things) if len(tally.things) else math.nan

    def score_each(self, tally: Bags) -> Floats:
        """Different n-grams of the reply over all of its n-grams."""
        return ratio(distinct_in_each(tally), tally.sizes)
