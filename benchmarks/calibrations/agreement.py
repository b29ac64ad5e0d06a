"""Agreement of metrics with length held constant, and means over corpora."""

from collections.abc import Iterator
from functools import partial

import numpy as np

import dialoscope as ds
from benchmarks.calibrations.simulation import Figure, Range, holds, measure
from dialoscope.analysis.trust.pooling import pool
from dialoscope.runs.score_columns import Scores

CURVES = {
    "the inverse and the logarithm of length": (lambda n: 1 / n, np.log),
    "the inverse and the square of length": (lambda n: 1 / n, np.square),
    "distance from 20 words and the inverse": (lambda n: np.abs(n - 20), lambda n: 1 / n),
}


def figures(trials: int, workers: int) -> Iterator[Figure]:
    """Yield the remaining effect of length, the share of clustered noise, and coverage of pooled means."""
    few = max(min(2, trials), trials // 20)
    for setting in CURVES:
        for coefficient in ("pearson", "spearman"):
            ranges = [
                Range(
                    "left", "r of two functions of length, length held constant", -0.05, 0.05, is_share=False
                )
            ]
            trial = partial(of_length, setting, coefficient)
            yield from measure(f"{setting}, {coefficient}", trial, ranges, few, workers)
    ranges = [Range("clustered", "runs of eight columns of noise with a cluster", 0, 0.05)]
    yield from measure("50 replies", noise, ranges, few, workers)
    for corpora in (5, 7, 12):
        for spread in (0.15, 0.3):
            ranges = [
                Range("mean", "coverage of the mean over corpora", 0.92, 0.99),
                Range("new", "coverage of a new corpus", 0.90, 0.99),
            ]
            setting = f"{corpora} corpora that differ by {spread:g}"
            yield from measure(setting, partial(over_corpora, corpora, spread), ranges, trials, workers)


def of_length(setting: str, coefficient: str, rng: np.random.Generator) -> dict[str, float]:
    """Two metrics of nothing but length, each with noise of its own."""
    lengths = rng.integers(1, 41, 600)
    replies = [ds.Example(str(n), "s", "w " * int(size), (f"c{n}",)) for n, size in enumerate(lengths)]
    columns = [curve(lengths.astype(float)) for curve in CURVES[setting]]
    values = [column / column.std() + 0.2 * rng.normal(size=600) for column in columns]
    result = ds.evaluate(replies, ["words"])
    scores = Scores(("first", "second"), np.stack(values, axis=1))
    rest = ds.agree(result, scores=scores, coefficient=coefficient, draws=100).without_length
    assert rest is not None
    return {"left": float(rest.r[rest.names.index("first"), rest.names.index("second")])}


def noise(rng: np.random.Generator) -> dict[str, float]:
    """Return whether independent columns have a cluster."""
    replies = [ds.Example(str(n), "s", "so", (f"c{n}",)) for n in range(50)]
    scores = Scores(tuple(f"m{n}" for n in range(8)), rng.normal(size=(50, 8)))
    agreement = ds.agree(ds.evaluate(replies, ["words"]), scores=scores, draws=100)
    return {"clustered": float(any(len(group.metrics) > 1 for group in agreement.plain.groups))}


def over_corpora(corpora: int, spread: float, rng: np.random.Generator) -> dict[str, float]:
    """Coefficients of corpora that differ by more than their standard errors, on Fisher's scale."""
    errors = rng.uniform(0.03, 0.12, corpora)
    values = 0.4 + spread * rng.normal(size=corpora) + errors * rng.normal(size=corpora)
    mean = pool(values, errors, 0.95)
    new = 0.4 + spread * float(rng.normal())
    return {"mean": holds((mean.low, mean.high), 0.4), "new": holds((mean.new_low, mean.new_high), new)}
