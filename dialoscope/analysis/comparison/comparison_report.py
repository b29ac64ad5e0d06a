"""The report of a comparison of systems."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from dialoscope.analysis.comparison.best_system import best_systems
from dialoscope.analysis.comparison.contrast import POWER, Contrast
from dialoscope.analysis.comparison.gate import GateVerdict, format_difference
from dialoscope.analysis.comparison.ordering import Ordering
from dialoscope.analysis.comparison.system_pairs import SystemPair
from dialoscope.core.errors import DialoscopeError
from dialoscope.core.render.document import Report, choose_notes, group, list_signatures
from dialoscope.core.render.sections import Grid, GridCell, NoteLines, Quantity, Section, number, p_value
from dialoscope.core.safe_text import printable


class Bar(NamedTuple):
    """A difference in a forest plot."""

    label: str
    value: float
    low: float
    high: float
    group: str


@dataclass(frozen=True, repr=False)
class Comparisons(Report):
    """A row for each metric and pair of systems, and the outcome of the gates."""

    contrasts: tuple[Contrast, ...]
    """Metric by metric, each with the pairs in the same order."""
    orderings: tuple[Ordering, ...]
    """The orderings of the systems, where every pair of three or more was compared."""
    verdicts: tuple[GateVerdict, ...]
    confidence: float
    strict: bool
    draws: int
    """Random halves of the contexts, from which intervals and tests are made."""
    seed: int
    about: tuple[str, ...]
    """Notes on the contexts and tests."""

    @property
    def passed(self) -> bool:
        """Whether every gate lets the release through."""
        return all(verdict.ok for verdict in self.verdicts)

    def contrast(self, metric: str, a: str, b: str) -> Contrast:
        """The contrast of two systems by a metric."""
        for contrast in self.contrasts:
            if (contrast.metric, contrast.a, contrast.b) == (metric, a, b):
                return contrast
        names = dict.fromkeys(
            f"{contrast.metric} of {contrast.a} and {contrast.b}" for contrast in self.contrasts
        )
        raise DialoscopeError(f"There is no {metric} of {a} and {b} here; there is: {', '.join(names)}.")

    def sections(self, *, notes: bool = False) -> list[Section]:
        """The order of many systems, the rows, how to read them, the gates."""
        grids = [_order_grid(self.orderings)] if self.orderings else []
        grids.append(_grid(self.contrasts, named=len(self._pairs) > 1))
        gates: list[Section] = [_gate_grid(self.verdicts), NoteLines(self.outcome())] if self.verdicts else []
        return [*grids, NoteLines(self.notes(details=notes)), *gates]

    def rows(self) -> list[dict[str, Any]]:
        """One record for each metric and pair."""
        return list(map(asdict, self.contrasts))

    def content(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {
            "confidence": self.confidence,
            "strict": self.strict,
            "draws": self.draws,
            "seed": self.seed,
            "passed": self.passed if self.verdicts else None,
            "comparisons": self.rows(),
            "orderings": list(map(asdict, self.orderings)),
            "gates": list(map(asdict, self.verdicts)),
            "notes": self.about,
        }

    def notes(self, *, details: bool = False) -> list[str]:
        """The notes: all of them, or the short ones."""
        tested = sum(not math.isnan(contrast.p) for contrast in self.contrasts)
        short_notes = [
            *self.about,
            f"difference: B - A [{100 * self.confidence:g}% interval]; p: paired test; Holm: p corrected for "
            f"the {tested} test{'s' * (tested != 1)} made here; verdict: what B is, where that p is below "
            f"{1 - self.confidence:.2g}.",
            *(["Systems that share a letter are not surely different."] if self.orderings else []),
            *self._reasons(),
            *self._gaps(),
        ]
        more = [
            "effect: mean difference in standard deviations over contexts; better/equal/worse: share of "
            "contexts in which B is that (higher/equal/lower where neither end is better); detectable: the "
            f"smallest true difference that a single such test finds {10 * POWER:g} times in 10.",
            f"Intervals and tests are from {self.draws} random halves of the contexts (all of them where "
            f"there are fewer), seed {self.seed}; of metrics of all that a system says from a jackknife.",
        ]
        verdict = best_systems(self.orderings, self.contrasts)  # last, where a terminal ends
        return [*choose_notes(short_notes, more, details=details), *verdict]

    def outcome(self) -> list[str]:
        """The outcome of the gates, in words."""
        count = {name: sum(verdict.verdict == name for verdict in self.verdicts) for name in _OUTCOMES}
        counts = ", ".join(f"{many} {name}" for name, many in count.items() if many)
        unsure = "stop a release (--strict)" if self.strict else "stop nothing without --strict"
        return [
            f"Gates ({100 * self.confidence:g}% confidence, one-sided): {counts}.",
            *([f"Undecided gates {unsure}."] if count["undecided"] else []),
            "The release may go on." if self.passed else "The release is stopped.",
        ]

    def bars(self) -> list[Bar]:
        """Bars of a forest plot: differences in standard deviations of a context; right of 0 B is better."""
        by_pair = sorted(
            self.contrasts, key=lambda contrast: self._pairs.index(SystemPair(contrast.a, contrast.b))
        )
        return [_bar(contrast, "" if self.title else f"{contrast.a} → {contrast.b}") for contrast in by_pair]

    @property
    def axis(self) -> str:
        """The label of the axis, with the unit of the bars."""
        return "difference in SDs of a context; right is better"

    @property
    def title(self) -> str:
        """The two systems, if all bars are of one pair."""
        return f"{self._pairs[0].a} → {self._pairs[0].b}" if len(self._pairs) == 1 else ""

    def signatures(self) -> list[str]:
        """The signatures of the metrics, a line each."""
        return list_signatures((contrast.metric, contrast.signature) for contrast in self.contrasts)

    def __repr__(self) -> str:
        return f"<Comparisons: {len(self._pairs)} pairs, {len(self.contrasts)} tests>"

    def _reasons(self) -> list[str]:
        """Why some differences are undefined."""
        by_reason = group((contrast.why, contrast.metric) for contrast in self.contrasts if contrast.why)
        return [printable(f"{', '.join(metrics)}: {why}.") for why, metrics in by_reason.items()]

    def _gaps(self) -> list[str]:
        """Contexts in which a metric has no value for one of the two."""
        gaps = group(
            (contrast.metric, contrast.contexts - contrast.defined)
            for contrast in self.contrasts
            if not contrast.why and contrast.defined < contrast.contexts
        )
        return [
            printable(f"{metric} lacks a value of A or B in {_from_to(counts)} contexts.")
            for metric, counts in gaps.items()
        ]

    @property
    def _pairs(self) -> list[SystemPair]:
        return list(dict.fromkeys(SystemPair(contrast.a, contrast.b) for contrast in self.contrasts))


_OUTCOMES = ("passed", "undecided", "failed", "undefined")


def _from_to(counts: Sequence[int]) -> str:
    least, most = min(counts), max(counts)
    return str(least) if least == most else f"{least} to {most}"


def _grid(contrasts: Sequence[Contrast], *, named: bool) -> Grid:
    """A row for each metric and pair; the systems are named in each row where there are several pairs."""
    ends = ["A", "B"] if named else [contrasts[0].a, contrasts[0].b]
    values = ["A's", "B's"] if named else ends
    tail = ["difference", "p", "Holm", "effect", "better/equal/worse", "detectable", "verdict"]
    head = ["metric", *(ends if named else []), *values, *tail]
    return Grid(head, [_row(contrast, named=named) for contrast in contrasts], stub=3 if named else 1)


def _row(contrast: Contrast, *, named: bool) -> list[GridCell]:
    return [
        contrast.metric,
        *([contrast.a, contrast.b] if named else []),
        number(contrast.a_value),
        number(contrast.b_value),
        Quantity(contrast.difference, contrast.low, contrast.high, form=format_difference),
        p_value(contrast.p),
        p_value(contrast.p_holm),
        "–" if math.isnan(contrast.effect) else f"{contrast.effect:+.2f}",
        _shares(contrast),
        format_difference(contrast.detectable).removeprefix("+"),
        contrast.verdict,
    ]


def _shares(contrast: Contrast) -> str:
    """Better, equal, worse in percent; higher, equal, lower where neither end is better."""
    if math.isnan(contrast.equal):
        return "–"
    ends = (
        [contrast.higher, contrast.lower]
        if contrast.higher_is_better is not False
        else [contrast.lower, contrast.higher]
    )
    return f"{100 * ends[0]:.0f}/{100 * contrast.equal:.0f}/{100 * ends[1]:.0f} %"


def _order_grid(orderings: Sequence[Ordering]) -> Grid:
    """A row for each metric, the systems from the first place to the last."""
    most = max(len(ordering.places) for ordering in orderings)
    rows = []
    for ordering in orderings:
        places = [f"{ranked.system} {number(ranked.value)} {ranked.letters}" for ranked in ordering.places]
        rows.append([ordering.metric, *places, *[""] * (most - len(places))])
    return Grid(["order", *(f"{rank}." for rank in range(1, most + 1))], rows)


def _gate_grid(verdicts: Sequence[GateVerdict]) -> Grid:
    rows = [
        [
            verdict.gate,
            verdict.a,
            verdict.b,
            format_difference(verdict.difference),
            verdict.verdict,
            verdict.why,
        ]
        for verdict in verdicts
    ]
    return Grid(["gate", "A", "B", "difference", "verdict", "why"], rows)


def _bar(contrast: Contrast, group: str) -> Bar:
    unit = contrast.error * math.sqrt(contrast.contexts)
    unit = unit if unit > 0 else math.nan
    turn = -1 if contrast.higher_is_better is False else 1
    low, high = (contrast.low, contrast.high) if turn > 0 else (-contrast.high, -contrast.low)
    name = contrast.metric if contrast.higher_is_better is not None else f"{contrast.metric} (right: higher)"
    return Bar(name, turn * contrast.difference / unit, low / unit, high / unit, group)
