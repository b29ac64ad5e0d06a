"""Every way a file can be wrong, and the sentence a user reads then."""

import gzip
import io
import json
import os
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dialoscope.core.errors import DataError
from dialoscope.core.records import Example
from dialoscope.data.contexts import read_contexts
from dialoscope.data.lint import lint
from dialoscope.data.problems import Problem, ReadLog
from dialoscope.data.rating_files import read_ratings
from dialoscope.data.replies import read
from dialoscope.data.score_files import read_scores
from dialoscope.runs.result import Result

GOOD = {"id": "good", "response": "fine"}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"id": None, "response": "x"}, "`id` is null where text is expected"),
        ({"id": "", "response": "x"}, "`id` is empty; give every row one"),
        ({"id": 1.5, "response": "x"}, "`id` is a number where text is expected"),
        ({"id": True, "response": "x"}, "`id` is true or false where text is expected"),
        ({"system": None, "response": "x"}, "`system` is null where text is expected"),
        ({"response": None}, "`response` is null where text is expected"),
        ({"response": 3}, "`response` is a number where text is expected"),
        ({"response": ["x"]}, "`response` is a list where text is expected"),
        ({"response": {"text": "x"}}, "`response` is an object where text is expected"),
        ({"id": "q", "output": "x"}, "no column `response` among id, output; .* --map response=output"),
        ({"id": "q", "said": "x"}, "no column `response` among id, said; .* --map response=COLUMN"),
        ({}, "no column `response` among none"),
        ({"response": "x", "context": 3}, "`context` is a number where text is expected"),
        ({"response": "x", "context": ["a", None]}, "item 2 of `context` is null where text is expected"),
        (
            {"response": "x", "context": [{"speaker": "a"}]},
            "item 1 of `context` is an object without `text` or `content`",
        ),
        (
            {"response": "x", "references": ["a", 1]},
            "item 2 of `references` is a number where text is expected",
        ),
        ({"response": "x", "ratings": [1]}, "`ratings` is a list where an object is expected"),
        (
            {"response": "x", "ratings": {"tone": "4"}},
            "a rating of 'tone' is text where a number is expected",
        ),
        (
            {"response": "x", "ratings": {"tone": [True]}},
            "a rating of 'tone' is true or false where a number is expected",
        ),
        ({"response": "x", "ratings": {"tone": float("nan")}}, "a rating of 'tone' is no finite number"),
        ({"response": "x", "ratings": {"tone": float("inf")}}, "a rating of 'tone' is no finite number"),
        ({"response": "x", "ratings": {"tone": 10**400}}, "a rating of 'tone' is no finite number"),
        (
            {"response": "x", "ratings": {"tone": -(10**60)}},
            r"a rating of 'tone' is -1e\+60, which no scale has",
        ),
        ({"response": "\ud800 x"}, r"`response` holds a lone surrogate \(\\ud800 at character 1\)"),
        ({"response": "x", "context": ["a", "b\udfff"]}, "item 2 of `context` holds a lone surrogate"),
        ({"id": "\ud800", "response": "x"}, "`id` holds a lone surrogate"),
        ({"response": "x", "ratings": {"\ud800": 1}}, "an aspect in `ratings` holds a lone surrogate"),
        ('{"response": "x"', "not valid JSON at character 18: Expecting ',' delimiter"),
        ("{", "not valid JSON at character .*each line must hold a whole object: jq -c"),
        ('"x"', "the line is text where an object is expected"),
        ("3", "the line is a number where an object is expected"),
        ("[1]", "the line is a list where an object is expected"),
        ("[" * 100_000, "the JSON is nested too deep to be read"),
        (
            b'{"response": "caf\xe9"}\n',
            "not UTF-8: byte 0xe9 at offset 17 of the line; .* iconv -f latin1 -t utf-8",
        ),
        ('{"response": "é"}'.encode("utf-16-le") + b"\n", "not UTF-8: byte 0xe9 .* iconv -f utf-16 -t utf-8"),
        (
            b'{"response": "' + b"x" * 10_000_000 + b'"}\n',
            "the line is 10.0 MB long, more than the 8 MiB allowed",
        ),
    ],
)
def test_a_bad_row_is_named_with_its_line_and_reason(write, complaint, examples, line, reason):
    path = write("a.jsonl", GOOD, line, {"id": "after", "response": "fine"})
    text = complaint(path)
    assert re.search(rf"^1 problem in the data:\n{re.escape(str(path))}:2: .*{reason}", text), text
    assert "--on-error skip" in text
    assert [example.id for example in examples(path, on_error="skip")] == ["good", "after"]


