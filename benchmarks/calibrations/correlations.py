"""Correlations within groups and over systems, and comparisons of metrics.

benchmarks/correlation_tests.py has those over all replies, with contexts of many sizes.
"""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.calibrations.simulation import Figure, Range, excludes, holds, measure
from dialoscope.analysis.coefficients import measure as coefficient
from dialoscope.analysis.correlation.levels import InGroups, RandomDraws, systems_interval
from dialoscope.analysis.correlation.metric_pairs import compare_metrics
from dialoscope.analysis.correlation.panel import Panel
from dialoscope.analysis.metric_columns import Column
from dialoscope.core.arrays import Floats, Ints

RANDOM = RandomDraws(draws=1000, permutations=1, seed=0)
REJECTS = Range("rejects", "type I error at .05", 0.03, 0.07)
AGREES = Range("disagree", "p and interval disagree", 0, 0)
LOCK = 0.7
"""The share of a column's variance that is its context's."""


def figures(trials: int, workers: int) -> Iterator[Figure]:
    """Yield type I errors by system and by item, coverage over systems, and type I errors of comparisons."""
    designs = {
        "100 contexts, each by 4 of 8 systems": partial(some_of, 100, 4, 8),
        "50 contexts, each by 3 of 6 systems": partial(some_of, 50, 3, 6),
        "50 contexts, 1 to 3 replies of each of 4 systems": samples,
        "50 contexts, each by all of 4 systems": partial(some_of, 50, 4, 4),
    }
    for setting, design in designs.items():
        for by_system in (True, False):
            where = "by system" if by_system else "by item"
            trial = partial(within, design, by_system)
            yield from measure(f"{setting}, {where}", trial, [REJECTS, AGREES], trials, workers)
    for systems in (6, 12):
        for true in (0.0, 0.9):
            setting = f"{systems} systems of which r is {true:g}, 50 contexts"
            for name in ("pearson", "spearman", "kendall"):
                ranges = [Range("holds", f"coverage of {name} over all such systems", 0.86, 0.985)]
                trial = partial(over_systems, systems, true, name)
                yield from measure(setting, trial, ranges, trials, workers)
    ranges = [REJECTS, Range("disagree", "p and interval disagree", 0, 0)]
    yield from measure(
        "two metrics as good as each other, 60 contexts of 4", contest, ranges, trials, workers
    )


def column(item: Ints, rng: np.random.Generator) -> Floats:
    """Return values with most of their variance between contexts."""
    of_item = rng.normal(size=int(item.max()) + 1)[item]
    values: Floats = math.sqrt(LOCK) * of_item + math.sqrt(1 - LOCK) * rng.normal(size=len(item))
    return values


def panel(item: Ints, system: Ints, x: Floats, y: Floats) -> Panel:
    """Return a panel of columns without a result."""
    names = tuple(Column(f"m{index}", "m", values, True) for index, values in enumerate(x.T))
    return Panel(None, np.arange(len(item)), item, system, names, ("q",), x, y[:, None])  # type: ignore[arg-type]


def some_of(contexts: int, chosen: int, systems: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Contexts, each of which some of the systems answered."""
    item = np.repeat(np.arange(contexts), chosen)
    system = np.concatenate([rng.choice(systems, chosen, replace=False) for _ in range(contexts)])
    return item, system


def samples(rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Contexts that each system answered one to three times."""
    counts = rng.integers(1, 4, (50, 4))
    item, system = np.divmod(np.repeat(np.arange(200), counts.ravel()), 4)
    return item, system


def within(design: partial[tuple[Ints, Ints]], by_system: bool, rng: np.random.Generator) -> dict[str, float]:
    """Test an independent metric and rating within systems or contexts."""
    item, system = design(rng)
    of = panel(item, system, column(item, rng)[:, None], column(item, rng))
    randomness = RANDOM._replace(seed=int(rng.integers(1 << 30)))
    level = InGroups(of, randomness, 3, by_system=by_system)
    inference = level.inference("spearman", level.values("spearman").value, 0.95)
    rejects = float(inference.p[0, 0] < 0.05)
    excluded = excludes((inference.low[0, 0], inference.high[0, 0]))
    return {"rejects": rejects, "disagree": float(excluded != rejects)}


def over_systems(systems: int, true: float, name: str, rng: np.random.Generator) -> dict[str, float]:
    """Correlate random systems with a known correlation, each observed on 50 contexts."""
    qualities = rng.multivariate_normal([0, 0], [[1, true], [true, 1]], systems)
    x, y = (qualities + rng.normal(size=(systems, 2)) / math.sqrt(50)).T
    value = coefficient(name, x, y).value
    low, high = systems_interval(name, np.array([[value]]), np.array([[systems]]), 0.95)
    attenuated = true / (1 + 1 / 50)  # the noise of 50 contexts brings it nearer to 0
    truth = {
        "pearson": attenuated,
        "spearman": 6 / math.pi * math.asin(attenuated / 2),
        "kendall": 2 / math.pi * math.asin(attenuated),
    }
    return {"holds": holds((float(low[0, 0]), float(high[0, 0])), truth[name])}


def contest(rng: np.random.Generator) -> dict[str, float]:
    """Compare two metrics of the same truth with equal noise."""
    item = np.repeat(np.arange(60), 4)
    truth = column(item, rng)
    x = np.stack([truth + column(item, rng) for _ in range(2)], axis=1)
    of = panel(item, np.tile(np.arange(4), 60), x, truth + 0.5 * column(item, rng))
    randomness = RANDOM._replace(seed=int(rng.integers(1 << 30)))
    (pair,) = compare_metrics(of, randomness, 0.95, "spearman", "m0", "m1").contests
    rejects = float(pair.p < 0.05)
    return {"rejects": rejects, "disagree": float(excludes((pair.low, pair.high)) != rejects)}
