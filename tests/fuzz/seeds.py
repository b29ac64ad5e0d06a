"""Sound input, as rows, and the formats that rows are written in."""

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Rows = list[dict[str, Any]]

REPLIES: Rows = [
    {
        "id": f"q{number}",
        "system": system,
        "context": ["Hello there.", "Who are you?"],
        "response": f"I am {system}, and you are number {number}.",
        "references": ["Nobody.", "I am me."],
        "ratings": {"coherence": [1 + number, 5], "tone": {"ann": 2, "bob": number}},
    }
    for number in range(4)
    for system in ("bot", "parrot")
]
"""Replies of two systems with contexts, references and ratings, which also make the saved run."""

DIALOGUES: Rows = [
    {
        "id": f"d{number}",
        "turns": [
            {"speaker": "human", "text": "Hello."},
            {"speaker": "bot", "text": f"Hello, I am number {number}.", "references": ["Hi.", "Hey."]},
            {"role": "human", "content": "And who else?"},
            {"speaker": "bot", "text": "Nobody else."},
        ],
    }
    for number in range(3)
]

GROUPS: Rows = [
    {
        "id": f"g{number}",
        "system": "bot",
        "queries": ["Hi?", "Hello?"],
        "responses": ["Yes.", "No."],
        "group": "g",
    }
    for number in range(3)
]

ITEMS: Rows = [{"id": f"q{number}", "context": ["Hello.", f"Are you {number}?"]} for number in range(4)]
ANSWERS: Rows = [{"id": f"q{number}", "response": f"Yes, {number}."} for number in range(4)]

RATINGS: Rows = [
    {"id": f"q{number}", "system": system, "aspect": "tone", "rater": rater, "rating": 1 + number}
    for number in range(4)
    for system in ("bot", "parrot")
    for rater in ("ann", "bob")
]

SCORES: Rows = [
    {"id": f"q{number}", "system": system, "theirs": number / 3, "others": -number}
    for number in range(4)
    for system in ("bot", "parrot")
]

PAIRS: Rows = [
    {"premise": "It rains.", "hypothesis": text, "label": label}
    for text, label in (
        ("It is wet.", "entailment"),
        ("It is dry.", "contradiction"),
        ("It snows.", "neutral"),
    )
]

VECTORS = b"".join(
    b"%s %.1f -0.5 1e-3\n" % (word, number) for number, word in enumerate((b"a", b"the", b"of", b"you"))
)
BASELINE = b"LAYER,P,R,F\n0,0.1,0.2,0.3\n1,0.2,0.3,0.4\n"
TEXT = b"Hello.\nWho are you?\nNobody.\nI am me.\n"


def as_jsonl(rows: Rows) -> bytes:
    return b"".join(
        json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n" for row in rows
    )


def as_json(rows: Rows) -> bytes:
    return json.dumps(rows).encode()


def as_delimited(rows: Rows, delimiter: str = ",") -> bytes:
    rows, columns = _columns(rows)
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter)
    writer.writerow(columns)
    writer.writerows([[_cell(row.get(name)) for name in columns] for row in rows])
    return out.getvalue().encode("utf-8", "surrogatepass")


def as_tsv(rows: Rows) -> bytes:
    return as_delimited(rows, "\t")


def as_table(rows: Rows) -> pa.Table:
    """The rows as Arrow holds them; a column whose values have no type in common is text."""
    rows, columns = _columns(rows)
    arrays = {name: _array([row.get(name) for row in rows]) for name in columns}
    return pa.table({name.encode("utf-8", "replace").decode(): array for name, array in arrays.items()})


def as_parquet(rows: Rows) -> bytes:
    out = io.BytesIO()
    pq.write_table(as_table(rows), out)
    return out.getvalue()


def as_arrow(rows: Rows) -> bytes:
    out = io.BytesIO()
    table = as_table(rows)
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def as_text(rows: Rows) -> bytes:
    lines = (
        str(row.get("response", row) if isinstance(row, dict) else row).replace("\n", " ") for row in rows
    )
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")


FORMATS: dict[str, Callable[[Rows], bytes]] = {
    "jsonl": as_jsonl,
    "json": as_json,
    "csv": as_delimited,
    "tsv": as_tsv,
    "parquet": as_parquet,
    "arrow": as_arrow,
    "txt": as_text,
}
"""By the ending of the file; a folder that `datasets` saved is written around `arrow`."""


def _columns(rows: Rows) -> tuple[Rows, list[str]]:
    """Those rows that a table can hold, and the names of their columns."""
    rows = [row for row in rows if isinstance(row, dict)]
    return rows, list(dict.fromkeys(name for row in rows for name in row))


def _cell(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _array(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowException, UnicodeError, OverflowError, RecursionError, ValueError, TypeError):
        return pa.array([str(value).encode("utf-8", "replace").decode() for value in values])
