"""JSON, one object a line."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import filterfalse
from typing import Any

from dialoscope.core.json_values import undefined_as_null
from dialoscope.core.safe_text import without_surrogates
from dialoscope.data.cells import Cells, describe_type
from dialoscope.data.columns import ColumnNames, check_mapped
from dialoscope.data.lines import not_utf8, read_lines
from dialoscope.data.opening import OpenSource, empty_source
from dialoscope.data.problems import BadRow

_INT_DIGITS = 4300
"""Maximum number of digits that Python converts to an integer; more would take quadratic time."""

_MOST_COLUMNS = 100
"""Maximum number of columns remembered for a message; every object may have other keys."""


class RepeatedKey(BadRow):
    """A JSON object that has a key more than once; other readers would silently use the last value."""


def read_objects(file: OpenSource, names: ColumnNames) -> Iterator[tuple[int, Cells | BadRow]]:
    """Yield the object in each line that is not blank, with the line's number.

    Keys that are not read are counted in the log; mapped columns that no object has are an error.
    """
    missing = set(names.mapped)
    columns: dict[str, None] = {}
    is_empty = True
    for number, line in enumerate(read_lines(file.stream), 1):
        try:
            cells = _parse_line(line)
        except BadRow as bad:
            is_empty = False
            yield number, bad
            continue
        if cells is None:
            continue
        is_empty = False
        if not cells.keys() <= names.recognised:
            for column in filterfalse(names.recognised.__contains__, cells):
                file.log.ignore(column)
        if missing:
            if len(columns) < _MOST_COLUMNS:
                columns.update(dict.fromkeys(cells))
            missing -= cells.keys()
        yield number, cells
    if is_empty:
        raise empty_source(file.source)
    check_mapped(missing, columns, file.source.name)


def _parse_line(line: bytes | BadRow) -> Cells | None:
    """Return the object in a line, or None if the line is blank."""
    if isinstance(line, BadRow):
        raise line
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise not_utf8(line, error) from error
    if text.isspace():
        return None
    value = parse_json(text)
    if not isinstance(value, dict):
        raise BadRow(
            f'the line is {describe_type(value)} where an object is expected, such as {{"response": "..."}}'
        )
    return value


def parse_json(text: str, decoder: json.JSONDecoder | None = None) -> object:
    """Return the value of a JSON text; an object in which a key is repeated is refused."""
    try:
        if decoder is None and text.find("{", 1) < 0:
            value = _FAST_DECODER.decode(text)
            if _has_unique_keys(text, value):
                return value
        return (decoder or _DECODER).decode(text)
    except json.JSONDecodeError as error:
        raise BadRow(f"not valid JSON at character {error.pos + 1}: {error.msg}{_hint(text)}") from error
    except RecursionError as error:
        raise BadRow("the JSON is nested too deep to be read") from error
    except ValueError:
        # The only other ValueError is an integer with too many digits, perhaps in a column that is not read.
        return parse_json(text, _LENIENT_DECODER)


def _hint(text: str) -> str:
    is_part_of_object = text.strip() in ("{", "[", "}", "]", "},")
    return "; each line must hold a whole object: jq -c . puts it on one" if is_part_of_object else ""


def _parse_integer(digits: str) -> int | float:
    return int(digits) if len(digits) < _INT_DIGITS else float(digits)


def _has_unique_keys(text: str, value: object) -> bool:
    """Whether the only object in this text surely repeats no key, at a tenth of the cost of the hook below.

    Each key has a colon behind it, so that there are no more keys than colons. Where texts hold colons too,
    those behind a quote are counted, provided that nothing is between the quotes and the colons of keys.
    """
    return isinstance(value, dict) and (
        text.count(":") == len(value)
        or (text.count('":') == len(value) and " :" not in text and "\t" not in text and "\r:" not in text)
    )


def _check_unique(pairs: list[tuple[str, object]]) -> Cells:
    """Return a JSON object, unless one of its keys is repeated."""
    cells = dict(pairs)
    if len(cells) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        key = next(key for key, count in counts.items() if count > 1)
        raise RepeatedKey(f"the key {key!r:.60} is there {counts[key]} times in one object; keep one of them")
    return cells


_FAST_DECODER = json.JSONDecoder()
_DECODER = json.JSONDecoder(object_pairs_hook=_check_unique)
_LENIENT_DECODER = json.JSONDecoder(object_pairs_hook=_check_unique, parse_int=_parse_integer)


def as_line(row: Mapping[str, Any]) -> bytes:
    """Return a row as a line of JSON, whatever its texts and numbers are."""
    try:
        text = json.dumps(row, ensure_ascii=False, allow_nan=False, default=str)
    except ValueError:
        text = json.dumps(undefined_as_null(row), ensure_ascii=False, default=str)
    return without_surrogates(text).encode() + b"\n"
