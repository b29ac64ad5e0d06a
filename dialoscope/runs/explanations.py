"""Why a reply has its value, where a metric can tell which turn or which of its parts it is owed to."""

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

if TYPE_CHECKING:
    from dialoscope.runs.result import Result

SHOWN = 10


class Explanation(NamedTuple):
    """The turn that a reply's value is owed to most."""

    id: str
    system: str
    value: float
    turn: int
    """Counted from 1, the oldest turn of the context."""
    strength: float
    """How much this turn alone speaks against the reply, between 0 and 1."""

    def lines(self, said: Example | None) -> str:
        """For a person; with what was said, if that is known."""
        head = f"{printable(self.id)}, {printable(self.system)}: {self.value:.3f}"
        if said is None or len(said.context) < self.turn:
            return f"{head}; most against it: turn {self.turn} of its context ({self.strength:.3f})"
        turn, reply = printable(said.context[self.turn - 1]), printable(said.response)
        return f"{head}\n  turn {self.turn} ({self.strength:.3f}): {turn}\n  reply: {reply}"


class Makeup(NamedTuple):
    """What the parts of a metric add to a reply's value."""

    id: str
    system: str
    value: float
    parts: Mapping[str, float | None]
    """By name; nothing where a part is undefined."""

    def lines(self, said: Example | None) -> str:
        """For a person; with what was said, if that is known."""
        head = f"{printable(self.id)}, {printable(self.system)}: {self.value:.3f}"
        known = sorted((-abs(added), name, added) for name, added in self.parts.items() if added is not None)
        told = [f"{name} {added:+.3f}" for _, name, added in known]
        told += [f"{name} undefined" for name, added in self.parts.items() if added is None]
        reply = f"\n  reply: {printable(said.response)}" if said else ""
        return f"{head}\n  {', '.join(told)}{reply}"


def explained(result: "Result", one: Metric[Any]) -> "list[Explanation] | list[Makeup]":
    """Of each reply with a reason, the one with the strongest first; of a metric with parts, the lowest."""
    tally = result.tallies[one.statistics]
    parts = one.contributions(tally)
    if parts is not None:
        return _made_up(result, one, parts)
    reasons = one.reasons(tally)
    if reasons is None:
        raise DialoscopeError(
            f"{one} cannot say what a value is owed to; self-consistency and composite can."
        )
    found = zip(result.replies.ids, result.replies.system.tolist(), result.values(one), reasons, strict=True)
    explanations = [
        Explanation(name, result.systems[system], float(value), reason.turn + 1, reason.strength)
        for name, system, value, reason in found
        if reason
    ]
    return sorted(explanations, key=lambda each: -each.strength)


def _made_up(result: "Result", one: Metric[Any], parts: Mapping[str, Floats]) -> list[Makeup]:
    columns = {
        name: [None if math.isnan(added) else added for added in column.tolist()]
        for name, column in parts.items()
    }
    found = zip(result.replies.ids, result.replies.system.tolist(), result.values(one).tolist(), strict=True)
    made = [
        Makeup(name, result.systems[system], value, {part: column[row] for part, column in columns.items()})
        for row, (name, system, value) in enumerate(found)
        if not math.isnan(value)
    ]
    return sorted(made, key=lambda each: each.value)


def told(explanations: Sequence[Explanation | Makeup], said: Mapping[tuple[str, str], Example]) -> str:
    """The first explanations, and how many there are."""
    lines = [each.lines(said.get((each.id, each.system))) for each in explanations[:SHOWN]]
    more = len(explanations) - SHOWN
    return "\n".join([*lines, *([f"… and {more} more; all of them: --json"] if more > 0 else [])])


def as_json(explanations: Sequence[Explanation | Makeup]) -> str:
    """A list of objects."""
    return json.dumps([each._asdict() for each in explanations], ensure_ascii=False, indent=1)


def texts(result: "Result", wanted: Iterable[Explanation | Makeup]) -> dict[tuple[str, str], Example]:
    """What was said in these replies and before them, by id and system.

    A run keeps no texts, so the data is read again: nothing comes back where it is gone or has changed.
    """
    keys = {(each.id, each.system) for each in wanted}
    source = dict(result.provenance.source or {})
    paths, _, perturbed = (source.pop(name, None) for name in ("paths", "names", "perturbed"))
    if not paths or perturbed or "-" in paths:
        return {}
    digest, found = sha256(), {}
    try:
        for example in read(*paths, **source):
            digest.update(canonical_bytes(example))
            if (example.id, example.system) in keys:
                found[example.id, example.system] = example
    except (DialoscopeError, TypeError):
        return {}
    return found if result.provenance.data == f"sha256:{digest.hexdigest()}" else {}
