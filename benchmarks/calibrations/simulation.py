"""Repeated trials of a simulation, in several processes, and the means of their results."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np

from dialoscope.core.arrays import Floats

Trial = Callable[[np.random.Generator], Mapping[str, float]]
"""A function that samples a data set and returns what is measured on it, by name."""

LENIENCE = 3.0
"""Standard errors of a share by which it may leave its range."""


class Figure(NamedTuple):
    """A measured number, and the range that it must be in."""

    setting: str
    """The data, such as "lognormal, 10 contexts"."""
    quantity: str
    """The measured quantity, such as "coverage of the 95 % interval" or "type I error at .05"."""
    value: float
    trials: int
    low: float = -math.inf
    high: float = math.inf
    is_share: bool = True
    """Whether it is a share of the trials, so that its standard error is known."""

    @property
    def fits(self) -> bool:
        """Whether the number is in its range, within the error of so few trials."""
        if math.isnan(self.value):
            return False
        error = (
            LENIENCE * math.sqrt(max(self.value * (1 - self.value), 0.01) / self.trials)
            if self.is_share
            else 0.0
        )
        return self.low - error <= self.value <= self.high + error


class Range(NamedTuple):
    """A quantity that each trial measures, and the range of its mean over trials."""

    name: str
    quantity: str
    low: float = -math.inf
    high: float = math.inf
    is_share: bool = True


def measure(
    setting: str, trial: Trial, ranges: Iterable[Range], trials: int, workers: int, seed: int = 0
) -> Iterator[Figure]:
    """Yield the mean over trials of each quantity."""
    values = repeat(trial, trials, workers, seed)
    for name, quantity, low, high, is_share in ranges:
        yield Figure(setting, quantity, mean_of(values[name]), trials, low, high, is_share)


def repeat(trial: Trial, trials: int, workers: int = 1, seed: int = 0) -> dict[str, Floats]:
    """Return what each trial measured, by name: (trials,). Each has a generator of its own, from the seed."""
    seeds = np.random.SeedSequence(seed).spawn(trials)
    run = partial(_run, trial)
    if workers == 1:
        rows = list(map(run, seeds))
    else:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            rows = list(pool.map(run, seeds, chunksize=max(1, trials // (8 * workers))))
    return {name: np.array([row[name] for row in rows], float) for name in rows[0]}


def mean_of(values: Floats) -> float:
    """Return the mean of the values that are defined: of zeros and ones the share of ones."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else math.nan


def holds(interval: Iterable[float], truth: float) -> float:
    """Return 1 where an interval holds the true value, 0 where it does not, NaN where there is none."""
    low, high = interval
    return math.nan if math.isnan(low) else float(low <= truth <= high)


def excludes(interval: Iterable[float], value: float = 0.0) -> float:
    """Return 1 where an interval does not hold a value, 0 where it does, NaN where there is none."""
    return 1 - holds(interval, value)


def _run(trial: Trial, seed: np.random.SeedSequence) -> Mapping[str, float]:
    return trial(np.random.default_rng(seed))
