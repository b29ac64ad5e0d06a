"""Is one system really better than another? Paired tests from what a run keeps of its replies."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dialoscope.errors import DialoscopeError
from dialoscope.meta.comparisons import POWER, Comparisons, Contrast, Pair
from dialoscope.meta.gate import Gate, Verdict, judged
from dialoscope.meta.ordering import Ordering, ordering
from dialoscope.meta.significance import holm
from dialoscope.printable import printable
from dialoscope.results import Result
from dialoscope.results.differences import (
    RATED,
    SAME,
    Both,
    Difference,
    Effect,
    Measure,
    differences,
    measures,
)
from dialoscope.results.resampling import Draws
from dialoscope.results.result import CONFIDENCE, DRAWS
from dialoscope.results.uncertainty import Side
from dialoscope.results.union import union

MOST_EXCHANGES = 100_000
"""Many tests need finer p-values, and so more exchanges, but never more than these."""


def compare(
    result: Result,
    *systems: str,
    other: Result | str | Path | None = None,
    baseline: str | None = None,
    metrics: Sequence[str] = (),
    gates: Sequence[str] = (),
    strict: bool = False,
    confidence: float = CONFIDENCE,
    draws: int = DRAWS,
    seed: int | None = None,
) -> Comparisons:
    """Test the systems of a run against each other, by every metric and by what people said.

    Args:
        result: A run.
        systems: Which to compare, the old one before the new; every pair of them, or of all if none is named.
        other: A second run, or its folder, whose systems are compared with those of the first, each with
            the one of its name if none is named.
        baseline: A system that all others are compared with, in place of every pair.
        metrics: What to compare by, such as `bleu-4` or `rated:overall`; everything if nothing is named.
        gates: What must hold, such as `bleu-4>=-0.01`: the second system is not worse by more than this.
        strict: Whether a gate stops what is undecided, too.
        confidence: Of intervals, verdicts and gates.
        draws: How often contexts are drawn again; exchanges are as many, and more where tests are many.
        seed: For both; the run's if none is named.
    """
    if not 0.5 <= confidence < 1 or draws < 1:
        raise DialoscopeError("confidence must be at least 0.5 and below 1, and draws at least 1.")
    asked = tuple(map(Gate.of, gates))
    whole = result if other is None else _both_runs(result, other, metrics, asked)
    plan = _plan(whole, systems, baseline, result if other is not None else None)
    if asked and not plan.directed:
        raise DialoscopeError(
            "A gate must know which system is the old one: name two, the old one first, or say --baseline."
        )
    said = (*(whole.provenance.warnings if other is not None else ()), *whole.ratings.notes)
    chosen = _chosen(whole, metrics, asked)
    chance = Draws(draws, whole.provenance.seed if seed is None else seed)
    found = _found(whole, plan.pairs, tuple(chosen.values()), chance, confidence)
    contrasts = _contrasts(found, tuple(chosen.values()), confidence)
    return Comparisons(
        contrasts=contrasts,
        orderings=tuple(_orderings(whole, contrasts, chosen)) if plan.every_pair else (),
        verdicts=tuple(_judged(whole, asked, found, tuple(chosen), confidence, strict=strict)),
        confidence=confidence,
        strict=strict,
        about=(*said, *_about(contrasts, found[0].exchanges, confidence)),
    )


def _both_runs(
    first: Result, second: Result | str | Path, metrics: Sequence[str], gates: Sequence[Gate]
) -> Result:
    second = second if isinstance(second, Result) else Result.load(second)
    named = [*metrics, *(gate.metric for gate in gates)] if metrics else []
    wanted = [name for name in named if not name.startswith(RATED)]
    return union(first, second, wanted if metrics else None)


class _Plan(NamedTuple):
    """Which systems are compared."""

    pairs: tuple[Pair, ...]
    directed: bool
    """Whether the first of each pair is known to be the old one."""
    every_pair: bool
    """Whether each is compared with each, and there are more than two."""


def _plan(run: Result, systems: Sequence[str], baseline: str | None, first: Result | None) -> _Plan:
    """The pairs that are asked for; with two runs, of which this is the first, namesakes if none is named."""
    if first is not None and not systems and baseline is None:
        return _Plan(_namesakes(run, len(first.systems)), directed=True, every_pair=False)
    named = [one for name in systems for one in _known(run, name)] or list(run.systems)
    if baseline is not None:
        old = _known(run, baseline)[0]
        pairs = tuple(Pair(old, name) for name in named if name != old)
    else:
        pairs = tuple(Pair(*pair) for pair in combinations(named, 2))
    twice = [name for name in named if named.count(name) > 1]
    if twice:
        raise DialoscopeError(f"System '{printable(twice[0])}' is named twice.")
    if not pairs:
        raise DialoscopeError(
            f"There is nothing to compare {printable(named[0])} with; name another system of the run "
            f"({', '.join(map(printable, run.systems))}), or another run with --with (other=)."
        )
    return _Plan(pairs, len(pairs) == 1 or baseline is not None, len(pairs) > 1 and baseline is None)


def _known(run: Result, name: str) -> list[str]:
    """The system of that name; where two runs have it, that of the first and that of the second."""
    if name not in run.systems and f"1:{name}" in run.systems:
        return [f"1:{name}", f"2:{name}"]
    if name not in run.systems and Path(name).is_dir():
        raise DialoscopeError(
            f"There is no system '{printable(name)}' in this run; to compare it with another run, say "
            f"--with {printable(name)} (other=)."
        )
    run.rows(name)  # says which there are where it is none of them
    return [name]


def _namesakes(run: Result, ours: int) -> tuple[Pair, ...]:
    """Each system of the first run, which has so many, with that of the same name in the second."""
    first, second = run.systems[:ours], run.systems[ours:]
    pairs = tuple(Pair(one, f"2:{one[2:]}") for one in first if f"2:{one[2:]}" in second)
    if not pairs and len(first) == len(second) == 1:
        return (Pair(first[0], second[0]),)
    if not pairs:
        raise DialoscopeError(
            f"No system has the same name in both runs: the first has {', '.join(map(printable, first))}, "
            f"the second {', '.join(map(printable, second))}. Name those to compare."
        )
    return pairs


def _chosen(run: Result, metrics: Sequence[str], gates: Sequence[Gate]) -> Mapping[str, Measure]:
    """What is compared by: all, or what is named and what the gates are about."""
    known = {one.name: one for one in measures(run)}
    for gate in gates:
        gate.check_direction(known[_name(run, gate.metric)].higher_is_better)
    names = [_name(run, name) for name in (*metrics, *(gate.metric for gate in gates))] if metrics else known
    return {name: known[name] for name in known if name in names}


def _name(run: Result, text: str) -> str:
    """What a metric or a rated aspect is called in this run."""
    if text.startswith(RATED):
        return f"{RATED}{run.ratings.named(text.removeprefix(RATED))}"
    return run.label(run.named(text))


class _Compared(NamedTuple):
    """Two systems and what each measure says of them."""

    pair: Pair
    both: Both
    alone: tuple[int, int]
    """Contexts that only the first, and that only the second answered."""
    differences: Sequence[Difference]
    exchanges: int


def _found(
    run: Result, pairs: Sequence[Pair], chosen: Sequence[Measure], draws: Draws, confidence: float
) -> list[_Compared]:
    sides = {name: Side.of(run, name) for pair in pairs for name in pair}
    tests = len(pairs) * len(chosen)
    exchanges = max(draws.times, min(MOST_EXCHANGES, math.ceil(10 * tests / (1 - confidence))))
    found = []
    for pair in pairs:
        first, second = (sides[name] for name in pair)
        both = Both.of(first, second)
        alone = len(np.setdiff1d(first.items, second.items)), len(np.setdiff1d(second.items, first.items))
        found.append(_Compared(pair, both, alone, differences(chosen, both, draws, exchanges), exchanges))
    if not any(len(one.both.items) for one in found):
        raise DialoscopeError(_nothing_shared(run, pairs[0]))
    return found


def _nothing_shared(run: Result, pair: Pair) -> str:
    first, second = (printable(run.replies.ids[run.rows(name)[0]]) for name in pair)
    return (
        f"{printable(pair.a)} and {printable(pair.b)} have not answered one context in common: replies are "
        f"matched by their ids, such as '{first}' and '{second}', or by their contexts where systems share "
        "no ids. Give replies to the same context the same id."
    )


def _contrasts(
    found: Sequence[_Compared], chosen: Sequence[Measure], confidence: float
) -> tuple[Contrast, ...]:
    """A row for each measure and pair, p-values corrected for the number of all of them."""
    rows = [(one, place) for place in range(len(chosen)) for one in found]
    corrected = holm(np.array([one.differences[place].p for one, place in rows]))
    return tuple(
        _contrast(one, chosen[place], one.differences[place], p, confidence)
        for (one, place), p in zip(rows, corrected.tolist(), strict=True)
    )


def _contrast(
    one: _Compared, measure: Measure, found: Difference, corrected: float, confidence: float
) -> Contrast:
    interval = found.resampled.interval(confidence)
    effect = found.effect or Effect(math.nan, 0, 0, 0)
    seen = effect.higher + effect.equal + effect.lower or math.nan
    return Contrast(
        metric=measure.name,
        a=one.pair.a,
        b=one.pair.b,
        a_value=found.first,
        b_value=found.second,
        difference=found.value,
        low=interval.low,
        high=interval.high,
        error=found.resampled.error,
        p=found.p,
        p_holm=corrected,
        effect=effect.size,
        higher=effect.higher / seen,
        equal=effect.equal / seen,
        lower=effect.lower / seen,
        detectable=detectable(found, confidence),
        contexts=len(one.both.items),
        a_only=one.alone[0],
        b_only=one.alone[1],
        higher_is_better=measure.higher_is_better,
        verdict=_verdict(found, corrected < 1 - confidence, measure.higher_is_better),
        why=_why(found, one),
        signature=measure.signature,
    )


def detectable(found: Difference, confidence: float) -> float:
    """The smallest true difference that so many contexts show as often as `POWER`; NaN if that is unknown."""
    error = found.resampled.error
    if not error > SAME * max(abs(found.first), abs(found.second)):  # what never varied tells of no chance
        return math.nan
    from scipy.special import stdtrit

    quantiles: list[float] = stdtrit(found.resampled.blocks - 1, [(1 + confidence) / 2, POWER]).tolist()
    return sum(quantiles) * error


def _verdict(found: Difference, sure: bool, higher_is_better: bool | None) -> str:
    if math.isnan(found.p):
        return "–"
    if found.value == 0 and (found.effect is None or _same(found.effect)):
        return "same"
    if not sure:
        return "unsure"
    return "differs" if higher_is_better is None else _TOLD[(found.value > 0) == higher_is_better]


_TOLD = {True: "better", False: "worse"}


def _same(effect: Effect) -> bool:
    return effect.higher == effect.lower == 0


def _why(found: Difference, one: _Compared) -> str:
    """What keeps a difference from being known."""
    if len(one.both.items) < 2:
        return f"{len(one.both.items) or 'no'} context in common"
    lacking = [
        name for name, value in zip(one.pair, (found.first, found.second), strict=True) if math.isnan(value)
    ]
    if lacking:
        return f"undefined for {' and '.join(lacking)}"
    if math.isnan(found.resampled.error):
        return "undefined on some part of the contexts"
    return "" if not math.isnan(found.p) else "undefined when systems change places"


def _orderings(
    run: Result, contrasts: Sequence[Contrast], chosen: Mapping[str, Measure]
) -> Iterator[Ordering]:
    """The systems by each measure; the difference of a pair is sure where a verdict says so."""
    systems = dict.fromkeys(name for one in contrasts for name in (one.a, one.b))
    for name, measure in chosen.items():
        values = {system: measure.score(Side.of(run, system)) for system in systems}
        defined = {system: value for system, value in values.items() if not math.isnan(value)}
        apart = [(one.a, one.b) for one in contrasts if one.metric == name and one.sure]
        yield ordering(name, defined, apart, measure.higher_is_better)


def _judged(
    run: Result,
    gates: Sequence[Gate],
    found: Sequence[_Compared],
    names: Sequence[str],
    confidence: float,
    *,
    strict: bool,
) -> Iterator[Verdict]:
    for gate in gates:
        place = names.index(_name(run, gate.metric))
        for one in found:
            yield judged(gate, one.pair, one.differences[place], confidence, strict=strict)


def _about(contrasts: Sequence[Contrast], exchanges: int, confidence: float) -> Iterator[str]:
    """What a reader must know of these contexts and tests."""
    yield from _contexts(contrasts)
    fewest = min(one.contexts for one in contrasts)
    if 2 ** (1 - fewest) >= 1 - confidence:
        yield f"On {fewest} contexts no paired test can be sure of anything."
    tests = sum(not math.isnan(one.p) for one in contrasts)
    if tests >= (1 - confidence) * (exchanges + 1):
        yield (
            f"{tests} tests are so many that after the correction none can be sure; compare fewer systems or "
            "metrics, or raise --draws."
        )


def _contexts(contrasts: Sequence[Contrast]) -> Iterator[str]:
    """How many contexts each pair has in common, said once where nothing is left out."""
    if {(one.contexts, one.a_only, one.b_only) for one in contrasts} == {(contrasts[0].contexts, 0, 0)}:
        yield f"{contrasts[0].contexts} contexts, all answered by every system."
        return
    for one in {(one.a, one.b): one for one in contrasts}.values():
        a, b = printable(one.a), printable(one.b)
        alone = [
            f"{many} that only {name} answered" for many, name in ((one.a_only, a), (one.b_only, b)) if many
        ]
        left_out = f"; left out: {', '.join(alone)}" if alone else ""
        yield f"{a} and {b}: {one.contexts} contexts that both answered{left_out}."
