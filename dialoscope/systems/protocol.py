"""What is under test: something that is given contexts and answers.

A system is a frozen dataclass, a description: cheap to make, compare and sign. What it needs (a process, a
connection, weights) is there while a session is open. Settings that cannot change a reply (how long to wait,
how often to try) are fields with `compare=False` and stay out of the signature.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, NamedTuple, Protocol

from dialoscope.core.errors import BackendError


class Question(NamedTuple):
    """One thing a system is asked: a context, and which sample of its replies."""

    id: str
    context: tuple[str, ...]
    sample: int = 0
    seed: int = 0
    """For whatever chance the system has; another for each sample."""


class NoAnswer(NamedTuple):
    """Why there is no reply."""

    reason: str


class Session(Protocol):
    """A system at work, in one thread."""

    def answers(self, questions: Sequence[Question]) -> Iterator[str | NoAnswer]:
        """A reply to each, in their order, as they become ready; an exception ends the whole run."""


class System(ABC):
    """Answers contexts; the last turn of a context is what it is told."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    name: ClassVar[str]
    version: ClassVar[int] = 1
    at_once: ClassVar[int] = 1
    """Questions that a session likes to be given together."""
    usual_workers: ClassVar[int] = 1
    """Sessions at work side by side, where nobody says how many."""
    most_workers: ClassVar[int | None] = None
    """Where more would gain nothing."""
    packages: ClassVar[tuple[str, ...]] = ()
    """Whose versions may show in the replies."""

    @property
    @abstractmethod
    def label(self) -> str:
        """What the system is called in tables, where nobody names it."""

    @property
    def fingerprint(self) -> str:
        """A hash of what is behind the description, where that can be told: another one is another system."""
        return ""

    @property
    def asset_names(self) -> tuple[str, ...]:
        """The names of the assets that its replies are made with."""
        return ()

    def check_samples(self, samples: int) -> None:
        """Refuse to give none, or several where they would all be the same."""
        if samples < 1:
            raise BackendError(f"samples is {samples}; it must be 1 or more.")

    @abstractmethod
    def opened(self) -> AbstractContextManager[Session]:
        """A session; what was started for it ends with it."""

    def reply(self, contexts: Sequence[Sequence[str]], samples: int = 1, seed: int = 0) -> list[list[str]]:
        """`samples` replies to each context; the first that fails is raised."""
        self.check_samples(samples)
        asked = [
            Question(str(place), tuple(context), sample, seed + sample)
            for place, context in enumerate(contexts, 1)
            for sample in range(samples)
        ]
        with self.opened() as session:
            found = [_text(answer) for answer in session.answers(asked)]
        return [found[place : place + samples] for place in range(0, len(found), samples)]


def _text(answer: str | NoAnswer) -> str:
    if isinstance(answer, NoAnswer):
        raise BackendError(answer.reason)
    return answer
