"""Comparisons of two systems: false alarms, power, gates, and unequal numbers of replies."""

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

import dialoscope as ds
from benchmarks.calibrations.simulation import Figure, Range, excludes, holds, measure
from benchmarks.calibrations.values import said
from dialoscope.analysis.comparison.contrast import detectable
from dialoscope.analysis.comparison.gate import Gate, evaluate_gate
from dialoscope.core.arrays import Floats
from dialoscope.metrics.shared.base import ratio
from dialoscope.runs.differences import Difference, LeaveOuts
from dialoscope.runs.resampling import PairedSums, Resamples, halve_pairs

FALSE_ALARMS = Range("rejects", "type I error at .05", 0.02, 0.07)
HALVES = 2000


def figures(trials: int, workers: int) -> Iterator[Figure]:
    """Yield figures of means with equal and unequal counts, of gates, and of metrics of all replies."""
    for contexts in (6, 10, 30, 100):
        ranges = [
            FALSE_ALARMS._replace(low=0.0 if contexts == 6 else 0.02),
            Range("disagree", "p and interval disagree", 0, 0),
        ]
        yield from measure(
            f"equal means, {contexts} contexts", partial(means, contexts, NORMAL), ranges, trials, workers
        )
    for defined in (5, 6, 10):
        setting = f"100 contexts, {defined} of which have a value"
        yield from measure(
            setting, partial(sparse, defined), [FALSE_ALARMS._replace(low=0.0)], trials, workers
        )
    for contexts, replies, spread in ((30, 5, 2), (30, 10, 2), (30, 20, 0), (100, 10, 0), (100, 5, 2)):
        setting = f"{contexts} contexts, 1 against {replies} replies, context sd {spread}"
        unequal = NORMAL._replace(replies=replies, context=spread)
        yield from measure(setting, partial(means, contexts, unequal), [FALSE_ALARMS], trials, workers)
        shifted = unequal._replace(gain=4 * math.sqrt((1 + 1 / replies) / contexts))
        power = [Range("rejects", "power at 4 standard errors", 0.9, 1)]
        yield from measure(setting, partial(means, contexts, shifted), power, trials, workers)
    for source, highest in GATES.items():
        for contexts, high in highest.items():
            ranges = [
                Range("fails", "gate at the margin fails", 0, high),
                Range("passes", "--strict passes at the margin", 0, high),
            ]
            at_margin = partial(gate, contexts, source)
            yield from measure(
                f"{source} differences, {contexts} contexts", at_margin, ranges, trials, workers
            )
    for contexts in (10, 30, 100):
        power = [Range("rejects", "power at the detectable difference", 0.76, 0.85)]
        yield from measure(f"{contexts} contexts", partial(at_detectable, contexts), power, trials, workers)
    few = max(min(2, trials), trials // 4)
    for setting, trial in POOLED.items():
        yield from measure(setting, trial, [FALSE_ALARMS._replace(low=0.0)], few, workers)
    for mean, high in (("contexts", 0.07), ("replies", 1.0)):
        ranges = [Range("excludes", f"interval of means over {mean} excludes 0", 0, high)]
        yield from measure("A replies more often where it is easy", partial(easy, mean), ranges, few, workers)


class Source(NamedTuple):
    """Two systems; the first replies once to each context."""

    replies: int = 1
    context: float = 1.0
    """The standard deviation of contexts, in units of that of replies to one context."""
    gain: float = 0.0


NORMAL = Source()
GATES: Mapping[str, Mapping[int, float]] = {
    "normal": {20: 0.06, 30: 0.06, 100: 0.06},
    "exponential": {20: 0.075, 30: 0.07, 100: 0.06},
    "lognormal": {20: 0.11, 30: 0.095, 100: 0.075},
}
"""The maximum error rate of a gate at its margin, nominally .05, by the number of contexts."""


def compare_sums(first: Floats, second: Floats, rng: np.random.Generator) -> Difference:
    """Return the difference of two means from sums and counts by context, as `compare` computes it."""
    pair = PairedSums(first, second, lambda sums: ratio(sums[:, 0], sums[:, 1]))
    ((ours, theirs),) = halve_pairs([pair], Resamples(HALVES, int(rng.integers(1 << 30))))
    values = (float(side[:, 0].sum() / side[:, 1].sum()) for side in (first, second))
    return Difference(*values, theirs - ours, LeaveOuts(*pair.left_out()), None)


def means(contexts: int, source: Source, rng: np.random.Generator) -> dict[str, float]:
    """Means of two systems."""
    common = source.context * rng.normal(size=contexts)
    first = np.stack([common + rng.normal(size=contexts), np.ones(contexts)], axis=1)
    noise = math.sqrt(source.replies) * rng.normal(size=contexts)
    sums = (common + source.gain) * source.replies + noise
    second = np.stack([sums, np.full(contexts, source.replies)], axis=1)
    difference = compare_sums(first, second, rng)
    rejects = float(difference.p < 0.05)
    return {"rejects": rejects, "disagree": float(excludes(difference.interval(0.95)) != rejects)}


def sparse(defined: int, rng: np.random.Generator) -> dict[str, float]:
    """Means of two systems of which both have a value in few contexts."""
    first, second = (np.zeros((100, 2)) for _ in range(2))
    for side in (first, second):
        side[:defined] = np.stack([rng.normal(size=defined), np.ones(defined)], axis=1)
    return {"rejects": float(compare_sums(first, second, rng).p < 0.05)}


def gate(contexts: int, source: str, rng: np.random.Generator) -> dict[str, float]:
    """A gate whose margin is the true difference."""
    sources: dict[str, Callable[[], Floats]] = {
        "normal": lambda: rng.normal(size=contexts),
        "exponential": lambda: rng.exponential(size=contexts) - 1,
        "lognormal": lambda: rng.lognormal(size=contexts) - math.exp(0.5),
    }
    values, ones = sources[source](), np.ones(contexts)
    if rng.random() < 0.5:  # the long tail may be on either side
        values = -values
    difference = compare_sums(np.stack([0 * ones, ones], axis=1), np.stack([values, ones], axis=1), rng)
    draws = Resamples(HALVES, int(rng.integers(1 << 30)))
    verdict = evaluate_gate(
        Gate("m", True, 0.0, False), ("a", "b"), difference, 0.95, draws, strict=False
    ).verdict
    return {"fails": float(verdict == "failed"), "passes": float(verdict == "passed")}


def at_detectable(contexts: int, rng: np.random.Generator) -> dict[str, float]:
    """The true difference is the detectable one, estimated from another sample."""
    ones = np.ones(contexts)
    pilot, sample = (np.stack([rng.normal(size=contexts), ones], axis=1) for _ in range(2))
    zero = np.stack([0 * ones, ones], axis=1)
    sample[:, 0] += detectable(compare_sums(zero, pilot, rng), 0.95)
    return {"rejects": float(compare_sums(zero, sample, rng).p < 0.05)}


def pooled(name: str, replies: int, longer: float, rng: np.random.Generator) -> dict[str, float]:
    """Two systems with the same source of words; the second replies more often, or at greater length."""
    real = [(said(rng, 8),) if name.startswith("fbd") else () for _ in range(60)]
    examples = [
        ds.Example(f"{system}{context}-{number}", system, said(rng, length), (f"c{context}",), real[context])
        for system, count, factor in (("a", 1, 1.0), ("b", replies, longer))
        for context in range(60)
        for number in range(count)
        for length in [round(factor * int(rng.integers(3, 15)))]
    ]
    contrast, *_ = ds.compare(ds.evaluate(examples, [name]), "a", "b").contrasts
    return {"rejects": float(contrast.p < 0.05)}


def groups(rng: np.random.Generator) -> dict[str, float]:
    """Diversity of groups of three against groups of six."""
    examples = [
        ds.Example(
            f"{system}{group}-{number}", system, said(rng, 8), (f"{number} of {group}",), group=f"g{group}"
        )
        for system, count in (("a", 3), ("b", 6))
        for group in range(30)
        for number in range(count)
    ]
    (contrast,) = ds.compare(ds.evaluate(examples, ["diversity-2"]), "a", "b").contrasts
    return {"rejects": float(contrast.p < 0.05)}


POOLED = {
    "Distinct-1, 1 against 3 replies": partial(pooled, "distinct-1", 3, 1.0),
    "entropy-2, 1 against 3 replies": partial(pooled, "entropy-2", 3, 1.0),
    "self-BLEU-2, 1 against 3 replies": partial(pooled, "self-bleu-2", 3, 1.0),
    "plain FBD, 1 against 3 replies": partial(pooled, "fbd:encoder=fake", 3, 1.0),
    "debiased FBD, 1 against 4 replies": partial(pooled, "fbd:encoder=fake,estimator=debiased", 4, 1.0),
    "diversity-2, groups of 3 against 6": groups,
    "Distinct-2, equal numbers": partial(pooled, "distinct-2", 1, 1.0),
}


def easy(mean: str, rng: np.random.Generator) -> dict[str, float]:
    """No difference in any context, but the first system replies more often to easy ones."""
    examples = []
    for context in range(40):
        ease = rng.normal()
        for system, count in (("a", 1 + 4 * (ease > 0)), ("b", 1 + 4 * (ease < 0))):
            examples += [
                ds.Example(
                    f"{system}{context}-{n}",
                    system,
                    "w " * max(1, round(12 + 3 * ease + rng.normal())),
                    (f"c{context}",),
                )
                for n in range(count)
            ]
    (contrast,) = ds.compare(ds.evaluate(examples, ["words"]), "a", "b", mean=mean).contrasts
    return {
        "excludes": excludes((contrast.low, contrast.high)),
        "holds": holds((contrast.low, contrast.high), 0.0),
    }
