"""What a small file may unpack into, or a row grow into, has a bound."""

import gzip
import io
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dialoscope import read_contexts, read_ratings
from dialoscope.core.errors import DataError
from dialoscope.data import arrow, dialogues, lines, problems


def as_parquet(rows: int) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({"response": [str(row) for row in range(rows)]}), file)
    return file.getvalue()


@pytest.fixture
def temporary_folder(tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_a_packed_parquet_file_is_unpacked_up_to_a_bound(
    write, examples, complaint, monkeypatch, temporary_folder
):
    small, large = as_parquet(10), as_parquet(1000)
    monkeypatch.setattr(arrow, "MOST_UNPACKED", len(small))
    assert len(examples(write("small.parquet.gz", gzip.compress(small)))) == 10
    path = write("large.parquet.gz", gzip.compress(large))
    assert complaint(path) == (
        f"{path}: unpacked, it is larger than 0 MiB, which is more than is unpacked on the way. "
        "Unpack it with gunzip and name the outcome."
    )
    assert list(temporary_folder.iterdir()) == []
    assert len(examples(write("large.parquet", large))) == 1000, "what is not packed has no bound"


def test_a_temporary_folder_that_is_full_is_named(write, complaint, monkeypatch):
    monkeypatch.setattr("tempfile.TemporaryFile", partial(Path("/dev/full").open, "wb", buffering=0))
    monkeypatch.setattr("tempfile.tempdir", "/somewhere")
    path = write("a.parquet.gz", gzip.compress(as_parquet(10)))
    assert complaint(path) == (
        f"{path}: cannot be copied to /somewhere: No space left on device. Make room there, set TMPDIR to "
        "another folder, or name an unpacked file."
    )


@pytest.mark.parametrize("blank", [b"\n", b"\r\n"])
@pytest.mark.parametrize(
    ("name", "first", "row"),
    [
        ("a.jsonl", b'{"id": "1", "response": "x"}\n', b'{"id": "2", "response": "y"}\n'),
        ("a.csv", b"id,response\n", b"2,y\n"),
    ],
)
def test_blank_lines_are_skipped_up_to_a_bound(
    write, examples, complaint, monkeypatch, name, first, row, blank
):
    monkeypatch.setattr(lines, "MOST_BLANK", 20)
    assert examples(write(name, blank * 20, first, blank * 10, row, blank * 10))[-1].response == "y"
    path = write(name, first, blank * 20, row, blank * 21)  # ten more for each of the two other lines
    assert complaint(path, on_error="skip") == (
        f"{path}:43: 41 of the lines up to here are blank; is the file damaged? Remove blank lines."
    )


def test_lines_of_spaces_are_blank_too(write, complaint, monkeypatch):
    monkeypatch.setattr(lines, "MOST_BLANK", 20)
    assert "a.jsonl:21: 21 of the lines up to here are blank" in complaint(write("a.jsonl", b" \t\n" * 21))


def test_replies_in_plain_text_may_be_empty_up_to_the_same_bound(write, examples, complaint, monkeypatch):
    monkeypatch.setattr(lines, "MOST_BLANK", 20)
    items = write("items.jsonl", *({"id": str(item), "context": ["hi"]} for item in range(21)))
    assert len(examples(items, replies={"bot": write("a.txt", b"\n" * 20, b"hi\n")})) == 21
    path = write("b.txt", b"\n" * 21)
    assert complaint(items, replies={"bot": path}).startswith(
        f"{path}:21: 21 of the lines up to here are blank"
    )


@pytest.mark.parametrize(
    ("name", "head", "bad", "good", "line"),
    [
        ("a.csv", b"id,response\n", b"x\n", b"1,y\n", 21),
        ("a.csv", b"id,response\n", b"{}\n", b"1,y\n", 21),
        ("a.csv", b"id,response\n", b'"\n"\n', b"1,y\n", 40),
        ("a.csv", b"id,response\n", b"\n" * 9 + b"x\n", b"1,y\n", 201),
        ("a.jsonl", b"", b"{}\n", b'{"response": "y"}\n', 20),
        ("a.jsonl", b"", b"1\n", b'{"response": "y"}\n', 20),
    ],
)
def test_a_flood_of_malformed_rows_ends_at_a_bound(
    write, examples, complaint, monkeypatch, name, head, bad, good, line
):
    monkeypatch.setattr(problems, "MOST_PROBLEMS", 20)
    monkeypatch.setattr(problems, "MOST_SKIPPED", 30)
    path = write(name, head, bad * 1000)
    assert complaint(path).startswith(
        f"20 problems and 0 good rows up to {path}:{line}, where reading ended:\n"
    )
    assert complaint(path).endswith(
        "\nIs this the right file, and are its columns named as they should be (--map)? Put them right, or "
        "leave these rows out with --on-error skip (on_error='skip')."
    )
    assert complaint(path, on_error="skip").startswith("30 problems and 0 good rows up to ")
    assert complaint(path, on_error="skip").endswith("named as they should be (--map)?")
    path = write(name, head, bad * 29, good, bad * 100)
    assert len(examples(path, on_error="skip")) == 1
    path = write(name, head, bad * 29, good, bad * 101)
    assert complaint(path, on_error="skip").startswith("130 problems and 1 good row up to ")


@pytest.mark.parametrize("reader", [read_contexts, read_ratings])
def test_so_does_one_of_contexts_and_ratings(write, monkeypatch, reader):
    monkeypatch.setattr(problems, "MOST_PROBLEMS", 20)
    path = write("a.csv", b"id,context,aspect,rating\n", b"1,hello,overall,1\n", b"x\n" * 100)
    with pytest.raises(DataError, match=r"^20 problems and 1 good row up to .*a\.csv:22, where"):
        reader(path)


def test_contexts_may_be_malformed_up_to_a_hundred_for_each_good_one(write, monkeypatch):
    monkeypatch.setattr(problems, "MOST_SKIPPED", 30)
    path = write("a.csv", b"id,context\n", b"1,hi\n", b"x\n" * 129)
    assert len(read_contexts(path, on_error="skip").rows) == 1
    path = write("a.csv", b"id,context\n", b"1,hi\n", b"x\n" * 130)
    with pytest.raises(DataError, match=r"^130 problems and 1 good row up to "):
        read_contexts(path, on_error="skip")


@pytest.mark.parametrize(("bound", "most"), [("MOST_TURNS", 4), ("MOST_REPEATED", 1 + 3 + 6 + 10)])
def test_a_dialogue_may_be_as_long_as_its_contexts_can_be_held(
    write, examples, complaint, monkeypatch, bound, most
):
    monkeypatch.setattr(dialogues, bound, most)
    turns = ["1", "22", "333", "4444", ""]
    assert len(examples(write("a.jsonl", {"turns": turns[:4]}))) == 2
    path = write("b.jsonl", {"turns": turns})
    assert (
        f"{path}:1: the dialogue has 5 turns, and their contexts 30 characters together; at most "
        in complaint(path)
    )
