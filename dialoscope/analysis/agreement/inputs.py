"""What is compared: the columns of metrics, what people said of the replies, what is known from elsewhere."""

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
from dialoscope.analysis.trust.known import shipped
from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.errors import DialoscopeError
from dialoscope.core.safe_text import printable
from dialoscope.runs.rating_columns import Ratings
from dialoscope.runs.result import Result

LENGTH = "words"
OVERALL = "overall"
"""The aspect that advice goes by, or what stands for it, where it was rated; else all together."""


class People(NamedTuple):
    """What people said of each reply, on one scale."""

    aspect: str
    """Empty where they said nothing that varies."""
    values: Floats
    notes: tuple[str, ...]

    @classmethod
    def of(cls, said: Ratings, aspect: str | None, rows: Ints, replies: int) -> "People":
        """The rated aspect that advice goes by."""
        overall = standing(said.aspects, OVERALL)
        chosen = (
            [said.named(aspect)] if aspect is not None else [overall] if overall else sorted(said.aspects)
        )
        rated = {one: round_last_digits(said.means(one, replies)[rows]) for one in chosen}
        flat = [one for one, values in rated.items() if not _varies(values)]
        notes = [
            f"{printable(one)} is rated the same everywhere, or hardly at all, and says nothing."
            for one in flat
        ]
        standardised = [
            (values - np.nanmean(values)) / np.nanstd(values)
            for one, values in rated.items()
            if one not in flat
        ]
        told = [printable(one) for one in chosen if one not in flat]
        aspects = f"the mean of {', '.join(told)}" if len(told) > 1 else "".join(told)
        return cls(aspects, np.mean(standardised or [np.full(len(rows), np.nan)], axis=0), tuple(notes))


class AgreementInputs(NamedTuple):
    """Columns that can be compared, and what else is known of the replies and of the metrics."""

    columns: Sequence[Column]
    items: Ints
    """What each reply replies to."""
    people: People
    elsewhere: Mapping[str, Estimate]
    """How metrics go with people on other replies."""
    fitted: Collection[str]
    """Metrics that learned from ratings of these replies."""


def select_columns(
    found: Iterable[Column], of_systems: Sequence[str]
) -> tuple[list[Column], list[ExcludedMetric]]:
    """The columns that can be compared, by name, so that the run's order never shows; the others with why."""
    left_out = [
        ExcludedMetric(name, "a value for a system and none for a reply") for name in sorted(of_systems)
    ]
    kept = []
    for column in sorted(found, key=lambda one: one.name):
        why = _unusable(column.values)
        if why:
            left_out.append(ExcludedMetric(column.name, why))
        else:
            kept.append(replace(column, values=scale_to_safe_range(column.values)))
    if len(kept) < 2:
        told = f"this run has {len(kept) or 'none'} that can be compared."
        raise DialoscopeError(
            " ".join([f"Agreement is between two metrics or more, and {told}", *note_excluded(left_out)])
        )
    return kept, left_out


def _unusable(values: Floats) -> str:
    """Why a column cannot be compared; empty where it can."""
    known = values[~np.isnan(values)]
    if len(values) < FEWEST:
        return f"replies: {len(values)}, and {FEWEST} are needed"
    if len(known) < FEWEST or 2 * len(known) < len(values):
        return f"undefined for {len(values) - len(known)} of {len(values)} replies"
    if not _varies(values):
        return f"{known[0]:g} for every reply"
    return "" if np.isfinite(known).all() else "infinite for some replies"


def choose_length(name: str | None, kept: Sequence[Column], left_out: Sequence[ExcludedMetric]) -> str:
    """The metric to hold constant; empty where there is none to hold."""
    if name is None or name in {column.name for column in kept}:
        return name or ""
    if name == LENGTH:
        return ""  # nobody need have asked for it
    why = {excluded.metric: excluded.why for excluded in left_out}
    if name in why:
        raise DialoscopeError(f"{printable(name)} cannot be held constant ({why[name]}).")
    known = ", ".join(printable(column.name) for column in kept)
    raise DialoscopeError(f"This run has no {printable(name)} to hold constant; it has: {known}.")


def length_curves(length: Floats) -> list[Floats]:
    """Functions of length, the length first, whose sums follow any curve that metrics draw against it.

    Its logarithm and inverse, which shares of words are made of, and powers of its rank for all else.
    """
    known = length[~np.isnan(length)]
    rank = np.full(len(length), np.nan)
    rank[~np.isnan(length)] = 2 * (ranks(known) - 0.5) / len(known) - 1
    powers = [rank, rank**2, rank**3]
    if known.min() < 0:
        return [length, *powers, rank**4, rank**5]
    some = np.maximum(length, known[known > 0].min(initial=np.inf))
    return [length, np.log(some), 1 / some, *powers]


def _varies(values: Floats) -> bool:
    known = values[~np.isnan(values)]
    return len(known) >= FEWEST and bool(known.min() < known.max())


def correlations_elsewhere(result: Result) -> dict[str, Estimate]:
    """How the run's metrics go with people on other replies, as far as that was measured."""
    known = {result.label(metric): shipped().of(metric) for metric in result.metrics if metric.of_replies}
    return {name: Estimate(one.spearman, one.low, one.high) for name, one in known.items()}
