"""The same rows out of every format."""

import csv
import gzip
import io
import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dialoscope.core.records import Example, Rating
from dialoscope.data.problems import ReadLog
from dialoscope.data.replies import read

RECORDS = [
    {
        "id": "q1",
        "context": ["hi", "you?"],
        "response": "hello, there",
        "references": ["hey"],
        "ratings": {"tone": [4.0, None]},
    },
    {"id": "q2", "context": [], "response": 'say "ä"\nagain', "references": [], "ratings": {"tone": [1.0]}},
]
EXAMPLES = [
    Example("q1", "bot", "hello, there", ("hi", "you?"), ("hey",)),
    Example("q2", "bot", 'say "ä"\nagain'),
]
RATINGS = [
    (Rating("q1", "bot", "tone", "1", 4.0), Rating("q1", "bot", "tone", "2", None)),
    (Rating("q2", "bot", "tone", "1", 1.0),),
]


def as_jsonl() -> bytes:
    return "".join(json.dumps(record) + "\n" for record in RECORDS).encode()


def as_delimited(delimiter: str) -> bytes:
    table = io.StringIO(newline="")
    writer = csv.writer(table, delimiter=delimiter)
    writer.writerow(RECORDS[0])
    for record in RECORDS:
        writer.writerow([cell if isinstance(cell, str) else json.dumps(cell) for cell in record.values()])
    return table.getvalue().encode()


def as_parquet() -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(RECORDS), file)
    return file.getvalue()


CONTENT = {"jsonl": as_jsonl(), "csv": as_delimited(","), "tsv": as_delimited("\t"), "parquet": as_parquet()}


def save_to_disk(folder, *shards: list[dict]) -> None:
    """Lay a folder out as `datasets` does."""
    folder.mkdir(parents=True)
    names = [f"data-{place:05}-of-{len(shards):05}.arrow" for place in range(len(shards))]
    for name, records in zip(names, shards, strict=True):
        table = pa.Table.from_pylist(records)
        with pa.OSFile(str(folder / name), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
            stream.write_table(table)
    state = {"_data_files": [{"filename": name} for name in names], "_fingerprint": "f", "_split": "train"}
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text("{}")


@pytest.fixture
def pipe_in(monkeypatch):
    """Puts bytes on standard input, a few at a time as a pipe may."""

    class Trickle(io.BytesIO):
        def read(self, size=-1):
            return super().read(min(size, 7) if size > 0 else size)

    def pipe(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Trickle(content)))

    return pipe


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("format_", CONTENT)
class TestEveryFormat:
    def content(self, format_, packed):
        return gzip.compress(CONTENT[format_]) if packed else CONTENT[format_]

    def test_is_known_by_its_ending(self, write, rows, format_, packed):
        path = write(f"bot.{format_}" + (".gz" if packed else ""), self.content(format_, packed))
        assert [row.example for row in rows(path)] == EXAMPLES
        assert [row.ratings for row in rows(path)] == RATINGS

    def test_is_known_by_its_content(self, write, examples, format_, packed):
        assert examples(write("bot", self.content(format_, packed))) == EXAMPLES

    def test_is_known_on_standard_input(self, pipe_in, examples, format_, packed):
        pipe_in(self.content(format_, packed))
        assert examples("-", system="bot") == EXAMPLES

    def test_is_known_when_it_is_named(self, write, examples, format_, packed):
        path = write("bot.txt", self.content(format_, packed))
        assert examples(path, format=format_) == EXAMPLES

    def test_has_all_its_bytes_counted(self, write, format_, packed):
        path = write(f"bot.{format_}", self.content(format_, packed))
        consumed = []
        list(read(path).rows(ReadLog(on_bytes=consumed.append)))
        assert sum(consumed) == path.stat().st_size


def test_standard_input_has_no_size_and_calls_its_system_so(pipe_in):
    pipe_in(CONTENT["jsonl"])
    replies = read("-")
    assert replies.size() is None
    assert {example.system for example in replies} == {"system"}


@pytest.mark.parametrize("format_", ["jsonl", "csv"])
def test_byte_order_mark_and_windows_line_ends_are_accepted(write, examples, format_):
    content = b"\xef\xbb\xbf" + (b'{"response": "x"}\r\n' if format_ == "jsonl" else b"response\r\nx\r\n")
    assert examples(write(f"a.{format_}", content)) == [Example("1", "a", "x")]


