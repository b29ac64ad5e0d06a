"""Sentences on the best system by each metric, with the significance."""

import math
from collections.abc import Iterator, Sequence

from dialoscope.analysis.comparison.contrast import Contrast
from dialoscope.analysis.comparison.gate import format_difference
from dialoscope.analysis.comparison.ordering import Ordering, RankedSystem
from dialoscope.core.render.document import group
from dialoscope.core.render.sections import p_value
from dialoscope.core.safe_text import printable


def best_systems(orderings: Sequence[Ordering], contrasts: Sequence[Contrast]) -> Iterator[str]:
    """A sentence for each system that is first on some metrics; with its lead if there is one metric only."""
    directed = {contrast.metric for contrast in contrasts if contrast.higher_is_better is not None}
    ranked = [row for row in orderings if row.metric in directed and len(row.places) > 1]
    if len(ranked) == 1:
        yield printable(_sentence(ranked[0], contrasts))
        return
    verdicts = ((f"{row.places[0].system}, {_certainty(row.places)}", row.metric) for row in ranked)
    for verdict, metrics in group(verdicts).items():
        yield printable(f"Best on {', '.join(metrics)}: {verdict}.")


def _sentence(ordering: Ordering, contrasts: Sequence[Contrast]) -> str:
    """The best system, its lead over the second, and the largest p-value of its comparisons."""
    first, second, *_ = (row.system for row in ordering.places)
    rows = [row for row in contrasts if row.metric == ordering.metric and first in (row.a, row.b)]
    lead = _lead(next(row for row in rows if second in (row.a, row.b)))
    values = [row.p_holm for row in rows if not math.isnan(row.p_holm)]
    p = p_value(max(values, default=math.nan))
    return (
        f"Best on {ordering.metric}: {first}, {lead} ahead of {second} and "
        f"{_certainty(ordering.places)} (Holm-corrected p {'' if p.startswith('<') else '≤ '}{p})."
    )


def _certainty(places: Sequence[RankedSystem]) -> str:
    """The significance of the lead of the first system: whether another shares a letter with it."""
    first, *others = places
    rivals = [other.system for other in others if set(other.letters) & set(first.letters)]
    if rivals:
        return f"not significantly better than {', '.join(rivals)}"
    return "significantly better than every other system"


def _lead(contrast: Contrast) -> str:
    """The size of the difference, with its interval turned the same way."""
    turn, ends = (1, (contrast.low, contrast.high))
    if contrast.difference < 0:
        turn, ends = (-1, (contrast.high, contrast.low))
    size, low, high = (
        format_difference(turn * value).removeprefix("+") for value in (contrast.difference, *ends)
    )
    return size if math.isnan(contrast.low) else f"{size} [{low}, {high}]"
