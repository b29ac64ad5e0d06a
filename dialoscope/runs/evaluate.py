"""The run: read, measure, collect."""

import sys
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
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
from dialoscope.data.canonical import canonical
from dialoscope.data.layout import Row
from dialoscope.data.lint import Lint
from dialoscope.data.problems import ReadLog
from dialoscope.data.replies import Replies, RowSource
from dialoscope.metrics import Metric, check_licences, plugin_named, suite
from dialoscope.metrics import metrics as read_metrics
from dialoscope.metrics.shared.base import measure_once, setting_types
from dialoscope.models.asset_kinds import asset_names_of
from dialoscope.models.protocols import Corpus
from dialoscope.models.registry import licences
from dialoscope.runs.fitting import changed_since, fitted, fitted_as_in, rows_of
from dialoscope.runs.needs import POLICIES, Needs
from dialoscope.runs.provenance import Provenance, versions
from dialoscope.runs.rating_columns import RatingsBuilder
from dialoscope.runs.result import ReplyIndex, Result
from dialoscope.text.batch import Batch
from dialoscope.text.tokens import hashes

BATCH = 2048
"""Replies measured together: enough to keep arrays long, few enough to stay in the processor's cache."""

AHEAD = 16
"""Batches handed to an executor before the first must be done."""

_SHOWN = 5
"""Undefined replies named in a warning."""


