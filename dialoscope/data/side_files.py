"""Files that are joined to the replies by id: ratings, or the scores of other metrics."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from dialoscope.core.errors import DataError
from dialoscope.data.cells import Cells, describe_type, read_name
from dialoscope.data.columns import ColumnNames, list_columns
from dialoscope.data.problems import BadRow, Problem, ReadLog, quantity
from dialoscope.data.source import Source, locate
from dialoscope.data.tables import read_records, read_rows

T = TypeVar("T")


def read_side_files(
    paths: Sequence[str | Path],
    format: str | None,  # noqa: A002 - as in `read`
    names: ColumnNames,
    noun: str,
    convert: Callable[[Cells, int, str], Iterable[T]],
) -> list[T]:
    """Return what `convert` makes of each row, given its number and its location, `FILE:LINE`.

    All problems are in one error, in which `noun` names what a row holds.
    """
    if not paths:
        raise DataError(f"There is nothing to read: name at least one file of {noun}s.")
    log, results = ReadLog(), list[T]()

    def convert_row(source: Source, cells: Cells, number: int, line: int) -> Iterable[T]:
        converted = convert(cells, number, f"{source.name}:{line}")
        log.rows += 1
        return converted

    for source in [locate(path, format) for path in paths]:
        records = read_records(source, names, log, noun=noun)
        for line, result in read_rows(records, partial(convert_row, source)):
            if isinstance(result, BadRow):
                log.report(Problem(source.name, line, str(result)))
            else:
                results.append(result)
    if log.problem_count:
        raise DataError(
            f"{quantity(log.problem_count, 'problem')} in the {noun}s:\n{log.summary()}\nPut them right."
        )
    return results


def read_optional_name(cells: Cells, column: str, label: str) -> str:
    """Return the name in a column, empty where there is none."""
    value = cells.get(column)
    return "" if value is None or value == "" else read_name(value, label)


def read_required_name(cells: Cells, column: str, our_name: str) -> str:
    """Return the name in a column that every row must have."""
    if column not in cells:
        raise BadRow(
            f"no column `{our_name}` among {list_columns(cells)}; say which one it is: "
            f"--map {our_name}=COLUMN"
        )
    return read_name(cells[column], f"`{our_name}`")


def read_number(value: object, label: str) -> float | None:
    """Return a cell as a number, which tables of text hold as text; None for an empty cell."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise BadRow(f"{label} is {describe_type(value)} where a number is expected")
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise BadRow(f"{label} is {value!r:.40} where a number is expected") from None
    if not math.isfinite(number):
        raise BadRow(f"{label} is no finite number; write null, or leave the cell empty, where there is none")
    return number
