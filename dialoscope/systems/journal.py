"""The journal of answers beside an output, from which an interrupted run resumes without asking twice.

A journal is a line of JSON with the identity of the run, then one for each session of the run, and one for
each answer, written at once when it arrives. An incomplete last line is ignored.
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
"""The answer of a system by the id of its row."""


@dataclass
class Progress:
    """The answers and sessions of a run so far."""

    answers: Answers = field(default_factory=dict)
    sessions: list[Mapping[str, Any]] = field(default_factory=list)
    """For each start of the run: time, command and versions."""


def journal_of(output: Path) -> Path:
    """The path of the journal of an output."""
    return output.with_name(f"{output.name}.journal")


class Journal:
    """A journal that several threads write."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor
        self._lock = Lock()

    def note(self, name: str, answer: str | NoAnswer) -> None:
        """Write an answer, which survives a kill of the process, but not a loss of power."""
        columns = {"error": answer.reason} if isinstance(answer, NoAnswer) else {"response": answer}
        self._append({"id": name, **columns})

    def begin(self, session: Mapping[str, Any]) -> None:
        """Write that the run was started or resumed."""
        self._append({"session": session})

    def close(self) -> None:
        """Close the file; later answers are ignored."""
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
def open_journal(path: Path, identity: Mapping[str, Any], before: Progress) -> Iterator[Journal]:
    """Open the journal for appending; a new one begins with the answers of before."""
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
    """Read a journal, which must be of the same run."""
    with path.open("rb") as file:
        lines = [line for line in map(_parse, file) if line]
    head = lines[0] if lines else {}
    if head.get("format") != FORMAT or head.get("version") != VERSION:
        raise RunError(
            f"{printable(str(path))} is no journal of this version of dialoscope. Choose another name for "
            "the output, or start over with --overwrite (overwrite=True)."
        )
    refuse_another(path, head.get("identity") or {}, identity)
    progress = Progress()
    for line in lines[1:]:
        if "session" in line:
            progress.sessions.append(line["session"])
        elif "response" in line:
            progress.answers[line["id"]] = line["response"]
        elif "error" in line:
            progress.answers[line["id"]] = NoAnswer(line["error"])
    return progress


def refuse_another(path: Path, own: Mapping[str, Any], identity: Mapping[str, Any]) -> None:
    """Refuse a file of another run, and name the difference."""
    recorded = {**own, "system": _blank_signature(str(own.get("system")))}
    for name, wanted in identity.items():
        if recorded.get(name) != wanted:
            was, now = (printable(f"{value}"[:200]) for value in (recorded.get(name), wanted))
            raise RunError(
                f"{printable(str(path))} belongs to another run: its {name} is {was}, not {now}. Choose "
                "another name for the output, or start over with --overwrite (overwrite=True)."
            )


def _blank_signature(system: str) -> str:
    """The signature of a system without secrets, which earlier versions recorded in clear."""
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


def _parse(line: bytes) -> dict[str, Any]:
    """The content of a line; nothing for an incomplete one."""
    try:
        content = json.loads(line) if line.endswith(b"\n") else None
    except (ValueError, RecursionError):
        content = None
    return content if isinstance(content, dict) else {}


def _drop_torn_line(descriptor: int) -> None:
    """Remove an incomplete last line."""
    size = end = os.lseek(descriptor, 0, os.SEEK_END)
    while end > 0:
        begin = max(0, end - 4096)
        os.lseek(descriptor, begin, os.SEEK_SET)
        newline = os.read(descriptor, end - begin).rfind(b"\n")
        if newline >= 0:
            end = begin + newline + 1
            break
        end = begin
    if end != size:
        os.ftruncate(descriptor, end)
