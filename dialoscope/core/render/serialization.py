"""Records as text that programs take on."""

import csv
import io
import json
from collections.abc import Mapping, Sequence

from dialoscope.core.json_values import undefined_as_null
from dialoscope.core.safe_text import plain_in_csv


def as_csv(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> str:
    """A line for each record, nothing where a value is undefined; texts are no formulas."""
    lines = [columns, *([undefined_as_null(row[name]) for name in columns] for row in rows)]
    return "\n".join(map(_csv_line, lines))


def as_json(content: Sequence[object] | Mapping[str, object]) -> str:
    r"""Records, or all that there is, undefined as null; what is not plainly visible as in `\u202e`."""
    text = json.dumps(undefined_as_null(content), ensure_ascii=False, indent=1)
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