def test_the_same_reply_twice_names_the_first(write, complaint):
    first = write("a.jsonl", GOOD, {"id": "q", "system": "s", "response": "x"})
    second = write("b.jsonl", "", {"id": "q", "system": "s", "response": "y"})
    told = complaint(first, second)
    assert f"b.jsonl:2: a second reply with id 'q' and system 's', after {first}:2; give each reply" in told
    assert "its own id, and each system its own name (respond --name)" in told


def test_reading_stops_at_the_first_problem_but_counts_them_all(write):
    path = write("a.jsonl", GOOD, *(["oops"] * 30), {"id": "later", "response": "x"})
    log = ReadLog()
    seen = []
    with pytest.raises(DataError, match=r"(?s)^30 problems in the data:.*a.jsonl:21: .*\.\.\. and 10 more\n"):
        seen.extend(row.example.id for row in read(path).rows(log))
    assert (log.problem_count, len(log.problems)) == (30, 20)
    assert str(log.problems[0]).startswith(f"{path}:2: not valid JSON")


def test_rows_before_the_first_problem_are_handed_out_and_none_after(write):
    reading = iter(read(write("a.jsonl", GOOD, "oops", {"response": "x"})))
    assert next(reading).id == "good"
    with pytest.raises(DataError):
        next(reading)


def test_a_problem_prints_as_editors_like_it():
    assert str(Problem("a.jsonl", 3, "odd")) == "a.jsonl:3: odd"


def test_skipping_every_row_is_an_error(write, complaint):
    path = write("a.jsonl", "oops", "oops")
    assert complaint(path, on_error="skip").startswith("Not one reply could be read; 2 problems:\n")


