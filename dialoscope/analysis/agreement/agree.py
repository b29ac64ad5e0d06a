"""Do metrics agree with each other: correlations, clusters, how stable they are, and what length explains."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from dialoscope.analysis.agreement.advice import Evidence, advice
from dialoscope.analysis.agreement.agreement_notes import IN_WORDS, list_notes, note_excluded, reading_details
from dialoscope.analysis.agreement.agreement_report import (
    Agreement,
    AgreementSettings,
    ExcludedMetric,
    MetricSummary,
)
from dialoscope.analysis.agreement.clustered import View
from dialoscope.analysis.agreement.coefficient_matrix import CoefficientMatrix
from dialoscope.analysis.agreement.inputs import (
    LENGTH,
    AgreementInputs,
    People,
    choose_length,
    correlations_elsewhere,
    length_curves,
    select_columns,
)
from dialoscope.analysis.coefficients import measure
from dialoscope.analysis.estimate import UNKNOWN, Estimate
from dialoscope.analysis.halves import Clusters, in_halves, narrow_halves
from dialoscope.analysis.metric_columns import columns, system_level_metrics
from dialoscope.analysis.trust.known import FITTED, metrics_fitted_to
from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.errors import DialoscopeError
from dialoscope.core.records import Rating, Score
from dialoscope.core.safe_text import printable
from dialoscope.runs.rating_columns import Ratings
from dialoscope.runs.resampling import Resamples, halves_interval
from dialoscope.runs.result import CONFIDENCE, DRAWS, Result, check_halves
from dialoscope.runs.score_columns import Scores

COEFFICIENTS = ("pearson", "spearman")
"""The coefficients for which a column can be held constant."""
CUT = 0.5
"""Clusters are merged while their metrics agree by r = 0.5 on average, half way from nothing to all."""
MOST_NUMBERS = 50_000_000
"""The largest number of coefficients in all halves: 400 MB, of which a few copies are made."""
ELSEWHERE = "Spearman's ρ over other corpora, for no ratings tell these replies apart"


def agree(
    result: Result,
    *,
    ratings: Ratings | Iterable[Rating] | None = None,
    scores: Scores | Iterable[Score] | None = None,
    aspect: str | None = None,
    system: str | None = None,
    coefficient: str = "pearson",
    length: str | None = LENGTH,
    cut: float = CUT,
    draws: int = DRAWS,
    confidence: float = CONFIDENCE,
    seed: int | None = None,
) -> Agreement:
    """Correlations between the metrics of a run on the same replies, and advice which of them to use.

    Args:
        result: A run.
        ratings: Ratings of its replies, in place of those in the run.
        scores: Scores of its replies by metrics of other programs, which are included.
        aspect: The rated aspect that metrics are evaluated with; by default overall, coherence, or all.
        system: The system whose replies are used; by default all, so that differences of systems count too.
        coefficient: pearson or spearman.
        length: The metric that is held constant to see what length explains; None for none.
        cut: The distance 1 - r up to which clusters are merged.
        draws: Number of random halves of the contexts.
        confidence: Confidence level of the intervals, such as 0.95.
        seed: Seed of the halves; by default that of the run.
    """
    Result.check(result)
    check_halves(confidence, draws)
    _check(coefficient, cut)
    rated = result.ratings if ratings is None else Ratings.of(result.replies, ratings)
    others = None if scores is None else Scores.of(result.replies, scores)
    rows = np.arange(len(result.replies)) if system is None else result.rows(system)
    selected = (replace(column, values=column.values[rows]) for column in columns(result, others))
    comparable, left_out = select_columns(selected, system_level_metrics(result))
    people = People.of(rated, aspect, rows, len(result.replies))
    items = result.replies.item[rows]
    settings = AgreementSettings(
        coefficient=coefficient,
        cut=cut,
        draws=draws,
        confidence=confidence,
        seed=result.provenance.seed if seed is None else seed,
        system=system or "",
        replies=len(rows),
        contexts=len(np.unique(items)),
        length=choose_length(length, comparable, left_out),
        aspect=people.aspect,
    )
    notes = (*rated.notes, *(others.notes if others else ()))
    inputs = AgreementInputs(
        comparable, items, people, correlations_elsewhere(result), metrics_fitted_to(result)
    )
    return _agreement(inputs, settings, left_out, notes)


def _agreement(
    inputs: AgreementInputs,
    settings: AgreementSettings,
    left_out: Sequence[ExcludedMetric],
    notes: Sequence[str],
) -> Agreement:
    columns, people = inputs.columns, inputs.people
    names = tuple(column.name for column in columns)
    signs = np.array([-1.0 if column.higher_is_better is False else 1.0 for column in columns])
    rated = [people.values] if people.aspect else []
    curved = length_curves(columns[names.index(settings.length)].values) if settings.length else []
    judged = [*(column.values for column in columns), *rated]
    every = _matrix([*judged, *curved], inputs.items, settings)
    held = range(len(judged), len(judged) + len(curved))
    whole = every.take(range(len(judged)))
    plain = View.of(names, signs, every.take(range(len(columns))), settings.cut)
    rest = _hold_length_constant(every.without(*held), plain, settings.cut) if held else None
    lengths = _correlate_with_length(inputs, curved[0], settings) if curved else [UNKNOWN] * len(columns)
    metrics = tuple(_summarize(i, inputs, whole, lengths[i]) for i in range(len(columns)))
    evidence = _evidence(metrics, plain, rest, whole, settings)
    return Agreement(
        settings,
        metrics,
        plain,
        rest,
        tuple(left_out),
        advice(evidence),
        about=(*list_notes(settings, plain, rest), *note_excluded(left_out), *people.notes, *notes),
        reading=tuple(reading_details(settings, rest)),
    )


def _check(coefficient: str, cut: float) -> None:
    if coefficient not in COEFFICIENTS:
        raise DialoscopeError(
            f"The coefficient is '{printable(coefficient)}'; it must be one of: {', '.join(COEFFICIENTS)}."
        )
    if not 0 <= cut <= 2:
        raise DialoscopeError(f"The cut is {cut:g}; it must be a distance 1 - r, from 0 to 2.")


def _matrix(columns: Sequence[Floats], items: Ints, settings: AgreementSettings) -> CoefficientMatrix:
    """The coefficients of all pairs of columns, on all contexts and in each half of them."""
    most = MOST_NUMBERS // len(columns) ** 2
    if settings.draws > most:
        raise DialoscopeError(
            f"{settings.draws} halves of {len(columns)} columns are more than memory should hold; "
            f"ask for {most} or fewer."
        )
    values = np.stack(columns, axis=1)
    clusters = Clusters.of(items, settings.seed)
    again = np.full((1, len(columns), len(columns)), np.nan)
    if clusters.count > 1:
        again = in_halves(
            settings.coefficient, values, values, clusters, Resamples(settings.draws, settings.seed)
        )
    r = np.eye(len(columns))
    for i, j in combinations(range(len(columns)), 2):
        r[i, j] = r[j, i] = measure(settings.coefficient, columns[i], columns[j]).value
    defined = (~np.isnan(values)).astype(np.int64)
    return CoefficientMatrix(r, again, defined.T @ defined, settings.confidence, clusters.count)


def _hold_length_constant(rest: CoefficientMatrix, plain: View, cut: float) -> View | None:
    """The metrics with length held constant; None if fewer than two have coefficients then."""
    many = len(plain.names)
    left = [i for i in range(many) if np.isfinite(rest.r[i, :many]).sum() > 1]
    names = tuple(plain.names[i] for i in left)
    return View.of(names, plain.signs[left], rest.take(left), cut) if len(left) > 1 else None


def _correlate_with_length(
    inputs: AgreementInputs, length: Floats, settings: AgreementSettings
) -> list[Estimate]:
    """Spearman's coefficient of each metric with length, which finds any monotone relation."""
    clusters = Clusters.of(inputs.items, settings.seed)
    columns = np.stack([column.values for column in inputs.columns], axis=1)
    draws = Resamples(settings.draws, settings.seed)
    halves = in_halves("spearman", columns, length[:, None], clusters, draws)[:, :, 0]
    values = [measure("spearman", column, length).value for column in columns.T]
    near = narrow_halves("spearman", halves, np.array(values), clusters.count)
    ends = halves_interval(near, settings.confidence)
    return [
        Estimate(value, float(low), float(high)) for value, (low, high) in zip(values, ends.T, strict=True)
    ]


