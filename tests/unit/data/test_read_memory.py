"""Replies that are in memory already."""

import pytest

from dialoscope.data import ReadLog, Replies, Row, canonical
from dialoscope.errors import DataError
from dialoscope.records import Example, Rating


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
        ([Example("1", "a", None)], "examples:1: `response` is null where text is due"),
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
        canonical(Example("1", "a", "né", ("hi", "you"), ("hey",))) == "2 1 1 2 2 3 3:1anéhiyouhey".encode()
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
    assert len(set(map(canonical, alike))) == len(alike)
