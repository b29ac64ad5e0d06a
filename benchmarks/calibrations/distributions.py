"""FBD and PRD: coverage and bias of the distance, and values for two samples of one distribution."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.calibrations.simulation import Figure, Range, excludes, holds, measure
from dialoscope.core.arrays import Floats
from dialoscope.metrics.fbd import Fbd
from dialoscope.metrics.prd import Prd
from dialoscope.metrics.shared.frechet import Moments
from dialoscope.metrics.shared.points import Crowd, Points, PointTable
from dialoscope.runs.resampling import blocks_of, jackknife_interval

TRACE = 15.0
SHAPES = ((32, 60), (32, 150), (32, 400), (384, 231), (384, 400))
"""Dimensions and numbers of points."""
FBD = Fbd(estimator="debiased")


def figures(trials: int, workers: int) -> Iterator[Figure]:
    """Yield coverage of the debiased distance, and PRD of people against people."""
    few = max(min(2, trials), trials // 8)
    shapes = SHAPES if trials > 1 else SHAPES[:1]  # a single trial only shows that the program runs
    for dims, points in shapes:
        for kind in ("the same", "means apart", "half as much again"):
            ranges = [
                Range("holds", "coverage of the debiased FBD's interval", 0.85, 1),
                Range("bias", "bias of the debiased FBD", -0.2, 0.2, is_share=False),
            ]
            setting = f"{kind}, {points} points in {dims} dimensions"
            yield from measure(setting, partial(debiased, kind, dims, points), ranges, few, workers)
    ranges = [Range("shown", "debiased FBD with an interval", 0, 0)]
    yield from measure("200 points in 384 dimensions", partial(debiased, "the same", 384, 200), ranges, 2, 1)
    for sizes in ((60, 60), (150, 150), (60, 150), (1000, 1000)):
        ranges = [
            Range("value", "PRD of two samples of people", is_share=False),
            Range("difference", "PRD less its null", -0.04, 0.04, is_share=False),
        ]
        setting = f"{sizes[0]} and {sizes[1]} points of one distribution"
        yield from measure(setting, partial(people_twice, *sizes), ranges, few, workers)


def points(people: Floats, generated: Floats) -> Points:
    """A system's points beside those of a corpus; each has a context of its own."""
    table = PointTable(np.arange(1, len(generated) + 1), generated.astype(np.float32))
    nothing = np.zeros(len(generated), np.int64)
    items = np.arange(len(people))
    crowd = Crowd((Moments.of(people[0::2]), Moments.of(people[1::2])), people, items)
    return Points(table, table.keys, table.keys + 10**6, nothing[:0], nothing, nothing, crowd)


def debiased(kind: str, dims: int, count: int, rng: np.random.Generator) -> dict[str, float]:
    """Two Gaussians whose distance is known, with as many points on either side."""
    scale = np.sqrt(1 / np.arange(1, dims + 1) ** 0.7)
    scale *= np.sqrt(TRACE / np.square(scale).sum())
    shift, factor = np.zeros(dims), 1.0
    if kind == "means apart":
        shift = scale / 3
    if kind == "half as much again":
        factor = np.sqrt(1.5)
    people, system = rng.normal(size=(2, count, dims)) * scale
    tally = points(people, system * factor + shift)
    truth = float(shift @ shift + np.square(scale * (factor - 1)).sum())
    value = FBD.score(tally)
    if not FBD.has_interval(tally):
        return {"shown": 0.0, "bias": value - truth}
    left_out = FBD.scores_without(tally, blocks_of(np.arange(count), 20, int(rng.integers(1 << 30))))
    interval = jackknife_interval(value, left_out, 0.95, FBD.scores_without_others(tally, 20))
    return {"shown": 1.0, "bias": value - truth, "holds": holds(interval, truth), "off": excludes(interval)}


def people_twice(first: int, second: int, rng: np.random.Generator) -> dict[str, float]:
    """Both sides are samples of one Gaussian."""
    scale = np.sqrt(1 / np.arange(1, 33))
    people, system = (rng.normal(size=(count, 32)) * scale for count in (first, second))
    metric, tally = Prd(seed=int(rng.integers(1 << 30))), points(people, system)
    value = metric.score(tally)
    return {"value": value, "difference": value - metric.notes(tally).numbers["null"]}
