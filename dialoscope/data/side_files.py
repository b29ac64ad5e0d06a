"""Files that stand beside the replies and are joined to them by id: what people or other metrics said."""

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from dialoscope.core.errors import DataError
from dialoscope.data.cells import Cells, kind, read_name
from dialoscope.data.columns import Names, listed
from dialoscope.data.opening import Empty, is_empty
from dialoscope.data.problems import BadRow, Problem, ReadLog, counted
from dialoscope.data.source import locate
from dialoscope.data.tables import read_records

T = TypeVar("T")


def read_beside(
    paths: Sequence[str | Path],
    format: str | None,  # noqa: A002 - as in `read`
    names: Names,
    what: str,
    rows: Callable[[Cells, int, str], Iterable[T]],
) -> list[T]:
    """What `rows` makes of each row, given its number and place; all that is wrong is told at once."""
    if not paths:
        raise DataError(f"There is nothing to read: name at least one file of {what}s.")
    log, found = ReadLog(), list[T]()
    for source in [locate(path, format) for path in paths]:
        try:
            for number, (line, cells) in enumerate(read_records(source, names, log), 1):
                try:
                    if isinstance(cells, BadRow):
                        raise cells
                    found += rows(cells, number, f"{source.name}:{line}")
                    log.rows += 1
                except BadRow as bad:
                    log.report(Problem(source.name, line, str(bad)))
        except Empty:
            raise is_empty(source, what) from None
    if log.problem_count:
        raise DataError(
            f"{counted(log.problem_count, 'problem')} in the {what}s:\n{log.summary()}\nPut them right."
        )
    return found


def optional_name(cells: Cells, column: str, label: str) -> str:
    """The name in a column, empty where there is none."""
    given = cells.get(column)
    return "" if given is None or given == "" else read_name(given, label)


def needed_name(cells: Cells, column: str, ours: str) -> str:
    """The name in a column that every row must have."""
    if column not in cells:
        raise BadRow(f"no column `{ours}` among {listed(cells)}; say which one it is: --map {ours}=COLUMN")
    return read_name(cells[column], f"`{ours}`")


def read_number(value: object, label: str) -> float | None:
    """This cell as a number, which tables of text hold as text; nothing in an empty one."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise BadRow(f"{label} is {kind(value)} where a number is due")
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise BadRow(f"{label} is {value!r:.40} where a number is due") from None
    if not math.isfinite(number):
        raise BadRow(f"{label} is no finite number; write null, or leave the cell empty, where there is none")
    return number
