"""The union of two runs, so that a system of one can be compared with a system of the other."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dialoscope.core.arrays import Ints
from dialoscope.core.errors import RunError
from dialoscope.core.safe_text import printable
from dialoscope.core.signature import signature
from dialoscope.metrics import Metric
from dialoscope.runs.rating_columns import Ratings
from dialoscope.runs.result import ReplyIndex, Result


def union(first: Result, second: Result, metrics: Sequence[str] | None = None) -> Result:
    """The replies of both runs with the metrics that both have, or those of them that are named.

    Systems of the same name are called `1:name` and `2:name`. Replies with the same id (or, where the runs
    know no ids that systems share, to the same context) are replies to the same.
    """
    shared = _find_shared(first, second, metrics)
    return Result(
        replies=_replies(first, second),
        metrics=shared.metrics,
        tallies={
            metric.statistics: metric.tally.joined(
                [run.tallies[metric.statistics] for run in (first, second)]
            )
            for metric in shared.metrics
        },
        ratings=_ratings(first, second),
        provenance=replace(
            first.provenance,
            data=f"{first.provenance.data} {second.provenance.data}",
            source=None,
            replies=len(first.replies) + len(second.replies),
            skipped=first.provenance.skipped + second.provenance.skipped,
            models={**second.provenance.models, **first.provenance.models},
            licences={**second.provenance.licences, **first.provenance.licences},
            warnings=shared.warnings,
            fitted=(),
        ),
    )


class _SharedMetrics(NamedTuple):
    """The metrics that both runs were scored with."""

    metrics: tuple[Metric[Any], ...]
    warnings: tuple[str, ...]


def _find_shared(first: Result, second: Result, names: Sequence[str] | None) -> _SharedMetrics:
    ours, theirs = (_metrics_by_label(run, names) for run in (first, second))
    common = {name: metric for name, metric in ours.items() if name in theirs}
    for name, metric in common.items():
        _check_scale(name, metric, theirs[name])
        _check_models(name, metric, first, second)
    if not common and (names is None or names):
        raise RunError(
            f"The runs have no metric in common: the first has {', '.join(ours) or 'none of them'}, the "
            f"second {', '.join(theirs) or 'none of them'}. Score one with --scales-from and the other."
        )
    alone = (("first", ours.keys() - theirs.keys()), ("second", theirs.keys() - ours.keys()))
    warnings = [f"Only the {which} run has {', '.join(sorted(names))}." for which, names in alone if names]
    return _SharedMetrics(tuple(common.values()), tuple(warnings))


def _metrics_by_label(run: Result, names: Sequence[str] | None) -> Mapping[str, Metric[Any]]:
    """The metrics of a run by their labels."""
    chosen = run.metrics if names is None else [run.named(name) for name in names]
    return {run.label(metric): metric for metric in chosen}


def _check_scale(name: str, metric: Metric[Any], other: Metric[Any]) -> None:
    if metric != other:
        raise RunError(
            f"{name} has a scale of its own in each run, so that its numbers cannot be compared: "
            f"{metric.signature} and {other.signature}. Score one of them with --scales-from and the other "
            "run, or name the metrics to compare (--metric) and leave it out."
        )


def _check_models(name: str, metric: Metric[Any], first: Result, second: Result) -> None:
    for model in map(signature, metric.backends):
        ours, theirs = (run.provenance.models.get(model) for run in (first, second))
        if ours != theirs:
            raise RunError(
                f"The model behind {name} is not the same in both runs: {model} has the hash {ours} in the "
                f"first and {theirs} in the second. Score one of them again, or name the metrics to compare "
                "(--metric) and leave it out."
            )


def _replies(first: Result, second: Result) -> ReplyIndex:
    ours, theirs = first.replies, second.replies
    names = _distinct_names(first.systems, second.systems)
    return ReplyIndex(
        (*ours.ids, *theirs.ids),
        names,
        np.concatenate([ours.system, theirs.system + len(first.systems)]),
        np.concatenate([ours.item, _items_as_in(theirs, ours)]),
    )


def _distinct_names(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    both = set(first) & set(second)
    names = (
        *(f"1:{name}" if name in both else name for name in first),
        *(f"2:{name}" if name in both else name for name in second),
    )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise RunError(f"Two systems would be called '{printable(twice)}'; rename one of them.")
    return names


def _items_as_in(replies: ReplyIndex, other: ReplyIndex) -> Ints:
    """The item of each reply, by the item numbers of the other run.

    Items are hashes of ids if systems of a run share ids, and of contexts if they do not. If only one of the
    runs is of the first kind, replies are matched by id.
    """
    if _shares_ids(replies) == _shares_ids(other):
        return replies.item
    item_of_id = dict(zip(reversed(other.ids), reversed(other.item.tolist()), strict=True))
    items = zip(replies.ids, replies.item.tolist(), strict=True)
    return np.array([item_of_id.get(name, item) for name, item in items], np.int64)


def _shares_ids(replies: ReplyIndex) -> bool:
    """Whether systems reply to the same ids."""
    pairs = set(zip(replies.ids, replies.system.tolist(), strict=True))
    return len(pairs) > len(set(replies.ids))


def _ratings(first: Result, second: Result) -> Ratings:
    ours, theirs = first.ratings, second.ratings
    return Ratings(
        np.concatenate([ours.reply, theirs.reply + len(first.replies)]),
        (*ours.aspect, *theirs.aspect),
        (*ours.rater, *theirs.rater),
        np.concatenate([ours.value, theirs.value]),
        (*ours.notes, *theirs.notes),
    )
