"""Records as text that programs take on."""

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence


def as_csv(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> str:
    """A line for each record, nothing where a value is undefined."""
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _or(value, "") for name, value in row.items()} for row in rows)
    return out.getvalue().rstrip("\n")


def as_json(rows: Sequence[Mapping[str, object]]) -> str:
    """A list of objects, undefined as null."""
    told = [{name: _or(value, None) for name, value in row.items()} for row in rows]
    return json.dumps(told, ensure_ascii=False, indent=1)


def _or(value: object, nothing: object) -> object:
    """The value, or what stands for one that is undefined."""
    undefined = value is None or (isinstance(value, float) and not math.isfinite(value))
    return nothing if undefined else value
