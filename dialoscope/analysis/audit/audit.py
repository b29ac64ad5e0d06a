"""The audit: perturb real replies, score them all in one run, and look at how each metric moves."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dialoscope.analysis.audit.audit_report import Audit
from dialoscope.analysis.audit.curve import SURE, AuditCurve, Point
from dialoscope.core.records import Example
from dialoscope.data.layout import Row
from dialoscope.data.lint import Lint
from dialoscope.data.perturb.perturbations import PERTURBATIONS
from dialoscope.data.perturb.perturbed import Perturbed
from dialoscope.data.perturb.plan import RATIOS, REAL, PerturbationPlan
from dialoscope.data.perturb.real_replies import RealReplies
from dialoscope.data.problems import ReadLog
from dialoscope.data.replies import Replies, RowSource
from dialoscope.metrics import Metric, suite
from dialoscope.metrics import metrics as read_metrics
from dialoscope.models.registry import licences
from dialoscope.runs.evaluate import evaluate
from dialoscope.runs.needs import Needs
from dialoscope.runs.result import Result

ROUNDING = 1e-6
"""The largest rounding error between two values of one run, less than from one run to another."""


def audit(
    replies: RowSource | Iterable[Example],
    metrics: Sequence[Metric[Any] | str] | Metric[Any] | str | None = None,
    *,
    perturbations: Sequence[str] = tuple(PERTURBATIONS),
    ratios: Sequence[float] = RATIOS,
    against: str | None = None,
    on: Executor | None = None,
    missing: str | None = None,
    real: str | Path | None = None,
    licence: str | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    draws: int = 1000,
    progress: Callable[[int], None] | None = None,
) -> Audit:
    """Perturb real replies at rising ratios and see whether metrics get worse.

    Args:
        replies: What `read` returned, or examples. Their first references are the real replies, or, where
            there are no references, the responses.
        metrics: Metrics, or their names; the lexical suite if none are named.
        perturbations: `noise`, `swap`, `shuffle`, `generic`.
        ratios: The shares of the replies to perturb, rising, between 0 and 1.
        against: What a reply is compared with: `others`, its other references, or `itself` unperturbed.
            Without a choice, `others` where every reply has some.
        on: Executor to work on; by default this process.
        missing: As for `evaluate`.
        real: As for `evaluate`.
        licence: As for `evaluate`.
        seed: Seed of the perturbation, and of the resampling for intervals and tests.
        confidence: Confidence level of the intervals, such as 0.95.
        draws: Number of resamples.
        progress: Called with the number of bytes that were read since the last call.
    """
    plan = PerturbationPlan(perturbations, ratios, seed, against)
    resolved = _resolve_metrics(metrics, licences.read_choice(licence))
    log = ReadLog(on_bytes=progress)
    source = replies if isinstance(replies, RowSource) else Replies.of(replies)
    perturbed = Perturbed.of(source, plan, log)
    missing = missing or ("leave-out" if metrics is None else "stop")
    if missing == "stop":
        _refuse_missing_input(resolved, perturbed.real)
    base = (REAL,) if 0 in plan.ratios else ()  # what is perturbed must not move the scale it is seen on
    scored = evaluate(
        perturbed, resolved, on=on, missing=missing, real=real, fit_on=base, licence=licence, seed=seed
    )
    warnings = (*scored.provenance.warnings, *_lint(perturbed.real, log), *_warnings(perturbed, scored))
    provenance = replace(scored.provenance, skipped=log.problem_count, warnings=warnings)
    result = replace(scored, provenance=provenance)
    about = f"{len(perturbed.real.replies)} real replies: {perturbed.real.description}."
    return Audit(result, tuple(_curves(perturbed, result, ResamplingSettings(confidence, draws))), about)


class ResamplingSettings(NamedTuple):
    """The settings of intervals and tests."""

    confidence: float
    draws: int


def _resolve_metrics(
    metrics: Sequence[Metric[Any] | str] | Metric[Any] | str | None, licence: str | None
) -> list[Metric[Any]]:
    """The metrics themselves, resolved before anything is read, so that unknown names are refused at once."""
    chosen = suite("lexical") if metrics is None else metrics
    names = [chosen] if isinstance(chosen, (str, Metric)) else chosen
    return [
        metric
        for name in names
        for metric in (read_metrics(name, licence=licence) if isinstance(name, str) else [name])
    ]


def _refuse_missing_input(metrics: Sequence[Metric[Any]], real: RealReplies) -> None:
    """Refuse missing input, counted over the real replies, not over all their copies."""
    needs = Needs([metric for metric in metrics if isinstance(metric, Metric)], "stop")
    needs.check(
        [
            Example(reply.id, REAL, reply.text, reply.context, reply.references, reply.group)
            for reply in real.replies
        ]
    )
    needs.raise_missing()


def _curves(perturbed: Perturbed, result: Result, by: ResamplingSettings) -> Iterator[AuditCurve]:
    table = result.table(confidence=by.confidence, draws=by.draws)
    changed = {
        (name, ratio): perturbed.count_changed(name, ratio)
        for name, ratio in product(perturbed.plan.perturbations, perturbed.plan.ratios)
    }
    for metric, perturbation in product(result.metrics, perturbed.plan.perturbations):
        cells = {
            ratio: table.cell(perturbed.plan.system(perturbation, ratio), result.label(metric))
            for ratio in perturbed.plan.ratios
        }
        yield AuditCurve(
            metric=result.label(metric),
            perturbation=perturbation,
            points=tuple(
                Point(ratio, cell.value, cell.low, cell.high, changed[perturbation, ratio], cell.undefined)
                for ratio, cell in cells.items()
            ),
            higher_is_better=metric.higher_is_better,
            tolerance=min(metric.tolerance, ROUNDING),
            p=_p(perturbed, result, metric, perturbation, by.draws),
            signature=metric.signature,
        )


def _p(perturbed: Perturbed, result: Result, metric: Metric[Any], perturbation: str, draws: int) -> float:
    """The p-value of the last ratio against the first; NaN where no test applies or could be significant."""
    if metric.higher_is_better is None or _are_too_few(result):
        return math.nan
    last, first = (perturbed.plan.system(perturbation, perturbed.plan.ratios[index]) for index in (-1, 0))
    return result.significance(metric, last, first, draws)


def _are_too_few(result: Result) -> bool:
    """Whether no paired test of so few contexts can be sure: at best its p is 2 in 2 ** contexts."""
    return 2.0 ** (1 - len(np.unique(result.replies.item))) >= SURE


def _lint(real: RealReplies, log: ReadLog) -> list[str]:
    """Warnings on the real replies and the files they were read from."""
    lint = Lint()
    for reply in real.replies:
        lint.add(Row(Example(reply.id, REAL, reply.text)))
    return lint.warnings(log)


def _warnings(perturbed: Perturbed, result: Result) -> Iterator[str]:
    count = len(perturbed.real.replies)
    if perturbed.real.skipped:
        yield f"{perturbed.real.skipped} replies have no reference where others have; they were left out."
    for name in perturbed.plan.perturbations:
        same = count - perturbed.count_changed(name, 1)
        if same:
            yield f"{name} cannot change {same} of {count} replies."
    if _are_too_few(result):
        yield "There are too few contexts to tell a change from chance; verdicts go by the values alone."