def _summarize(i: int, inputs: AgreementInputs, whole: CoefficientMatrix, length: Estimate) -> MetricSummary:
    column = inputs.columns[i]
    defined = column.values[~np.isnan(column.values)]
    return MetricSummary(
        metric=column.name,
        signature=column.signature,
        higher_is_better=column.higher_is_better,
        replies=len(defined),
        alike=float(np.unique(defined, return_counts=True)[1].max() / len(defined)),
        length=length,
        people=whole.estimate(i, len(inputs.columns)) if inputs.people.aspect else UNKNOWN,
        elsewhere=inputs.elsewhere.get(column.name, UNKNOWN),
        how=FITTED if column.name in inputs.fitted else "",
    )


def _evidence(
    metrics: Sequence[MetricSummary],
    plain: View,
    rest: View | None,
    whole: CoefficientMatrix,
    settings: AgreementSettings,
) -> Evidence:
    rated = bool(settings.aspect)
    signs = np.append(plain.signs, 1.0) if rated else plain.signs
    trust = [metric.people if rated else metric.elsewhere for metric in metrics]
    basis = f"{IN_WORDS[settings.coefficient]} with {settings.aspect}" if rated else ELSEWHERE
    judging = tuple(metric.higher_is_better is not None or not metric.signature for metric in metrics)
    if not any(
        judges and not math.isnan(estimate.value) for judges, estimate in zip(judging, trust, strict=True)
    ):
        basis = ""
    return Evidence(
        names=plain.names,
        matrix=whole.with_signs(signs),
        clusters=plain.clusters,
        groups=plain.groups,
        cut=settings.cut,
        judging=judging,
        trust=tuple(_orient(*each) for each in zip(trust, plain.signs.tolist(), strict=True)),
        basis=basis,
        rated=rated,
        length=settings.length,
        lengths=tuple(metric.length for metric in metrics),
        without_length=tuple(_mean_within(rest, group.metrics) for group in plain.groups),
        alike=tuple(metric.alike for metric in metrics),
        fitted=frozenset(i for i, metric in enumerate(metrics) if metric.how and rated),
    )


def _orient(of: Estimate, sign: float) -> Estimate:
    """The correlation of a metric with people, with the sign turned where lower is better."""
    low, high = sorted([of.low * sign, of.high * sign])
    return of._replace(value=of.value * sign, low=low, high=high)


def _mean_within(view: View | None, metrics: Sequence[str]) -> float:
    """The mean r of some metrics in a view, as far as it has them."""
    places = [view.names.index(name) for name in metrics if name in view.names] if view is not None else []
    if view is None or len(places) < 2:
        return math.nan
    values = [1 - view.distances[i, j] for i, j in combinations(places, 2)]
    return float(np.nanmean(values)) if not np.isnan(values).all() else math.nan
