"""Records as text that programs take on."""

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from dialoscope.core.safe_text import plain_in_csv


def as_csv(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> str:
    """A line for each record, nothing where a value is undefined; texts are no formulas."""
    lines = [columns, *([_or_none(row[name]) for name in columns] for row in rows)]
    return "\n".join(map(_csv_line, lines))


def as_json(content: Sequence[object] | Mapping[str, object]) -> str:
    r"""Records, or all that there is, undefined as null; what is not plainly visible as in `\u202e`."""
    text = json.dumps(without_nan(content), ensure_ascii=False, indent=1)
    return "\n".join(
        line if line.isprintable() else "".join(map(_visible, line)) for line in text.split("\n")
    )


def _visible(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1]


def _csv_line(values: Sequence[object]) -> str:
    out = io.StringIO()
    # A writer quotes what its lines end with, and these end with a carriage return, which so is quoted, too.
    csv.writer(out).writerow([plain_in_csv(value) if isinstance(value, str) else value for value in values])
    return out.getvalue().removesuffix("\r\n")


def without_nan(value: Any) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """The same content with null in place of numbers that are not finite."""
    if isinstance(value, Mapping):
        return {name: without_nan(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(one) for one in value]
    return _or_none(value)


def _or_none(value: object) -> object:
    """The value, or nothing where it is undefined."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
