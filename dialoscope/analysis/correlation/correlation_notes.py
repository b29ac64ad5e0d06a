"""The notes below tables of correlations."""

import math
from collections.abc import Iterable, Iterator, Sequence

from dialoscope.analysis.correlation.estimates import (
    Correlation,
    CorrelationSettings,
    Kind,
    RatedAspect,
    capitalize_name,
)
from dialoscope.analysis.correlation.levels import FEW_SYSTEMS
from dialoscope.core.render.document import group
from dialoscope.core.render.sections import p_value
from dialoscope.core.safe_text import printable

_SHOWN = 10


def list_notes(
    settings: CorrelationSettings, aspects: Sequence[RatedAspect], cells: Sequence[Correlation]
) -> list[str]:
    """Notes on the numbers, on what is missing, and on why a number is undefined."""
    percent = f"{100 * settings.confidence:g}%"
    down = ["↓: lower is better, so that a negative value is what it should be."]
    return [
        f"[low, high]: {percent} interval; p: corrected for the number of metrics (Holm).",
        *(down if any(cell.higher_is_better is False for cell in cells) else []),
        *_note_few_systems(settings, cells),
        *_explain_ceilings(settings.kinds[0], aspects),
        *_note_unrated(aspects),
        *_note_system_metrics(cells),
        *_note_missing_values(settings, cells),
        *_explain_undefined(settings, cells),
    ]


def reading_details(settings: CorrelationSettings, cells: Sequence[Correlation]) -> Iterator[str]:
    """Notes on intervals and tests, and on the further columns."""
    if any(kind.level == "reply" for kind in settings.kinds):
        contexts = f"{settings.contexts} context{'s' * (settings.contexts != 1)}"
        halves = min(settings.random_draws.draws, 2 ** min(settings.contexts, 60) - 1)
        yield (
            f"Over replies both are from {halves} random halves of the {contexts}, and say "
            "what other contexts would give with these systems and raters."
        )
    if any(kind.level == "system" for kind in settings.kinds):
        yield (
            "Over systems the interval says what other systems of this kind would give (Fisher's z), and p "
            f"is from up to {settings.random_draws.permutations} permutations of the systems. Values "
            "of systems that have few contexts are noisy, which brings a correlation over systems nearer "
            "to 0."
        )
    titles = {kind.head: kind.title for kind in settings.kinds[1:]}
    if titles:
        yield (
            "; ".join(f"{head}: {capitalize_name(settings.main)} {title}" for head, title in titles.items())
            + "."
        )
    yield from _note_missing_groups(settings, cells)
    if "cosine" in settings.coefficients:
        yield "p of a cosine: that of Pearson's, as a cosine of positive numbers is never near 0."


def _note_missing_groups(settings: CorrelationSettings, cells: Sequence[Correlation]) -> Iterator[str]:
    """The number of groups that a mean is over, where some have no coefficient."""
    for kind in settings.kinds:
        means = [
            cell for cell in cells if cell.kind == kind and cell.coefficient == settings.main and cell.groups
        ]
        counts = [cell.groups for cell in means if cell.groups is not None]
        if counts and min(counts) < (whole := means[0].of or 0):
            number = f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else f"{min(counts)}"
            yield f"{kind.head}: {number} of {whole} have a coefficient; the value is the mean of these."


def _note_few_systems(settings: CorrelationSettings, cells: Iterable[Correlation]) -> Iterator[str]:
    of_systems = [cell.n for cell in cells if cell.level == "system"]
    most = max(of_systems, default=0)
    if of_systems and most < FEW_SYSTEMS:
        least = f"; no p is below {p_value(2 / math.factorial(most))}" if most > 2 else ""
        yield (
            f"{most or 'No'} system{'s' * (most != 1)} with a value and a rating: over fewer than "
            f"{FEW_SYSTEMS} a correlation says next to nothing{least}."
        )


def _explain_ceilings(kind: Kind, aspects: Sequence[RatedAspect]) -> Iterator[str]:
    if any(not math.isnan(aspect.ceiling_at(kind)) for aspect in aspects):
        yield "ceiling: the correlation that a metric without any error would have, given the raters' noise."
    for aspect in aspects:
        if aspect.why and kind == Kind("reply", "overall"):
            yield f"The ceiling of {printable(aspect.name)} is unknown: {printable(aspect.why)}."


def _note_unrated(aspects: Sequence[RatedAspect]) -> Iterator[str]:
    for aspect in aspects:
        if aspect.rated < aspect.replies:
            unrated = f"{aspect.replies - aspect.rated} of {aspect.replies} replies"
            yield f"{unrated} have no rating of {printable(aspect.name)}."


def _note_system_metrics(cells: Sequence[Correlation]) -> Iterator[str]:
    of = {level: [cell.metric for cell in cells if cell.level == level] for level in ("reply", "system")}
    alone = [printable(name) for name in dict.fromkeys(of["system"]) if name not in of["reply"]]
    if of["reply"] and alone:
        yield f"A value for a system and none for a reply: {_shorten(alone)}."


def _note_missing_values(settings: CorrelationSettings, cells: Sequence[Correlation]) -> Iterator[str]:
    """The number of replies without a value; metrics with the same number in one note."""
    by_count = group((cell.undefined, printable(cell.metric)) for cell in cells if cell.undefined)
    for count, metrics in by_count.items():
        yield f"{count} of {settings.replies} replies have no value of {_shorten(metrics)}."


def _explain_undefined(settings: CorrelationSettings, cells: Sequence[Correlation]) -> Iterator[str]:
    """Why coefficients, and the intervals that are shown, are undefined; a note for each reason."""
    shown = settings.kinds[0], settings.main
    undefined = [
        cell
        for cell in cells
        if cell.why and (math.isnan(cell.value) or (cell.kind, cell.coefficient) == shown)
    ]
    by_reason = group(((cell.aspect, _where(cell), cell.why), printable(cell.metric)) for cell in undefined)
    lines = [
        f"{printable(aspect)}, {where}{_shorten(metrics)}: {why}."
        for (aspect, where, why), metrics in by_reason.items()
    ]
    yield from lines[:_SHOWN]
    if len(lines) > _SHOWN:
        yield f"… and for {len(lines) - _SHOWN} more reasons; all of them: --json (json())."


def _where(cell: Correlation) -> str:
    return f"{cell.kind.title}, {'is undefined for ' if math.isnan(cell.value) else ''}"


def _shorten(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
