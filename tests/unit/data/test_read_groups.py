"""Replies to variants of one query, which belong together."""

import pytest

import dialoscope as ds
from dialoscope.core.records import Example, Rating
from dialoscope.data.canonical import canonical_bytes
from dialoscope.data.layout import Row
from dialoscope.data.problems import ReadLog
from dialoscope.data.replies import Replies, read

GROUP = {"id": "q1", "queries": ["tea?", "some tea?"], "responses": ["yes", "please"]}


def test_a_row_may_name_its_group(write, rows):
    path = write(
        "a.jsonl",
        {"id": "q1#0", "group": "q1", "variant": "original", "response": "x"},
        {"id": "q1#1", "group": 7, "response": "x"},
        {"id": "q2", "group": "", "response": "x"},
        {"id": "q3", "group": None, "response": "x"},
    )
    found = rows(path)
    assert [row.example.group for row in found] == ["q1", "7", "", ""]
    assert [row.unit for row in found] == ["q1", "7", None, None]


def test_a_group_may_have_a_column_of_another_name_and_stand_in_a_table(write, examples):
    path = write("a.csv", "id,set,response\n1,q,yes\n2,,no\n")
    assert [one.group for one in examples(path, columns={"group": "set"})] == ["q", ""]


def test_how_a_query_was_made_is_ignored_in_silence(write):
    path = write(
        "a.jsonl",
        {"id": "1", "variant": "nouns", "similarity": 0.9, "changes": [], "error": None, "response": "x"},
    )
    log = ReadLog()
    list(read(path).rows(log))
    assert not log.ignored_columns


def test_queries_and_responses_are_a_group_of_replies(write, rows):
    path = write("a.jsonl", {**GROUP, "ratings": {"variety": [4, 5]}}, {**GROUP, "id": "q2", "group": "g"})
    found = rows(path)
    assert [row.example for row in found] == [
        Example("q1#1", "a", "yes", ("tea?",), group="q1"),
        Example("q1#2", "a", "please", ("some tea?",), group="q1"),
        Example("q2#1", "a", "yes", ("tea?",), group="g"),
        Example("q2#2", "a", "please", ("some tea?",), group="g"),
    ]
    assert [rating.value for rating in found[0].ratings] == [4, 5]
    assert found[0].ratings[0].id == "q1#1"
    assert not any(row.ratings for row in found[1:])


def test_groups_can_stand_in_the_cells_of_a_table(write, examples):
    path = write("a.csv", 'id,queries,responses\nq,"[""a?"", ""b?""]","[""yes"", ""no""]"\n')
    assert [(one.id, one.context, one.response) for one in examples(path)] == [
        ("q#1", ("a?",), "yes"),
        ("q#2", ("b?",), "no"),
    ]


def test_items_may_have_groups(write, rows):
    items = write("items.jsonl", {"id": "1", "context": ["a"], "group": "g"}, {"id": "2", "context": ["b"]})
    by_order, by_id = (
        write("r.txt", "x", "y"),
        write("r.jsonl", {"id": "2", "response": "y"}, {"id": "1", "response": "x"}),
    )
    assert [(row.example.group, row.unit) for row in rows(items, replies={"bot": by_order})] == [
        ("g", "g"),
        ("", None),
    ]
    assert [row.example.group for row in rows(items, replies={"bot": by_id})] == ["", "g"]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({**GROUP, "responses": ["yes"]}, "1 response to 2 queries; a group has one to each"),
        ({**GROUP, "responses": None}, "0 responses to 2 queries"),
        ({**GROUP, "queries": [], "responses": []}, "0 responses to 0 queries"),
        ({**GROUP, "queries": ["a", 3]}, "item 2 of `queries` is a number where text is expected"),
        ({**GROUP, "responses": [None, "a"]}, "item 1 of `responses` is null where text is expected"),
        ({**GROUP, "context": ["a"]}, "`context` is for a single reply, not for a group; give each reply"),
        ({**GROUP, "references": ["a"]}, "`references` is for a single reply, not for a group"),
        ({"turns": ["a", "b"], "group": "g"}, "`group` is for a single reply, not for a whole dialogue"),
        ({"response": "a", "group": ["g"]}, "`group` is a list where text is expected"),
        ({"responses": ["a"]}, "no column `response` among responses"),
    ],
)
def test_what_is_wrong_with_a_group(write, complaint, row, reason):
    assert reason in complaint(write("a.jsonl", row))


