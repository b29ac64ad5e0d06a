"""Perturbed replies to be scored: a system for each perturbation and ratio."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from dialoscope.core.random import seeded_random
from dialoscope.core.records import Example
from dialoscope.data.layout import Row
from dialoscope.data.perturb.perturbations import PERTURBATIONS, Cycles, pair_replies
from dialoscope.data.perturb.plan import REAL, PerturbationPlan
from dialoscope.data.perturb.real_replies import RealReplies, select_real_replies
from dialoscope.data.problems import ReadLog
from dialoscope.data.replies import RowSource


@dataclass(frozen=True)
class Perturbed:
    """Replies by people and their perturbed versions, of which each ratio uses a share.

    A reply that is perturbed at a ratio is perturbed at every higher one, too, in the same way; the same
    replies are chosen for every perturbation, except that `swap` perturbs both of a pair or neither.
    """

    real: RealReplies
    plan: PerturbationPlan
    cycles: Cycles
    texts: Mapping[str, Sequence[str]]
    """The perturbed version of each reply, by perturbation."""
    origin: Mapping[str, Any] | None
    """The arguments with which `read` reads the real replies again, None if that is impossible."""

    @classmethod
    def of(cls, source: RowSource, plan: PerturbationPlan, log: ReadLog | None = None) -> "Perturbed":
        """Read the real replies and perturb them."""
        real = select_real_replies(source.rows(log or ReadLog()), plan.against)
        texts = [reply.text for reply in real.replies]
        cycles = pair_replies(texts, seeded_random(plan.seed, "order"))
        perturbed = {
            name: PERTURBATIONS[name](texts, cycles, seeded_random(plan.seed, name))
            for name in plan.perturbations
        }
        return cls(real, plan, cycles, perturbed, source.arguments())

    def rows(self, log: ReadLog) -> Iterator[Row]:
        """Yield every reply of every system."""
        systems = {
            self.plan.system(perturbation, ratio): (perturbation, ratio)
            for perturbation, ratio in product(self.plan.perturbations, self.plan.ratios)
        }
        for system in sorted(systems, key=lambda name: name != REAL):  # real replies first
            for reply, text in zip(self.real.replies, self.system_texts(*systems[system]), strict=True):
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

    def system_texts(self, perturbation: str, ratio: float) -> list[str]:
        """Return the replies, this share of them perturbed."""
        texts = [reply.text for reply in self.real.replies]
        for index in self.select(perturbation, ratio):
            texts[index] = self.texts[perturbation][index]
        return texts

    def select(self, perturbation: str, ratio: float) -> list[int]:
        """Return the replies that are perturbed: the first ones of a random order that all ratios share."""
        count = round(ratio * len(self.real.replies))
        if perturbation != "swap":
            return [index for cycle in self.cycles for index in cycle][:count]
        selected: list[int] = []
        for cycle in self.cycles:
            if len(selected) + len(cycle) > count:
                break
            selected += cycle
        return selected

    def count_changed(self, perturbation: str, ratio: float) -> int:
        """Return the number of replies whose text differs from that of the real one."""
        texts = self.system_texts(perturbation, ratio)
        return sum(text != reply.text for text, reply in zip(texts, self.real.replies, strict=True))

    def __iter__(self) -> Iterator[Example]:
        return (row.example for row in self.rows(ReadLog()))

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `read`, and under `perturbed` those of the plan."""
        return {**(self.origin or {}), "perturbed": self.plan.arguments()}

    def size(self) -> int | None:
        """Return 0: nothing remains to be read."""
        return 0
