"""Scoring: read replies, measure them, and collect the statistics in a result."""

import sys
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dialoscope.core.arrays import Ints
from dialoscope.core.errors import DataError, MetricError
from dialoscope.core.records import Example
from dialoscope.core.redaction import join_without_secrets
from dialoscope.core.signature import signature
from dialoscope.core.tally import Tally
from dialoscope.data.canonical import canonical_bytes
from dialoscope.data.layout import Row
from dialoscope.data.lint import Lint
from dialoscope.data.problems import ReadLog
from dialoscope.data.replies import Replies, RowSource
from dialoscope.metrics import Metric, check_licences, plugin_named, suite
from dialoscope.metrics import metrics as read_metrics
from dialoscope.metrics.shared.base import measure_once, setting_types
from dialoscope.models.asset_kinds import collect_asset_names
from dialoscope.models.protocols import Corpus
from dialoscope.models.registry import licences
from dialoscope.runs.fitting import fit_scales, rows_of, take_scales, warn_of_changed_models
from dialoscope.runs.needs import POLICIES, Needs
from dialoscope.runs.provenance import Provenance, versions
from dialoscope.runs.rating_columns import RatingsBuilder
from dialoscope.runs.result import ReplyIndex, Result
from dialoscope.text.batch import Batch
from dialoscope.text.tokens import hash_texts

BATCH = 2048
"""Replies measured together: enough to keep arrays long, few enough to stay in the processor's cache."""

AHEAD = 16
"""Batches handed to an executor before the first must be done."""

_SHOWN = 5
"""The number of undefined replies that are named in a warning."""


