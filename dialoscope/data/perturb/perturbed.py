"""Perturbed replies as something to score: a system for each perturbation and ratio."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from dialoscope.core.random import chance
from dialoscope.core.records import Example
from dialoscope.data.layout import Row
from dialoscope.data.perturb.perturbations import PERTURBATIONS, Cycles, exchanges
from dialoscope.data.perturb.plan import REAL, Plan
from dialoscope.data.perturb.real_replies import RealReplies, real_replies
from dialoscope.data.problems import ReadLog
from dialoscope.data.replies import RowSource


@dataclass(frozen=True)
class Perturbed:
    """Real replies with what each perturbation makes of them; a ratio says how many of these are used.

    What is perturbed at a ratio is perturbed at every higher one too, and in the same way; the same replies
    are chosen for every perturbation, save that `swap` perturbs both of a pair or neither.
    """

    real: RealReplies
    plan: Plan
    cycles: Cycles
    made: Mapping[str, Sequence[str]]
    """By perturbation, what becomes of each reply."""
    origin: Mapping[str, Any] | None
    """What `read` must be given to read the real replies again, if that can be done."""

    @classmethod
    def of(cls, source: RowSource, plan: Plan, log: ReadLog | None = None) -> "Perturbed":
        """Read the real replies and perturb them."""
        real = real_replies(source.rows(log or ReadLog()), plan.against)
        texts = [reply.text for reply in real.replies]
        cycles = exchanges(texts, chance(plan.seed, "order"))
        made = {
            name: PERTURBATIONS[name](texts, cycles, chance(plan.seed, name)) for name in plan.perturbations
        }
        return cls(real, plan, cycles, made, source.arguments())

    def rows(self, log: ReadLog) -> Iterator[Row]:
        """Every reply of every system."""
        systems = {
            self.plan.system(perturbation, ratio): (perturbation, ratio)
            for perturbation, ratio in product(self.plan.perturbations, self.plan.ratios)
        }
        for system in sorted(systems, key=lambda name: name != REAL):  # the real ones first
            for reply, text in zip(self.real.replies, self.texts(*systems[system]), strict=True):
                log.rows += 1
                example = Example(
                    reply.id,
                    system,
                    text,
                    reply.context,
                    reply.references,
                    reply.group,
                    reply.speakers,
                    reply.dialogue,
                )
                yield Row(example, perturbed=True)

    def texts(self, perturbation: str, ratio: float) -> list[str]:
        """The replies, so many of them perturbed so."""
        texts = [reply.text for reply in self.real.replies]
        for place in self.chosen(perturbation, ratio):
            texts[place] = self.made[perturbation][place]
        return texts

    def chosen(self, perturbation: str, ratio: float) -> list[int]:
        """Which replies are perturbed: so many from the start of one and the same random order."""
        wanted = round(ratio * len(self.real.replies))
        if perturbation != "swap":
            return [place for cycle in self.cycles for place in cycle][:wanted]
        chosen: list[int] = []
        for cycle in self.cycles:
            if len(chosen) + len(cycle) > wanted:
                break
            chosen += cycle
        return chosen

    def changed(self, perturbation: str, ratio: float) -> int:
        """How many replies have another text than the real ones."""
        texts = self.texts(perturbation, ratio)
        return sum(text != reply.text for text, reply in zip(texts, self.real.replies, strict=True))

    def __iter__(self) -> Iterator[Example]:
        return (row.example for row in self.rows(ReadLog()))

    def arguments(self) -> dict[str, Any]:
        """What `read` must be given, and under `perturbed` what must then be done to what it reads."""
        return {**(self.origin or {}), "perturbed": self.plan.arguments()}

    def size(self) -> int | None:
        """Nothing is left to be read."""
        return 0
