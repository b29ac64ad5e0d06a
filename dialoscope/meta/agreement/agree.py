"""Do metrics agree with each other: correlations, clusters, how stable they are, and what length explains."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from dialoscope.aspects import standing
from dialoscope.coefficients import FEWEST, measure
from dialoscope.errors import DialoscopeError
from dialoscope.meta.agreement.advice import Evidence, advice
from dialoscope.meta.agreement.agreement import About, Agreement, LeftOut, Settings
from dialoscope.meta.agreement.matrix import Matrix
from dialoscope.meta.agreement.view import View
from dialoscope.meta.bootstrap import Clusters, drawn
from dialoscope.meta.columns import Column, columns, of_systems_alone
from dialoscope.meta.estimate import UNKNOWN, Estimate
from dialoscope.meta.trust.known import shipped
from dialoscope.printable import printable
from dialoscope.records import Rating, Score
from dialoscope.results import Ratings, Result
from dialoscope.results.resampling import Draws
from dialoscope.results.result import CONFIDENCE, DRAWS, check_chance
from dialoscope.results.scores import Scores
from dialoscope.tally import Floats, Ints

COEFFICIENTS = ("pearson", "spearman")
"""Those of which a column can be held constant."""
LENGTH = "words"
CUT = 0.5
"""Clusters are merged while their metrics agree by r = 0.5 on average, half way from nothing to all."""
MOST_NUMBERS = 50_000_000
"""In the coefficients of all draws: 400 MB, of which a few copies are made."""
_NAMES = {"pearson": "Pearson's r", "spearman": "Spearman's ρ"}
ELSEWHERE = "Spearman's ρ over other corpora, for nobody rated these replies"
OVERALL = "overall"
"""The aspect that advice goes by, or what stands for it, where it was rated; else all together."""


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
    """Which metrics of a run go together on the same replies, and which of them to use.

    Args:
        result: A run.
        ratings: What people said of its replies, in place of the ratings in the run.
        scores: What other people's metrics gave them, judged beside the run's own.
        aspect: The rated aspect that advice goes by; else overall, or coherence, which stands for it, or all.
        system: Whose replies to look at; else everybody's, so that differences of systems count too.
        coefficient: pearson or spearman.
        length: The metric that is held constant to see what length explains; None for none.
        cut: The distance 1 - r up to which clusters are merged.
        draws: How often contexts are resampled.
        confidence: How much an interval should hold.
        seed: Of the draws; that of the run where none is given.
    """
    check_chance(confidence, draws)
    _check(coefficient, cut)
    said = result.ratings if ratings is None else Ratings.of(result.replies, ratings)
    others = None if scores is None else Scores.of(result.replies, scores)
    rows = np.arange(len(result.replies)) if system is None else result.rows(system)
    found = (replace(column, values=column.values[rows]) for column in columns(result, others))
    kept, left_out = _kept(found, of_systems_alone(result))
    people = _people(said, aspect, rows, len(result.replies))
    items = result.replies.item[rows]
    settings = Settings(
        coefficient=coefficient,
        cut=cut,
        draws=draws,
        confidence=confidence,
        seed=result.provenance.seed if seed is None else seed,
        system=system or "",
        replies=len(rows),
        contexts=len(np.unique(items)),
        length=_length(length, kept, left_out),
        aspect=people.aspect,
    )
    notes = (*said.notes, *(others.notes if others else ()))
    return _agreement(Given(kept, items, people, _elsewhere(result)), settings, left_out, notes)


class People(NamedTuple):
    """What people said of each reply, on one scale."""

    aspect: str
    """Empty where they said nothing that varies."""
    values: Floats
    notes: tuple[str, ...]


class Given(NamedTuple):
    """Columns that can be compared, and what else is known of the replies and of the metrics."""

    columns: Sequence[Column]
    items: Ints
    """What each reply replies to."""
    people: People
    elsewhere: Mapping[str, Estimate]
    """How metrics go with people on other replies."""


def _agreement(
    given: Given, settings: Settings, left_out: Sequence[LeftOut], notes: Sequence[str]
) -> Agreement:
    kept, people = given.columns, given.people
    names = tuple(column.name for column in kept)
    signs = np.array([-1.0 if column.higher_is_better is False else 1.0 for column in kept])
    rated = [people.values] if people.aspect else []
    whole = _matrix([*(column.values for column in kept), *rated], given.items, settings)
    plain = View.of(names, signs, whole.take(range(len(kept))), settings.cut)
    held = names.index(settings.length) if settings.length else None
    rest = None if held is None else _without(whole.without(held), plain, settings.cut)
    metrics = tuple(_about(i, given, whole, held) for i in range(len(kept)))
    evidence = _evidence(metrics, plain, rest, whole, settings)
    return Agreement(
        settings,
        metrics,
        plain,
        rest,
        tuple(left_out),
        advice(evidence),
        (*_notes(settings, plain, rest), *_missing(left_out), *people.notes, *notes),
    )


def _check(coefficient: str, cut: float) -> None:
    if coefficient not in COEFFICIENTS:
        raise DialoscopeError(
            f"The coefficient is '{printable(coefficient)}'; it must be one of: {', '.join(COEFFICIENTS)}."
        )
    if not 0 <= cut <= 2:
        raise DialoscopeError(f"The cut is {cut:g}; it must be a distance 1 - r, from 0 to 2.")


def _kept(found: Iterable[Column], of_systems: Sequence[str]) -> tuple[list[Column], list[LeftOut]]:
    """The columns that can be compared, by name, so that the run's order never shows; the others with why."""
    left_out = [LeftOut(name, "a value for a system and none for a reply") for name in sorted(of_systems)]
    kept = []
    for column in sorted(found, key=lambda one: one.name):
        why = _unusable(column.values)
        if why:
            left_out.append(LeftOut(column.name, why))
        else:
            kept.append(column)
    if len(kept) < 2:
        told = "".join(f" {printable(one.metric)} is left out ({one.why})." for one in left_out)
        raise DialoscopeError(
            f"Agreement is between two metrics or more, and this run has {len(kept) or 'none'} that can be "
            f"compared.{told}"
        )
    return kept, left_out