def evaluate(
    replies: RowSource | Iterable[Example],
    metrics: Sequence[Metric[Any] | str] | Metric[Any] | str | None = None,
    *,
    on: Executor | None = None,
    missing: str | None = None,
    scales: dict[str, tuple[float, float]] | None = None,
    real: str | Path | None = None,
    scales_from: Result | str | Path | None = None,
    fit_on: Sequence[str] = (),
    licence: str | None = None,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Result:
    """Score replies with metrics, here or on an executor; the numbers are the same.

    Args:
        replies: What `read` returned, or examples.
        metrics: Metrics, or their names (`bleu-4`, `rouge:order=1/2/l`); the lexical suite if none are named.
        on: Where to work; here if nothing is given.
        missing: With replies without the context, references or group that a metric needs: `stop` (the
            default where metrics are named), count as `undefined`, or `leave-out` such metrics (the default).
        scales: The lowest and highest rating of an aspect, for warnings about ratings outside it.
        real: A file of dialogues between people, with which fbd and prd compare in place of references.
        scales_from: A run, or its folder, whose metrics are used with the scales that were fitted there, so
            that the numbers of both can be compared: all of them, or those that `metrics` names.
        fit_on: The systems to whose replies scales (the floor of coherence) are fitted; all if none is named.
        licence: `any`, or `permissive` for models under such licences alone; else `DIALOSCOPE_LICENCE`.
        seed: For the resampling behind intervals and tests.
        progress: Called with the number of bytes that were read since the last call.
    """
    _check_seed(seed)
    request = _read_request(metrics, scales_from, real, missing, licence)
    source = replies if isinstance(replies, RowSource) else Replies.of(replies)
    started = datetime.now(UTC)
    collected = Collected(Lint(scales), Needs(request.metrics, request.missing))
    log = ReadLog(on_bytes=progress)
    tallies = _measure_streamed(collected, source.rows(log), request.metrics, on)
    scored = _without(request.metrics, collected.needs.left_out())
    licences.announce(collect_asset_names(scored), request.licence)
    tallies |= _measure_together(collected, scored)
    index = collected.index()
    fits = fit_scales(scored, tallies, rows_of(fit_on, index))
    origin = _origin(started, scored)
    changed = warn_of_changed_models(request.scales_from, origin["models"])
    return Result(
        replies=index,
        metrics=fits.metrics,
        tallies={metric.statistics: tallies[metric.statistics] for metric in scored},
        ratings=collected.ratings.build(),
        provenance=Provenance(
            source=source.arguments(),
            missing=request.missing,
            seed=seed,
            fitted=fits.fitted,
            warnings=(*collected.all_warnings(log), *fits.warnings, *changed),
            **collected.counts(log),
            **origin,
        ),
    )


def _check_seed(seed: int) -> None:
    if seed < 0:
        raise MetricError(f"The seed is {seed}; it must be 0 or above.")


class Request(NamedTuple):
    """The metrics, and the settings of scoring."""

    metrics: tuple[Metric[Any], ...]
    missing: str
    scales_from: Result | None
    licence: licences.Choice | None


@dataclass
class Collected:
    """Ids, ratings and warnings that are collected while the replies are read."""

    lint: Lint
    needs: Needs
    examples: list[Example] = field(default_factory=list)
    """Collected only for metrics that measure all replies at once."""
    ids: list[str] = field(default_factory=list)
    systems: dict[str, int] = field(default_factory=dict)
    system: list[Ints] = field(default_factory=list)
    by_id: list[Ints] = field(default_factory=list)
    by_context: list[Ints] = field(default_factory=list)
    ratings: RatingsBuilder = field(default_factory=RatingsBuilder)
    data: Any = field(default_factory=sha256)
    warnings: list[str] = field(default_factory=list)
    undefined: dict[str, list[str]] = field(default_factory=dict)
    """The replies that a metric could not measure, by the reason."""

    def batches(self, rows: Iterator[Row]) -> Iterator[Sequence[Example]]:
        """The examples in batches; none after missing input that stops the run, but all are checked."""
        while batch := list(islice(rows, BATCH)):
            for row in batch:
                self._add(row)
            examples = [row.example for row in batch]
            self.system.append(
                np.array(
                    [self.systems.setdefault(example.system, len(self.systems)) for example in examples],
                    np.int64,
                )
            )
            self.by_id.append(hash_texts([row.unit or row.example.id for row in batch]))
            self.by_context.append(_by_context(batch, self.by_id[-1]))
            self.needs.check(examples)
            if any(metric.at_once for metric in self.needs.metrics):
                self.examples += examples
            if not self.needs.stops:
                yield examples

    def index(self) -> ReplyIndex:
        """The index of the replies, with the context of each."""
        system, by_id, by_context = map(np.concatenate, (self.system, self.by_id, self.by_context))
        shared = _shares_ids(system, by_id)
        if shared:
            self._warn_of_odd_ids(by_id, by_context)
        return ReplyIndex(tuple(self.ids), tuple(self.systems), system, by_id if shared else by_context)

    def counts(self, log: ReadLog) -> dict[str, Any]:
        """A hash of the replies, and the number of those that were read and skipped."""
        data = f"sha256:{self.data.hexdigest()}"
        return {"data": data, "replies": len(self.ids), "skipped": log.problem_count}

    def all_warnings(self, log: ReadLog) -> list[str]:
        """Warnings on metrics that were left out, and on the replies."""
        left_out = [
            f"No reply has {need}, so these were left out: {', '.join(map(str, metrics))}."
            for need, metrics in self.needs.left_out().items()
        ]
        undefined = map(_undefined_warning, self.undefined.items())
        return [*left_out, *self.lint.warnings(log), *self.warnings, *undefined]

    def _warn_of_odd_ids(self, by_id: Ints, by_context: Ints) -> None:
        own = np.flatnonzero(by_context != by_id)  # a dialogue or group has several
        order = own[np.argsort(by_id[own], kind="stable")]
        ids, contexts = by_id[order], by_context[order]
        several = len(np.unique(ids[1:][(ids[1:] == ids[:-1]) & (contexts[1:] != contexts[:-1])]))
        if several:
            self.warnings.append(
                f"{several} ids stand for different contexts; systems are compared on replies with the "
                "same id, so give each context an id of its own."
            )

    def _add(self, row: Row) -> None:
        self.data.update(canonical_bytes(row.example))
        self.lint.add(row)
        if row.ratings:
            self.ratings.add(len(self.ids), row.ratings)
        self.ids.append(row.example.id)


def _by_context(batch: Sequence[Row], by_id: Ints) -> Ints:
    """A hash of the context of each reply, or of its id if it has no context."""
    numbers = by_id.copy()
    rows = [number for number, row in enumerate(batch) if row.example.context and row.unit is None]
    contexts = [batch[row].example.context for row in rows]
    numbers[rows] = hash_texts(["".join([f"{len(turn)}:{turn}" for turn in turns]) for turns in contexts])
    return numbers


def _shares_ids(system: Ints, by_id: Ints) -> bool:
    """Whether systems reply to the same ids; if each has its own, replies are grouped by their contexts."""
    by_system = by_id + system * np.int64(-0x4B47D0C5A9F1E1B3)  # a number for "this id, this system"
    return len(np.unique(by_system)) > len(np.unique(by_id))


def _measure_streamed(
    collected: Collected, rows: Iterator[Row], metrics: Sequence[Metric[Any]], on: Executor | None
) -> dict[Hashable, Tally]:
    """The statistics that are made while replies are read; missing input is an error after the last reply."""
    streamed = tuple(metric for metric in metrics if not metric.at_once)
    tallies = _measure_all(collected.batches(rows), streamed, on, collected.undefined)
    collected.needs.raise_missing()
    if not collected.ids:
        raise DataError("There is not one reply to score.")
    return tallies


def _without(
    metrics: Sequence[Metric[Any]], left_out: Mapping[str, Sequence[Metric[Any]]]
) -> tuple[Metric[Any], ...]:
    """The metrics that are not left out."""
    scored = tuple(metric for metric in metrics if not any(metric in group for group in left_out.values()))
    if not scored:
        raise MetricError(f"No metric is left: not one reply has {' or '.join(left_out)}.")
    return scored


def _undefined_warning(replies_by_reason: tuple[str, list[str]]) -> str:
    reason, replies = replies_by_reason
    shown, more = ", ".join(replies[:_SHOWN]), len(replies) - _SHOWN
    count = "1 reply has" if len(replies) == 1 else f"{len(replies)} replies have"
    return f"{count} no {reason}: {shown}{f' and {more} more' if more > 0 else ''}."


def _origin(started: datetime, metrics: Sequence[Metric[Any]]) -> dict[str, Any]:
    """The provenance of a run."""
    return {
        "models": {signature(model): model.fingerprint for metric in metrics for model in metric.backends},
        "licences": licences.describe(collect_asset_names(metrics)),
        "versions": versions(neural=any(metric.at_once for metric in metrics)),
        "command": join_without_secrets(sys.argv),
        "started": started.isoformat(timespec="seconds"),
        "seconds": round((datetime.now(UTC) - started).total_seconds(), 3),
    }


def _read_request(
    metrics: Sequence[Metric[Any] | str] | Metric[Any] | str | None,
    scales_from: Result | str | Path | None,
    real: str | Path | None,
    missing: str | None,
    licence: str | None,
) -> Request:
    """The metrics with their scales, and what to do with missing input, by default as in `scales_from`."""
    choice = licences.read_choice(licence)
    run = Result.load(scales_from) if isinstance(scales_from, str | Path) else scales_from
    if metrics is None:
        metrics = run.metrics if run else suite("lexical")
        missing = missing or (run.provenance.missing if run else "leave-out")
    policy = missing or "stop"
    if policy not in POLICIES:
        raise MetricError(f"missing is '{policy}'; it must be one of: {', '.join(POLICIES)}.")
    return Request(take_scales(run, _read_metrics(metrics, real, choice)), policy, run, choice)


def _read_metrics(
    metrics: Sequence[Metric[Any] | str] | Metric[Any] | str, real: str | Path | None, licence: str | None
) -> tuple[Metric[Any], ...]:
    """Each metric that is named or given, once, followed by its companions."""
    named: list[Metric[Any]] = []
    for text in [metrics] if isinstance(metrics, (str, Metric)) else metrics:
        named += read_metrics(text, licence=licence) if isinstance(text, str) else [text]
    for metric in named:
        if not isinstance(metric, Metric):
            raise MetricError(
                f"{metric!r} is no metric; name one, such as 'bleu-4', or make one, such as ds.Bleu()."
            )
    if not named:
        raise MetricError("There is no metric to score with; name at least one, such as bleu.")
    if real is not None:
        named = _compare_with(named, str(real))
    every = dict.fromkeys(each for metric in named for each in (metric, *metric.companions))
    return tuple(check_licences(list(every), licence))


def _compare_with(metrics: Sequence[Metric[Any]], real: str) -> list[Metric[Any]]:
    """The metrics, those of distributions with the replies of a corpus in place of references."""
    able = [metric for metric in metrics if setting_types(type(metric)).get("real") is Corpus]
    if not able:
        raise MetricError(
            "--real (real=) is for metrics that compare a system with people, such as fbd and prd."
        )
    settings: dict[str, Any] = {"real": real}
    return [replace(metric, **settings) if metric in able else metric for metric in metrics]


class _Batch(NamedTuple):
    """The statistics of a batch."""

    tallies: list[Tally]
    undefined: dict[str, list[str]]
    """The replies that a metric could not measure, by the reason."""

    def add_undefined(self, undefined: dict[str, list[str]]) -> None:
        """Add the replies that a metric could not measure to those of other batches."""
        for reason, replies in self.undefined.items():
            undefined.setdefault(reason, []).extend(replies)


def _measure_all(
    batches: Iterator[Sequence[Example]],
    metrics: tuple[Metric[Any], ...],
    on: Executor | None,
    undefined: dict[str, list[str]],
) -> dict[Hashable, Tally]:
    """The statistics of all replies, each kind made once however many metrics use it.

    Replies that a metric could not measure are added to `undefined`.
    """
    makers = {metric.statistics: metric for metric in reversed(metrics)}
    parts: dict[Hashable, list[Tally]] = {key: [] for key in makers}
    measure = partial(_measure, metrics=tuple(makers.values()))
    for measures in map(measure, batches) if on is None else _map_ahead(measure, batches, on):
        for key, tally in zip(makers, measures.tallies, strict=True):
            parts[key].append(tally)
        measures.add_undefined(undefined)
    return {key: makers[key].tally.joined(parts.pop(key)) for key in makers}


def _measure_together(collected: Collected, scored: Sequence[Metric[Any]]) -> dict[Hashable, Tally]:
    """The statistics of metrics that measure all replies at once, each kind once; warnings are collected.

    Models load here, after every reply has been read and no input is missing.
    """
    metrics = [metric for metric in scored if metric.at_once]
    batch = Batch(collected.examples)
    makers = {metric.statistics: metric for metric in reversed(metrics)}
    measures = _measure(batch, tuple(makers.values()))
    measures.add_undefined(collected.undefined)
    collected.warnings += dict.fromkeys(note for metric in metrics for note in metric.warnings(batch))
    return dict(zip(makers, measures.tallies, strict=True))


def _map_ahead(
    measure: Callable[[Sequence[Example]], _Batch], batches: Iterator[Sequence[Example]], on: Executor
) -> Iterator[_Batch]:
    """The measures of each batch in the order of the batches, some of them worked on ahead."""
    waiting: deque[Future[_Batch]] = deque()
    for batch in batches:
        waiting.append(on.submit(measure, batch))
        if len(waiting) >= AHEAD:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _measure(examples: Sequence[Example], metrics: tuple[Metric[Any], ...]) -> _Batch:
    batch = examples if isinstance(examples, Batch) else Batch(examples)
    for metric in metrics:
        with plugin_named(type(metric)):
            metric.announce(batch)
    tallies = []
    for metric in metrics:
        with plugin_named(type(metric)):
            tallies.append(measure_once(metric, batch))
    for metric, tally in zip(metrics, tallies, strict=True):
        if len(tally) != len(batch):
            raise MetricError(
                f"{metric} measured {len(tally)} replies where there are {len(batch)}; it has a bug."
            )
    return _Batch(tallies, {reason: _names(batch, places) for reason, places in batch.undefined.items()})


def _names(batch: Batch, places: set[int]) -> list[str]:
    replies = [batch[index] for index in sorted(places)]
    return [f"{example.id!r} of {example.system!r}" for example in replies]