def evaluate(
    replies: RowSource | Iterable[Example],
    metrics: Sequence[Metric[Any] | str] | Metric[Any] | str | None = None,
    *,
    on: Executor | None = None,
    lacking: str | None = None,
    scales: dict[str, tuple[float, float]] | None = None,
    real: str | Path | None = None,
    like: Result | str | Path | None = None,
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
        lacking: What to do with replies that lack what a metric needs: `stop`, count as `undefined`, or
            `leave-out` the metrics for which no reply has it (and count as undefined where some have).
            Without a choice, `stop` where metrics are named, else `leave-out`.
        scales: The lowest and highest rating of an aspect, for warnings about ratings outside it.
        real: A file of dialogues between people, with which fbd and prd compare in place of references.
        like: A run, or its folder, whose metrics are taken as they were fitted there, so that the numbers of
            both can be compared: all of them, or those that `metrics` names.
        fit_on: To whose replies scales (the floor of coherence) are fitted; to all systems' if none is named.
        licence: `any`, or `permissive` for models under such licences alone; else `DIALOSCOPE_LICENCE`.
        seed: For the resampling behind intervals and tests.
        progress: Told how many bytes more have been read.
    """
    wanted = _wanted(metrics, like, real, lacking, licence)
    _check(wanted.lacking, seed)
    source = replies if isinstance(replies, RowSource) else Replies.of(replies)
    started = datetime.now(UTC)
    collected = Collected(Lint(scales), Needs(*wanted[:2]), keeps=any(one.at_once for one in wanted.metrics))
    log = ReadLog(on_bytes=progress)
    tallies = _streamed(collected, source.rows(log), wanted.metrics, on)
    kept = _kept(wanted, collected.needs.left_out())
    # Models load only now that every reply has been looked at and has what it must have.
    tallies |= _measure_together(collected, tuple(one for one in kept if one.at_once))
    index = collected.index()
    fits = fitted(kept, tallies, rows_of(fit_on, index))
    made = _made(started, kept)
    return Result(
        replies=index,
        metrics=fits.metrics,
        tallies={one.statistics: tallies[one.statistics] for one in kept},
        ratings=collected.ratings.build(),
        provenance=Provenance(
            source=source.arguments(),
            lacking=wanted.lacking,
            seed=seed,
            fitted=fits.here,
            warnings=(*collected.told(log), *fits.warnings, *changed_since(wanted.like, made["models"])),
            **collected.counted(log),
            **made,
        ),
    )


class Wanted(NamedTuple):
    """What to score with."""

    metrics: tuple[Metric[Any], ...]
    lacking: str
    like: Result | None
    licence: licences.Choice | None


@dataclass
class Collected:
    """All that is kept of the replies while they stream by: texts only for metrics that need all at once."""

    lint: Lint
    needs: Needs
    keeps: bool = False
    examples: list[Example] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    systems: dict[str, int] = field(default_factory=dict)
    system: list[Ints] = field(default_factory=list)
    by_id: list[Ints] = field(default_factory=list)
    by_context: list[Ints] = field(default_factory=list)
    ratings: RatingsBuilder = field(default_factory=RatingsBuilder)
    data: Any = field(default_factory=sha256)
    warnings: list[str] = field(default_factory=list)
    undefined: dict[str, list[str]] = field(default_factory=dict)
    """By the reason, the replies that a metric could not measure."""

    def batches(self, rows: Iterator[Row]) -> Iterator[Sequence[Example]]:
        """The examples, some at a time; none once something is lacking, but all are looked at."""
        while batch := list(islice(rows, BATCH)):
            for row in batch:
                self._note(row)
            examples = [row.example for row in batch]
            self.system.append(
                np.array(
                    [self.systems.setdefault(one.system, len(self.systems)) for one in examples], np.int64
                )
            )
            self.by_id.append(hashes([row.unit or row.example.id for row in batch]))
            self.by_context.append(_by_context(batch, self.by_id[-1]))
            self.needs.check(examples)
            if self.keeps:
                self.examples += examples
            if not self.needs.stops:
                yield examples

    def index(self) -> ReplyIndex:
        """Which replies there were, and which of them reply to the same."""
        system, by_id, by_context = map(np.concatenate, (self.system, self.by_id, self.by_context))
        shared = _shares_ids(system, by_id)
        if shared:
            self._warn_of_odd_ids(by_id, by_context)
        return ReplyIndex(tuple(self.ids), tuple(self.systems), system, by_id if shared else by_context)

    def counted(self, log: ReadLog) -> dict[str, Any]:
        """Which replies there were, for the record: a hash of them, and how many."""
        data = f"sha256:{self.data.hexdigest()}"
        return {"data": data, "replies": len(self.ids), "skipped": log.problem_count}

    def told(self, log: ReadLog) -> list[str]:
        """What was left out for what the replies lack, and what is odd about them."""
        return [
            *_told(self.needs.left_out()),
            *self.lint.warnings(log),
            *self.warnings,
            *map(_undefined_warning, self.undefined.items()),
        ]

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

    def _note(self, row: Row) -> None:
        self.data.update(canonical(row.example))
        self.lint.add(row)
        if row.ratings:
            self.ratings.add(len(self.ids), row.ratings)
        self.ids.append(row.example.id)


def _by_context(batch: Sequence[Row], by_id: Ints) -> Ints:
    """A number for what each reply replies to: its context, or what tells its id where there is none."""
    found = by_id.copy()
    places = [place for place, row in enumerate(batch) if row.example.context and row.unit is None]
    turns = [batch[place].example.context for place in places]
    found[places] = hashes(["".join([f"{len(turn)}:{turn}" for turn in some]) for some in turns])
    return found


def _shares_ids(system: Ints, by_id: Ints) -> bool:
    """Whether systems reply to the same ids; where each has its own, contexts tell what belongs together."""
    by_system = by_id + system * np.int64(-0x4B47D0C5A9F1E1B3)  # a number for "this id, this system"
    return len(np.unique(by_system)) > len(np.unique(by_id))


def _check(lacking: str, seed: int) -> None:
    if lacking not in POLICIES:
        raise MetricError(f"lacking is '{lacking}'; it must be one of: {', '.join(POLICIES)}.")
    if seed < 0:
        raise MetricError(f"The seed is {seed}; it must be 0 or above.")


def _streamed(
    collected: Collected, rows: Iterator[Row], chosen: Sequence[Metric[Any]], on: Executor | None
) -> dict[Hashable, Tally]:
    """The statistics that are made while replies are read; what is lacking is told after the last."""
    streamed = tuple(one for one in chosen if not one.at_once)
    tallies = _measure_all(collected.batches(rows), streamed, on, collected.undefined)
    collected.needs.raise_lacks()
    if not collected.ids:
        raise DataError("There is not one reply to score.")
    return tallies


def _kept(wanted: Wanted, left_out: Mapping[str, Sequence[Metric[Any]]]) -> tuple[Metric[Any], ...]:
    """The metrics that are not left out; licences of what they are made with are announced."""
    kept = tuple(one for one in wanted.metrics if not any(one in gone for gone in left_out.values()))
    if not kept:
        raise MetricError(f"No metric is left: not one reply has {' or '.join(left_out)}.")
    licences.announce(asset_names_of(kept), wanted.licence)
    return kept


def _told(left_out: Mapping[str, Sequence[Metric[Any]]]) -> list[str]:
    return [
        f"No reply has {need}, so these were left out: {', '.join(map(str, metrics))}."
        for need, metrics in left_out.items()
    ]


def _undefined_warning(replies_by_reason: tuple[str, list[str]]) -> str:
    reason, replies = replies_by_reason
    shown, more = ", ".join(replies[:_SHOWN]), len(replies) - _SHOWN
    count = "1 reply has" if len(replies) == 1 else f"{len(replies)} replies have"
    return f"{count} no {reason}: {shown}{f' and {more} more' if more > 0 else ''}."


def _made(started: datetime, metrics: Sequence[Metric[Any]]) -> dict[str, Any]:
    """How, when and by what a run was made."""
    return {
        "models": {signature(model): model.fingerprint for one in metrics for model in one.backends},
        "licences": licences.describe(asset_names_of(metrics)),
        "versions": versions(neural=any(one.at_once for one in metrics)),
        "command": join_without_secrets(sys.argv),
        "started": started.isoformat(timespec="seconds"),
        "seconds": round((datetime.now(UTC) - started).total_seconds(), 3),
    }


def _wanted(
    metrics: Sequence[Metric[Any] | str] | Metric[Any] | str | None,
    like: Result | str | Path | None,
    real: str | Path | None,
    lacking: str | None,
    licence: str | None,
) -> Wanted:
    """The metrics and what to do where they lack something, as the run that is named, or named one by one."""
    choice = licences.read_choice(licence)
    run = Result.load(like) if isinstance(like, str | Path) else like
    if metrics is None:
        metrics = run.metrics if run else suite("lexical")
        lacking = lacking or (run.provenance.lacking if run else "leave-out")
    chosen = fitted_as_in(run, _chosen(metrics, real, choice))
    return Wanted(chosen, lacking or "stop", run, choice)


def _chosen(
    metrics: Sequence[Metric[Any] | str] | Metric[Any] | str, real: str | Path | None, licence: str | None
) -> tuple[Metric[Any], ...]:
    given = [metrics] if isinstance(metrics, (str, Metric)) else metrics
    every = [
        one
        for each in given
        for one in (read_metrics(each, licence=licence) if isinstance(each, str) else [each])
    ]
    for one in every:
        if not isinstance(one, Metric):
            raise MetricError(
                f"{one!r} is no metric; name one, such as 'bleu-4', or make one, such as ds.Bleu()."
            )
    if not every:
        raise MetricError("There is no metric to score with; name at least one, such as bleu.")
    compared = every if real is None else _compared_with(every, str(real))
    return tuple(
        check_licences(
            list(dict.fromkeys(each for one in compared for each in (one, *one.companions))), licence
        )
    )


def _compared_with(metrics: Sequence[Metric[Any]], real: str) -> list[Metric[Any]]:
    """The metrics, those that compare a system with people's replies with those of a corpus."""
    able = [one for one in metrics if setting_types(type(one)).get("real") is Corpus]
    if not able:
        raise MetricError(
            "--real (real=) is for metrics that compare a system with people, such as fbd and prd."
        )
    chosen: dict[str, Any] = {"real": real}
    return [replace(one, **chosen) if one in able else one for one in metrics]


class _Measured(NamedTuple):
    """What metrics measured in a batch."""

    tallies: list[Tally]
    undefined: dict[str, list[str]]
    """By the reason, the replies that a metric could not measure."""

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
    makers = {one.statistics: one for one in reversed(metrics)}
    parts: dict[Hashable, list[Tally]] = {key: [] for key in makers}
    for measures in _mapped(batches, tuple(makers.values()), on):
        for key, tally in zip(makers, measures.tallies, strict=True):
            parts[key].append(tally)
        measures.add_undefined(undefined)
    return {key: makers[key].tally.joined(parts.pop(key)) for key in makers}


def _measure_together(collected: Collected, metrics: Sequence[Metric[Any]]) -> dict[Hashable, Tally]:
    """The statistics of metrics that measure all replies at once, each kind once; notes are collected."""
    batch = Batch(collected.examples)
    makers = {one.statistics: one for one in reversed(metrics)}
    measures = _measure(batch, tuple(makers.values()))
    measures.add_undefined(collected.undefined)
    collected.warnings += dict.fromkeys(note for one in metrics for note in one.warnings(batch))
    return dict(zip(makers, measures.tallies, strict=True))


def _mapped(
    batches: Iterator[Sequence[Example]], metrics: tuple[Metric[Any], ...], on: Executor | None
) -> Iterator[_Measured]:
    """The measures of each batch in the order of the batches, some of them worked on ahead."""
    if on is None:
        for batch in batches:
            yield _measure(batch, metrics)
        return
    waiting: deque[Future[_Measured]] = deque()
    for batch in batches:
        waiting.append(on.submit(_measure, batch, metrics))
        if len(waiting) >= AHEAD:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _measure(examples: Sequence[Example], metrics: tuple[Metric[Any], ...]) -> _Measured:
    batch = examples if isinstance(examples, Batch) else Batch(examples)
    for one in metrics:
        with plugin_named(type(one)):
            one.announce(batch)
    tallies = []
    for one in metrics:
        with plugin_named(type(one)):
            tallies.append(measure_once(one, batch))
    for one, tally in zip(metrics, tallies, strict=True):
        if len(tally) != len(batch):
            raise MetricError(
                f"{one} measured {len(tally)} replies where there are {len(batch)}; it has a bug."
            )
    return _Measured(tallies, {reason: _names(batch, places) for reason, places in batch.undefined.items()})


def _names(batch: Batch, places: set[int]) -> list[str]:
    replies = [batch[place] for place in sorted(places)]
    return [f"{example.id!r} of {example.system!r}" for example in replies]
