"""Tables as text: comma-separated and tab-separated values."""

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from dialoscope.core.errors import DataError
from dialoscope.data.cells import Cells
from dialoscope.data.columns import ColumnNames, list_columns
from dialoscope.data.jsonl import RepeatedKey, parse_json
from dialoscope.data.lines import LIMIT, read_lines
from dialoscope.data.opening import empty_source
from dialoscope.data.problems import BadRow, quantity
from dialoscope.data.source import Source


class DelimitedTable:
    """A table whose first line names its columns."""

    def __init__(self, stream: BinaryIO, delimiter: str, names: ColumnNames, source: Source) -> None:
        # The module's default limit is far below the length of a long dialogue.
        csv.field_size_limit(max(LIMIT, csv.field_size_limit()))
        self._lines = _DecodedLines(stream)
        self._cells = csv.reader(self._lines, delimiter=delimiter, strict=True)
        self._header = _Header(self._read_header(source), names)
        self.columns: Sequence[str] = self._header.columns

    def records(self) -> Iterator[tuple[int, Cells | BadRow]]:
        """Yield each row with the number of its first line."""
        while True:
            first_line = self._lines.number + 1
            try:
                row = next(self._cells)
                if row:
                    yield first_line, self._header.convert(row)
            except StopIteration:
                return
            except csv.Error as error:
                yield first_line, _explain(error)
            except BadRow as bad:
                yield first_line, bad

    def _read_header(self, source: Source) -> tuple[str, ...]:
        try:
            header = next((names for row in self._cells if any(names := tuple(map(str.strip, row)))), ())
            _check_bytes(header)
        except (csv.Error, BadRow) as error:
            raise DataError(f"{source.name}: the header line cannot be read: {error}.") from error
        if not header:
            raise empty_source(source)
        repeated = [name for name, times in Counter(header).items() if name and times > 1]
        if repeated:
            raise DataError(
                f"{source.name}: the header names {list_columns(repeated)} more than once; "
                "rename one of them."
            )
        return header


class _DecodedLines:
    """Lines as text; bytes that are not UTF-8 become lone surrogates, which are found in their cell.

    This is a class and not a generator, because it must continue after a line that it refuses.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._lines = read_lines(stream)
        self.number = 0

    def __iter__(self) -> "_DecodedLines":
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.number += 1
        if isinstance(line, BadRow):
            raise line
        return line.decode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class _Header:
    """The names of the columns, and the conversion of the cells below them."""

    columns: tuple[str, ...]
    names: ColumnNames

    def convert(self, row: list[str]) -> Cells:
        if len(row) != len(self.columns):
            raise BadRow(
                f"{quantity(len(row), 'cell')} where the header has {len(self.columns)}; "
                'put cells that hold the separator in "quotes"'
            )
        _check_bytes(row)
        cells: Cells = dict(zip(self.columns, row, strict=True))
        for column in self.names.multi_text_columns():
            if column in cells:
                cells[column] = _parse_list(cells[column])
        for column in self.columns:
            if column == self.names.ratings or self.names.is_rating(column):
                cells[column] = _parse_ratings(cells[column], column)
        return cells


def _check_bytes(row: Sequence[str]) -> None:
    """Refuse bytes that were not UTF-8, which decoding has turned into lone surrogates."""
    try:
        "".join(row).encode()
    except UnicodeEncodeError as error:
        byte = ord(error.object[error.start]) - 0xDC00
        raise BadRow(
            f"not UTF-8: byte 0x{byte:02x} in {_quote_around(error.object, error.start)}; "
            "convert the file: iconv -f latin1 -t utf-8"
        ) from error


def _quote_around(text: str, position: int) -> str:
    """Return the characters around an unreadable byte, escaped."""
    around = text[max(0, position - 12) : position + 12]
    return repr(around.encode("utf-8", "replace").decode())


def _explain(error: csv.Error) -> BadRow:
    if "field larger" in str(error):
        return BadRow(f"a cell is longer than {LIMIT // 1024**2} MiB; is there a closing quote missing?")
    return BadRow(f'the row cannot be split into cells ({error}); write a quote within "quotes" twice')


def _parse_list(cell: object) -> object:
    """Return the JSON list in a cell, or its text, which may begin with a bracket, too."""
    if not isinstance(cell, str) or not cell.startswith("["):
        return cell or None
    try:
        value = parse_json(cell)
    except RepeatedKey:
        raise
    except BadRow:
        return cell
    return value if isinstance(value, list) else cell


def _parse_ratings(cell: object, column: str) -> object:
    """Return the number, list or object in a cell of ratings; None for an empty one."""
    text = str(cell).strip()
    if not text:
        return None
    if text.startswith(("[", "{")):
        return parse_json(text)
    try:
        return float(text)
    except ValueError:
        raise BadRow(f"{text!r} in column {column} is neither a number nor JSON") from None
