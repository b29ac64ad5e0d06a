"""The difference of two systems by one metric, or by ratings."""

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
"""The power at which a difference counts as detectable."""


@dataclass(frozen=True)
class Contrast:
    """The difference of two systems by one metric, or by ratings, on the contexts that both answered."""

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
    """By random halves of the contexts, or by a paired jackknife where a metric pools all replies."""
    p_holm: float
    """Corrected for the number of all tests that were made at once."""
    effect: float
    """The mean difference over contexts in standard deviations of these differences."""
    higher: float
    """The share of contexts in which B is higher."""
    equal: float
    lower: float
    detectable: float
    """The smallest true difference that is found with power 0.8 on so many contexts."""
    contexts: int
    """The number of contexts that both answered."""
    defined: int
    """The number of these contexts in which both have a value."""
    a_only: int
    """Contexts that only A answered, which are left out."""
    b_only: int
    higher_is_better: bool | None
    verdict: str
    """B is better, worse, differs (where neither end is better), unsure, or same; – if that is unknown."""
    why: str
    """Why it is unknown."""
    depends_on: str | None
    """The amount that must be equal for the metric: words or replies; None for a mean of any kind."""
    a_amount: int
    """The number of these."""
    b_amount: int
    chosen: bool
    """Whether as many replies to each context were chosen of both systems."""
    signature: str

    @property
    def sure(self) -> bool:
        """Whether there is a significant difference."""
        return self.verdict in ("better", "worse", "differs")


class Answered(NamedTuple):
    """The numbers of contexts that both systems answered, or one of them alone."""

    both: int
    a_only: int
    b_only: int


def make_contrast(
    pair: SystemPair,
    measure: Measure,
    difference: Difference,
    confidence: float,
    contexts: Answered,
) -> Contrast:
    """The contrast of two systems, before the correction for the number of tests."""
    low, high = np.clip(difference.interval(confidence), -measure.widest, measure.widest).tolist()
    effect = difference.effect or Effect(math.nan, 0, 0, 0)
    shares = effect.higher + effect.equal + effect.lower or math.nan
    return Contrast(
        metric=measure.name,
        a=pair.a,
        b=pair.b,
        a_value=difference.first,
        b_value=difference.second,
        difference=difference.value,
        low=low,
        high=high,
        error=difference.error,
        p=difference.p,
        p_holm=math.nan,
        effect=effect.size,
        higher=effect.higher / shares,
        equal=effect.equal / shares,
        lower=effect.lower / shares,
        detectable=detectable(difference, confidence),
        contexts=contexts.both,
        defined=contexts.both if difference.effect is None else difference.contexts,
        a_only=contexts.a_only,
        b_only=contexts.b_only,
        higher_is_better=measure.higher_is_better,
        verdict="–",
        why=_why(difference, pair, contexts.both, confidence, has_interval=not math.isnan(low)),
        depends_on=measure.depends_on,
        a_amount=difference.amounts[0],
        b_amount=difference.amounts[1],
        chosen=difference.chosen,
        signature=measure.signature,
    )


def correct_contrasts(contrasts: Sequence[Contrast], confidence: float) -> tuple[Contrast, ...]:
    """P-values corrected for the number of all of them, and the verdicts that follow."""
    values = holm(np.array([contrast.p for contrast in contrasts])).tolist()
    return tuple(
        replace(contrast, p_holm=p, verdict=_verdict(contrast, sure=p < 1 - confidence))
        for contrast, p in zip(contrasts, values, strict=True)
    )


def detectable(difference: Difference, confidence: float) -> float:
    """The smallest true difference that is found with `POWER` on so many contexts; NaN if that is unknown."""
    blocks = difference.blocks
    varied = difference.error > SAME * max(abs(difference.first), abs(difference.second))
    if not varied or blocks < fewest_blocks(confidence):
        return math.nan
    return _detectable_errors(blocks - 1, confidence) * difference.error


@cache
def _detectable_errors(freedom: int, confidence: float) -> float:
    """The size of a detectable difference in standard errors of these contexts, for a t-test on others.

    The power is the mean over the distribution of the estimated error: where the estimate is too small,
    less is gained than is lost where it is too large.
    """
    from scipy.optimize import brentq
    from scipy.special import chdtri, nctdtr, nctdtrinc, stdtrit

    bound = stdtrit(freedom, (1 + confidence) / 2)
    errors = np.sqrt(chdtri(freedom, (np.arange(100) + 0.5) / 100) / freedom)
    if_known = nctdtrinc(freedom, 1 - POWER, bound)  # were the error known
    return float(
        brentq(lambda size: 1 - nctdtr(freedom, size * errors, bound).mean() - POWER, 0, 2 * if_known)
    )


def _verdict(contrast: Contrast, *, sure: bool) -> str:
    if math.isnan(contrast.p):
        return "–"
    if contrast.difference == 0 and not contrast.higher > 0 and not contrast.lower > 0:
        return "same"
    if not sure:
        return "unsure"
    if contrast.higher_is_better is None:
        return "differs"
    return "better" if (contrast.difference > 0) == contrast.higher_is_better else "worse"


def _why(
    difference: Difference, pair: SystemPair, contexts: int, confidence: float, *, has_interval: bool
) -> str:
    """Why a difference is unknown; empty where it is known."""
    if contexts < 2:
        return f"{contexts or 'no'} context in common"
    values = zip(pair, (difference.first, difference.second), strict=True)
    undefined = [name for name, value in values if math.isnan(value)]
    if undefined:
        return f"undefined for {' and '.join(undefined)}"
    if math.isnan(difference.p):
        return "undefined on some part of the contexts"
    if has_interval or difference.value == 0 or difference.contexts < fewest_blocks(confidence):
        return ""
    return "no interval, for it is the same in all contexts"
