"""Intervals of one system's value, for numbers of contexts from 5 to 100."""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

import dialoscope as ds
from benchmarks.calibrations.simulation import Figure, Range, holds, measure
from dialoscope.core.arrays import Floats
from dialoscope.runs.resampling import Resamples, bootstrap_sums, percentile_interval

SOURCES = {
    "normal": (lambda rng, n: rng.normal(size=n), 0.0),
    "ratings 1 to 5": (lambda rng, n: rng.choice(5, n, p=[0.1, 0.1, 0.2, 0.4, 0.2]) + 1.0, 3.5),
    "exponential": (lambda rng, n: rng.exponential(size=n), 1.0),
    "lognormal": (lambda rng, n: rng.lognormal(size=n), math.exp(0.5)),
    "a rate of .3": (lambda rng, n: (rng.random(n) < 0.3).astype(float), 0.3),
    "a rate of .1": (lambda rng, n: (rng.random(n) < 0.1).astype(float), 0.1),
}
MIN_COVERAGE = {
    "normal": {5: 0.90, 10: 0.93, 30: 0.93, 100: 0.93},
    "ratings 1 to 5": {5: 0.88, 10: 0.92, 30: 0.93, 100: 0.93},
    "exponential": {5: 0.84, 10: 0.88, 30: 0.91, 100: 0.93},
    "lognormal": {5: 0.78, 10: 0.82, 30: 0.87, 100: 0.91},
    "a rate of .3": {10: 0.93, 30: 0.93, 100: 0.93},
    "a rate of .1": {30: 0.93, 100: 0.93},
}
"""The minimum coverage of a 95 % interval, by the number of contexts."""


def figures(trials: int, workers: int) -> Iterator[Figure]:
    """Yield coverage by source and number of contexts, of dialogues, and of Distinct."""
    for source, by_contexts in MIN_COVERAGE.items():
        for contexts, low in by_contexts.items():
            yield from measure(
                f"mean, {source}, {contexts} contexts",
                partial(mean_of_contexts, source, contexts),
                [Range("holds", "coverage of the 95 % interval", low, 1 if "rate" in source else 0.985)],
                trials,
                workers,
            )
    yield from measure(
        "a rate of .1, 10 contexts",
        partial(mean_of_contexts, "a rate of .1", 10),
        [Range("flat", "interval of width 0", 0, 0)],
        trials,
        workers,
    )
    for name, read in (("Dialogue.examples()", True), ("each turn by itself", False)):
        yield from measure(
            f"30 dialogues of 8 turns, {name}",
            partial(mean_of_turns, read),
            [Range("holds", "coverage of the 95 % interval", *((0.92, 0.98) if read else (0, 1)))],
            trials,
            workers,
        )
    for contexts, low in ((10, 0.80), (30, 0.90), (100, 0.92)):
        yield from measure(
            f"Distinct-2, {contexts} contexts",
            partial(distinct, contexts),
            [Range("holds", "coverage of the 95 % interval", low, 0.99)],
            trials,
            workers,
        )


def mean_of_contexts(source: str, contexts: int, rng: np.random.Generator) -> dict[str, float]:
    """The interval of a mean over contexts with one reply each."""
    sample, truth = SOURCES[source]
    values = sample(rng, contexts)
    sums = np.stack([values, np.ones(contexts)], axis=1)
    resampled = bootstrap_sums(sums, Resamples(1000, int(rng.integers(1 << 30))))
    interval = percentile_interval(resampled[:, 0] / resampled[:, 1], 0.95, contexts)
    return {"holds": holds(interval, truth), "flat": float(interval.low == interval.high)}


def mean_of_turns(together: bool, rng: np.random.Generator) -> dict[str, float]:
    """The mean number of words of turns, with half of its variance between dialogues."""
    examples = []
    for number in range(30):
        usual = rng.normal(20, 4)
        lengths = np.maximum(1, np.round(rng.normal(usual, 4, 8))).astype(int)
        turns = tuple(
            turn for length in lengths for turn in (ds.Turn("you", "so"), ds.Turn("bot", "w " * length))
        )
        examples += ds.Dialogue(str(number), "bot", turns).examples("bot")
    if not together:
        examples = [ds.Example(turn.id, "bot", turn.response, turn.context[-1:]) for turn in examples]
        examples = [ds.Example(turn.id, "bot", turn.response, (turn.id,)) for turn in examples]
    result = ds.evaluate(examples, ["words"], seed=int(rng.integers(1 << 30)))
    return {"holds": holds(result.interval("words", "bot"), 20.0)}


TRUE_DISTINCT = {10: 0.9581, 30: 0.9097, 100: 0.8272}
"""The mean over 2,000 samples of so many replies, and 800 of a hundred; its standard error is below .0007."""
WORDS = 400
SHARES: Floats = 1 / np.arange(1, WORDS + 1) / np.sum(1 / np.arange(1, WORDS + 1))


def said(rng: np.random.Generator, length: int) -> str:
    """A reply with words by Zipf's law."""
    return " ".join(f"w{word}" for word in rng.choice(WORDS, length, p=SHARES))


def distinct(contexts: int, rng: np.random.Generator) -> dict[str, float]:
    """Distinct-2 of replies of 3 to 14 words; the true value is the mean over many samples."""
    replies = [
        ds.Example(str(n), "s", said(rng, int(rng.integers(3, 15))), (f"c{n}",)) for n in range(contexts)
    ]
    result = ds.evaluate(replies, ["distinct-2"])
    return {"holds": holds(result.interval("distinct-2", "s"), TRUE_DISTINCT[contexts])}
