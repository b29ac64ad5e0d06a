"""A file of recorded replies as a system; replies are looked up by id and context."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from dialoscope.core.errors import BackendError
from dialoscope.core.progress import print_notice
from dialoscope.core.records import Example
from dialoscope.core.safe_text import printable
from dialoscope.data.problems import ReadLog
from dialoscope.data.replies import read
from dialoscope.models.corpus import hash_path
from dialoscope.systems.checked_text import as_reply
from dialoscope.systems.protocol import NoAnswer, Question, System


@dataclass(frozen=True)
class RecordedSystem(System):
    """A file of replies; the reply to a context is the one with its id, or else with the same context."""

    name: ClassVar[str] = "recorded"
    at_once: ClassVar[int] = 256
    most_workers: ClassVar[int | None] = 1

    file: str
    """A file in any format that replies can be read from."""
    system: str = ""
    """The system whose replies are used, if the file has those of several."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "file", str(self.file))
        if self.file in ("", "-"):
            raise BackendError("Recorded replies must be in a file, such as file:replies.jsonl.")

    def __str__(self) -> str:
        return self.file

    @property
    def label(self) -> str:
        """The name of the system, or of the file."""
        return self.system or Path(self.file).name.partition(".")[0] or self.file

    @property
    def fingerprint(self) -> str:
        """A hash of the file."""
        if not Path(self.file).exists():
            raise BackendError(f"There is no file {printable(self.file)}.")
        return hash_path(Path(self.file))

    @contextmanager
    def opened(self) -> Iterator["_RecordedSession"]:
        """Read the file."""
        log = ReadLog()
        examples = [row.example for row in read(self.file, on_error="skip").rows(log)]
        if log.problem_count:
            print_notice(f"{self.file}: {log.problem_count} rows have no reply, such as: {log.problems[0]}")
        yield _RecordedSession(self._select(examples))

    def _select(self, examples: Sequence[Example]) -> list[Example]:
        systems = sorted({example.system for example in examples})
        shown = printable(", ".join(systems[:20]))
        if self.system and self.system not in systems:
            raise BackendError(
                f"{printable(self.file)} has no replies of '{printable(self.system)}', but of: {shown}."
            )
        if not self.system and len(systems) > 1:
            raise BackendError(
                f"{printable(self.file)} has the replies of {len(systems)} systems; choose one, as in "
                f"file:FILE,system=NAME: {shown}."
            )
        return [example for example in examples if self.system in ("", example.system)]


class _RecordedSession:
    """The replies by id and by context."""

    def __init__(self, examples: Sequence[Example]) -> None:
        self._by_id: dict[str, list[Example]] = defaultdict(list)
        self._by_context: dict[tuple[str, ...], list[Example]] = defaultdict(list)
        for example in examples:
            self._by_id[example.id].append(example)
            if example.context:
                self._by_context[example.context].append(example)

    def answers(self, questions: Sequence[Question]) -> Iterator[str | NoAnswer]:
        """Look up the questions one by one."""
        return map(self._answer, questions)

    def _answer(self, question: Question) -> str | NoAnswer:
        numbered = self._with_id(f"{question.id}#{question.sample + 1}", question.context)
        if numbered:  # as `respond` writes several replies to one context
            return as_reply(numbered[0].response)
        replies = self._with_id(question.id, question.context) or self._by_context.get(question.context, [])
        if question.sample < len(replies):
            return as_reply(replies[question.sample].response)
        return NoAnswer(
            f"no more than {len(replies)} to this are recorded" if replies else "no reply to this is recorded"
        )

    def _with_id(self, name: str, context: tuple[str, ...]) -> list[Example]:
        """The replies with an id, unless they have another context."""
        return [example for example in self._by_id.get(name, ()) if example.context in ((), context)]
