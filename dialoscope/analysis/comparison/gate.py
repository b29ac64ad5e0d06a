"""A release gate: is the new system worse than the old one by more than may be?"""

import math
import re
from dataclasses import dataclass

from dialoscope.core.errors import DialoscopeError
from dialoscope.core.render.sections import number
from dialoscope.core.safe_text import printable
from dialoscope.runs.differences import Difference
from dialoscope.runs.resampling import Interval, Resamples

_GATE = re.compile(
    r"\s*(?P<metric>.+?)\s*(?P<sign>>=|<=)\s*"
    r"(?P<margin>[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*(?P<percent>%?)\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Gate:
    """A claim about the difference of two systems, second less first."""

    metric: str
    at_least: bool
    """Whether the difference must not lie below the margin; else it must not lie above."""
    margin: float
    relative: bool
    """Whether the margin is a part of the first system's value."""

    @classmethod
    def of(cls, text: str) -> "Gate":
        """`bleu-4>=-0.01`, `perplexity<=2%`."""
        found = _GATE.fullmatch(text)
        if not found or not math.isfinite(float(found["margin"])):
            raise DialoscopeError(
                f"The gate '{printable(text)}' is not understood; write METRIC>=-MARGIN, such as "
                "'bleu-4>=-0.01' or 'bleu-4>=-2%', and METRIC<=MARGIN where lower is better; in quotes, "
                "since a shell takes > and < for itself."
            )
        percent = found["percent"] == "%"
        margin = float(found["margin"]) / (100 if percent else 1)
        return cls(found["metric"], found["sign"] == ">=", margin, percent)

    def __str__(self) -> str:
        margin = f"{100 * self.margin:g}%" if self.relative else f"{self.margin:g}"
        return f"{self.metric}{'>=' if self.at_least else '<='}{margin}"

    def check_direction(self, higher_is_better: bool | None) -> None:
        """A gate that lets through what is worse is a slip of the pen."""
        if higher_is_better is not None and higher_is_better != self.at_least:
            turned = Gate(self.metric, not self.at_least, -self.margin, self.relative)
            raise DialoscopeError(
                f"The gate '{printable(str(self))}' would stop what is better: {printable(self.metric)} is "
                f"better when {'higher' if higher_is_better else 'lower'}. Write '{printable(str(turned))}'."
            )


@dataclass(frozen=True)
class GateVerdict:
    """What became of a gate."""

    gate: str
    a: str
    b: str
    difference: float
    low: float
    """The difference is surely no lower (with the confidence asked for, on this side alone)."""
    high: float
    """Nor higher than this."""
    margin: float
    """What was allowed, as a difference."""
    verdict: str
    """passed, failed, undecided, or undefined."""
    ok: bool
    """Whether the release may go on."""
    why: str


FEWEST = 20
"""Contexts without which a gate decides nothing: with fewer, bounds fail more often than they say."""


def evaluate_gate(
    gate: Gate, pair: tuple[str, str], found: Difference, confidence: float, draws: Resamples, *, strict: bool
) -> GateVerdict:
    """Whether the claim is surely true, surely false, or neither.

    Surely is one-sided: a gate asks about one end alone.
    """
    # B - A ≥ m·|A| is B - (1 ± m)·A ≥ 0: that A's value is uncertain too is part of the bounds.
    weight = 1 + gate.margin * math.copysign(1, found.first) if gate.relative else 1.0
    margin = (weight - 1) * found.first if gate.relative else gate.margin
    bounds = found.bounds(confidence, draws, weight)
    low, high = (end + (weight - 1) * found.first for end in bounds)
    enough = found.contexts >= FEWEST
    verdict = _verdict(gate, Interval(low, high), margin, enough=enough)
    return GateVerdict(
        str(gate),
        *pair,
        difference=found.value,
        low=low,
        high=high,
        margin=margin,
        verdict=verdict,
        ok=verdict == "passed" or (verdict == "undecided" and not strict),
        why=_why(gate, verdict, found, Interval(low, high), enough=enough),
    )


def _verdict(gate: Gate, bounds: Interval, margin: float, *, enough: bool) -> str:
    if math.isnan(bounds.low) or (gate.relative and margin == 0 != gate.margin):
        return "undefined"
    if not enough:
        return "undecided"
    low, high = bounds if gate.at_least else (-bounds.high, -bounds.low)
    least = margin if gate.at_least else -margin
    return "passed" if low >= least else "failed" if high < least else "undecided"


def _why(gate: Gate, verdict: str, found: Difference, bounds: Interval, *, enough: bool) -> str:
    if verdict == "undefined":
        lacking = [name for name, value in (("A", found.first), ("B", found.second)) if math.isnan(value)]
        if lacking:
            return f"{' and '.join(lacking)} {'have' if len(lacking) > 1 else 'has'} no value"
        nothing = gate.relative and found.first == 0
        return "a part of 0 is nothing" if nothing else "the bounds of the difference are unknown"
    if not enough:
        few = f"{found.contexts} context{'s are' if found.contexts != 1 else ' is'} too few"
        return f"{few}; a gate needs {FEWEST}"
    if verdict == "undecided":
        return f"anything from {signed(bounds.low)} to {signed(bounds.high)} is possible"
    sure_of_low = (verdict == "passed") == gate.at_least
    end = f"lower than {signed(bounds.low)}" if sure_of_low else f"higher than {signed(bounds.high)}"
    return f"surely no {end}"


def signed(value: float) -> str:
    """A difference, with its sign and at least two digits that count."""
    small = 0 < abs(value) < 0.1
    text = f"{value:.{1 - math.floor(math.log10(abs(value)))}f}" if small else number(value)
    return f"+{text}" if value > 0 else text
