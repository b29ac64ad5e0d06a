"""A program as a system, which reads a line of JSON for each context and writes a line with its reply."""

import json
import os
import shlex
import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from queue import Empty, Queue
from random import Random
from threading import Thread, Timer
from typing import IO, Any, ClassVar

from dialoscope.core.errors import BackendError
from dialoscope.core.redaction import redact, secrets_in, without_secrets
from dialoscope.core.safe_text import printable
from dialoscope.systems.checked_text import as_reply, shorten
from dialoscope.systems.protocol import NoAnswer, Question, System

_LONGEST_LINE = 2**20
_NOISE_LINES, _NOISE_LENGTH = 5, 1000
_LONGEST_PAUSE = 30.0
_LAST_WORDS = 2.0
"""Seconds for a program to exit after its input is closed."""


@dataclass(frozen=True)
class CommandSystem(System):
    """A program that answers line by line; each worker has one process for the whole run.

    A line in: `{"id": "d1", "context": ["Hi!"], "sample": 0, "seed": 0}`. A line out: `{"response": "Hello"}`
    or just `"Hello"`, or `{"error": "why not"}`. Error messages quote its standard error.
    """

    name: ClassVar[str] = "command"

    command: str = field(metadata={"written": without_secrets})
    """The command as in a terminal, with quotes, but without a shell, so that | > $ * have no meaning.
    Arguments that look like secrets reach the program, and are redacted in all that is written or shown."""
    timeout: float = field(default=120.0, compare=False)
    """Seconds for an answer, including the start; then the process is killed."""
    retries: int = field(default=1, compare=False)
    """Number of times that a context is asked again after the process died."""
    restarts: int = field(default=5, compare=False)
    """Number of deaths in a row after which no process is started any more."""
    pause: float = field(default=0.5, compare=False)
    """Seconds before a restart; they double with each death in a row."""

    def __post_init__(self) -> None:
        if not (self.timeout > 0 and min(self.retries, self.restarts) >= 0 and self.pause >= 0):
            raise BackendError("timeout must be above 0, retries, restarts and pause at least 0.")
        _ = self.arguments

    def __str__(self) -> str:
        return without_secrets(self.command)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    @property
    def arguments(self) -> list[str]:
        """The program and its arguments."""
        try:
            arguments = shlex.split(self.command)
        except ValueError as error:
            raise BackendError(f"'{printable(str(self))}' is no command: {error}.") from None
        if not arguments:
            raise BackendError("A command must name a program, such as command:./bot --fast.")
        return arguments

    @property
    def label(self) -> str:
        """The program's name."""
        program = without_secrets(self.arguments[0])
        return Path(program).stem or program

    @contextmanager
    def opened(self) -> Iterator["_CommandSession"]:
        """Start a process, which ends with the session."""
        session = _CommandSession(self)
        try:
            session.start()
            yield session
        except BaseException:
            session.close(at_once=True)
            raise
        session.close()


class _Died(Exception):
    """The process died or must be killed; the text is the reason."""

    def __init__(self, reason: str, *, may_retry: bool = False) -> None:
        super().__init__(reason)
        self.may_retry = may_retry


class _CommandSession:
    """A session with a process, which is restarted when it dies."""

    def __init__(self, system: CommandSystem) -> None:
        self._system = system
        self._process: _Process | None = None
        self._deaths = 0
        self._is_closed = False
        self._rng = Random(0)  # noqa: S311 - so that processes do not all start at the same time

    def start(self) -> None:
        """Start a process; an error if there is no such program."""
        self._process = _Process(self._system)

    def close(self, *, at_once: bool = False) -> None:
        """End the process; no other is started."""
        self._is_closed = True
        process, self._process = self._process, None
        if process and at_once:
            process.kill()
        elif process:
            process.end()

    def answers(self, questions: Sequence[Question]) -> Iterator[str | NoAnswer]:
        """Ask the questions one by one."""
        return map(self._answer, questions)

    def _answer(self, question: Question) -> str | NoAnswer:
        reason = ""
        for _ in range(1 + self._system.retries):
            if self._deaths > self._system.restarts:
                return NoAnswer(f"given up, since the process died {self._deaths} times in a row. {reason}")
            try:
                return self._ask(question)
            except _Died as died:
                self._deaths += 1
                self._drop()
                reason = str(died)
                if self._is_closed or not died.may_retry:
                    break
        return NoAnswer(reason)

    def _ask(self, question: Question) -> str | NoAnswer:
        if self._process is None and not self._is_closed:
            pause = min(self._system.pause * 2 ** (self._deaths - 1), _LONGEST_PAUSE)
            time.sleep(pause * self._rng.uniform(0.5, 1.0))
            self.start()
        process = self._process
        if process is None or self._is_closed:
            raise _Died("the process was ended")
        answer = _parse(process.exchange(_line(question), self._system.timeout), question, process)
        self._deaths = 0
        return answer

    def _drop(self) -> None:
        process, self._process = self._process, None
        if process:
            process.kill()


