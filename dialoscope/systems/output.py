"""The output file of replies, and the record of the run beside it."""

import json
import platform
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any

from dialoscope.core.errors import RunError
from dialoscope.core.files import check_file_writable, lock, lock_beside, write_atomically
from dialoscope.core.redaction import join_without_secrets, without_secrets
from dialoscope.core.safe_text import printable
from dialoscope.models.registry import licences
from dialoscope.systems.journal import Progress, journal_of, read_journal, refuse_another
from dialoscope.systems.protocol import NoAnswer, System

FORMAT = "dialoscope replies"
VERSION = 1

_INSTEAD = "Choose another name for the output, or replace it with --overwrite (overwrite=True)."


@dataclass(frozen=True)
class Output:
    """An output file of replies, with the journal and the record beside it."""

    path: Path
    identity: Mapping[str, Any]
    """The settings that all answers of a run have in common."""

    @property
    def record(self) -> Path:
        """The path of the record of the run."""
        return self.path.with_name(f"{self.path.name}.run.json")

    @property
    def journal(self) -> Path:
        """The path of the journal, which exists until all answers are there."""
        return journal_of(self.path)

    def lock(self) -> AbstractContextManager[None]:
        """Lock the output; a second process waits, and then finds all answers."""
        waiting = f"Another process writes {self.path}; waiting for it to end."
        return lock(lock_beside(self.path), waiting, temporary=True)

    def check(self) -> None:
        """Refuse an output that cannot be written, before anything is asked."""
        if self.path.is_dir():
            raise RunError(f"{printable(str(self.path))} is a folder; name a file, such as replies.jsonl.")
        if not self.path.parent.is_dir():
            raise RunError(f"There is no folder {printable(str(self.path.parent))}; make it first.")
        if self.path.exists() and not self.path.is_file():
            raise RunError(
                f"{printable(str(self.path))} is a device or a pipe; name a file, such as replies.jsonl."
            )
        for path in (self.path, self.record, self.journal):
            try:
                check_file_writable(path)
            except OSError as failed:
                raise RunError(f"{printable(str(path))} cannot be written: {failed.strerror}.") from failed

    def progress(self, *, overwrite: bool) -> Progress:
        """The answers of earlier runs; errors of a finished run are left out, and so asked again."""
        if overwrite:
            self.journal.unlink(missing_ok=True)
            return Progress()
        if self.journal.exists():
            before = read_journal(self.journal, self.identity)
        else:
            before = self._read_finished() if self.path.exists() else Progress()
        return Progress(before.answers, [_blank_command(session) for session in before.sessions])

    def _read_finished(self) -> Progress:
        record = self._read_record()
        refuse_another(self.path, record.get("identity") or {}, self.identity)
        content = self.path.read_bytes()
        if record.get("sha256") != sha256(content).hexdigest():
            raise RunError(f"{printable(str(self.path))} was changed since it was written. {_INSTEAD}")
        rows = [json.loads(line) for line in content.decode().split("\n") if line]
        answers = {row["id"]: row["response"] for row in rows if "response" in row}
        return Progress(dict(answers), list(record.get("sessions") or ()))

    def _read_record(self) -> dict[str, Any]:
        shown = printable(str(self.path))
        try:
            record = json.loads(self.record.read_bytes())
        except FileNotFoundError:
            raise RunError(f"{shown} exists already. {_INSTEAD}") from None
        except (OSError, ValueError, RecursionError):
            record = None
        if not isinstance(record, dict) or record.get("format") != FORMAT or record.get("version") != VERSION:
            raise RunError(
                f"{shown} exists already, and {printable(self.record.name)} beside it is no record of it. "
                f"{_INSTEAD}"
            )
        return record

    def holds(self, lines: list[bytes]) -> bool:
        """Whether the file has just these lines, and there is no journal."""
        return not self.journal.exists() and self.path.exists() and self.path.read_bytes() == b"".join(lines)

    def finish(self, lines: list[bytes], record: Mapping[str, Any]) -> None:
        """Write record and replies; the journal is removed last."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "identity": self.identity,
            **record,
            "sha256": sha256(b"".join(lines)).hexdigest(),
        }
        # ASCII, because paths and commands may hold bytes that are no text.
        write_atomically(self.record, [json.dumps(content, indent=1).encode() + b"\n"])
        write_atomically(self.path, lines)
        self.journal.unlink(missing_ok=True)


def _blank_command(session: Mapping[str, Any]) -> Mapping[str, Any]:
    """A session without secrets, which earlier versions recorded in clear."""
    return {**session, "command": without_secrets(str(session.get("command", "")))}


def describe_session(system: System, asked: int) -> dict[str, Any]:
    """The time, command, versions and licences of a run's start."""
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": join_without_secrets(sys.argv),
        "asked": asked,
        "versions": _versions(system.packages),
        "licences": licences.describe(system.asset_names),
    }


def _versions(packages: tuple[str, ...]) -> dict[str, str]:
    installed = {distribution.name for distribution in metadata.distributions()}
    versions = {name: metadata.version(name) for name in ("dialoscope", *packages) if name in installed}
    return {**versions, "python": platform.python_version(), "platform": sys.platform}


def answer_columns(answer: str | NoAnswer) -> dict[str, str]:
    """The columns of an answer: `response`, or `error` with the reason."""
    return {"error": answer.reason} if isinstance(answer, NoAnswer) else {"response": answer}
