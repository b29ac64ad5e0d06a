"""The reply-level numbers of a run as columns: those of its metrics, and scores by other programs."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dialoscope.core.arrays import Floats
from dialoscope.core.errors import DialoscopeError
from dialoscope.core.records import Score
from dialoscope.core.safe_text import printable
from dialoscope.runs.result import Result
from dialoscope.runs.score_columns import Scores


@dataclass(frozen=True, eq=False)
class Column:
    """One number for each reply of a run; NaN where it is undefined."""

    name: str
    signature: str
    """The signature of the metric; empty where it is not known."""
    values: Floats
    higher_is_better: bool | None = None


def columns(result: Result, scores: Scores | Iterable[Score] | None = None) -> tuple[Column, ...]:
    """Every metric with a value for replies, in the run's order, then the scores by other programs."""
    ours = [
        Column(result.label(metric), metric.signature, result.values(metric), metric.higher_is_better)
        for metric in result.metrics
        if metric.of_replies
    ]
    others = None if scores is None else Scores.of(result.replies, scores)
    theirs = (
        []
        if others is None
        else [Column(name, "", values) for name, values in zip(others.metrics, others.values.T, strict=True)]
    )
    shared_names = {column.name for column in ours} & {column.name for column in theirs}
    if shared_names:
        named = printable(", ".join(sorted(shared_names)))
        raise DialoscopeError(f"The scores name {named}, which the run has as well; rename them.")
    return (*ours, *theirs)


def scale_to_safe_range(values: Floats) -> Floats:
    """The values, multiplied by a power of two if their squares would overflow or vanish."""
    size = float(np.nanmax(np.abs(values), initial=0.0))
    return values if size == 0 or 1e-100 < size < 1e100 else np.ldexp(values, -math.frexp(size)[1])


def system_level_metrics(result: Result) -> tuple[str, ...]:
    """The metrics that have a value for a system and none for a reply."""
    return tuple(result.label(metric) for metric in result.metrics if not metric.of_replies)
