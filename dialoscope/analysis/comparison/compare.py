"""Paired tests of systems, from the statistics that a run keeps of its replies."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from dialoscope.analysis.comparison.comparison_report import Comparisons
from dialoscope.analysis.comparison.contrast import Answered, Contrast, correct_contrasts, make_contrast
from dialoscope.analysis.comparison.gate import Gate, GateVerdict, evaluate_gate
from dialoscope.analysis.comparison.ordering import Ordering, order_systems
from dialoscope.analysis.comparison.system_pairs import ComparisonPlan, SystemPair, plan_pairs
from dialoscope.core.errors import DialoscopeError
from dialoscope.core.records import Rating
from dialoscope.core.render.document import describe_amounts, group
from dialoscope.core.safe_text import printable
from dialoscope.runs.differences import RATED, Both, Measure, differences, measures
from dialoscope.runs.intervals import MEANS, SUBSAMPLES, Side, with_equal_numbers
from dialoscope.runs.rating_columns import Ratings
from dialoscope.runs.resampling import HALVES, Resamples, fewest_blocks
from dialoscope.runs.result import CONFIDENCE, Result, check_halves
from dialoscope.runs.table import differ
from dialoscope.runs.union import union

T = TypeVar("T")


def compare(
    result: Result,
    *systems: str,
    other: Result | str | Path | None = None,
    baseline: str | None = None,
    metrics: str | Sequence[str] = (),
    gates: str | Sequence[str] = (),
    strict: bool = False,
    confidence: float = CONFIDENCE,
    mean: str = MEANS[0],
    draws: int = HALVES,
    seed: int | None = None,
    ratings: Ratings | Iterable[Rating] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Comparisons:
    """Test the systems of a run against each other, by every metric and by ratings.

    Args:
        result: A run.
        systems: Systems to compare, the old one before the new; every pair of them, or of all by default.
        other: A second run, or its folder, whose systems are compared with those of the first, each with
            the one of its name if none is named.
        baseline: A system that all others are compared with, in place of every pair.
        metrics: Measures to compare by, such as `bleu-4` or `rated:overall`; all if none is named.
        gates: Conditions that must hold, such as `bleu-4>=-0.01`: the second system is not worse by more.
        strict: Whether undecided gates stop the release, too.
        confidence: Confidence level of intervals, verdicts and gates.
        mean: What means are over: "replies", or "contexts", which then count alike.
        draws: Number of random halves of the contexts.
        seed: Seed of the halves; by default that of the run.
        ratings: Ratings of the replies, in place of those in the run.
        progress: Called after each pair of systems.
    """
    Result.check(result)
    if not 0.5 <= confidence < 1 or draws < 1:
        raise DialoscopeError("confidence must be at least 0.5 and below 1, and draws at least 1.")
    check_halves(confidence, draws)
    metrics, gates = ([names] if isinstance(names, str) else names for names in (metrics, gates))
    conditions = tuple(map(Gate.of, gates))
    if strict and not conditions:
        raise DialoscopeError("Strict gates need a gate; name what must hold with --gate (gates=).")
    result = result if ratings is None else _replace_ratings(result, ratings, other)
    whole = result if other is None else _both_runs(result, other, metrics, conditions)
    pairs = plan_pairs(whole, systems, baseline, result if other is not None else None)
    if conditions and not pairs.directed:
        raise DialoscopeError(
            "A gate needs to know the old system: name two systems, the old one first, or give --baseline."
        )
    chosen = _choose_measures(whole, metrics, conditions)
    settings = _TestSettings(
        gates=tuple((gate, list(chosen).index(_name(whole, gate.metric))) for gate in conditions),
        strict=strict,
        confidence=confidence,
        mean=mean,
        draws=Resamples(draws, whole.provenance.seed if seed is None else seed),
        progress=progress or (lambda more: None),
    )
    run_notes = (*(whole.provenance.warnings if other is not None else ()), *whole.ratings.notes)
    return _comparisons(whole, pairs, chosen, settings, run_notes)


def _replace_ratings(result: Result, ratings: Ratings | Iterable[Rating], other: object) -> Result:
    """The run with other ratings in place of its own."""
    if other is not None:
        raise DialoscopeError("Ratings in a file of their own (--ratings) are for one run; leave out --with.")
    return replace(result, ratings=Ratings.of(result.replies, ratings))


def _both_runs(
    first: Result, second: Result | str | Path, metrics: Sequence[str], gates: Sequence[Gate]
) -> Result:
    second = second if isinstance(second, Result) else Result.load(second)
    names = [*metrics, *(gate.metric for gate in gates)]
    wanted = [name for name in names if not name.startswith(RATED)]
    for which, run in (("first", first), ("second", second)):
        for name in wanted:
            try:
                run.named(name)
            except DialoscopeError as error:
                raise DialoscopeError(f"In the {which} run: {error}") from error
    return union(first, second, wanted if metrics else None)


def _choose_measures(run: Result, metrics: Sequence[str], gates: Sequence[Gate]) -> Mapping[str, Measure]:
    """The measures to compare by: all, or those that are named and those of the gates."""
    by_name = {measure.name: measure for measure in measures(run)}
    for gate in gates:
        gate.check_direction(by_name[_name(run, gate.metric)].higher_is_better)
    names = (
        [_name(run, name) for name in (*metrics, *(gate.metric for gate in gates))] if metrics else by_name
    )
    return {name: by_name[name] for name in by_name if name in names}


def _name(run: Result, text: str) -> str:
    """The name of a metric or a rated aspect in this run."""
    if text.startswith(RATED):
        return f"{RATED}{run.ratings.named(text.removeprefix(RATED))}"
    return run.label(run.named(text))


class _TestSettings(NamedTuple):
    """The settings of every test."""

    gates: tuple[tuple[Gate, int], ...]
    """Each with the index of its metric among the measures."""
    strict: bool
    confidence: float
    mean: str
    draws: Resamples
    progress: Callable[[int], None]


def _comparisons(
    run: Result,
    planned: ComparisonPlan,
    chosen: Mapping[str, Measure],
    how: _TestSettings,
    run_notes: Sequence[str],
) -> Comparisons:
    comparisons = [_compare_pair(run, pair, tuple(chosen.values()), how) for pair in planned.pairs]
    contrasts = correct_contrasts(_by_turns([compared.contrasts for compared in comparisons]), how.confidence)
    if not any(contrast.contexts for contrast in contrasts):
        raise DialoscopeError(_explain_no_shared_contexts(run, planned.pairs[0]))
    return Comparisons(
        contrasts=contrasts,
        orderings=tuple(_orderings(run, contrasts, chosen, how)) if planned.every_pair else (),
        verdicts=tuple(_by_turns([compared.verdicts for compared in comparisons])),
        confidence=how.confidence,
        strict=how.strict,
        draws=how.draws.times,
        seed=how.draws.seed,
        about=(*run_notes, *_notes(contrasts, how.draws.times, how.confidence)),
    )


class _PairComparison(NamedTuple):
    """The contrasts and the outcomes of the gates of two systems."""

    contrasts: Sequence[Contrast]
    verdicts: Sequence[GateVerdict]


def _compare_pair(
    run: Result, pair: SystemPair, chosen: Sequence[Measure], settings: _TestSettings
) -> _PairComparison:
    """The comparison of one pair; one at a time, so that memory holds the halves of one pair only."""
    both = Both.of(*(Side.of(run, name, settings.mean) for name in pair))
    compared_measures = differences(chosen, both, settings.draws)
    settings.progress(1)
    alone = (len(np.setdiff1d(run.replies.item[run.rows(name)], both.items)) for name in pair)
    contexts = Answered(len(both.items), *alone)
    return _PairComparison(
        [
            make_contrast(pair, measure, difference, settings.confidence, contexts)
            for measure, difference in zip(chosen, compared_measures, strict=True)
        ],
        [
            evaluate_gate(
                gate,
                pair,
                compared_measures[index],
                settings.confidence,
                settings.draws,
                strict=settings.strict,
            )
            for gate, index in settings.gates
        ],
    )


def _by_turns(lists: Sequence[Sequence[T]]) -> list[T]:
    """The first item of each list, then the second of each, and so on."""
    return [item for turn in zip(*lists, strict=True) for item in turn]


def _explain_no_shared_contexts(run: Result, pair: SystemPair) -> str:
    first, second = (printable(run.replies.ids[run.rows(name)[0]]) for name in pair)
    shared_none = f"{printable(pair.a)} and {printable(pair.b)} have not answered one context in common: "
    if first == second:
        return shared_none + (
            f"replies have the same ids, such as '{first}', but where the systems of a run share no ids the "
            "contexts tell, and these differ. Give both systems the same contexts."
        )
    return shared_none + (
        f"replies are matched by their ids, such as '{first}' and '{second}', or by their contexts where "
        "systems share no ids. Give replies to the same context the same id."
    )


def _orderings(
    run: Result, contrasts: Sequence[Contrast], chosen: Mapping[str, Measure], settings: _TestSettings
) -> Iterator[Ordering]:
    """The systems by each measure; the difference of a pair is sure where a verdict says so."""
    systems = dict.fromkeys(name for contrast in contrasts for name in (contrast.a, contrast.b))
    sides = [Side.of(run, system, settings.mean) for system in systems]
    uneven = any(measure.depends_on for measure in chosen.values())
    equal = with_equal_numbers(sides, settings.draws.seed) if uneven else [tuple(sides)]
    for name, measure in chosen.items():
        choices = equal if measure.depends_on else [tuple(sides)]
        scores = [math.fsum(map(measure.score, each)) / len(each) for each in zip(*choices, strict=True)]
        values = dict(zip(systems, scores, strict=True))
        defined = {system: value for system, value in values.items() if not math.isnan(value)}
        apart = [
            (contrast.a, contrast.b) for contrast in contrasts if contrast.metric == name and contrast.sure
        ]
        yield order_systems(name, defined, apart, measure.higher_is_better)


def _notes(contrasts: Sequence[Contrast], halves: int, confidence: float) -> Iterator[str]:
    """The notes on these contexts and tests."""
    yield from _note_contexts(contrasts)
    yield from _note_amounts(contrasts)
    tested = [contrast.defined for contrast in contrasts if not math.isnan(contrast.p)]
    fewest, needed = min(tested or [contrast.contexts for contrast in contrasts]), fewest_blocks(confidence)
    if fewest < needed:
        yield (
            f"On {_format_contexts(fewest)} no paired test can be sure of anything: with "
            f"{100 * confidence:g}% confidence it takes {needed}."
        )
    tests = len(tested)
    available = min(halves, 2 ** min(fewest, 60) - 1)
    if fewest >= needed and 2 * tests >= (1 - confidence) * (available + 1):
        yield (
            f"{tests} tests are so many that after the correction none can be sure; compare fewer systems or "
            "metrics, or raise --draws."
        )


def _note_amounts(contrasts: Sequence[Contrast]) -> Iterator[str]:
    """Notes where one system says more words than the other and metrics depend on that."""
    subsampled = dict.fromkeys(printable(contrast.metric) for contrast in contrasts if contrast.chosen)
    if subsampled:
        yield (
            f"{', '.join(subsampled)}: at equal numbers of replies to each context, in which the systems "
            f"differ; means over {SUBSAMPLES} random choices."
        )
    unequal = group(
        ((contrast.a, contrast.a_amount, contrast.b, contrast.b_amount), contrast.metric)
        for contrast in contrasts
        if contrast.depends_on == "words" and differ(contrast.a_amount, contrast.b_amount)
    )
    for (a, amount, b, other), metrics in unequal.items():
        yield describe_amounts(metrics, "words", {a: amount, b: other})


def _note_contexts(contrasts: Sequence[Contrast]) -> Iterator[str]:
    """The number of contexts that each pair has in common; a single note where nothing is left out."""
    if {(contrast.contexts, contrast.a_only, contrast.b_only) for contrast in contrasts} == {
        (contrasts[0].contexts, 0, 0)
    }:
        yield f"{_format_contexts(contrasts[0].contexts)}, all answered by every system."
        return
    for contrast in {(contrast.a, contrast.b): contrast for contrast in contrasts}.values():
        a, b = printable(contrast.a), printable(contrast.b)
        alone = [
            f"{many} that only {name} answered"
            for many, name in ((contrast.a_only, a), (contrast.b_only, b))
            if many
        ]
        left_out = f"; left out: {', '.join(alone)}" if alone else ""
        yield f"{a} and {b}: {_format_contexts(contrast.contexts)} that both answered{left_out}."


def _format_contexts(contexts: int) -> str:
    return f"{contexts or 'no'} context{'s' * (contexts != 1)}"
