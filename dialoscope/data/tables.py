"""One way to read the rows of every format."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import filterfalse
from typing import Protocol

from dialoscope.core.errors import DataError
from dialoscope.data.arrow import folder_table, parquet_table
from dialoscope.data.cells import Cells
from dialoscope.data.columns import Names, listed, no_response
from dialoscope.data.delimited import DelimitedTable
from dialoscope.data.jsonl import read_objects
from dialoscope.data.opening import Opened, is_empty, opened
from dialoscope.data.problems import BadRow, ReadLog
from dialoscope.data.source import Source

_DELIMITERS = {"csv": ",", "tsv": "\t"}

_COLUMNS_KEPT = 100
"""Columns of objects remembered for a message; every row may name others."""


class Table(Protocol):
    """A table all rows of which have the same columns."""

    columns: Sequence[str]

    def records(self) -> Iterator[tuple[int, Cells | BadRow]]:
        """Each row with its line, or the reason why it cannot be read."""


def read_records(source: Source, names: Names, log: ReadLog) -> Iterator[tuple[int, Cells | BadRow]]:
    """Each row of a source with its line; the columns it has are checked on the way."""
    if source.format == "datasets":
        with folder_table(source, names, log) as table:
            yield from _table_records(table, names, source.name, log)
        return
    with opened(source, log) as file:
        yield from opened_records(file, names)


def opened_records(file: Opened, names: Names) -> Iterator[tuple[int, Cells | BadRow]]:
    """The same for a source that is open already."""
    if file.format == "jsonl":
        yield from _object_records(file, names)
    else:
        with _table(file, names) as table:
            yield from _table_records(table, names, file.source.name, file.log)


@contextmanager
def _table(file: Opened, names: Names) -> Iterator[Table]:
    if file.format == "parquet":
        with parquet_table(file, names) as table:
            yield table
    elif file.format in _DELIMITERS:
        yield DelimitedTable(file.stream, _DELIMITERS[file.format], names, file.source)
    else:
        raise DataError(
            f"{file.source.name}: plain text can only hold the replies to items of another file. "
            "Use it so: --replies SYSTEM=FILE, or give JSONL, CSV, TSV or Parquet."
        )


def _object_records(file: Opened, names: Names) -> Iterator[tuple[int, Cells | BadRow]]:
    missing = set(names.mapped)
    columns: dict[str, None] = {}
    record = None
    for record in read_objects(file.stream):
        cells = record[1]
        if isinstance(cells, dict):
            if not cells.keys() <= names.known:
                for column in filterfalse(names.known.__contains__, cells):
                    file.log.ignore(column)
            if missing and len(columns) < _COLUMNS_KEPT:
                columns.update(dict.fromkeys(cells))
            if missing:
                missing -= cells.keys()
        yield record
    if record is None:
        raise is_empty(file.source)
    _check_mapped(missing, columns, file.source.name)


def _table_records(
    table: Table, names: Names, file: str, log: ReadLog
) -> Iterator[tuple[int, Cells | BadRow]]:
    _check_columns(table.columns, names, file)
    _check_mapped(names.mapped - set(table.columns), table.columns, file)
    rated = [column for column in table.columns if names.holds_rating(column)]
    rows = 0
    for line, cells in table.records():
        rows += 1
        if rated and isinstance(cells, dict):
            _gather_ratings(cells, rated, names)
        yield line, cells
    if not rows:
        raise DataError(f"{file} has columns, but no rows.")
    for column in names.ignored(table.columns):
        log.ignore(column, rows)


def _gather_ratings(cells: Cells, rated: Sequence[str], names: Names) -> None:
    """Put the columns of one aspect each under the column of all ratings."""
    aspects = {names.aspect_of(column): cells.pop(column) for column in rated}
    given = cells.get(names.ratings)
    cells[names.ratings] = {**given, **aspects} if isinstance(given, dict) else aspects


def _check_mapped(
    missing: frozenset[str] | set[str], columns: Sequence[str] | dict[str, None], file: str
) -> None:
    if missing:
        raise DataError(
            f"{file} has no column {listed(sorted(missing))}. Its columns are: {listed(columns)}."
        )


def _check_columns(columns: Sequence[str], names: Names, file: str) -> None:
    if len(names.ignored(columns)) == len(columns):
        raise DataError(
            f"{file}: none of its columns is known ({listed(columns)}). If it lacks a header line, "
            f"put one first, with names among {', '.join(names.every)}; "
            f"else say what they hold: --map {'response' if 'response' in names.wanted else 'id'}=COLUMN"
        )
    holding_replies = (names.response, names.turns, names.responses)
    if "response" in names.wanted and not any(name in columns for name in holding_replies):
        raise DataError(f"{file}: {no_response(columns)}")
