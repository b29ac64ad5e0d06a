"""Replies that were recorded, as a system: looked up by id and context, and nobody is asked."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from dialoscope.core.errors import BackendError
from dialoscope.core.progress import notice
from dialoscope.core.records import Example
from dialoscope.core.safe_text import printable
from dialoscope.data.problems import ReadLog
from dialoscope.data.replies import read
from dialoscope.models.corpus import hash_path
from dialoscope.systems.checked_text import as_reply
from dialoscope.systems.protocol import NoAnswer, Question, System


@dataclass(frozen=True)
class RecordedSystem(System):
    """A file of replies; a context is answered with the reply to that id, or else to the same context."""

    name: ClassVar[str] = "recorded"
    at_once: ClassVar[int] = 256
    most_workers: ClassVar[int | None] = 1

    file: str
    """In any format that replies can be read from."""
    system: str = ""
    """Whose replies are taken, where the file holds those of several."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "file", str(self.file))
        if self.file in ("", "-"):
            raise BackendError("Recorded replies must be in a file, such as file:replies.jsonl.")

    def __str__(self) -> str:
        return self.file

    @property
    def label(self) -> str:
        """Whose replies these are, or the file's name."""
        return self.system or Path(self.file).name.partition(".")[0] or self.file

    @property
    def fingerprint(self) -> str:
        """A hash of what the file holds."""
        if not Path(self.file).exists():
            raise BackendError(f"There is no file {printable(self.file)}.")
        return hash_path(Path(self.file))

    @contextmanager
    def opened(self) -> Iterator["_Record"]:
        """The file, read."""
        log = ReadLog()
        found = [row.example for row in read(self.file, on_error="skip").rows(log)]
        if log.problem_count:
            notice(f"{self.file}: {log.problem_count} rows hold no reply, such as: {log.problems[0]}")
        yield _Record(self._chosen(found))

    def _chosen(self, examples: Sequence[Example]) -> list[Example]:
        systems = sorted({example.system for example in examples})
        shown = printable(", ".join(systems[:20]))
        if self.system and self.system not in systems:
            raise BackendError(
                f"{printable(self.file)} holds no replies of '{printable(self.system)}', but of: {shown}."
            )
        if not self.system and len(systems) > 1:
            raise BackendError(
                f"{printable(self.file)} holds the replies of {len(systems)} systems; choose one behind the "
                f"file's name, as in file:FILE,system=NAME: {shown}."
            )
        return [one for one in examples if self.system in ("", one.system)]


class _Record:
    """The replies, by what they reply to."""

    def __init__(self, examples: Sequence[Example]) -> None:
        self._by_id: dict[str, list[Example]] = defaultdict(list)
        self._by_context: dict[tuple[str, ...], list[Example]] = defaultdict(list)
        for example in examples:
            self._by_id[example.id].append(example)
            if example.context:
                self._by_context[example.context].append(example)

    def answers(self, questions: Sequence[Question]) -> Iterator[str | NoAnswer]:
        """One after the other."""
        return map(self._answer, questions)

    def _answer(self, question: Question) -> str | NoAnswer:
        numbered = self._under(f"{question.id}#{question.sample + 1}", question.context)
        if numbered:  # as `respond` writes several replies to one context
            return as_reply(numbered[0].response)
        known = self._under(question.id, question.context) or self._by_context.get(question.context, [])
        if question.sample < len(known):
            return as_reply(known[question.sample].response)
        return NoAnswer(
            f"no more than {len(known)} to this are recorded" if known else "no reply to this is recorded"
        )

    def _under(self, name: str, context: tuple[str, ...]) -> list[Example]:
        """The replies of an id, unless they are to something else."""
        return [one for one in self._by_id.get(name, ()) if one.context in ((), context)]
