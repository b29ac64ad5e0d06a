"""Laws that hold for whatever is in a file."""

import contextlib
import csv
import gzip
import io
import json
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dialoscope.core.errors import DataError
from dialoscope.core.records import Example
from dialoscope.data.problems import ReadLog
from dialoscope.data.replies import read

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])

PIECES = st.sampled_from(
    [
        b"{",
        b"}",
        b"[",
        b'"',
        b":",
        b",",
        b"\n",
        b"\r",
        b"\t",
        b"\\ud800",
        b"response",
        b"id",
        b"ratings",
        b"turns",
        b"PAR1",
        b"\x00",
        b"\x1f\x8b",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\xff",
        b"1e999",
        b"NaN",
        b'{"response": "x"}\n',
        b"response\tid\n",
        b"null",
    ]
)
CONTENT = st.one_of(st.binary(max_size=200), st.lists(PIECES, max_size=30).map(b"".join))

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
COLUMN = st.sampled_from(["id", "system", "context", "response", "references", "ratings", "turns", "other"])

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
EXAMPLES = st.lists(
    st.builds(
        Example,
        TEXT.filter(bool),
        TEXT.filter(bool),
        TEXT,
        st.lists(TEXT, max_size=3).map(tuple),
        st.lists(TEXT, max_size=3).map(tuple),
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda reply: (reply.id, reply.system),
)


@pytest.mark.parametrize("on_error", ["stop", "skip"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv", "a.tsv", "a.parquet", "a", "a.jsonl.gz"])
@given(content=CONTENT)
@QUICK
def test_no_bytes_make_reading_fail_otherwise_than_with_a_data_error(name, on_error, content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
        with contextlib.suppress(DataError):
            assert all(
                isinstance(row.example.response, str) for row in read(path, on_error=on_error).rows(ReadLog())
            )


@given(content=st.binary(min_size=1, max_size=60), place=st.integers(0, 2000))
@QUICK
def test_no_damage_to_a_parquet_file_makes_reading_fail_otherwise(content, place):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.parquet"
        pq.write_table(pa.table({"id": ["1", "2"], "response": ["x", "y"], "context": [["a"], []]}), path)
        whole = path.read_bytes()
        path.write_bytes(whole[:place] + content + whole[place + len(content) :])
        with contextlib.suppress(DataError):
            list(read(path))


@given(content=st.binary(min_size=1, max_size=60), place=st.integers(0, 800))
@QUICK
def test_no_damage_to_a_datasets_folder_makes_reading_fail_otherwise(content, place):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = pa.table({"id": ["1", "2"], "response": ["x", "y"], "context": [["a"], []]})
        stream = io.BytesIO()
        with pa.ipc.new_stream(stream, table.schema) as writer:
            writer.write_table(table)
        whole = stream.getvalue()
        (folder / "data.arrow").write_bytes(whole[:place] + content + whole[place + len(content) :])
        (folder / "state.json").write_text('{"_data_files": [{"filename": "data.arrow"}]}')
        with contextlib.suppress(DataError):
            list(read(folder))


@given(row=st.dictionaries(COLUMN, JSON_VALUES, max_size=5))
@QUICK
def test_no_object_makes_reading_fail_otherwise(row):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        path.write_text(json.dumps(row), encoding="utf-8")
        with contextlib.suppress(DataError):
            assert list(read(path))


def write_jsonl(path: Path, replies: list[Example]) -> None:
    path.write_text(
        "".join(json.dumps(fields(reply), ensure_ascii=False) + "\n" for reply in replies), encoding="utf-8"
    )


def write_csv(path: Path, replies: list[Example]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(fields(replies[0]))
        for reply in replies:
            writer.writerow(
                [cell if isinstance(cell, str) else json.dumps(cell) for cell in fields(reply).values()]
            )


def write_parquet(path: Path, replies: list[Example]) -> None:
    texts = pa.list_(pa.string())
    types = {
        "id": pa.string(),
        "system": pa.string(),
        "response": pa.string(),
        "context": texts,
        "references": texts,
    }
    pq.write_table(pa.Table.from_pylist([fields(reply) for reply in replies], pa.schema(types.items())), path)


def fields(reply: Example) -> dict:
    return {
        "id": reply.id,
        "system": reply.system,
        "response": reply.response,
        "context": list(reply.context),
        "references": list(reply.references),
    }


@pytest.mark.parametrize("write", [write_jsonl, write_csv, write_parquet])
@given(replies=EXAMPLES)
@example(replies=[Example("\r", '"', "\n,\t", ("", "\x00"), ("\u2028",))])
@QUICK
def test_what_is_written_is_what_is_read(write, replies):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a.{write.__name__.removeprefix('write_')}"
        write(path, replies)
        assert list(read(path)) == replies
