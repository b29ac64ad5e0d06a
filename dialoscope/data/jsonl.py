"""JSON, one object a line."""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from dialoscope.core.safe_text import without_surrogates
from dialoscope.data.cells import Cells, kind
from dialoscope.data.lines import not_utf8, read_lines
from dialoscope.data.problems import BadRow

_INT_DIGITS = 4300
"""Digits that Python turns into an integer; it refuses more because that takes quadratic time."""


class RepeatedKey(BadRow):
    """An object of JSON that names a key more than once, of which readers would take the last in silence."""


def read_objects(stream: BinaryIO) -> Iterator[tuple[int, Cells | BadRow]]:
    """Each line that is not blank, with its number."""
    for number, line in enumerate(read_lines(stream), 1):
        try:
            cells = _cells(line)
        except BadRow as bad:
            yield number, bad
        else:
            if cells is not None:
                yield number, cells


def parse_json(text: str, decoder: json.JSONDecoder | None = None) -> object:
    """Return the value this text stands for, in no object of which a key is repeated."""
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
        # Only an integer of too many digits gets here; it may stand in a column nobody reads.
        return parse_json(text, _LENIENT_DECODER)


def _cells(line: bytes | BadRow) -> Cells | None:
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
        raise BadRow(f'the line is {kind(value)} where an object is due, such as {{"response": "..."}}')
    return value


def _hint(text: str) -> str:
    broken_over_lines = text.strip() in ("{", "[", "}", "]", "},")
    return "; each line must hold a whole object: jq -c . puts it on one" if broken_over_lines else ""


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) < _INT_DIGITS else float(digits)


def _has_unique_keys(text: str, value: object) -> bool:
    """Whether the only object in this text certainly repeats no key, at a tenth of what the hook below costs.

    Each key has a colon behind it, so that there are no more keys than colons. Where texts hold colons too,
    those behind a quote are counted, as long as nothing stands between the quotes and the colons of keys.
    """
    return isinstance(value, dict) and (
        text.count(":") == len(value)
        or (text.count('":') == len(value) and " :" not in text and "\t" not in text and "\r:" not in text)
    )


def _unique(pairs: list[tuple[str, object]]) -> Cells:
    """Return an object of JSON, unless one of its keys is repeated."""
    cells = dict(pairs)
    if len(cells) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        key = next(key for key, count in counts.items() if count > 1)
        raise RepeatedKey(f"the key {key!r:.60} is there {counts[key]} times in one object; keep one of them")
    return cells


_FAST_DECODER = json.JSONDecoder()
_DECODER = json.JSONDecoder(object_pairs_hook=_unique)
_LENIENT_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_int=_integer)


def as_line(row: Mapping[str, Any]) -> bytes:
    """A row as a line of JSON, whatever its texts and numbers are."""
    try:
        text = json.dumps(row, ensure_ascii=False, allow_nan=False, default=str)
    except ValueError:
        text = json.dumps(defined(row), ensure_ascii=False, default=str)
    return without_surrogates(text).encode() + b"\n"


def defined(value: Any) -> Any:  # noqa: ANN401 - whatever a column holds
    """The same with null for numbers that JSON cannot write."""
    if isinstance(value, Mapping):
        return {key: defined(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [defined(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
