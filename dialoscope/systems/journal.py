"""What was answered so far, beside the output: a run that is killed goes on from here and asks nothing twice.

A journal is one line of JSON that says which run it belongs to, then one for each time the run was begun, and
one for each answer, written in one go when it comes. A line that was cut off counts as not written.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from dialoscope.core.errors import RunError
from dialoscope.core.files import write_atomically
from dialoscope.core.redaction import without_secrets
from dialoscope.core.safe_text import printable
from dialoscope.systems.protocol import NoAnswer

FORMAT = "dialoscope journal"
VERSION = 1

Answers = dict[str, str | NoAnswer]
"""By the id of its row, what a system said."""


@dataclass
class Progress:
    """How far a run has come."""

    answers: Answers = field(default_factory=dict)
    sessions: list[Mapping[str, Any]] = field(default_factory=list)
    """Each time it was begun or taken up: when, by which command, with which versions."""


def journal_of(output: Path) -> Path:
    """Where the journal of an output is."""
    return output.with_name(f"{output.name}.journal")


class Journal:
    """A journal that is being written, by several threads."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor
        self._lock = Lock()

    def note(self, name: str, answer: str | NoAnswer) -> None:
        """An answer, on the disk when this returns, save for a machine that loses power."""
        kept = {"error": answer.reason} if isinstance(answer, NoAnswer) else {"response": answer}
        self._append({"id": name, **kept})

    def begin(self, session: Mapping[str, Any]) -> None:
        """Note that the run was begun, or taken up."""
        self._append({"session": session})

    def close(self) -> None:
        """What comes later is not noted."""
        with self._lock:
            if self._descriptor is not None:
                os.close(self._descriptor)
            self._descriptor = None

    def _append(self, content: Mapping[str, Any]) -> None:
        line = _line(content)
        with self._lock:
            while line and self._descriptor is not None:
                line = line[os.write(self._descriptor, line) :]


@contextmanager
def opened(path: Path, identity: Mapping[str, Any], before: Progress) -> Iterator[Journal]:
    """The journal, to be added to; where there is none, one that begins with what was known before."""
    if not path.exists():
        _create(path, identity, before)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
    journal = Journal(descriptor)
    try:
        _drop_torn_line(descriptor)
        yield journal
    finally:
        journal.close()


def read_journal(path: Path, identity: Mapping[str, Any]) -> Progress:
    """What a journal holds, which must be of the same run."""
    with path.open("rb") as file:
        lines = [line for line in map(_parsed, file) if line]
    head = lines[0] if lines else {}
    if head.get("format") != FORMAT or head.get("version") != VERSION:
        raise RunError(
            f"{printable(str(path))} is no journal of this version of dialoscope. Choose another name for "
            "the output, or begin anew with --overwrite (overwrite=True)."
        )
    refuse_another(path, head.get("identity") or {}, identity)
    found = Progress()
    for line in lines[1:]:
        if "session" in line:
            found.sessions.append(line["session"])
        elif "response" in line:
            found.answers[line["id"]] = line["response"]
        elif "error" in line:
            found.answers[line["id"]] = NoAnswer(line["error"])
    return found


def refuse_another(path: Path, found: Mapping[str, Any], identity: Mapping[str, Any]) -> None:
    """Say what is different about the run that a file belongs to."""
    recorded = {**found, "system": _blank_signature(str(found.get("system")))}
    for name, wanted in identity.items():
        if recorded.get(name) != wanted:
            was, now = (printable(f"{value}"[:200]) for value in (recorded.get(name), wanted))
            raise RunError(
                f"{printable(str(path))} belongs to another run: its {name} is {was}, not {now}. Choose "
                "another name for the output, or begin anew with --overwrite (overwrite=True)."
            )


def _blank_signature(system: str) -> str:
    """The signature of a system without secrets, which earlier versions recorded as they were."""
    parts = re.fullmatch(r"(command\|command:)(.*)(\|v:\d+)", system, re.DOTALL)
    return f"{parts[1]}{without_secrets(parts[2])}{parts[3]}" if parts else system


def _create(path: Path, identity: Mapping[str, Any], before: Progress) -> None:
    head: Mapping[str, Any] = {"format": FORMAT, "version": VERSION, "identity": identity}
    sessions: list[Mapping[str, Any]] = [{"session": session} for session in before.sessions]
    answers: list[Mapping[str, Any]] = [
        {"id": name, "response": answer}
        for name, answer in before.answers.items()
        if not isinstance(answer, NoAnswer)
    ]
    write_atomically(path, map(_line, [head, *sessions, *answers]))


def _line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content).encode() + b"\n"


def _parsed(line: bytes) -> dict[str, Any]:
    """Nothing for a line that is not whole."""
    try:
        content = json.loads(line) if line.endswith(b"\n") else None
    except (ValueError, RecursionError):
        content = None
    return content if isinstance(content, dict) else {}


def _drop_torn_line(descriptor: int) -> None:
    """So that what comes next begins a line."""
    size = end = os.lseek(descriptor, 0, os.SEEK_END)
    while end > 0:
        begin = max(0, end - 4096)
        os.lseek(descriptor, begin, os.SEEK_SET)
        place = os.read(descriptor, end - begin).rfind(b"\n")
        if place >= 0:
            end = begin + place + 1
            break
        end = begin
    if end != size:
        os.ftruncate(descriptor, end)