@pytest.mark.parametrize("content", [b"", b"\n \n\n", b"\n" * 100_000, b"\xef\xbb\xbf"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.tsv", "a"])
def test_an_empty_file_is_refused(write, complaint, name, content):
    assert "is empty; it should hold one reply a row" in complaint(write(name, content))


def test_nothing_on_standard_input_is_refused(monkeypatch, complaint):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    assert "standard input is empty (it can be read only once)" in complaint("-")


def test_a_file_that_is_not_there_brings_up_its_neighbours(write, tmp_path, complaint):
    write("replies.jsonl", GOOD)
    text = complaint(tmp_path / "replys.jsonl")
    assert f"there is no such file; did you mean {tmp_path / 'replies.jsonl'}?" in text
    assert f"nor a folder {tmp_path / 'no'}" in complaint(tmp_path / "no" / "a.jsonl")


def test_a_path_no_system_can_have_is_refused(complaint):
    assert "cannot be looked at" in complaint("a" * 5000 + ".jsonl")


def test_a_file_one_may_not_read_is_refused(write, complaint):
    path = write("a.jsonl", GOOD)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    assert "permission denied. Allow reading it: chmod +r" in complaint(path)


def test_permission_is_asked_for_where_the_system_refuses(write, complaint, monkeypatch):
    path = write("a.jsonl", GOOD)

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    assert f"{path}: permission denied. Allow reading it: chmod +r {path}" in complaint(path)


def test_a_disk_that_fails_is_told_of(write, complaint, monkeypatch):
    path = write("a.jsonl", GOOD)

    def fail(*_, **__):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("pathlib.Path.open", fail)
    assert f"{path}: cannot be read: Input/output error." in complaint(path)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf_16_is_recognised_by_its_mark(write, complaint, encoding):
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    path = write("a.jsonl", mark + json.dumps(GOOD).encode(encoding))
    assert f"is written in UTF-16, not in UTF-8. Convert it: iconv -f utf-16 -t utf-8 {path}" in complaint(
        path
    )


def test_a_list_of_json_comes_with_the_command_that_parts_it(write, complaint):
    for name in ("a.json", "a"):
        path = write(name, b'\n[\n{"response": "x"}]')
        assert f"Put one object a line: jq -c '.[]' {path}" in complaint(path)


@pytest.mark.parametrize("damage", ["cut off", "flipped", "only a head"])
def test_a_damaged_gzip_is_refused(write, complaint, damage):
    whole = gzip.compress(
        b"".join(json.dumps({"id": i, "response": "x" * i}).encode() + b"\n" for i in range(300))
    )
    damaged = {
        "cut off": whole[:-20],
        "flipped": whole[:200] + bytes(255 - byte for byte in whole[200:260]) + whole[260:],
        "only a head": whole[:5],
    }[damage]
    assert "the gzip file is cut off or damaged" in complaint(write("a.jsonl.gz", damaged), on_error="skip")


def test_a_damaged_parquet_file_is_refused(tmp_path, write, complaint):
    pq.write_table(pa.table({"response": ["x"] * 100}), tmp_path / "whole.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    for content in (whole[: len(whole) // 2], b"PAR1" + b"x" * 50 + b"PAR1"):
        assert "this Parquet file is damaged, or none at all" in complaint(write("a.parquet", content))


def test_tables_without_rows_are_refused(tmp_path, write, complaint):
    pq.write_table(pa.table({"response": pa.array([], pa.string())}), tmp_path / "a.parquet")
    assert "a.parquet has columns, but no rows" in complaint(tmp_path / "a.parquet")
    assert "a.csv has columns, but no rows" in complaint(write("a.csv", "id,response\n"))


def test_a_table_without_a_header_is_refused(write, complaint):
    text = complaint(write("a.csv", "q1,hello there\nq2,hi\n"))
    assert "none of its columns is known (q1, hello there). If it lacks a header line, put one first" in text


def test_a_header_that_repeats_a_name_is_refused(write, complaint):
    assert "the header names id more than once; rename one" in complaint(
        write("a.csv", "id,id,response\n1,2,x\n")
    )


def test_a_header_that_is_no_text_is_refused(write, complaint):
    assert "the header line cannot be read: not UTF-8: byte 0xe9" in complaint(
        write("a.csv", b"id,caf\xe9\n1,2\n")
    )


def test_a_table_without_replies_says_how_to_map(write, tmp_path, complaint):
    assert "no column `response` among id, output; say" in complaint(write("a.csv", "id,output\n1,x\n"))
    pq.write_table(pa.table({"id": ["1"], "prediction": ["x"]}), tmp_path / "a.parquet")
    assert "--map response=prediction" in complaint(tmp_path / "a.parquet")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1", '1 cell where the header has 3; put cells that hold the separator in "quotes"'),
        ("1,x,,", "4 cells where the header has 3"),
        ('1,"x"y,', "the row cannot be split into cells .* write a quote within"),
        (b"1,caf\xe9,\n", "not UTF-8: byte 0xe9 in '1caf\\?'; convert the file: iconv -f latin1"),
        ("1,x,many", "'many' in column ratings is neither a number nor JSON"),
        ("1,x,{oops", "not valid JSON at character 2"),
        ("1,x,4", "`ratings` is a number where an object is expected"),
        (b"1," + b"x" * 10_000_000 + b",\n", "the line is 10.0 MB long"),
    ],
)
def test_a_bad_row_of_a_table_is_named_with_its_line_and_reason(write, complaint, examples, line, reason):
    path = write("a.csv", "id,response,ratings", "0,first,", line, "2,last,")
    text = complaint(path)
    assert re.search(rf"^1 problem in the data:\n{re.escape(str(path))}:3: .*{reason}", text), text
    assert [example.id for example in examples(path, on_error="skip")] == ["0", "2"]


def test_a_quote_that_never_closes_does_not_fill_the_memory(write, complaint):
    path = write("a.csv", "response\n", '"open', *(["x" * 1_000_000] * 10))
    assert "a.csv:3: a cell is longer than 8 MiB; is there a closing quote missing?" in complaint(path)


def test_a_quote_open_at_the_end_is_a_problem(write, complaint):
    assert "unexpected end of data" in complaint(write("a.csv", "response\nfine\n", '"open'))


def test_a_last_line_that_is_too_long_needs_no_end(write, complaint):
    assert "a.jsonl:2: the line is 20.0 MB long" in complaint(write("a.jsonl", GOOD, b"x" * 20_000_000))


def test_plain_text_alone_is_refused(write, complaint):
    assert "plain text can only hold the replies to items of another file" in complaint(
        write("a.txt", "hello")
    )


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_a_mapped_column_must_occur(write, complaint, name):
    path = write(name, {"id": 1, "response": "x"}) if name == "a.jsonl" else write(name, "id,response\n1,x\n")
    text = complaint(path, columns={"context": "history"})
    assert text == f"{path} has no column history. Its columns are: id, response."


def test_only_known_columns_can_be_mapped(write, complaint):
    text = complaint(write("a.jsonl", GOOD), columns={"respnse": "output"})
    assert text.startswith("There is no column 'respnse' to map (did you mean 'response'?): id, system")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"on_error": "ignore"}, "on_error is 'ignore'; it must be 'stop' or 'skip'"),
        ({"format": "xml"}, "format is 'xml'; it must be 'jsonl' or 'csv' or 'tsv' or 'parquet'"),
        ({"separator": ""}, "The separator is empty"),
    ],
)
def test_settings_that_do_not_exist_are_refused(write, complaint, settings, reason):
    assert reason in complaint(write("a.jsonl", GOOD), **settings)


