"""The ceiling that raters set, for panels and crowds, and raters who are said to stand out."""

import math
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks.calibrations.simulation import Figure, Range, holds, measure
from dialoscope.analysis.raters.intraclass import ceiling
from dialoscope.analysis.raters.outliers import find_outliers
from dialoscope.analysis.raters.reliability import leave_one_out
from dialoscope.runs.rating_columns import Judgements


class Study(NamedTuple):
    """Replies that so many of a pool of raters rated."""

    replies: int
    ratings: int
    """Of each reply."""
    raters: int
    noise: float = 1.0
    strictness: float = 0.0
    """The standard deviation of what a rater gives too much or too little in all ratings."""
    careless: int = 0
    """Raters who rate at random."""

    def __str__(self) -> str:
        strict = f", strictness {self.strictness:g}" if self.strictness else ""
        careless = f", {self.careless} careless" if self.careless else ""
        noise = f", noise {self.noise:g}" if self.noise != 1 else ""
        return f"{self.replies} replies, {self.ratings} of {self.raters} raters each{noise}{strict}{careless}"


CEILINGS = (
    Study(200, 2, 40),
    Study(200, 2, 80),
    Study(200, 2, 95),
    Study(200, 3, 150),
    Study(1000, 2, 450),
    Study(200, 2, 80, noise=2),
    Study(200, 2, 80, strictness=0.5),
    Study(200, 5, 100, strictness=1),
    Study(100, 3, 3, strictness=0.5),
    Study(100, 10, 10, strictness=0.5),
)
ACCUSED = (Study(300, 3, 30), Study(1000, 3, 100), Study(400, 5, 100), Study(100, 10, 10, noise=2))
CARELESS = (Study(100, 10, 10, careless=2), Study(1000, 5, 50, careless=5))


def figures(trials: int, workers: int) -> Iterator[Figure]:
    """Yield bias and coverage of ceilings, and how often good and careless raters are accused."""
    few = max(2, trials // 2)
    for study in CEILINGS:
        ranges = [
            Range("bias", "bias of the ceiling", -0.03, 0.03, is_share=False),
            Range("holds", "coverage of the ceiling's interval", 0.88, 1),
            Range("undefined", "no ceiling", 0, 0.05),
        ]
        yield from measure(str(study), partial(reach, study), ranges, few, workers)
    for study in ACCUSED:
        ranges = [Range("accused", "studies that flag an equally good rater", 0, 0.06)]
        yield from measure(str(study), partial(accuse, study), ranges, few, workers)
    for study in CARELESS:
        ranges = [Range("caught", "careless raters that are flagged", 0.7, 1, is_share=False)]
        yield from measure(str(study), partial(accuse, study), ranges, few, workers)


def rate(study: Study, rng: np.random.Generator) -> Judgements:
    """Ratings of replies of standard deviation 1."""
    quality, strict = rng.normal(size=study.replies), study.strictness * rng.normal(size=study.raters)
    reply = np.repeat(np.arange(study.replies), study.ratings)
    chosen = [rng.choice(study.raters, study.ratings, replace=False) for _ in range(study.replies)]
    rater = np.concatenate(chosen)
    value = quality[reply] + strict[rater] + study.noise * rng.normal(size=len(reply))
    value = np.where(rater < study.careless, rng.normal(0, math.sqrt(2), len(reply)), value)
    names, code = np.unique(rater, return_inverse=True)
    return Judgements(reply, code, value, tuple(map(str, names)), 0)


def reach(study: Study, rng: np.random.Generator) -> dict[str, float]:
    """The ceiling against the root of the true reliability."""
    noise = study.noise**2 / study.ratings
    if study.ratings < study.raters:  # who rated a reply differs from reply to reply
        noise += study.strictness**2 / study.ratings
    truth = math.sqrt(1 / (1 + noise))
    found = ceiling(rate(study, rng))
    undefined = math.isnan(found.value)
    return {
        "bias": found.value - truth,
        "holds": holds((found.low, found.high), truth),
        "undefined": float(undefined),
    }


def accuse(study: Study, rng: np.random.Generator) -> dict[str, float]:
    """Who is said to stand out."""
    names = {int(one.rater) for one in find_outliers(leave_one_out(rate(study, rng)))}
    caught = sum(name < study.careless for name in names)
    return {
        "accused": float(len(names) > caught),
        "caught": caught / study.careless if study.careless else math.nan,
    }
