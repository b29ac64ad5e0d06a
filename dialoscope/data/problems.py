"""What went wrong while reading, and how a reading went."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from dialoscope.core.errors import DataError
from dialoscope.core.safe_text import printable

SHOWN = 20
"""Problems kept and shown; more would bury the first, which is usually the cause of the others."""

MOST_PROBLEMS = 100_000
"""Problems counted where one is enough to end with an error."""

MOST_SKIPPED = 1_000_000
"""Problems passed over, beyond a hundred for each good row. A few bytes of gzip can hold any number."""

LEAVE_OUT = "Put them right, or leave these rows out with --on-error skip (on_error='skip')."

_NAMED = 3
"""Malformed rows that are named in a warning."""

_COLUMN_LIMIT = 1000
"""Ignored columns counted apart: a file that names new ones in every row must not fill the memory."""


class BadRow(Exception):
    """One row that cannot be read; says what is wrong with it and what to do."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Where a row is, and why it cannot be read."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return printable(f"{self.file}:{self.line}: {self.reason}")


@dataclass
class ReadLog:
    """How a reading goes; the caller hands it in and looks at it when it likes."""

    on_bytes: Callable[[int], None] | None = None
    """Told the number of raw bytes consumed since it was last called."""
    rows: int = 0
    """Rows read without a problem."""
    problems: list[Problem] = field(default_factory=list)
    """The first problems only."""
    problem_count: int = 0
    ignored_columns: Counter[str] = field(default_factory=Counter)

    def report(self, problem: Problem, *, skips: bool | None = None) -> None:
        """Count a problem, and keep it if it is among the first; too many of them end the reading.

        `skips` says whether rows with problems are left out, and is None where they cannot be.
        """
        self.problem_count += 1
        if len(self.problems) < SHOWN:
            self.problems.append(problem)
        if self.problem_count >= (MOST_SKIPPED + 100 * self.rows if skips else MOST_PROBLEMS):
            raise DataError(self._ended(problem, "" if skips is not False else f" {LEAVE_OUT}"))

    def ignore(self, column: str, rows: int = 1) -> None:
        """Count rows in which a column was not read."""
        if column in self.ignored_columns or len(self.ignored_columns) < _COLUMN_LIMIT:
            self.ignored_columns[column] += rows

    def consume(self, size: int) -> None:
        """Pass on that so many more bytes have been read."""
        if size and self.on_bytes is not None:
            self.on_bytes(size)

    def summary(self) -> str:
        """The first problems, one a line, and how many there are."""
        shown = "\n".join(map(str, self.problems))
        left = self.problem_count - len(self.problems)
        return shown + (f"\n... and {left} more" if left else "")

    def left_out(self) -> list[str]:
        """A sentence that names the first rows that were left out; none where all were read."""
        more = f"; and {self.problem_count - _NAMED} more" if self.problem_count > _NAMED else ""
        named = "; ".join(map(str, self.problems[:_NAMED]))
        return [f"{rows_left_out(self.problem_count)}: {named}{more}."] if self.problem_count else []

    def _ended(self, last: Problem, advice: str) -> str:
        problems, rows = counted(self.problem_count, "problem"), counted(self.rows, "good row")
        return (
            f"{problems} and {rows} up to {last.file}:{last.line}, where reading ended:\n{self.summary()}\n"
            f"Is this the right file, and are its columns named as they should be (--map)?{advice}"
        )


def rows_left_out(count: int) -> str:
    """What a warning of malformed rows begins with."""
    return f"{counted(count, 'malformed row')} {'was' if count == 1 else 'were'} left out"


def counted(number: int, noun: str) -> str:
    """A number with its noun, in the plural where it is due."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
