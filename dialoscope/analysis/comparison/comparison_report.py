"""What a comparison of systems found, in the forms people and machines read."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

from dialoscope.analysis.comparison.best_system import best_systems
from dialoscope.analysis.comparison.contrast import POWER, Contrast
from dialoscope.analysis.comparison.gate import Verdict, signed
from dialoscope.analysis.comparison.ordering import Ordering
from dialoscope.analysis.comparison.system_pairs import Pair
from dialoscope.core.errors import DialoscopeError
from dialoscope.core.render.document import Report, gathered
from dialoscope.core.render.serialization import as_csv, as_json
from dialoscope.core.safe_text import listed_in_markdown, printable
from dialoscope.runs.table import aligned, chance, marked_down, number


class Bar(NamedTuple):
    """A difference in a forest plot."""

    label: str
    value: float
    low: float
    high: float
    group: str


@dataclass(frozen=True, repr=False)
class Comparisons(Report):
    """A row for each metric and pair of systems, and what became of the gates."""

    contrasts: tuple[Contrast, ...]
    """Metric by metric, each with the pairs in the same order."""
    orderings: tuple[Ordering, ...]
    """Where every pair of three or more was compared."""
    verdicts: tuple[Verdict, ...]
    confidence: float
    strict: bool
    draws: int
    """Random halves of the contexts, from which intervals and tests are made."""
    seed: int
    about: tuple[str, ...]
    """What a reader must know of these contexts and tests."""

    @property
    def passed(self) -> bool:
        """Whether every gate lets the release through."""
        return all(one.ok for one in self.verdicts)

    def contrast(self, metric: str, a: str, b: str) -> Contrast:
        """What a metric says of two systems."""
        for one in self.contrasts:
            if (one.metric, one.a, one.b) == (metric, a, b):
                return one
        known = dict.fromkeys(f"{one.metric} of {one.a} and {one.b}" for one in self.contrasts)
        raise DialoscopeError(f"There is no {metric} of {a} and {b} here; there is: {', '.join(known)}.")

    def text(self) -> str:
        """For a terminal or a mail: the rows, the order of many systems, how to read them, the gates."""
        parts = [*map(aligned, self._grids()), "\n".join(self.notes())]
        if self.verdicts:
            parts += [aligned(_gate_grid(self.verdicts)), "\n".join(self.outcome())]
        return "\n\n".join(parts)

    def markdown(self) -> str:
        """For a README or an issue."""
        parts = [*map(marked_down, self._grids()), "\n".join(listed_in_markdown(self.notes()))]
        if self.verdicts:
            outcome = "\n".join(listed_in_markdown(self.outcome()))
            parts += [marked_down(_gate_grid(self.verdicts)), outcome]
        return "\n\n".join(parts)

    def csv(self) -> str:
        """One line for each metric and pair."""
        return as_csv(list(map(asdict, self.contrasts)), list(Contrast.__dataclass_fields__))

    def json(self) -> str:
        """Everything, undefined as null."""
        found = {
            "confidence": self.confidence,
            "strict": self.strict,
            "draws": self.draws,
            "seed": self.seed,
            "passed": self.passed if self.verdicts else None,
            "comparisons": list(map(asdict, self.contrasts)),
            "orderings": list(map(asdict, self.orderings)),
            "gates": list(map(asdict, self.verdicts)),
            "notes": self.about,
        }
        return as_json(found)

    def notes(self) -> list[str]:
        """What a reader must know to read the tables."""
        tested = sum(not math.isnan(one.p) for one in self.contrasts)
        percent = f"{100 * self.confidence:g}%"
        return [
            *self.about,
            f"difference: B - A [{percent} interval]; p: paired test; Holm: p corrected for the {tested} "
            f"test{'s' * (tested != 1)} made here; verdict: what B is, where that p is below "
            f"{1 - self.confidence:.2g}.",
            "effect: mean difference in standard deviations over contexts; better/equal/worse: share of "
            "contexts in which B is that (higher/equal/lower where neither end is better); detectable: the "
            f"smallest true difference that a single such test finds {10 * POWER:g} times in 10.",
            f"Intervals and tests are from {self.draws} random halves of the contexts (all of them where "
            f"there are fewer), seed {self.seed}; of metrics of all that a system says from a jackknife.",
            *(["Systems that share a letter are not surely different."] if self.orderings else []),
            *self._reasons(),
            *self._gaps(),
            *best_systems(self.orderings, self.contrasts),
        ]

    def outcome(self) -> list[str]:
        """What became of the gates, in words."""
        count = {name: sum(one.verdict == name for one in self.verdicts) for name in _OUTCOMES}
        told = ", ".join(f"{many} {name}" for name, many in count.items() if many)
        unsure = "stop a release (--strict)" if self.strict else "stop nothing without --strict"
        return [
            f"Gates ({100 * self.confidence:g}% confidence, one-sided): {told}.",
            *([f"Undecided gates {unsure}."] if count["undecided"] else []),
            "The release may go on." if self.passed else "The release is stopped.",
        ]

    def bars(self) -> list[Bar]:
        """For a forest plot: differences in standard deviations of one context; right of 0 B is better."""
        by_pair = sorted(self.contrasts, key=lambda one: self._pairs.index(Pair(one.a, one.b)))
        return [_bar(one, "" if self.title else f"{one.a} → {one.b}") for one in by_pair]

    @property
    def axis(self) -> str:
        """What the bars are measured in."""
        return "difference in SDs of a context; right is better"

    @property
    def title(self) -> str:
        """Whose bars they are, where all are of one pair."""
        return f"{self._pairs[0].a} → {self._pairs[0].b}" if len(self._pairs) == 1 else ""

    def signatures(self) -> list[str]:
        """How each number was made."""
        return list(dict.fromkeys(printable(f"{one.metric}: {one.signature}") for one in self.contrasts))

    def __repr__(self) -> str:
        return f"<Comparisons: {len(self._pairs)} pairs, {len(self.contrasts)} tests>"

    def _reasons(self) -> list[str]:
        """Why what is not known is not."""
        found = gathered((one.why, one.metric) for one in self.contrasts if one.why)
        return [printable(f"{', '.join(metrics)}: {why}.") for why, metrics in found.items()]

    def _gaps(self) -> list[str]:
        """Contexts in which a metric has no value for one of the two."""
        lacking = gathered(
            (one.metric, one.contexts - one.defined)
            for one in self.contrasts
            if not one.why and one.defined < one.contexts
        )
        return [
            printable(f"{metric} lacks a value of A or B in {_from_to(counts)} contexts.")
            for metric, counts in lacking.items()
        ]

    @property
    def _pairs(self) -> list[Pair]:
        return list(dict.fromkeys(Pair(one.a, one.b) for one in self.contrasts))

    def _grids(self) -> list[list[list[str]]]:
        grids = [_grid(self.contrasts, named=len(self._pairs) > 1)]
        return [_order_grid(self.orderings), *grids] if self.orderings else grids


_OUTCOMES = ("passed", "undecided", "failed", "undefined")


def _from_to(counts: Sequence[int]) -> str:
    least, most = min(counts), max(counts)
    return str(least) if least == most else f"{least} to {most}"


def _grid(contrasts: Sequence[Contrast], *, named: bool) -> list[list[str]]:
    """Texts with a head row; the systems are named in each row where there are several pairs."""
    ends = ["A", "B"] if named else [printable(contrasts[0].a), printable(contrasts[0].b)]
    values = ["A's", "B's"] if named else ends
    tail = ["difference", "p", "Holm", "effect", "better/equal/worse", "detectable", "verdict"]
    head = ["metric", *(ends if named else []), *values, *tail]
    return [head, *(_row(one, named=named) for one in contrasts)]


def _row(one: Contrast, *, named: bool) -> list[str]:
    systems = [printable(one.a), printable(one.b)] if named else []
    interval = "" if math.isnan(one.low) else f" [{signed(one.low)}, {signed(one.high)}]"
    effect = "–" if math.isnan(one.effect) else f"{one.effect:+.2f}"
    return [
        printable(one.metric),
        *systems,
        number(one.a_value),
        number(one.b_value),
        f"{signed(one.difference)}{interval}",
        chance(one.p),
        chance(one.p_holm),
        effect,
        _shares(one),
        signed(one.detectable).removeprefix("+"),
        one.verdict,
    ]


def _shares(one: Contrast) -> str:
    """Better, equal, worse in percent; higher, equal, lower where neither end is better."""
    if math.isnan(one.equal):
        return "–"
    ends = [one.higher, one.lower] if one.higher_is_better is not False else [one.lower, one.higher]
    return f"{100 * ends[0]:.0f}/{100 * one.equal:.0f}/{100 * ends[1]:.0f} %"


def _order_grid(orderings: Sequence[Ordering]) -> list[list[str]]:
    """A row for each metric, the systems from the first place to the last."""
    most = max(len(one.places) for one in orderings)
    rows = [
        [printable(f"{place.system} {number(place.value)} {place.letters}") for place in one.places]
        for one in orderings
    ]
    names = [printable(one.metric) for one in orderings]
    head = ["order", *(f"{place + 1}." for place in range(most))]
    return [head, *([name, *row, *[""] * (most - len(row))] for name, row in zip(names, rows, strict=True))]


def _gate_grid(verdicts: Sequence[Verdict]) -> list[list[str]]:
    head = ["gate", "A", "B", "difference", "verdict", "why"]
    return [
        head,
        *(
            [*map(printable, (one.gate, one.a, one.b)), signed(one.difference), one.verdict, one.why]
            for one in verdicts
        ),
    ]


def _bar(one: Contrast, group: str) -> Bar:
    unit = one.error * math.sqrt(one.contexts)
    unit = unit if unit > 0 else math.nan
    turn = -1 if one.higher_is_better is False else 1
    low, high = (one.low, one.high) if turn > 0 else (-one.high, -one.low)
    name = one.metric if one.higher_is_better is not None else f"{one.metric} (right: higher)"
    return Bar(name, turn * one.difference / unit, low / unit, high / unit, group)
