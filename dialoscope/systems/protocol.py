"""Systems under test, which reply to contexts.

A system is a frozen dataclass, a description that is cheap to make, compare and sign. Its resources (a
process, a connection, weights) exist while a session is open. Settings that cannot change a reply (timeouts,
numbers of retries) are fields with `compare=False`, and are not in the signature.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, NamedTuple, Protocol

from dialoscope.core.errors import BackendError


class Question(NamedTuple):
    """A context to reply to, and the number of the sample."""

    id: str
    context: tuple[str, ...]
    sample: int = 0
    seed: int = 0
    """The seed of random choices; another one for each sample."""


class NoAnswer(NamedTuple):
    """The reason why there is no reply."""

    reason: str


class Session(Protocol):
    """An open connection to a system, used by one thread."""

    def answers(self, questions: Sequence[Question]) -> Iterator[str | NoAnswer]:
        """Yield a reply to each question, in order; an exception ends the whole run."""


class System(ABC):
    """A system that replies to contexts; it replies to the last turn."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    name: ClassVar[str]
    version: ClassVar[int] = 1
    at_once: ClassVar[int] = 1
    """Preferred number of questions in a call."""
    usual_workers: ClassVar[int] = 1
    """Default number of parallel sessions."""
    most_workers: ClassVar[int | None] = None
    """Maximum number of parallel sessions that gain speed."""
    packages: ClassVar[tuple[str, ...]] = ()
    """Packages whose versions may change replies."""

    @property
    @abstractmethod
    def label(self) -> str:
        """The default name of the system in tables."""

    @property
    def fingerprint(self) -> str:
        """A hash of the resources, if there is one: another hash is another system."""
        return ""

    @property
    def asset_names(self) -> tuple[str, ...]:
        """The names of the assets that it uses."""
        return ()

    def check_samples(self, samples: int) -> None:
        """Refuse zero samples, and several where all would be the same."""
        if samples < 1:
            raise BackendError(f"samples is {samples}; it must be 1 or more.")

    @abstractmethod
    def opened(self) -> AbstractContextManager[Session]:
        """Open a session; its resources are released when it closes."""

    def reply(self, contexts: Sequence[Sequence[str]], samples: int = 1, seed: int = 0) -> list[list[str]]:
        """`samples` replies to each context; an error if any has none."""
        self.check_samples(samples)
        questions = [
            Question(str(number), tuple(context), sample, seed + sample)
            for number, context in enumerate(contexts, 1)
            for sample in range(samples)
        ]
        with self.opened() as session:
            replies = [_text(answer) for answer in session.answers(questions)]
        return [replies[begin : begin + samples] for begin in range(0, len(replies), samples)]


def _text(answer: str | NoAnswer) -> str:
    if isinstance(answer, NoAnswer):
        raise BackendError(answer.reason)
    return answer
