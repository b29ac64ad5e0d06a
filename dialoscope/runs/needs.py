"""Whether every reply has what the metrics need."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dialoscope.core.errors import MetricError
from dialoscope.core.records import Example
from dialoscope.metrics import Metric

POLICIES = ("stop", "undefined", "leave-out")


@dataclass
class Lack:
    """Replies that have nothing where a metric needs something."""

    count: int = 0
    first: str = ""


@dataclass
class Needs:
    """Counts what is lacking while the replies stream by."""

    metrics: Sequence[Metric[Any]]
    policy: str
    """`stop`, count lacking replies as `undefined`, or `leave-out` metrics that lack it everywhere."""
    seen: int = 0
    lacks: dict[str, Lack] = field(default_factory=dict)

    def check(self, examples: Sequence[Example]) -> None:
        """Take these replies into account."""
        self.seen += len(examples)
        for need in sorted({need for one in self.metrics for need in one.needs}):
            lacking = [example.id for example in examples if not _has(example, need)]
            if lacking:
                lack = self.lacks.setdefault(need, Lack(first=lacking[0]))
                lack.count += len(lacking)

    @property
    def stops(self) -> bool:
        """Whether there is no use in scoring on."""
        return self.policy == "stop" and bool(self.lacks)

    def left_out(self) -> dict[str, list[Metric[Any]]]:
        """By need, the metrics for which not one reply has what they need."""
        if self.policy != "leave-out":
            return {}
        without = [need for need, lack in self.lacks.items() if lack.count == self.seen]
        return {need: [one for one in self.metrics if need in one.needs] for need in without}

    def raise_lacks(self) -> None:
        """Say which metric lacks what, and what can be done."""
        if self.stops:
            lacks = " ".join(self._told(need, lack) for need, lack in self.lacks.items())
            raise MetricError(
                f"{lacks} Add what is missing, leave these metrics out, or count such replies as undefined "
                "with --lacking undefined (lacking='undefined')."
            )

    def _told(self, need: str, lack: Lack) -> str:
        names = [str(one) for one in self.metrics if need in one.needs]
        verb = "needs" if len(names) == 1 else "need"
        none = f"no {need}" if need == "context" else "none"
        return (
            f"{', '.join(names)} {verb} {need}, but {lack.count} of {self.seen} replies have {none} "
            f"(the first is '{lack.first}')."
        )


def _has(example: Example, need: str) -> bool:
    return example.has_context if need == "context" else bool(getattr(example, need))
