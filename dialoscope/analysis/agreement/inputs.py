"""The inputs of a comparison: columns of metrics, ratings, and correlations on other corpora."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dialoscope.analysis.agreement.agreement_notes import note_excluded
from dialoscope.analysis.agreement.agreement_report import ExcludedMetric
from dialoscope.analysis.aspects import standing
from dialoscope.analysis.coefficients import FEWEST, ranks, round_last_digits
from dialoscope.analysis.estimate import Estimate
from dialoscope.analysis.metric_columns import Column, scale_to_safe_range
from dialoscope.analysis.trust.known import load_shipped
from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.errors import DialoscopeError
from dialoscope.core.safe_text import printable
from dialoscope.runs.rating_columns import Ratings
from dialoscope.runs.result import Result

LENGTH = "words"
OVERALL = "overall"
"""The aspect that metrics are evaluated with, or a proxy for it, where it was rated; else all aspects."""


class People(NamedTuple):
    """The mean rating of each reply, on one scale."""

    aspect: str
    """Empty where no ratings vary."""
    values: Floats
    notes: tuple[str, ...]

    @classmethod
    def of(cls, ratings: Ratings, aspect: str | None, rows: Ints, replies: int) -> "People":
        """The ratings of the aspect that metrics are evaluated with."""
        overall = standing(ratings.aspects, OVERALL)
        chosen = (
            [ratings.named(aspect)]
            if aspect is not None
            else [overall]
            if overall
            else sorted(ratings.aspects)
        )
        rated = {name: round_last_digits(ratings.means(name, replies)[rows]) for name in chosen}
        flat = [name for name, values in rated.items() if not _varies(values)]
        notes = [
            f"{printable(name)} is rated the same everywhere, or hardly at all, and says nothing."
            for name in flat
        ]
        standardised = [
            (values - np.nanmean(values)) / np.nanstd(values)
            for name, values in rated.items()
            if name not in flat
        ]
        names = [printable(name) for name in chosen if name not in flat]
        aspects = f"the mean of {', '.join(names)}" if len(names) > 1 else "".join(names)
        return cls(aspects, np.mean(standardised or [np.full(len(rows), np.nan)], axis=0), tuple(notes))


class AgreementInputs(NamedTuple):
    """Columns that can be compared, and what else is known of the replies and of the metrics."""

    columns: Sequence[Column]
    items: Ints
    """The context of each reply, as a number."""
    people: People
    elsewhere: Mapping[str, Estimate]
    """The correlation of metrics with people on other replies."""
    fitted: Collection[str]
    """Metrics that were trained on ratings of these replies."""


def select_columns(
    columns: Iterable[Column], of_systems: Sequence[str]
) -> tuple[list[Column], list[ExcludedMetric]]:
    """The columns that can be compared, sorted by name, and the others, each with the reason."""
    left_out = [
        ExcludedMetric(name, "a value for a system and none for a reply") for name in sorted(of_systems)
    ]
    comparable = []
    for column in sorted(columns, key=lambda each: each.name):
        why = _unusable(column.values)
        if why:
            left_out.append(ExcludedMetric(column.name, why))
        else:
            comparable.append(replace(column, values=scale_to_safe_range(column.values)))
    if len(comparable) < 2:
        reason = f"this run has {len(comparable) or 'none'} that can be compared."
        raise DialoscopeError(
            " ".join([f"Agreement is between two metrics or more, and {reason}", *note_excluded(left_out)])
        )
    return comparable, left_out


def _unusable(values: Floats) -> str:
    """Why a column cannot be compared; empty where it can."""
    defined = values[~np.isnan(values)]
    if len(values) < FEWEST:
        return f"replies: {len(values)}, and {FEWEST} are needed"
    if len(defined) < FEWEST or 2 * len(defined) < len(values):
        return f"undefined for {len(values) - len(defined)} of {len(values)} replies"
    if not _varies(values):
        return f"{defined[0]:g} for every reply"
    return "" if np.isfinite(defined).all() else "infinite for some replies"


def choose_length(name: str | None, columns: Sequence[Column], left_out: Sequence[ExcludedMetric]) -> str:
    """The metric to hold constant; empty where there is none to hold."""
    if name is None or name in {column.name for column in columns}:
        return name or ""
    if name == LENGTH:
        return ""  # nobody need have asked for it
    why = {excluded.metric: excluded.why for excluded in left_out}
    if name in why:
        raise DialoscopeError(f"{printable(name)} cannot be held constant ({why[name]}).")
    names = ", ".join(printable(column.name) for column in columns)
    raise DialoscopeError(f"This run has no {printable(name)} to hold constant; it has: {names}.")


def length_curves(length: Floats) -> list[Floats]:
    """Functions of length, the length first, whose sums follow any curve that metrics draw against it.

    Its logarithm and inverse, which shares of words are made of, and powers of its rank for all else.
    """
    defined = length[~np.isnan(length)]
    rank = np.full(len(length), np.nan)
    rank[~np.isnan(length)] = 2 * (ranks(defined) - 0.5) / len(defined) - 1
    powers = [rank, rank**2, rank**3]
    if defined.min() < 0:
        return [length, *powers, rank**4, rank**5]
    positive = np.maximum(length, defined[defined > 0].min(initial=np.inf))
    return [length, np.log(positive), 1 / positive, *powers]


def _varies(values: Floats) -> bool:
    defined = values[~np.isnan(values)]
    return len(defined) >= FEWEST and bool(defined.min() < defined.max())


def correlations_elsewhere(result: Result) -> dict[str, Estimate]:
    """The correlation of the run's metrics with people on other replies, as far as that was measured."""
    trust = {
        result.label(metric): load_shipped().of(metric) for metric in result.metrics if metric.of_replies
    }
    return {name: Estimate(mean.spearman, mean.low, mean.high) for name, mean in trust.items()}
