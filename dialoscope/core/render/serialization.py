"""Records as CSV and JSON."""

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence

from dialoscope.core.json_values import undefined_as_null
from dialoscope.core.safe_text import plain_in_csv


def as_csv(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> str:
    """A line for each record, nothing where a value is undefined; no text can be taken for a formula."""
    lines = [columns, *([_csv_value(row[name]) for name in columns] for row in rows)]
    return "\n".join(map(_csv_line, lines))


def as_json(content: Sequence[object] | Mapping[str, object]) -> str:
    r"""The content with undefined numbers as null and invisible characters as escapes such as `\u202e`."""
    text = json.dumps(undefined_as_null(content), ensure_ascii=False, indent=1)
    return "\n".join(
        line if line.isprintable() else "".join(map(_visible, line)) for line in text.split("\n")
    )


def _csv_value(value: object) -> object:
    """Several numbers as one text."""
    if not isinstance(value, Mapping):
        return undefined_as_null(value)
    return " ".join(f"{name}={'' if math.isnan(item) else f'{item:.10g}'}" for name, item in value.items())


def _visible(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1]


def _csv_line(values: Sequence[object]) -> str:
    out = io.StringIO()
    # A writer quotes what its lines end with, so that a carriage return is quoted too.
    csv.writer(out).writerow([plain_in_csv(value) if isinstance(value, str) else value for value in values])
    return out.getvalue().removesuffix("\r\n")
