"""The ceiling that raters set, for panels and crowds, and the raters flagged as outliers."""

import math
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks.calibrations.simulation import Figure, Range, holds, measure
from dialoscope.analysis.raters.intraclass import ceiling
from dialoscope.analysis.raters.outliers import find_outliers
from dialoscope.analysis.raters.reliability import leave_one_out
from dialoscope.runs.rating_columns import AspectRatings


class Study(NamedTuple):
    """Numbers of replies, of ratings of each, and of raters."""

    replies: int
    ratings: int
    """The number of ratings of each reply."""
    raters: int
    noise: float = 1.0
    strictness: float = 0.0
    """The standard deviation of the raters' biases."""
    careless: int = 0
    """The number of raters who rate at random."""

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
ATTENTIVE = (Study(300, 3, 30), Study(1000, 3, 100), Study(400, 5, 100), Study(100, 10, 10, noise=2))
CARELESS = (Study(100, 10, 10, careless=2), Study(1000, 5, 50, careless=5))


def figures(trials: int, workers: int) -> Iterator[Figure]:
    """Yield bias and coverage of ceilings, and the shares of good and careless raters that are flagged."""
    few = max(min(2, trials), trials // 2)
    for study in CEILINGS:
        ranges = [
            Range("bias", "bias of the ceiling", -0.03, 0.03, is_share=False),
            Range("holds", "coverage of the ceiling's interval", 0.88, 1),
            Range("undefined", "no ceiling", 0, 0.05),
        ]
        yield from measure(str(study), partial(compare_ceiling, study), ranges, few, workers)
    for study in ATTENTIVE:
        ranges = [Range("flagged", "studies that flag an equally good rater", 0, 0.06)]
        yield from measure(str(study), partial(flag_outliers, study), ranges, few, workers)
    for study in CARELESS:
        ranges = [Range("caught", "careless raters that are flagged", 0.7, 1, is_share=False)]
        yield from measure(str(study), partial(flag_outliers, study), ranges, few, workers)


def rate(study: Study, rng: np.random.Generator) -> AspectRatings:
    """Return ratings of replies whose qualities have standard deviation 1."""
    quality, strict = rng.normal(size=study.replies), study.strictness * rng.normal(size=study.raters)
    reply = np.repeat(np.arange(study.replies), study.ratings)
    chosen = [rng.choice(study.raters, study.ratings, replace=False) for _ in range(study.replies)]
    rater = np.concatenate(chosen)
    value = quality[reply] + strict[rater] + study.noise * rng.normal(size=len(reply))
    value = np.where(rater < study.careless, rng.normal(0, math.sqrt(2), len(reply)), value)
    names, code = np.unique(rater, return_inverse=True)
    return AspectRatings(reply, code, value, tuple(map(str, names)), 0)


def compare_ceiling(study: Study, rng: np.random.Generator) -> dict[str, float]:
    """Compare the ceiling with the root of the true reliability."""
    noise = study.noise**2 / study.ratings
    if study.ratings < study.raters:  # who rated a reply differs from reply to reply
        noise += study.strictness**2 / study.ratings
    truth = math.sqrt(1 / (1 + noise))
    estimate = ceiling(rate(study, rng))
    undefined = math.isnan(estimate.value)
    return {
        "bias": estimate.value - truth,
        "holds": holds((estimate.low, estimate.high), truth),
        "undefined": float(undefined),
    }


def flag_outliers(study: Study, rng: np.random.Generator) -> dict[str, float]:
    """Return whether good raters are flagged, and the share of careless ones that are."""
    names = {int(outlier.rater) for outlier in find_outliers(leave_one_out(rate(study, rng)))}
    caught = sum(name < study.careless for name in names)
    return {
        "flagged": float(len(names) > caught),
        "caught": caught / study.careless if study.careless else math.nan,
    }
