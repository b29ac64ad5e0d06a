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
    """Whether the difference must not be below the margin; else it must not be above."""
    margin: float
    relative: bool
    """Whether the margin is a part of the first system's value."""

    @classmethod
    def of(cls, text: str) -> "Gate":
        """Parse a gate such as `bleu-4>=-0.01` or `perplexity<=2%`."""
        match = _GATE.fullmatch(text)
        if not match or not math.isfinite(float(match["margin"])):
            raise DialoscopeError(
                f"The gate '{printable(text)}' is not understood; write METRIC>=-MARGIN, such as "
                "'bleu-4>=-0.01' or 'bleu-4>=-2%', and METRIC<=MARGIN where lower is better; in quotes, "
                "since a shell takes > and < for itself."
            )
        percent = match["percent"] == "%"
        margin = float(match["margin"]) / (100 if percent else 1)
        return cls(match["metric"], match["sign"] == ">=", margin, percent)

    def __str__(self) -> str:
        margin = f"{100 * self.margin:g}%" if self.relative else f"{self.margin:g}"
        return f"{self.metric}{'>=' if self.at_least else '<='}{margin}"

    def check_direction(self, higher_is_better: bool | None) -> None:
        """Refuse a gate that would pass what is worse."""
        if higher_is_better is not None and higher_is_better != self.at_least:
            opposite = Gate(self.metric, not self.at_least, -self.margin, self.relative)
            raise DialoscopeError(
                f"The gate '{printable(str(self))}' would stop what is better: {printable(self.metric)} is "
                f"better when {'higher' if higher_is_better else 'lower'}. "
                f"Write '{printable(str(opposite))}'."
            )


@dataclass(frozen=True)
class GateVerdict:
    """The outcome of a gate."""

    gate: str
    a: str
    b: str
    difference: float
    low: float
    """The difference is surely no lower (with the confidence asked for, on this side alone)."""
    high: float
    """The difference is surely no higher."""
    margin: float
    """The margin as a difference."""
    verdict: str
    """passed, failed, undecided, or undefined."""
    ok: bool
    """Whether the release may go on."""
    why: str


FEWEST = 20
"""Contexts without which a gate decides nothing: with fewer, bounds fail more often than they say."""


def evaluate_gate(
    gate: Gate,
    pair: tuple[str, str],
    difference: Difference,
    confidence: float,
    draws: Resamples,
    *,
    strict: bool,
) -> GateVerdict:
    """Whether the claim is surely true, surely false, or neither.

    Surely is one-sided: a gate asks about one end alone.
    """
    # B - A ≥ m·|A| is B - (1 ± m)·A ≥ 0: that A's value is uncertain too is part of the bounds.
    weight = 1 + gate.margin * math.copysign(1, difference.first) if gate.relative else 1.0
    margin = (weight - 1) * difference.first if gate.relative else gate.margin
    bounds = difference.bounds(confidence, draws, weight)
    low, high = (end + (weight - 1) * difference.first for end in bounds)
    enough = difference.contexts >= FEWEST
    verdict = _verdict(gate, Interval(low, high), margin, enough=enough)
    return GateVerdict(
        str(gate),
        *pair,
        difference=difference.value,
        low=low,
        high=high,
        margin=margin,
        verdict=verdict,
        ok=verdict == "passed" or (verdict == "undecided" and not strict),
        why=_why(gate, verdict, difference, Interval(low, high), enough=enough),
    )


def _verdict(gate: Gate, bounds: Interval, margin: float, *, enough: bool) -> str:
    if math.isnan(bounds.low) or (gate.relative and margin == 0 != gate.margin):
        return "undefined"
    if not enough:
        return "undecided"
    low, high = bounds if gate.at_least else (-bounds.high, -bounds.low)
    least = margin if gate.at_least else -margin
    return "passed" if low >= least else "failed" if high < least else "undecided"


def _why(gate: Gate, verdict: str, difference: Difference, bounds: Interval, *, enough: bool) -> str:
    if verdict == "undefined":
        undefined = [
            name for name, value in (("A", difference.first), ("B", difference.second)) if math.isnan(value)
        ]
        if undefined:
            return f"{' and '.join(undefined)} {'have' if len(undefined) > 1 else 'has'} no value"
        nothing = gate.relative and difference.first == 0
        return "a part of 0 is nothing" if nothing else "the bounds of the difference are unknown"
    if not enough:
        few = f"{difference.contexts} context{'s are' if difference.contexts != 1 else ' is'} too few"
        return f"{few}; a gate needs {FEWEST}"
    if verdict == "undecided":
        return (
            f"anything from {format_difference(bounds.low)} to {format_difference(bounds.high)} is possible"
        )
    sure_of_low = (verdict == "passed") == gate.at_least
    end = (
        f"lower than {format_difference(bounds.low)}"
        if sure_of_low
        else f"higher than {format_difference(bounds.high)}"
    )
    return f"surely no {end}"


def format_difference(value: float) -> str:
    """Format a difference with its sign and at least two significant digits."""
    small = 0 < abs(value) < 0.1
    text = f"{value:.{1 - math.floor(math.log10(abs(value)))}f}" if small else number(value)
    return f"+{text}" if value > 0 else text
