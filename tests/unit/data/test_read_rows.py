"""What the cells of a row become."""

import pytest

from dialoscope.core.records import Example, Rating
from dialoscope.data.layout import Row
from dialoscope.data.problems import ReadLog
from dialoscope.data.replies import read


def test_a_full_row_becomes_an_example_with_its_ratings(write, rows):
    path = write(
        "a.jsonl",
        {
            "id": "q1",
            "system": "bot",
            "context": ["hi"],
            "response": "hello",
            "references": ["hey", "yo"],
            "ratings": {"tone": 4},
        },
    )
    rating = Rating("q1", "bot", "tone", "1", 4.0)
    assert rows(path) == [Row(Example("q1", "bot", "hello", ("hi",), ("hey", "yo")), (rating,))]


def test_what_is_missing_has_its_usual_stand_in(write, examples):
    path = write("bot-a.jsonl", {"response": "hello"}, "", {"response": ""})
    assert examples(path) == [Example("1", "bot-a", "hello"), Example("2", "bot-a", "")]


def test_rows_that_cannot_be_read_still_count_for_the_ids_of_the_others(write, examples):
    path = write("a.jsonl", {"response": "x"}, "{oops", {"response": "y"})
    assert [example.id for example in examples(path, on_error="skip")] == ["1", "3"]


@pytest.mark.parametrize("name", ["bot-a.jsonl", "bot-a.ndjson", "bot-a.json", "bot-a.replies"])
def test_the_system_is_named_after_the_file(write, examples, name):
    path = write(name, {"response": "x"})
    assert examples(path)[0].system == ("bot-a.replies" if name.endswith("replies") else "bot-a")


def test_the_system_of_a_row_wins_over_the_argument(write, examples):
    path = write("a.jsonl", {"response": "x"}, {"response": "y", "system": "own"})
    assert [example.system for example in examples(path, system="given")] == ["given", "own"]


def test_integers_are_ids_too(write, examples):
    path = write("a.jsonl", {"id": 7, "response": "x"}, {"id": 10**400, "response": "y"})
    assert [example.id for example in examples(path)] == ["7", str(10**400)]


def test_integers_of_any_length_are_fine_where_nobody_reads_them(write, examples):
    path = write("a.jsonl", '{"response": "x", "meta": ' + "9" * 5000 + "}")
    assert examples(path) == [Example("1", "a", "x")]


@pytest.mark.parametrize(
    ("context", "turns"),
    [
        (["a", "b"], ("a", "b")),
        ("a EOS b", ("a EOS b",)),
        ("", ()),
        (None, ()),
        ([], ()),
        ([{"speaker": "u", "text": "a"}, {"role": "user", "content": "b"}], ("a", "b")),
    ],
)
def test_context_comes_in_many_shapes(write, examples, context, turns):
    assert examples(write("a.jsonl", {"response": "x", "context": context}))[0].context == turns


def test_a_separator_parts_texts_into_turns(write, examples):
    path = write("a.jsonl", {"response": "x", "context": "a EOS b EOS", "references": "c EOS d"})
    example = examples(path, separator="EOS")[0]
    assert (example.context, example.references) == (("a", "b"), ("c", "d"))


@pytest.mark.parametrize(
    ("references", "expected"), [("one", ("one",)), (None, ()), (["a", ""], ("a", "")), ("", ())]
)
def test_references_may_be_one_or_many_or_none(write, examples, references, expected):
    assert examples(write("a.jsonl", {"response": "x", "references": references}))[0].references == expected


def test_text_may_hold_every_character(write, examples):
    text = "nul \x00, \u2028, 😀 and \ufeff"
    assert examples(write("a.jsonl", {"response": text}))[0].response == text


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"tone": 3}, [("tone", "1", 3.0)]),
        ({"tone": [3, None, 4.5]}, [("tone", "1", 3.0), ("tone", "2", None), ("tone", "3", 4.5)]),
        ({"tone": {"ann": 1, "bob": None}}, [("tone", "ann", 1.0), ("tone", "bob", None)]),
        ({"tone": None, "wit": 2}, [("wit", "1", 2.0)]),
        ({}, []),
        (None, []),
    ],
)
def test_ratings_come_in_three_shapes(write, rows, given, expected):
    ratings = rows(write("a.jsonl", {"response": "x", "ratings": given}))[0].ratings
    assert [(rating.aspect, rating.rater, rating.value) for rating in ratings] == expected


def test_columns_can_be_mapped(write, examples):
    path = write("a.jsonl", {"q": 1, "output": "x", "history": ["h"]})
    mapped = examples(path, columns={"id": "q", "response": "output", "context": "history"})
    assert mapped == [Example("1", "a", "x", ("h",))]


def test_unknown_columns_are_counted_and_known_extras_are_not(write):
    path = write(
        "a.jsonl",
        {"response": "x", "gold": 1, "meta": {}, "corpus": "c", "split": "test"},
        {"response": "y", "gold": 2},
    )
    log = ReadLog()
    list(read(path).rows(log))
    assert log.ignored_columns == {"gold": 2}


def test_a_file_with_a_new_column_in_every_row_does_not_fill_the_log(write):
    path = write("a.jsonl", *({"response": "x", f"column-{place}": 1} for place in range(1200)))
    log = ReadLog()
    list(read(path).rows(log))
    assert len(log.ignored_columns) == 1000


def test_a_description_can_be_read_again(write):
    replies = read(write("a.jsonl", {"response": "x"}))
    assert list(replies) == list(replies) == [Example("1", "a", "x")]


def test_several_files_are_read_one_after_the_other(write, examples):
    paths = [write(f"bot-{name}.jsonl", {"id": "q", "response": name}) for name in "ab"]
    assert examples(*paths) == [Example("q", "bot-a", "a"), Example("q", "bot-b", "b")]


def test_the_log_counts_rows_and_bytes(write):
    path = write("a.jsonl", {"response": "x" * 1000}, {"response": "y"})
    consumed = []
    log = ReadLog(on_bytes=consumed.append)
    replies = read(path)
    list(replies.rows(log))
    assert (log.rows, sum(consumed), replies.size()) == (2, path.stat().st_size, path.stat().st_size)


def test_reading_can_stop_in_the_middle(write):
    path = write("a.jsonl", *({"response": "x"} for _ in range(10)))
    assert next(iter(read(path))) == Example("1", "a", "x")


def test_a_description_names_the_arguments_that_read_the_same_again(write):
    items, text = write("items.csv", "key\nq"), write("a.txt", "x")
    replies = read(
        items, replies={"a": text}, columns={"id": "key"}, separator="|", format="csv", on_error="skip"
    )
    arguments = replies.arguments()
    assert arguments.pop("names") == ["items"]
    again = read(*arguments.pop("paths"), **arguments)
    assert again == replies
    assert list(again) == [Example("q", "a", "x")]


def test_standard_input_among_the_files_leaves_the_size_unknown(write):
    replies = read("-", write("a.jsonl", {"response": "x"}))
    assert replies.size() is None
    assert replies.arguments()["paths"][0] == "-"
