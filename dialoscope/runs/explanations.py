"""Why a reply has its value, where the notes of a metric name a turn or the parts that it is due to."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from dialoscope.core.arrays import Floats
from dialoscope.core.errors import DialoscopeError
from dialoscope.core.records import Example
from dialoscope.core.safe_text import printable
from dialoscope.data.canonical import canonical_bytes
from dialoscope.data.replies import read
from dialoscope.metrics import Metric
from dialoscope.metrics.shared.base import TurnEffects

if TYPE_CHECKING:
    from dialoscope.runs.result import Result

SHOWN = 10
"""The number of explanations that are shown."""


class TurnExplanation(NamedTuple):
    """The turn of its context that lowers the value of a reply most."""

    id: str
    system: str
    value: float
    turn: int
    """Counted from 1, the oldest turn of the context."""
    strength: float
    """The strength of the evidence of this turn alone against the reply, between 0 and 1."""

    def text(self, example: Example | None) -> str:
        """Lines for a person, with the texts if the example is known."""
        head = f"{printable(self.id)}, {printable(self.system)}: {self.value:.3f}"
        if example is None or len(example.context) < self.turn:
            return f"{head}; most against it: turn {self.turn} of its context ({self.strength:.3f})"
        turn, reply = printable(example.context[self.turn - 1]), printable(example.response)
        return f"{head}\n  turn {self.turn} ({self.strength:.3f}): {turn}\n  reply: {reply}"


class PartsExplanation(NamedTuple):
    """The contributions of the parts of a metric to the value of a reply."""

    id: str
    system: str
    value: float
    parts: Mapping[str, float | None]
    """The parts by name; None where a part is undefined."""

    def text(self, example: Example | None) -> str:
        """Lines for a person, with the reply if the example is known."""
        head = f"{printable(self.id)}, {printable(self.system)}: {self.value:.3f}"
        defined = [(-abs(added), name, added) for name, added in self.parts.items() if added is not None]
        parts = [f"{name} {added:+.3f}" for _, name, added in sorted(defined)]
        parts += [f"{name} undefined" for name, added in self.parts.items() if added is None]
        reply = f"\n  reply: {printable(example.response)}" if example else ""
        return f"{head}\n  {', '.join(parts)}{reply}"


def explain(result: "Result", metric: Metric[Any]) -> "list[TurnExplanation] | list[PartsExplanation]":
    """An explanation for each reply that has one: the strongest turns first, or the lowest values."""
    notes = metric.notes(result.tallies[metric.statistics])
    if notes.parts is not None:
        return _explain_by_parts(result, metric, notes.parts)
    if notes.turns is not None:
        return _explain_by_turns(result, metric, notes.turns)
    raise DialoscopeError(f"{metric} cannot explain its values; self-consistency and composite can.")


def _explain_by_turns(result: "Result", metric: Metric[Any], turns: TurnEffects) -> list[TurnExplanation]:
    index, values = result.replies, result.values(metric).tolist()
    columns = zip(
        index.ids, index.system.tolist(), values, turns.turn.tolist(), turns.strength.tolist(), strict=True
    )
    explanations = [
        TurnExplanation(reply, result.systems[system], value, int(turn) + 1, strength)
        for reply, system, value, turn, strength in columns
        if not math.isnan(turn)
    ]
    return sorted(explanations, key=lambda explanation: -explanation.strength)


def _explain_by_parts(
    result: "Result", metric: Metric[Any], parts: Mapping[str, Floats]
) -> list[PartsExplanation]:
    columns = {
        name: [None if math.isnan(added) else added for added in column.tolist()]
        for name, column in parts.items()
    }
    index, values = result.replies, result.values(metric).tolist()
    rows = enumerate(zip(index.ids, index.system.tolist(), values, strict=True))
    explanations = [
        PartsExplanation(reply, result.systems[system], value, {name: columns[name][row] for name in columns})
        for row, (reply, system, value) in rows
        if not math.isnan(value)
    ]
    return sorted(explanations, key=lambda explanation: explanation.value)


def as_text(
    explanations: Sequence[TurnExplanation | PartsExplanation], examples: Mapping[tuple[str, str], Example]
) -> str:
    """The first explanations, and the number of those that are not shown."""
    lines = [each.text(examples.get((each.id, each.system))) for each in explanations[:SHOWN]]
    more = len(explanations) - SHOWN
    return "\n".join([*lines, *([f"… and {more} more; all of them: --json"] if more > 0 else [])])


def as_json(explanations: Sequence[TurnExplanation | PartsExplanation]) -> str:
    """A list of objects."""
    return json.dumps([each._asdict() for each in explanations], ensure_ascii=False, indent=1)


def read_examples(
    result: "Result", wanted: Iterable[TurnExplanation | PartsExplanation]
) -> dict[tuple[str, str], Example]:
    """The examples that these explanations are of, by id and system.

    A run stores no texts, so its data is read again. The result is empty if the data is gone or has changed.
    """
    keys = {(each.id, each.system) for each in wanted}
    source = dict(result.provenance.source or {})
    paths, _, perturbed = (source.pop(name, None) for name in ("paths", "names", "perturbed"))
    if not paths or perturbed or "-" in paths:
        return {}
    digest, examples = sha256(), {}
    try:
        for example in read(*paths, **source):
            digest.update(canonical_bytes(example))
            if (example.id, example.system) in keys:
                examples[example.id, example.system] = example
    except (DialoscopeError, TypeError):
        return {}
    return examples if result.provenance.data == f"sha256:{digest.hexdigest()}" else {}
