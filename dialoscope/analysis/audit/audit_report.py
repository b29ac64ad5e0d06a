"""The report of an audit."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dialoscope.analysis.audit.curve import SURE, AuditCurve
from dialoscope.core.errors import DialoscopeError
from dialoscope.core.render.document import Report, choose_notes, list_signatures
from dialoscope.core.render.sections import Grid, NoteLines, Section, number
from dialoscope.core.safe_text import printable
from dialoscope.data.perturb.plan import format_ratio
from dialoscope.runs.result import Result

_VERDICT_TEXTS: Mapping[str, str] = MappingProxyType(
    {
        "sees": "sees",
        "uneven": "uneven with",
        "unsure": "unsure of",
        "blind": "blind to",
        "fooled": "fooled by",
        "undefined": "undefined with",
        "untested": "untested by",
    }
)


@dataclass(frozen=True, repr=False)
class Audit(Report):
    """A curve for each metric and perturbation, and the run they were made from."""

    result: Result
    curves: tuple[AuditCurve, ...]
    """Metric by metric, each with the perturbations in the same order."""
    about: str
    """Notes on the real replies."""

    def curve(self, metric: str, perturbation: str) -> AuditCurve:
        """The curve of a metric under a perturbation."""
        for curve in self.curves:
            names = curve.metric, str(self.result.named(curve.metric))
            if metric in names and perturbation == curve.perturbation:
                return curve
        names_in_audit = dict.fromkeys(
            name for curve in self.curves for name in (curve.metric, curve.perturbation)
        )
        raise DialoscopeError(
            f"The audit has no {metric} under {perturbation}; it has: {', '.join(names_in_audit)}."
        )

    def sections(self, *, notes: bool = False) -> list[Section]:
        """The table, a line for each metric, and how to read them."""
        return [self.grid(), NoteLines(self.summary()), NoteLines(self.notes(details=notes))]

    def rows(self) -> list[dict[str, Any]]:
        """One record for each metric, perturbation and ratio, with the statistics of the whole curve."""
        return [
            {
                "metric": curve.metric,
                "perturbation": curve.perturbation,
                **point._asdict(),
                "higher_is_better": curve.higher_is_better,
                "shape": curve.shape,
                "worse": curve.worse,
                "spearman": curve.spearman,
                "change": curve.change,
                "p": curve.p,
                "verdict": curve.verdict,
                "signature": curve.signature,
            }
            for curve in self.curves
            for point in curve.points
        ]

    def grid(self) -> Grid:
        """The table of the curves, the values in the order of the ratios."""
        ratios = [format_ratio(point.ratio) for point in self.curves[0].points]
        head = ["metric", "perturbation", *ratios, "shape", "worse", "Spearman", "change", "verdict"]
        return Grid(head, list(map(_row, self.curves)), stub=2)

    def summary(self) -> list[str]:
        """The perturbations that each metric sees and does not see, a line for each metric."""
        metrics = dict.fromkeys(curve.metric for curve in self.curves)
        return [printable(f"{name}: {'; '.join(self._summarize(name))}") for name in metrics]

    def notes(self, *, details: bool = False) -> list[str]:
        """The notes: all of them, or the short ones."""
        verdicts = (
            "sees: worse at the end, never better on the way; uneven: worse at the end, better on the way; "
            "fooled: better at the end; blind: flat; unsure: the ends differ by no more than chance "
            f"(p ≥ {SURE:g}, paired test, not corrected for the number of tests)."
        )
        steps = (
            "worse: steps at which the value got worse; Spearman: of ratio and badness; "
            "change: from the first value to the last."
        )
        return choose_notes([self.about, verdicts], [steps], details=details)

    def signatures(self) -> list[str]:
        """The signatures of the metrics, a line each."""
        return list_signatures((curve.metric, curve.signature) for curve in self.curves)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the run behind the audit into a folder, all or nothing."""
        return self.result.save(folder, overwrite=overwrite)

    def __repr__(self) -> str:
        return f"<Audit: {len(self.result.metrics)} metrics, {len(self.curves)} curves>"

    def _summarize(self, metric: str) -> Iterator[str]:
        curves = [curve for curve in self.curves if curve.metric == metric]
        by_verdict = {
            verdict: [curve.perturbation for curve in curves if curve.verdict == verdict]
            for verdict in _VERDICT_TEXTS
        }
        if len(by_verdict["undefined"]) == len(curves):
            yield "undefined"
            return
        yield from (
            f"{_VERDICT_TEXTS[verdict]} {', '.join(names)}" for verdict, names in by_verdict.items() if names
        )
        shapes = [f"{curve.shape} with {curve.perturbation}" for curve in curves if curve.verdict == "–"]
        if shapes:
            yield f"neither end is better, so nothing is expected ({', '.join(shapes)})"


def _row(curve: AuditCurve) -> list[str]:
    worse = "–" if curve.worse is None else f"{curve.worse}/{len(curve.steps)}"
    spearman = "–" if math.isnan(curve.spearman) else f"{curve.spearman:.2f}"
    change = "–" if math.isnan(curve.change) else re.sub(r"^[+-]0 ", "0 ", f"{100 * curve.change:+.0f} %")
    values = [number(point.value) for point in curve.points]
    return [curve.metric, curve.perturbation, *values, curve.shape, worse, spearman, change, curve.verdict]
