"""Why a reply has its value, where a metric can tell which turn of the context it is owed to."""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from dialoscope.data import canonical, read
from dialoscope.errors import DialoscopeError
from dialoscope.metrics import Metric
from dialoscope.printable import printable
from dialoscope.records import Example

if TYPE_CHECKING:
    from dialoscope.results.result import Result

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


def explained(result: "Result", one: Metric[Any]) -> list[Explanation]:
    """Of each reply with a reason, the one with the strongest first."""
    reasons = one.reasons(result.tallies[one.statistics])
    if reasons is None:
        raise DialoscopeError(f"{one} cannot say which turn a value is owed to; self-consistency can.")
    found = zip(result.replies.ids, result.replies.system.tolist(), result.values(one), reasons, strict=True)
    explanations = [
        Explanation(name, result.systems[system], float(value), reason.turn + 1, reason.strength)
        for name, system, value, reason in found
        if reason
    ]
    return sorted(explanations, key=lambda each: -each.strength)


def told(explanations: Sequence[Explanation], said: Mapping[tuple[str, str], Example]) -> str:
    """The first explanations, and how many there are."""
    lines = [each.lines(said.get((each.id, each.system))) for each in explanations[:SHOWN]]
    more = len(explanations) - SHOWN
    return "\n".join([*lines, *([f"… and {more} more; all of them: --json"] if more > 0 else [])])


def as_json(explanations: Sequence[Explanation]) -> str:
    """A list of objects."""
    return json.dumps([each._asdict() for each in explanations], ensure_ascii=False, indent=1)


def texts(result: "Result", wanted: Iterable[Explanation]) -> dict[tuple[str, str], Example]:
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
            digest.update(canonical(example))
            if (example.id, example.system) in keys:
                found[example.id, example.system] = example
    except (DialoscopeError, TypeError):
        return {}
    return found if result.provenance.data == f"sha256:{digest.hexdigest()}" else {}
