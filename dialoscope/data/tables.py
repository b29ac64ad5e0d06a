"""One way to read the rows of every format."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from dialoscope.core.errors import DataError
from dialoscope.data.arrow import folder_table, parquet_table
from dialoscope.data.cells import Cells
from dialoscope.data.columns import ColumnNames, check_mapped, explain_no_response, list_columns
from dialoscope.data.delimited import DelimitedTable
from dialoscope.data.jsonl import read_objects
from dialoscope.data.opening import EmptySource, OpenSource, empty_source, open_source
from dialoscope.data.problems import BadRow, ReadLog
from dialoscope.data.source import Source

T = TypeVar("T")

Records = Iterator[tuple[int, Cells | BadRow]]
"""Each row of a file with its line, or the reason why it cannot be read."""

_DELIMITERS = {"csv": ",", "tsv": "\t"}


class TableFile(Protocol):
    """A table all rows of which have the same columns."""

    columns: Sequence[str]

    def records(self) -> Records:
        """Yield each row with its line, or the reason why it cannot be read."""


def read_rows(
    records: Records, convert: Callable[[Cells, int, int], Iterable[T]]
) -> Iterator[tuple[int, T | BadRow]]:
    """Yield what `convert` makes of each row, with the line of the row, or the reason why it cannot be read.

    `convert` is given the cells of a row, its number and its line; it raises `BadRow` for a row that it
    cannot convert.
    """
    for number, (line, cells) in enumerate(records, 1):
        if isinstance(cells, BadRow):
            yield line, cells
            continue
        try:
            results = convert(cells, number, line)
        except BadRow as bad:
            yield line, bad
            continue
        for result in results:
            yield line, result


def read_records(source: Source, names: ColumnNames, log: ReadLog, *, noun: str = "reply") -> Records:
    """Yield each row of a source with its line; the columns are checked on the way.

    `noun` says in the error for an empty source what a row should hold.
    """
    try:
        if source.format == "datasets":
            with folder_table(source, names, log) as table:
                yield from _table_records(table, names, source.name, log)
        else:
            with open_source(source, log) as file:
                yield from file_records(file, names)
    except EmptySource:
        raise empty_source(source, noun) from None


def file_records(file: OpenSource, names: ColumnNames) -> Records:
    """Return the rows of a source that is open, each with its line."""
    if file.format == "jsonl":
        return read_objects(file, names)
    if file.format == "parquet":
        return _parquet_records(file, names)
    if file.format in _DELIMITERS:
        table = DelimitedTable(file.stream, _DELIMITERS[file.format], names, file.source)
        return _table_records(table, names, file.source.name, file.log)
    raise DataError(
        f"{file.source.name}: plain text can only hold the replies to items of another file. "
        "Use it so: --replies SYSTEM=FILE, or give JSONL, CSV, TSV or Parquet."
    )


def _parquet_records(file: OpenSource, names: ColumnNames) -> Records:
    with parquet_table(file, names) as table:
        yield from _table_records(table, names, file.source.name, file.log)


def _table_records(table: TableFile, names: ColumnNames, file: str, log: ReadLog) -> Records:
    _check_columns(table.columns, names, file)
    check_mapped(names.mapped - set(table.columns), table.columns, file)
    rating_columns = [column for column in table.columns if names.is_rating(column)]
    rows = 0
    for line, cells in table.records():
        rows += 1
        if rating_columns and isinstance(cells, dict):
            _gather_ratings(cells, rating_columns, names)
        yield line, cells
    if not rows:
        raise DataError(f"{file} has columns, but no rows.")
    for column in names.find_ignored(table.columns):
        log.ignore(column, rows)


def _gather_ratings(cells: Cells, rating_columns: Sequence[str], names: ColumnNames) -> None:
    """Move the columns with the ratings of one aspect each into the column of all ratings."""
    aspects = {names.aspect_of(column): cells.pop(column) for column in rating_columns}
    ratings = cells.get(names.ratings)
    cells[names.ratings] = {**ratings, **aspects} if isinstance(ratings, dict) else aspects


def _check_columns(columns: Sequence[str], names: ColumnNames, file: str) -> None:
    if len(names.find_ignored(columns)) == len(columns):
        raise DataError(
            f"{file}: none of its columns is known ({list_columns(columns)}). If it lacks a header line, "
            f"put one first, with names among {', '.join(names.columns)}; "
            f"else say what they hold: --map {'response' if 'response' in names.used else 'id'}=COLUMN"
        )
    reply_columns = (names.response, names.turns, names.responses)
    if "response" in names.used and not any(name in columns for name in reply_columns):
        raise DataError(f"{file}: {explain_no_response(columns)}")