def _line(question: Question) -> bytes:
    content = {
        "id": question.id,
        "context": question.context,
        "sample": question.sample,
        "seed": question.seed,
    }
    return json.dumps(content).encode() + b"\n"


def _parse(line: bytes, question: Question, process: "_Process") -> str | NoAnswer:
    """The reply in a line; a process that writes anything else is killed."""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as error:
        form = "UTF-8" if isinstance(error, UnicodeDecodeError) else "JSON"
        shown = process.format_output(line, 100)
        raise _Died(f"it wrote a line that is not {form}: {shown}{process.noise()}") from error
    if not isinstance(content, dict):
        return as_reply(content)
    if "id" in content and content["id"] != question.id:
        raise _Died(f"it answered {content['id']!r:.60} when asked {question.id!r:.60}")
    if content.get("error"):
        return NoAnswer(process.format_output(str(content["error"])))
    if "response" not in content:
        columns = process.format_output(", ".join(content), 100) or "nothing"
        return NoAnswer(f"its answer has no `response`, but {columns}")
    return as_reply(content["response"])


class _Process:
    """A running program, with threads that read its output."""

    def __init__(self, system: CommandSystem) -> None:
        arguments = system.arguments
        self._secrets = secrets_in(system.command)
        try:
            self._running = subprocess.Popen(  # noqa: S603 - the user's own program, and no shell
                arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            program = printable(without_secrets(arguments[0]))
            raise BackendError(f"{program} cannot be started: {reason}.") from error
        self._lines: Queue[bytes] = Queue(maxsize=2)
        self._noise: deque[bytes] = deque(maxlen=_NOISE_LINES)
        self._timed_out = False
        self._noise_reader = Thread(target=self._read_noise, daemon=True)
        for reader in (Thread(target=self._read_answers, daemon=True), self._noise_reader):
            reader.start()

    def exchange(self, line: bytes, timeout: float) -> bytes:
        """Write a line and return the answer; the process is killed after a timeout."""
        if not self._lines.empty() and self._running.poll() is None:
            raise _Died("it wrote a line before it was asked", may_retry=True)
        watch = Timer(timeout, self._give_up)
        watch.daemon = True
        watch.start()
        try:
            with suppress(OSError):  # it may have died, which is reported below
                _pipe(self._running.stdin).write(line)
                _pipe(self._running.stdin).flush()
            answer = self._lines.get(timeout=timeout + _LAST_WORDS)
        except Empty:
            answer = b""
        finally:
            watch.cancel()
        if self._timed_out:
            raise _Died(f"no answer within {timeout:g} seconds{self.noise()}")
        if not answer:
            raise _Died(f"{self._describe_end()}{self.noise()}", may_retry=True)
        if len(answer) > _LONGEST_LINE:
            raise _Died(f"its answer is longer than {_LONGEST_LINE:,} bytes")
        return answer

    def noise(self) -> str:
        """The last lines of its standard error, as the end of a message."""
        lines = b" / ".join(self._noise)
        return f"; it wrote: {self.format_output(lines)}" if lines else ""

    def format_output(self, output: bytes | str, *length: int) -> str:
        """Output of the program for a message: short, printable and without secrets."""
        text = output.decode("utf-8", "backslashreplace") if isinstance(output, bytes) else output
        return shorten(redact(text, self._secrets), *length)

    def kill(self) -> None:
        """Kill the process and all that it started."""
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._running.pid, signal.SIGKILL)
            else:  # pragma: no cover - the tests run elsewhere
                self._running.kill()
        self._running.wait()
        with suppress(OSError):
            _pipe(self._running.stdin).close()
        with suppress(Empty):  # the thread that reads answers may be blocked
            while True:
                self._lines.get_nowait()

    def end(self) -> None:
        """Close its input, wait for it to exit, and kill it if it does not."""
        with suppress(OSError):
            _pipe(self._running.stdin).close()
        with suppress(subprocess.TimeoutExpired):
            self._running.wait(_LAST_WORDS)
        self.kill()

    def _give_up(self) -> None:
        self._timed_out = True
        with suppress(OSError):
            os.killpg(self._running.pid, signal.SIGKILL)

    def _describe_end(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            status = self._running.wait(1)
            self._noise_reader.join(1)  # the reason is often its last line
            return f"the process ended with status {status}"
        return "the process closed its output"

    def _read_answers(self) -> None:
        with _pipe(self._running.stdout) as stream:
            for line in iter(partial(stream.readline, _LONGEST_LINE + 1), b""):
                self._lines.put(line)
        self._lines.put(b"")

    def _read_noise(self) -> None:
        with _pipe(self._running.stderr) as stream:
            for line in iter(partial(stream.readline, _NOISE_LENGTH), b""):
                if line.strip():
                    self._noise.append(line.strip())


def _pipe(stream: IO[Any] | None) -> IO[Any]:
    if stream is None:
        raise OSError("no pipe")  # pragma: no cover - all three were asked for
    return stream
