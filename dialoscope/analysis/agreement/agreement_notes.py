"""Notes on the agreement of metrics."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from dialoscope.analysis.agreement.agreement_report import AgreementSettings, ExcludedMetric
from dialoscope.analysis.agreement.clustered import View
from dialoscope.core.render.document import group
from dialoscope.core.safe_text import printable
from dialoscope.runs.resampling import fewest_blocks

IN_WORDS: Mapping[str, str] = MappingProxyType({"pearson": "Pearson's r", "spearman": "Spearman's ρ"})


def list_notes(settings: AgreementSettings, plain: View, rest: View | None) -> list[str]:
    """The notes on the numbers."""
    contexts = "1 context" if settings.contexts == 1 else f"{settings.contexts} contexts"
    whose = f" of {printable(settings.system)}" if settings.system else ""
    over = f"{IN_WORDS[settings.coefficient]} over {settings.replies} replies{whose} to {contexts}"
    ends = (
        f"; [low, high]: {100 * settings.confidence:g}% interval from {settings.draws} random halves of the "
        f"contexts (seed {settings.seed})."
    )
    enough = settings.contexts >= fewest_blocks(settings.confidence)
    notes = [
        over + (ends if enough else ", which are too few for intervals."),
        "r: █ 0.8 or more, ▓ 0.6, ▒ 0.4, ░ 0.2, · -0.2, - -0.6, = less; blank: undefined.",
    ]
    turned = [name for name, sign in zip(plain.names, plain.signs, strict=True) if sign < 0]
    if turned:
        notes.append(
            f"Lower is better for {_join_names(turned)}: clustered, and judged, with the sign turned."
        )
    undefined = int(np.isnan(plain.r).sum()) // 2
    if undefined:
        notes.append(f"Pairs of metrics without r: {undefined}. They count as if it were 0; --csv says why.")
    if rest is None:
        notes.append("Length was not held constant.")
    gone = [name for name in plain.names if rest is not None and name not in (*rest.names, settings.length)]
    if gone:
        notes.append(
            f"With {printable(settings.length)} held constant nothing is left of {_join_names(gone)}."
        )
    return notes


def reading_details(settings: AgreementSettings, rest: View | None) -> Iterator[str]:
    """Explanations of the columns, and of holding length constant."""
    yield (
        "mean r, weakest: of the pairs within a cluster; stability: mean Jaccard index of the most similar "
        "cluster in each half; just so: the share of halves that have this very cluster."
    )
    if rest is not None:
        yield f"{printable(settings.length)} held constant: without any curve of it, not only a line."


def note_excluded(left_out: Sequence[ExcludedMetric]) -> list[str]:
    """The metrics that were left out, by reason."""
    reasons = group((excluded.why, excluded.metric) for excluded in left_out)
    return [f"Left out: {_join_names(names)} ({why})." for why, names in reasons.items()]


def _join_names(names: Sequence[str]) -> str:
    return ", ".join(map(printable, names))