def _unusable(values: Floats) -> str:
    """Why a column cannot be compared; empty where it can."""
    known = values[~np.isnan(values)]
    if len(known) < FEWEST or 2 * len(known) < len(values):
        return f"undefined for {len(values) - len(known)} of {len(values)} replies"
    if not _varies(values):
        return f"{known[0]:g} for every reply"
    return "" if np.isfinite(known).all() else "infinite for some replies"


def _length(name: str | None, kept: Sequence[Column], left_out: Sequence[LeftOut]) -> str:
    """The metric to hold constant; empty where there is none to hold."""
    if name is None or name in {column.name for column in kept}:
        return name or ""
    why = {one.metric: one.why for one in left_out}
    if name in why:
        raise DialoscopeError(f"{printable(name)} cannot be held constant ({why[name]}).")
    if name == LENGTH:
        return ""
    known = ", ".join(printable(column.name) for column in kept)
    raise DialoscopeError(f"This run has no {printable(name)} to hold constant; it has: {known}.")


def _people(said: Ratings, aspect: str | None, rows: Ints, replies: int) -> People:
    """The rated aspect that advice goes by."""
    overall = standing(said.aspects, OVERALL)
    chosen = [said.named(aspect)] if aspect is not None else [overall] if overall else sorted(said.aspects)
    rated = {one: said.means(one, replies)[rows] for one in chosen}
    flat = [one for one, values in rated.items() if not _varies(values)]
    notes = [
        f"{printable(one)} is rated the same everywhere, or hardly at all, and says nothing." for one in flat
    ]
    standardised = [
        (values - np.nanmean(values)) / np.nanstd(values) for one, values in rated.items() if one not in flat
    ]
    told = [printable(one) for one in chosen if one not in flat]
    aspects = f"the mean of {', '.join(told)}" if len(told) > 1 else "".join(told)
    return People(aspects, np.mean(standardised or [np.full(len(rows), np.nan)], axis=0), tuple(notes))


def _varies(values: Floats) -> bool:
    known = values[~np.isnan(values)]
    return len(known) >= FEWEST and bool(known.min() < known.max())


def _matrix(some: Sequence[Floats], items: Ints, settings: Settings) -> Matrix:
    """Every column with every other, and again in each draw of contexts."""
    most = MOST_NUMBERS // len(some) ** 2
    if settings.draws > most:
        raise DialoscopeError(
            f"{settings.draws} draws of {len(some)} columns are more than memory should hold; ask for {most} "
            "or fewer."
        )
    values = np.stack(some, axis=1)
    clusters = Clusters.of(items, settings.seed)
    again = np.full((1, len(some), len(some)), np.nan)
    if clusters.count > 1:
        again = drawn(settings.coefficient, values, values, clusters, Draws(settings.draws, settings.seed))
    r = np.eye(len(some))
    for i, j in combinations(range(len(some)), 2):
        r[i, j] = r[j, i] = measure(settings.coefficient, some[i], some[j]).value
    known = (~np.isnan(values)).astype(np.int64)
    return Matrix(r, again, known.T @ known, settings.confidence)


def _without(rest: Matrix, plain: View, cut: float) -> View | None:
    """What remains of the metrics when length is held constant; nothing where fewer than two remain."""
    many = len(plain.names)
    left = [i for i in range(many) if np.isfinite(rest.r[i, :many]).sum() > 1]
    names = tuple(plain.names[i] for i in left)
    return View.of(names, plain.signs[left], rest.take(left), cut) if len(left) > 1 else None


