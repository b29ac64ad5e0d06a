"""Items in one file, the replies of each system in another."""

import gzip

import pytest

from dialoscope.core.records import Example, Rating
from dialoscope.data.problems import ReadLog
from dialoscope.data.replies import read


@pytest.fixture
def items(write):
    return write(
        "items.jsonl",
        {"id": "q1", "context": ["hi"], "references": ["hey"], "response": 5},
        {"id": "q2", "context": ["bye"]},
    )


def test_plain_lines_are_replies_in_the_order_of_the_items(write, examples, items):
    text = write("a.txt", b"\xef\xbb\xbfhello\r\n\n")
    assert examples(items, replies={"bot-a": text}) == [
        Example("q1", "bot-a", "hello", ("hi",), ("hey",)),
        Example("q2", "bot-a", "", ("bye",)),
    ]


def test_plain_lines_may_be_packed_and_need_no_ending(write, examples, items):
    assert len(examples(items, replies={"a": write("a", gzip.compress(b"x\ny"))})) == 2


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "b.jsonl",
            [{"id": "q2", "response": "two", "ratings": {"tone": 1}}, {"id": "q1", "response": "one"}],
        ),
        ("b.csv", ["id,response,ratings.tone\nq2,two,1\nq1,one,\n"]),
        ("b", [{"id": "q2", "response": "two", "ratings": {"tone": 1}}, {"id": "q1", "response": "one"}]),
    ],
)
def test_other_formats_find_their_items_by_id(write, rows, items, name, content):
    second, first = rows(items, replies={"bot-b": write(name, *content)})
    assert first.example == Example("q1", "bot-b", "one", ("hi",), ("hey",))
    assert second.ratings == (Rating("q2", "bot-b", "tone", "1", 1.0),)


def test_every_system_answers_every_item(write, examples, items):
    replies = {
        "a": write("a.txt", "x\ny"),
        "b": write("b.jsonl", {"id": "q1", "response": "1"}, {"id": "q2", "response": "2"}),
    }
    assert [(example.system, example.id) for example in examples(items, replies=replies)] == [
        ("a", "q1"),
        ("a", "q2"),
        ("b", "q1"),
        ("b", "q2"),
    ]


def test_columns_are_mapped_in_both_kinds_of_file(write, examples):
    items = write("items.jsonl", {"key": "q1", "history": "hi"})
    text = write("a.jsonl", {"key": "q1", "output": "x"})
    columns = {"id": "key", "context": "history", "response": "output"}
    assert examples(items, replies={"a": text}, columns=columns) == [Example("q1", "a", "x", ("hi",))]


@pytest.mark.parametrize(("text", "count"), [("one", "1 line"), ("1\n2\n3", "3 lines"), (b"", "0 lines")])
def test_a_different_number_of_lines_names_both_counts(write, complaint, items, text, count):
    path = write("a.txt", text)
    assert f"{path} has {count}, but there are 2 items. Plain text needs one reply a line" in complaint(
        items, replies={"a": path}
    )


@pytest.mark.parametrize(
    ("replies", "reason"),
    [
        ([{"id": "q1", "response": "x"}], "no reply by 'bot' to item 'q2'; add one"),
        ([{"id": "q9", "response": "x"}], "a reply to 'q9', which is the id of no item"),
        ([{"id": "q1", "response": None}], "`response` is null where text is expected"),
        (["oops"], "not valid JSON"),
        (
            [{"id": "q1", "response": "x"}, {"id": "q1", "response": "y"}],
            "a second reply with id 'q1' and system 'bot'",
        ),
    ],
)
def test_replies_that_do_not_fit_the_items_say_why(write, complaint, items, replies, reason):
    assert reason in complaint(items, replies={"bot": write("bot.jsonl", *replies)})


def test_plain_lines_that_are_no_text_are_problems(write, complaint, items):
    assert "a.txt:2: not UTF-8: byte 0xff" in complaint(items, replies={"a": write("a.txt", b"x\n\xff\n")})
    assert "a.txt:1: the line is 9.0 MB long" in complaint(
        items, replies={"a": write("a.txt", "x" * 9_000_000, "y")}
    )


def test_items_given_twice_are_problems(write, complaint):
    items = write("items.jsonl", {"id": "q"}, {"id": "q"})
    assert "items.jsonl:2: a second item with id 'q', after line 1" in complaint(
        items, replies={"a": write("a.txt", "x\ny")}
    )


def test_an_item_left_out_does_not_shift_the_lines(write):
    items = write("items.jsonl", {"id": "q1"}, "oops", {"id": "q3"})
    log = ReadLog()
    replies = read(items, replies={"a": write("a.txt", "one\ntwo\nthree")}, on_error="skip")
    assert [(row.example.id, row.example.response) for row in replies.rows(log)] == [
        ("q1", "one"),
        ("q3", "three"),
    ]
    assert log.problem_count == 1


def test_who_replied_cannot_be_said_twice(write, complaint, items):
    assert "leave out system and speaker" in complaint(items, replies={"a": items}, system="b")


def test_the_size_is_that_of_all_files(write, items):
    text = write("a.txt", "x\ny")
    assert read(items, replies={"a": text}).size() == items.stat().st_size + text.stat().st_size
