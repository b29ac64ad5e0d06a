"""The rules that each file is held to: an answer or a printable error, in bounded time and memory."""

import faulthandler
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from dialoscope.core.errors import DialoscopeError
from tests.fuzz.targets import TARGETS, Target

SECONDS = 20.0
"""Processor time that a file of at most some megabytes may take; far more than any does."""


class Hang(BaseException):
    """A file took longer than it may."""


@dataclass(frozen=True)
class Failure:
    """What a file did that none may do, and how to see it again."""

    target: str
    seed: int
    number: int
    kind: str
    text: str

    def __str__(self) -> str:
        again = f"python -m tests.fuzz.run --seed {self.seed} --first {self.number} --files 1"
        return f"{self.kind} in {self.target} ({again}):\n{self.text}"


@dataclass
class Figures:
    """What came of many files."""

    outcomes: Counter[str] = field(default_factory=Counter)
    by_target: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    start: int = field(default_factory=lambda: peak_memory())
    """The most memory that the process had had before, in bytes."""
    peak: int = 0
    """The most memory that the process has had."""
    slowest: tuple[float, int] = (0.0, 0)
    """Seconds of processor time, and the number of the file."""
    greatest: tuple[int, int] = (0, 0)
    """Bytes by which a file raised the most memory, and its number."""

    @property
    def growth(self) -> int:
        """What the files added to the most memory, in bytes."""
        return self.peak - self.start


def peak_memory() -> int:
    """Return the most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def try_files(
    numbers: Sequence[int], seed: int, targets: Sequence[Target] = TARGETS, seconds: float = SECONDS
) -> Iterator[Figures]:
    """Try files by their numbers; the same seed and number are the same file. Yields the figures so far."""
    figures = Figures()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        for number in numbers:
            target = targets[number % len(targets)]
            _try_file(target, seed, number, Path(folder) / "input", figures, seconds)
            yield figures


def random_of(*key: object) -> Random:
    """Return the random generator of a file."""
    return Random(":".join(map(str, key)))  # noqa: S311 - not for secrets


def _try_file(target: Target, seed: int, number: int, place: Path, figures: Figures, seconds: float) -> None:
    rng = random_of(seed, number)
    place.mkdir()
    try:
        path = target.write(place, rng)
        before = time.process_time()
        kind, text = _outcome(target, path, rng, seconds)
        took = time.process_time() - before
    finally:
        shutil.rmtree(place)
    figures.outcomes[kind] += 1
    figures.by_target[target.name, kind] += 1
    peak = peak_memory()
    figures.greatest = max(figures.greatest, (peak - max(figures.peak, figures.start), number))
    figures.peak = peak
    figures.slowest = max(figures.slowest, (took, number))
    if kind not in ("read", "refused"):
        figures.failures.append(Failure(target.name, seed, number, kind, text))


def _outcome(target: Target, path: Path, rng: Random, seconds: float) -> tuple[str, str]:
    try:
        with _bounded(seconds), warnings.catch_warnings():
            warnings.simplefilter("error")
            shown = target.read(path, rng)
    except DialoscopeError as error:
        return ("refused", str(error)) if _is_printable(str(error)) else ("unprintable", ascii(str(error)))
    except Hang:
        return "hang", traceback.format_exc(limit=-12)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return "traceback", traceback.format_exc(limit=-12)
    texts = [shown] if isinstance(shown, str) else shown if isinstance(shown, list) else []
    odd = [text for text in texts if not _is_printable(text)]
    return ("unprintable", ascii(odd[0])) if odd else ("read", "")


def _is_printable(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


@contextmanager
def _bounded(seconds: float) -> Iterator[None]:
    """An alarm after so much time of the processor, or, for what only waits, after thirty times as much.

    What C does not let go of ends the process with a traceback a while later.
    """

    def ring(*_: object) -> None:
        raise Hang

    before = [signal.signal(alarm, ring) for alarm in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, 30 * seconds)
    faulthandler.dump_traceback_later(60 * seconds, exit=True)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()
        for alarm, handler in zip((signal.SIGPROF, signal.SIGALRM), before, strict=True):
            signal.signal(alarm, handler)