def test_a_datasets_folder_is_read_shard_by_shard(tmp_path, rows):
    save_to_disk(tmp_path / "bot", [{**RECORDS[0], "extra": 1}], [{**RECORDS[1], "extra": 2}])
    assert [row.example for row in rows(tmp_path / "bot")] == EXAMPLES
    consumed = []
    log = ReadLog(on_bytes=consumed.append)
    list(read(tmp_path / "bot").rows(log))
    assert log.ignored_columns == {"extra": 2}
    assert sum(consumed) == read(tmp_path / "bot").size()


def test_the_only_split_of_a_folder_is_read(tmp_path, examples):
    save_to_disk(tmp_path / "bot" / "test", RECORDS)
    (tmp_path / "bot" / "dataset_dict.json").write_text('{"splits": ["test"]}')
    assert examples(tmp_path / "bot") == EXAMPLES


def test_a_folder_can_hold_the_replies_to_items(tmp_path, write, examples):
    save_to_disk(tmp_path / "bot", RECORDS)
    items = write("items.jsonl", {"id": "q1"}, {"id": "q2"})
    assert [reply.response for reply in examples(items, replies={"bot": tmp_path / "bot"})] == [
        reply.response for reply in EXAMPLES
    ]


def test_several_splits_are_offered_for_choice(tmp_path, complaint):
    for split in ("test", "train"):
        save_to_disk(tmp_path / "bot" / split, RECORDS)
    assert f"Choose one: {tmp_path}/bot/test, {tmp_path}/bot/train" in complaint(tmp_path / "bot")


def test_a_folder_of_other_things_is_refused(tmp_path, complaint):
    assert "none that `save_to_disk` of datasets wrote" in complaint(tmp_path)


@pytest.mark.parametrize(
    "state", ["{", "[]", '{"_data_files": []}', '{"_data_files": [{"filename": "../gone.arrow"}]}']
)
def test_a_damaged_datasets_folder_is_refused(tmp_path, complaint, state):
    save_to_disk(tmp_path / "bot", RECORDS)
    (tmp_path / "bot" / "state.json").write_text(state)
    assert "this datasets folder is damaged" in complaint(tmp_path / "bot")


def test_a_damaged_shard_is_refused(tmp_path, complaint):
    save_to_disk(tmp_path / "bot", RECORDS)
    (tmp_path / "bot" / "data-00000-of-00001.arrow").write_bytes(b"no arrow")
    assert "this datasets folder is damaged" in complaint(tmp_path / "bot")


def test_maps_in_parquet_are_ratings_too(tmp_path, rows):
    ratings = pa.array(
        [[("tone", [("ann", 2.0)])], []], pa.map_(pa.string(), pa.map_(pa.string(), pa.float64()))
    )
    pq.write_table(pa.table({"response": ["x", "y"], "ratings": ratings}), tmp_path / "bot.parquet")
    assert [row.ratings for row in rows(tmp_path / "bot.parquet")] == [
        (Rating("1", "bot", "tone", "ann", 2.0),),
        (),
    ]


def test_columns_of_one_aspect_each_hold_ratings(write, rows):
    path = write("bot.csv", 'response,ratings.tone,ratings.wit\nx,4,"[1, null]"\ny,,\n')
    first, second = rows(path)
    assert [(rating.aspect, rating.rater, rating.value) for rating in first.ratings] == [
        ("tone", "1", 4.0),
        ("wit", "1", 1.0),
        ("wit", "2", None),
    ]
    assert second.ratings == ()


def test_a_cell_that_only_begins_like_a_list_is_text(write, examples):
    path = write("a.csv", 'response,context\nx,"[laughs] no"\n')
    assert examples(path)[0].context == ("[laughs] no",)


def test_a_separator_parts_the_cells_of_a_table(write, examples):
    assert examples(write("a.csv", "response,context\nx,hi|you\n"), separator="|")[0].context == ("hi", "you")


def test_cells_may_be_longer_than_the_module_csv_likes(write, examples):
    assert len(examples(write("a.csv", "response\n" + "x" * 200_000))[0].response) == 200_000


def test_bad_text_in_parquet_is_a_problem_of_its_row(tmp_path, complaint):
    column = pa.array([b"good", b"caf\xe9"]).view(pa.string())
    pq.write_table(pa.table({"response": column}), tmp_path / "a.parquet")
    assert "a.parquet:2: not UTF-8: byte 0xe9" in complaint(tmp_path / "a.parquet")


def test_lines_of_json_are_read_without_arrow(write):
    path = write("a.jsonl", {"response": "x"})
    script = f"import sys, dialoscope as d; list(d.read({str(path)!r})); sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