def test_a_reply_that_was_not_had_is_refused_with_the_reason(write, complaint):
    path = write(
        "a.jsonl",
        {"id": "1", "context": ["a"], "error": "HTTP 500:\n  the server is down"},
        {"id": "2", "response": None, "error": "x" * 500},
    )
    text = complaint(path)
    assert (
        "a.jsonl:1: no reply, because asking for it failed: HTTP 500: the server is down; "
        "ask again with dialoscope respond" in text
    )
    assert f"failed: {'x' * 200}…; ask again" in text
    assert [one.id for one in read(write("b.jsonl", {"id": "3", "response": "x", "error": None}))] == ["3"]


def test_examples_in_memory_keep_their_group_and_it_is_checked():
    example = Example("1", "a", "x", group="g")
    assert list(Replies.of([example]).rows(ReadLog())) == [Row(example)]
    assert Row(example).unit == "g"
    with pytest.raises(ds.DataError, match="`group` is null where text is expected"):
        Replies.of([Example("1", "a", "x", group=None)])


def test_the_group_is_hashed_and_without_one_nothing_has_changed():
    plain = Example("1", "a", "x", ("y",))
    assert canonical_bytes(plain) == b"1 1 1 1 1:1axy"
    assert canonical_bytes(Example("1", "a", "x", ("y",), group="g1")) == b"g2:g11 1 1 1 1:1axy"


def replies(systems=("a", "b"), groups=6, size=4):
    return [
        Example(f"{group}#{place}", system, f"{system} word{group * place}", ("why?",), group=f"q{group}")
        for system in systems
        for group in range(groups)
        for place in range(size)
    ]


def test_replies_of_a_group_are_one_item_for_every_system():
    found = ds.evaluate(replies(), "words").replies
    items = found.item.reshape(2, 6, 4)
    assert (items == items[:1, :, :1]).all()
    assert len(set(items[0, :, 0].tolist())) == 6


def test_a_group_and_a_reply_of_the_same_name_hang_together():
    alone = [Example(f"q{group}", system, "so so", ("why?",)) for system in "ab" for group in range(6)]
    result = ds.evaluate([*replies(), *alone], "words")
    assert len(set(result.replies.item.tolist())) == 6


def test_ids_of_different_contexts_are_still_warned_of():
    odd = [Example("1", "a", "x", ("why?",)), Example("1", "b", "x", ("how?",))]
    (warning,) = ds.evaluate([*odd, *replies()], "words").provenance.warnings
    assert warning.startswith("1 ids stand for different contexts")


def test_an_interval_over_groups_is_wider_than_one_over_single_replies():
    grouped = [
        Example(f"{group}#{place}", "a", "word " * (group + 1), (f"{group} {place}?",), group=str(group))
        for group in range(12)
        for place in range(5)
    ]
    single = [Example(one.id, one.system, one.response, one.context) for one in grouped]
    low, high = ds.evaluate(grouped, "words").interval("words", "a")
    narrow = ds.evaluate(single, "words").interval("words", "a")
    assert high - low > 1.8 * (narrow.high - narrow.low)  # √5 wider, were there no chance in it


def test_ratings_of_a_reply_in_a_group_are_its_own():
    rating = Rating("1", "a", "tone", "ann", 3.0)
    (row,) = Replies.of([Example("1", "a", "x", group="g")], [rating]).rows(ReadLog())
    assert row.ratings == (rating,)