def test_something_must_be_named_and_standard_input_only_once(complaint):
    assert "There is nothing to read" in complaint()
    assert "Standard input (-) can be read only once" in complaint("-", "-")


TABLE = pa.table({"id": ["1"], "response": ["hello"]}).to_pandas()


@pytest.mark.parametrize(
    ("thing", "reason"),
    [
        (
            TABLE,
            r"This is not the path of a file, but a DataFrame\. Write the table to a file, .*ds\.Example",
        ),
        (None, r"This is not the path of a file, but None\. Give its name as text, or a pathlib\.Path\."),
        (123, "path of a file, but 123"),
        (b"replies.jsonl", r"path of a file, but b'replies\.jsonl'\. Give its name as text"),
        (["a.jsonl", "b.jsonl"], r"path of a file, but a list\. Name several files one by one: ds\.read\("),
        ({"a": 1}, r"but a dict\. .*made with ds\.Replies\.of\(examples\)"),
        (Example("1", "a", "x"), "path of a file, but an Example"),
    ],
    ids=["DataFrame", "None", "number", "bytes", "list", "dict", "Example"],
)
@pytest.mark.parametrize("reader", [read, read_contexts, read_ratings, read_scores, Result.load])
def test_what_is_no_path_is_refused_with_what_to_do(reader, thing, reason):
    with pytest.raises(DataError, match=reason):
        reader(thing)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"replies": ["b.jsonl"]}, "replies is a list; it must map names of systems to their files"),
        ({"replies": {"b": 3}}, "path of a file, but 3. Give"),
        ({"columns": ["id"]}, "columns is a list; it must map our names of columns to the file's"),
        ({"separator": 3}, "separator is 3 where text is expected"),
        ({"system": b"x"}, "system is b'x' where text is expected"),
        ({"speaker": ["A"]}, "speaker is a list where text is expected"),
        ({"format": TABLE}, "format is a DataFrame; it must be 'jsonl' or"),
        ({"on_error": TABLE}, "on_error is a DataFrame; it must be 'stop' or 'skip'"),
    ],
    ids=lambda value: "" if isinstance(value, str) else str(list(value)),
)
def test_settings_of_another_type_are_refused(write, complaint, settings, reason):
    assert reason in complaint(write("a.jsonl", {"response": "x"}), **settings)


