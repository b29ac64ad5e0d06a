"""Repeated trials of a simulation, in several processes, and what comes of them."""

import math
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np

from dialoscope.tally import Floats

Trial = Callable[[np.random.Generator], Mapping[str, float]]
"""One data set and what was found in it, by name; it must be a function of a module, or a partial of one."""


class Figure(NamedTuple):
    """A measured number, and the range that it must be in."""

    setting: str
    """The data, such as "lognormal, 10 contexts"."""
    quantity: str
    """What is measured, such as "interval holds the truth" or "false alarms at .05"."""
    value: float
    trials: int
    low: float = -math.inf
    high: float = math.inf

    @property
    def fits(self) -> bool:
        """Whether the number is in its range."""
        return self.low <= self.value <= self.high


def repeat(trial: Trial, trials: int, workers: int = 1, seed: int = 0) -> dict[str, Floats]:
    """Return what each trial found, by name: (trials,). Each trial has a generator of its own, from the seed."""
    seeds = np.random.SeedSequence(seed).spawn(trials)
    run = partial(_run, trial)
    if workers == 1:
        found = list(map(run, seeds))
    else:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            found = list(pool.map(run, seeds, chunksize=max(1, trials // (8 * workers))))
    return {name: np.array([one[name] for one in found], float) for name in found[0]}


def _run(trial: Trial, seed: np.random.SeedSequence) -> Mapping[str, float]:
    return trial(np.random.default_rng(seed))


def share(found: Floats) -> float:
    """Return the mean of what is defined: of zeros and ones the share of ones."""
    known = found[~np.isnan(found)]
    return float(known.mean()) if len(known) else math.nan
