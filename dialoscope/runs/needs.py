"""Missing input: replies without the context, references or group that a metric needs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dialoscope.core.errors import MetricError
from dialoscope.core.records import Example
from dialoscope.metrics import Metric

POLICIES = ("stop", "undefined", "leave-out")
"""The ways to treat a reply with missing input."""


@dataclass
class MissingInput:
    """The replies without one kind of input."""

    count: int = 0
    first: str = ""
    """The id of the first of them."""


@dataclass
class Needs:
    """Counts missing input while the replies stream by."""

    metrics: Sequence[Metric[Any]]
    policy: str
    """`stop`, count replies with missing input as `undefined`, or `leave-out` metrics whose input is missing
    for all replies."""
    seen: int = 0
    missing: dict[str, MissingInput] = field(default_factory=dict)
    """The replies with missing input, by the kind of input."""

    def check(self, examples: Sequence[Example]) -> None:
        """Count the missing input of these replies."""
        self.seen += len(examples)
        for need in sorted({need for metric in self.metrics for need in metric.needs}):
            ids = [example.id for example in examples if not _has(example, need)]
            if ids:
                self.missing.setdefault(need, MissingInput(first=ids[0])).count += len(ids)

    @property
    def stops(self) -> bool:
        """Whether scoring ends with an error."""
        return self.policy == "stop" and bool(self.missing)

    def left_out(self) -> dict[str, list[Metric[Any]]]:
        """The metrics that are left out, by the kind of input that no reply has."""
        if self.policy != "leave-out":
            return {}
        absent = [need for need, missing in self.missing.items() if missing.count == self.seen]
        return {need: [metric for metric in self.metrics if need in metric.needs] for need in absent}

    def raise_missing(self) -> None:
        """Raise an error that names each metric with missing input, and what can be done."""
        if self.stops:
            sentences = " ".join(self._sentence(need, missing) for need, missing in self.missing.items())
            raise MetricError(
                f"{sentences} Add the missing input, leave these metrics out, or count such replies as "
                "undefined with --missing undefined (missing='undefined')."
            )

    def _sentence(self, need: str, missing: MissingInput) -> str:
        names = [str(metric) for metric in self.metrics if need in metric.needs]
        verb = "needs" if len(names) == 1 else "need"
        none = f"no {need}" if need == "context" else "none"
        return (
            f"{', '.join(names)} {verb} {need}, but {missing.count} of {self.seen} replies have {none} "
            f"(the first is '{missing.first}')."
        )


def _has(example: Example, need: str) -> bool:
    return example.has_context if need == "context" else bool(getattr(example, need))