REPEATED = {
    "row": '{"id": "1", "response": "x", "id": "2"}',
    "row with a colon": '{"id": "1", "response": "say: x", "id": "2"}',
    "row with a quote and a colon": r'{"id": "1", "response": "he said \"x\":", "id": "2"}',
    "row with spaces": '{"id" : "1", "response" : "x", "id" : "2"}',
    "row with one space": '{"id": "1", "response": "x", "id" : "2"}',
    "row with a tab": '{"id": "1", "response": "x", "id"\t: "2"}',
    "row with a line end within": '{"id": "1", "response": "x", "id"\r: "2"}',
    "row with a code": r'{"id": "1", "response": "x", "\u0069d": "2"}',
    "row of equals": '{"id": "1", "response": "x", "id": "1"}',
    "ratings": '{"response": "x", "ratings": {"id": 1, "id": 2}}',
    "raters": '{"response": "x", "ratings": {"tone": {"id": 1, "id": 2}}}',
    "turn": '{"turns": [{"speaker": "bot", "text": "x", "id": 1, "id": 2}]}',
    "context": '{"response": "x", "context": [{"text": "a", "id": 1, "id": 1}]}',
    "unread": '{"response": "x", "meta": {"a": [{"id": 1, "id": 2}]}}',
    "row with a great number": '{"id": "1", "response": "x", "id": ' + "1" * 5000 + "}",
}


@pytest.mark.parametrize("row", REPEATED.values(), ids=REPEATED)
def test_a_key_that_is_repeated_is_a_problem_of_its_row(write, complaint, examples, row):
    path = write("a.jsonl", {"response": "fine"}, row, {"response": "fine"})
    assert "1 problem in the data:\n" in complaint(path)
    assert f"{path}:2: the key 'id' is there 2 times in one object; keep one of them" in complaint(path)
    assert [one.response for one in examples(path, on_error="skip")] == ["fine", "fine"]


@pytest.mark.parametrize("column", ["ratings", "turns", "context"])
def test_a_key_that_is_repeated_in_a_cell_is_a_problem_of_its_row(write, complaint, column):
    cell = '{"a": 1, "a": 2}' if column == "ratings" else '[{"text": "a", "a": 1, "a": 2}]'
    quoted = cell.replace('"', '""')
    path = write("a.csv", f'response,{column}\nhello,"{quoted}"\n'.encode())
    assert f"{path}:2: the key 'a' is there 2 times in one object" in complaint(path)


def test_a_key_that_is_repeated_is_a_problem_on_standard_input_and_for_all_readers(
    monkeypatch, write, complaint
):
    row = '{"id": "1", "response": "x", "id": "2"}\n'
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(row.encode())))
    assert "standard input:1: the key 'id' is there 2 times" in complaint("-")
    path = write("a.json", row.encode())
    for reader in (read_contexts, read_ratings, read_scores):
        with pytest.raises(DataError, match=r"a\.json:1: the key 'id' is there 2 times"):
            reader(path)
    with pytest.raises(DataError, match=r"a\.json:1: the key 'id' is there 2 times"):
        lint(read(path))


@pytest.mark.parametrize("end", ["\n", "\r\n", " \n"], ids=ascii)
def test_rows_without_a_repeated_key_are_read_whatever_holds_colons(write, examples, end):
    texts = ["a: b", '":', '" :', 'say "x": y', "{", '{"id": 1, "id": 2}', "\t:", "a\r:b"]
    rows = [json.dumps({"id": str(at), "response": text}) for at, text in enumerate(texts)]
    rows += [
        json.dumps({"response": "x", "meta": {"a": {"id": 1}, "b": {"id": 2}}}, separators=(" , ", " : "))
    ]
    path = write("a.jsonl", "".join(row + end for row in rows).encode())
    assert [one.response for one in examples(path)] == [*texts, "x"]
