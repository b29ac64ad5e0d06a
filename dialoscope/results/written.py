"""Records as text that programs take on."""

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any


def as_csv(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> str:
    """A line for each record, nothing where a value is undefined."""
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _or_none(value) for name, value in row.items()} for row in rows)
    return out.getvalue().rstrip("\n")


def as_json(content: Sequence[object] | Mapping[str, object]) -> str:
    """Records, or all that there is, undefined as null."""
    return json.dumps(_plain(content), ensure_ascii=False, indent=1)


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever JSON can hold
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return _or_none(value)


def _or_none(value: object) -> object:
    """The value, or nothing where it is undefined."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
