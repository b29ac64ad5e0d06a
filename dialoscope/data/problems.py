"""Problems in the rows of files, and the log of a reading."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from dialoscope.core.errors import DataError
from dialoscope.core.safe_text import printable

SHOWN = 20
"""Maximum number of problems shown; more would bury the first, which is usually the cause of the others."""

MOST_PROBLEMS = 100_000
"""Number of problems that ends a reading which one problem turns into an error."""

MOST_SKIPPED = 1_000_000
"""Number of skipped problems, besides a hundred for each good row, that ends a reading.

A few bytes of gzip can hold any number.
"""

LEAVE_OUT = "Put them right, or leave these rows out with --on-error skip (on_error='skip')."

_NAMED = 3
"""Number of malformed rows that a warning names."""

_MOST_COLUMNS = 1000
"""Maximum number of ignored columns counted: new names in every row of a file must not fill the memory."""


class BadRow(Exception):
    """A row that cannot be read; the message says why and how to correct it."""


@dataclass(frozen=True, slots=True)
class Problem:
    """The place of a row, and the reason why it cannot be read."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return printable(f"{self.file}:{self.line}: {self.reason}")


@dataclass
class ReadLog:
    """The state of a reading; the caller passes it in and may look at it at any time."""

    on_bytes: Callable[[int], None] | None = None
    """Called with the number of raw bytes consumed since the last call."""
    rows: int = 0
    """Number of rows read without a problem."""
    problems: list[Problem] = field(default_factory=list)
    """The first problems only."""
    problem_count: int = 0
    ignored_columns: Counter[str] = field(default_factory=Counter)

    def report(self, problem: Problem, *, skips: bool | None = None) -> None:
        """Count a problem, and store it if it is among the first; too many of them end the reading.

        `skips` says whether rows with problems are left out, and is None where they cannot be.
        """
        self.problem_count += 1
        if len(self.problems) < SHOWN:
            self.problems.append(problem)
        if self.problem_count >= (MOST_SKIPPED + 100 * self.rows if skips else MOST_PROBLEMS):
            raise DataError(self._explain_end(problem, "" if skips is not False else f" {LEAVE_OUT}"))

    def ignore(self, column: str, rows: int = 1) -> None:
        """Count rows in which a column was not read."""
        if column in self.ignored_columns or len(self.ignored_columns) < _MOST_COLUMNS:
            self.ignored_columns[column] += rows

    def consume(self, size: int) -> None:
        """Report that this number of further bytes has been read."""
        if size and self.on_bytes is not None:
            self.on_bytes(size)

    def summary(self) -> str:
        """Return the first problems, one a line, and the number of the others."""
        shown = "\n".join(map(str, self.problems))
        rest = self.problem_count - len(self.problems)
        return shown + (f"\n... and {rest} more" if rest else "")

    def skip_warnings(self) -> list[str]:
        """Return a sentence that names the first rows that were left out; none where all were read."""
        more = f"; and {self.problem_count - _NAMED} more" if self.problem_count > _NAMED else ""
        named = "; ".join(map(str, self.problems[:_NAMED]))
        return [f"{describe_skipped(self.problem_count)}: {named}{more}."] if self.problem_count else []

    def _explain_end(self, last: Problem, advice: str) -> str:
        problems, rows = quantity(self.problem_count, "problem"), quantity(self.rows, "good row")
        return (
            f"{problems} and {rows} up to {last.file}:{last.line}, where reading ended:\n{self.summary()}\n"
            f"Is this the right file, and are its columns named as they should be (--map)?{advice}"
        )


def describe_skipped(count: int) -> str:
    """Return the words with which a warning of malformed rows begins."""
    return f"{quantity(count, 'malformed row')} {'was' if count == 1 else 'were'} left out"


def quantity(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where required."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
