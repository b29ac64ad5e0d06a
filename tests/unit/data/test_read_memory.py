"""Replies that are in memory already."""

from pathlib import Path

import pandas as pd
import pytest

import dialoscope as ds
from dialoscope.core.errors import DataError
from dialoscope.core.records import Example, Rating
from dialoscope.data.canonical import canonical_bytes
from dialoscope.data.layout import Row
from dialoscope.data.problems import ReadLog
from dialoscope.data.replies import Replies


def test_examples_come_out_as_they_went_in_with_their_ratings():
    examples = [Example("1", "a", "x"), Example("1", "b", "y")]
    rating = Rating("1", "b", "tone", "ann", 3.0)
    held = Replies.of(iter(examples), [rating])
    log = ReadLog()
    assert list(held) == examples
    assert list(held.rows(log)) == [Row(examples[0]), Row(examples[1], (rating,))]
    assert (log.rows, held.size()) == (2, 0)


@pytest.mark.parametrize(
    ("examples", "reason"),
    [
        (
            [Example("1", "a", "x"), Example("1", "a", "y")],
            "examples:2: a second reply with id '1' and system 'a', after examples:1",
        ),
        ([Example("1", "a", None)], "examples:1: `response` is null where text is expected"),
        ([Example("", "a", "x")], "examples:1: `id` is empty"),
        (
            [Example("1", "a", "x", ("\ud800",))],
            "examples:1: `context` or `references` holds a lone surrogate",
        ),
    ],
)
def test_examples_are_checked_like_files(examples, reason):
    with pytest.raises(DataError) as caught:
        Replies.of(examples)
    assert reason in str(caught.value)


def test_ratings_of_nothing_are_refused():
    with pytest.raises(DataError, match="There are ratings of '2' by system 'a', but no such reply"):
        Replies.of([Example("1", "a", "x")], [Rating("2", "a", "tone", "1", 1.0)])


def test_the_bytes_of_an_example_never_change():
    """They are hashed into saved results: a change here orphans those."""
    assert (
        canonical_bytes(Example("1", "a", "né", ("hi", "you"), ("hey",)))
        == "2 1 1 2 2 3 3:1anéhiyouhey".encode()
    )


def test_different_examples_have_different_bytes():
    alike = [
        Example("1", "a", "x", ("y",)),
        Example("1", "a", "x", (), ("y",)),
        Example("1", "a", "xy"),
        Example("1", "ax", "y"),
        Example("1", "a", "x", ("y", "")),
        Example("1", "a", "\ud800"),
    ]
    assert len(set(map(canonical_bytes, alike))) == len(alike)


@pytest.mark.parametrize(
    ("things", "reason"),
    [
        ("replies.jsonl", r"but 'replies\.jsonl'\. Read a file with ds\.read\(path\)"),
        (Path("replies.jsonl"), r"Read a file with ds\.read\(path\)"),
        (
            pd.DataFrame({"id": ["1"]}),
            r"but a DataFrame\. Write the table to a file, such as replies\.parquet",
        ),
        (None, r"but None\. Read a file with ds\.read\(path\), or make ds\.Example\(id, system"),
        (123, "This is not a list of examples, but 123"),
        (Example("1", "a", "x"), "This is not a list of examples, but an Example"),
        ([Path("replies.jsonl")], r"PosixPath\('replies\.jsonl'\) is no Example\. Read a file with"),
    ],
    ids=["text", "path", "DataFrame", "None", "number", "Example", "list of paths"],
)
@pytest.mark.parametrize("function", [ds.evaluate, ds.audit, ds.lint, Replies.of], ids=lambda it: it.__name__)
def test_what_is_no_list_of_examples_is_refused_with_what_to_do(function, things, reason):
    with pytest.raises(DataError, match=reason):
        function(things)


def test_examples_can_be_linted_as_they_are():
    assert ds.lint([Example("1", "a", "hello")]) == []


@pytest.mark.parametrize("function", [ds.respond, ds.augment], ids=lambda it: it.__name__)
@pytest.mark.parametrize(
    "things", [None, 123, pd.DataFrame({"id": ["1"]})], ids=["None", "number", "DataFrame"]
)
def test_what_holds_no_contexts_is_refused(function, things):
    settings = {"system": lambda context: "hello"} if function is ds.respond else {}
    with pytest.raises(DataError, match=r"This is not a list of (contexts|examples), but"):
        function(things, **settings)


@pytest.mark.parametrize(
    "ratings", [["x"], pd.DataFrame({"id": ["1"]}), 3], ids=["text", "DataFrame", "number"]
)
def test_what_is_no_rating_is_refused(ratings):
    with pytest.raises(DataError, match=r"This is not a Rating, but .*ds\.Rating\(id, system, aspect, rater"):
        Replies.of([Example("1", "a", "x")], ratings)


@pytest.mark.parametrize("function", [ds.correlate, ds.agree, ds.compare, ds.raters, ds.trust])
def test_what_is_no_result_is_refused(function):
    with pytest.raises(
        ds.DialoscopeError, match=r"This is not a Result, but 'runs/a'\. Load a saved run with"
    ):
        function("runs/a")


def test_records_that_are_none_and_systems_that_are_none_are_refused():
    result = ds.evaluate([Example(str(at), name, "hi you") for at in range(3) for name in "ab"], ["words"])
    with pytest.raises(
        DataError, match=r"This is not a rating, but 'r'\. Read a file of them with ds\.read_ratin"
    ):
        ds.correlate(result, "ratings.csv")
    with pytest.raises(ds.DialoscopeError, match="a second run is given as other="):
        ds.compare(result, result)