def _about(i: int, given: Given, whole: Matrix, held: int | None) -> About:
    column = given.columns[i]
    known = column.values[~np.isnan(column.values)]
    return About(
        metric=column.name,
        signature=column.signature,
        higher_is_better=column.higher_is_better,
        replies=len(known),
        alike=float(np.unique(known, return_counts=True)[1].max() / len(known)),
        length=UNKNOWN if held is None else whole.estimate(i, held),
        people=whole.estimate(i, len(given.columns)) if given.people.aspect else UNKNOWN,
        elsewhere=given.elsewhere.get(column.name, UNKNOWN),
    )


def _elsewhere(result: Result) -> dict[str, Estimate]:
    """How the run's metrics go with people on other replies, as far as that was measured."""
    known = {result.label(one): shipped().of(one) for one in result.metrics if one.of_replies}
    return {name: Estimate(one.spearman, one.low, one.high) for name, one in known.items()}


def _evidence(
    metrics: Sequence[About], plain: View, rest: View | None, whole: Matrix, settings: Settings
) -> Evidence:
    rated = bool(settings.aspect)
    signs = np.append(plain.signs, 1.0) if rated else plain.signs
    trust = [one.people if rated else one.elsewhere for one in metrics]
    basis = f"{_NAMES[settings.coefficient]} with {settings.aspect}" if rated else ELSEWHERE
    judging = tuple(one.higher_is_better is not None or not one.signature for one in metrics)
    if not any(judges and not math.isnan(one.value) for judges, one in zip(judging, trust, strict=True)):
        basis = ""
    return Evidence(
        names=plain.names,
        matrix=whole.turned(signs),
        clusters=plain.clusters,
        groups=plain.groups,
        cut=settings.cut,
        judging=judging,
        trust=tuple(_turned(*each) for each in zip(trust, plain.signs.tolist(), strict=True)),
        basis=basis,
        rated=rated,
        length=settings.length,
        lengths=tuple(one.length for one in metrics),
        without_length=tuple(_within(rest, one.metrics) for one in plain.groups),
        alike=tuple(one.alike for one in metrics),
    )


def _turned(of: Estimate, sign: float) -> Estimate:
    """How a metric follows people, turned over where lower is better."""
    low, high = sorted([of.low * sign, of.high * sign])
    return of._replace(value=of.value * sign, low=low, high=high)


def _within(view: View | None, metrics: Sequence[str]) -> float:
    """The mean r of some metrics in a view, as far as it has them."""
    places = [view.names.index(name) for name in metrics if name in view.names] if view is not None else []
    if view is None or len(places) < 2:
        return math.nan
    values = [1 - view.distances[i, j] for i, j in combinations(places, 2)]
    return float(np.nanmean(values)) if not np.isnan(values).all() else math.nan


def _notes(settings: Settings, plain: View, rest: View | None) -> list[str]:
    """What a reader must know of the numbers."""
    contexts = "1 context" if settings.contexts == 1 else f"{settings.contexts} contexts"
    whose = f" of {printable(settings.system)}" if settings.system else ""
    over = f"{_NAMES[settings.coefficient]} over {settings.replies} replies{whose} to {contexts}"
    ends = (
        f"; [low, high]: {100 * settings.confidence:g}% interval from {settings.draws} draws of contexts "
        f"(seed {settings.seed})."
    )
    notes = [
        over + (ends if settings.contexts > 1 else ": there is nothing to draw from, hence no intervals."),
        "r: █ 0.8 or more, ▓ 0.6, ▒ 0.4, ░ 0.2, · -0.2, - -0.6, = less; blank: undefined.",
        "mean r, weakest: of the pairs within a cluster; stability: mean Jaccard index of the most similar "
        "cluster in each draw; just so: how many draws have this very cluster.",
    ]
    turned = [name for name, sign in zip(plain.names, plain.signs, strict=True) if sign < 0]
    if turned:
        notes.append(f"Lower is better for {_listed(turned)}: clustered, and judged, with the sign turned.")
    undefined = int(np.isnan(plain.r).sum()) // 2
    if undefined:
        notes.append(f"Pairs of metrics without r: {undefined}. They count as if it were 0; --csv says why.")
    if rest is None:
        notes.append("Length was not held constant.")
    gone = [name for name in plain.names if rest is not None and name not in (*rest.names, settings.length)]
    if gone:
        notes.append(f"With {printable(settings.length)} held constant nothing is left of {_listed(gone)}.")
    return notes


def _missing(left_out: Sequence[LeftOut]) -> list[str]:
    """What is not among the metrics, by reason."""
    reasons: dict[str, list[str]] = {}
    for one in left_out:
        reasons.setdefault(one.why, []).append(one.metric)
    return [f"Left out: {_listed(names)} ({why})." for why, names in reasons.items()]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(printable, names))
