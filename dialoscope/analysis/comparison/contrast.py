"""What one metric, or people, say of two systems."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np

from dialoscope.analysis.comparison.system_pairs import SystemPair
from dialoscope.analysis.significance import holm
from dialoscope.runs.differences import SAME, Difference, Effect, Measure
from dialoscope.runs.resampling import fewest_blocks

POWER = 0.8
"""How often a difference that can be detected is."""


@dataclass(frozen=True)
class Contrast:
    """What one metric, or people, say of two systems, on the contexts that both answered."""

    metric: str
    a: str
    b: str
    a_value: float
    b_value: float
    difference: float
    """B less A."""
    low: float
    high: float
    error: float
    """The standard error of the difference."""
    p: float
    """By random halves of the contexts, or a paired jackknife where a metric pools all replies."""
    p_holm: float
    """Corrected for the number of all tests that were made at once."""
    effect: float
    """The mean difference over contexts in standard deviations of these differences."""
    higher: float
    """The share of contexts in which B is higher."""
    equal: float
    lower: float
    detectable: float
    """The smallest true difference that so many contexts show eight times in ten."""
    contexts: int
    """Those that both answered."""
    defined: int
    """Those of them in which both have a value."""
    a_only: int
    """Contexts that only A answered, which are left out."""
    b_only: int
    higher_is_better: bool | None
    verdict: str
    """What B is: better, worse, differs (where neither end is better), unsure, same; – if that is unknown."""
    why: str
    """What keeps it from being known."""
    depends_on: str | None
    """What the metric needs equally much of: words or replies; nothing where it is a mean of some kind."""
    a_amount: int
    """The number of these."""
    b_amount: int
    chosen: bool
    """Whether as many replies to each context were chosen of both systems."""
    signature: str

    @property
    def sure(self) -> bool:
        """Whether there is a difference beyond chance."""
        return self.verdict in ("better", "worse", "differs")


class Answered(NamedTuple):
    """How many contexts both systems answered, or one of them alone."""

    both: int
    a_only: int
    b_only: int


def contrast(
    pair: SystemPair,
    measure: Measure,
    found: Difference,
    confidence: float,
    contexts: Answered,
) -> Contrast:
    """Before the correction for the number of tests."""
    low, high = np.clip(found.interval(confidence), -measure.widest, measure.widest).tolist()
    effect = found.effect or Effect(math.nan, 0, 0, 0)
    seen = effect.higher + effect.equal + effect.lower or math.nan
    return Contrast(
        metric=measure.name,
        a=pair.a,
        b=pair.b,
        a_value=found.first,
        b_value=found.second,
        difference=found.value,
        low=low,
        high=high,
        error=found.error,
        p=found.p,
        p_holm=math.nan,
        effect=effect.size,
        higher=effect.higher / seen,
        equal=effect.equal / seen,
        lower=effect.lower / seen,
        detectable=detectable(found, confidence),
        contexts=contexts.both,
        defined=contexts.both if found.effect is None else found.contexts,
        a_only=contexts.a_only,
        b_only=contexts.b_only,
        higher_is_better=measure.higher_is_better,
        verdict="–",
        why=_why(found, pair, contexts.both, confidence, has_interval=not math.isnan(low)),
        depends_on=measure.depends_on,
        a_amount=found.amounts[0],
        b_amount=found.amounts[1],
        chosen=found.chosen,
        signature=measure.signature,
    )


def corrected(contrasts: Sequence[Contrast], confidence: float) -> tuple[Contrast, ...]:
    """P-values corrected for the number of all of them, and the verdicts that follow."""
    values = holm(np.array([one.p for one in contrasts])).tolist()
    return tuple(
        replace(one, p_holm=p, verdict=_verdict(one, sure=p < 1 - confidence))
        for one, p in zip(contrasts, values, strict=True)
    )


def detectable(found: Difference, confidence: float) -> float:
    """The smallest true difference that so many contexts show as often as `POWER`; NaN if that is unknown."""
    blocks = found.blocks
    varied = found.error > SAME * max(abs(found.first), abs(found.second))
    if not varied or blocks < fewest_blocks(confidence):
        return math.nan
    return _errors_apart(blocks - 1, confidence) * found.error


@cache
def _errors_apart(freedom: int, confidence: float) -> float:
    """How many standard errors of these contexts a true difference must be, for a t-test on others.

    The power is the mean over what the error of so few contexts may be: where it is too small by chance,
    less is gained than is lost where it is too large.
    """
    from scipy.optimize import brentq
    from scipy.special import chdtri, nctdtr, nctdtrinc, stdtrit

    bound = stdtrit(freedom, (1 + confidence) / 2)
    errors = np.sqrt(chdtri(freedom, (np.arange(100) + 0.5) / 100) / freedom)
    known = nctdtrinc(freedom, 1 - POWER, bound)  # were the error known
    return float(brentq(lambda far: 1 - nctdtr(freedom, far * errors, bound).mean() - POWER, 0, 2 * known))


def _verdict(one: Contrast, *, sure: bool) -> str:
    if math.isnan(one.p):
        return "–"
    if one.difference == 0 and not one.higher > 0 and not one.lower > 0:
        return "same"
    if not sure:
        return "unsure"
    if one.higher_is_better is None:
        return "differs"
    return "better" if (one.difference > 0) == one.higher_is_better else "worse"


def _why(found: Difference, pair: SystemPair, contexts: int, confidence: float, *, has_interval: bool) -> str:
    """What keeps a difference from being known."""
    if contexts < 2:
        return f"{contexts or 'no'} context in common"
    values = zip(pair, (found.first, found.second), strict=True)
    lacking = [name for name, value in values if math.isnan(value)]
    if lacking:
        return f"undefined for {' and '.join(lacking)}"
    if math.isnan(found.p):
        return "undefined on some part of the contexts"
    if has_interval or found.value == 0 or found.contexts < fewest_blocks(confidence):
        return ""
    return "no interval, for it is the same in all contexts"
