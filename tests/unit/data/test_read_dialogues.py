"""Whole dialogues, of which the turns of one speaker are judged."""

import pytest

from dialoscope.records import Example

TURNS = [{"speaker": "user", "text": "hi"}, {"speaker": "Bot", "text": "hello", "references": ["hey"]}]


def test_each_turn_of_the_system_becomes_an_example(write, examples):
    turns = [*TURNS, {"role": "user", "content": "bye"}, {"role": "Bot", "content": "see you"}]
    assert examples(write("a.jsonl", {"id": "d", "turns": turns})) == [
        Example("d#2", "a", "hello", ("hi",), ("hey",), speakers=("user", "Bot"), dialogue="d"),
        Example(
            "d#4",
            "a",
            "see you",
            ("hi", "hello", "bye"),
            speakers=("user", "Bot", "user", "Bot"),
            dialogue="d",
        ),
    ]


def test_plain_turns_alternate_and_the_second_speaker_is_judged(write, examples):
    path = write("a.jsonl", {"turns": ["hi", "hello", "bye"]})
    assert examples(path) == [Example("1#2", "a", "hello", ("hi",), dialogue="1")]
    assert [example.id for example in examples(path, speaker="A")] == ["1#1", "1#3"]


def test_a_speaker_can_be_chosen(write, examples):
    assert [example.response for example in examples(write("a.jsonl", {"turns": TURNS}), speaker="user")] == [
        "hi"
    ]


def test_the_orders_given_to_a_model_are_not_what_it_said(write, examples):
    roles = [("system", "be kind"), ("user", "hi"), ("assistant", "hello")]
    turns = [{"role": role, "content": text} for role, text in roles]
    assert examples(write("a.jsonl", {"turns": turns})) == [
        Example(
            "1#3", "a", "hello", ("be kind", "hi"), speakers=("system", "user", "assistant"), dialogue="1"
        )
    ]


def test_dialogues_can_stand_in_the_cell_of_a_table(write, examples):
    path = write("a.csv", 'id,turns\nd,"[""hi"", ""hello""]"\n')
    assert examples(path) == [Example("d#2", "a", "hello", ("hi",), dialogue="d")]


def test_a_row_with_a_reply_of_its_own_is_no_dialogue(write, examples):
    assert examples(write("a.jsonl", {"turns": TURNS, "response": "x"})) == [Example("1", "a", "x")]


@pytest.mark.parametrize(
    ("row", "settings", "reason"),
    [
        (
            {"turns": TURNS},
            {"speaker": "ann"},
            "nobody called 'ann' speaks in this dialogue: the speakers are 'user', 'Bot'",
        ),
        (
            {"turns": [{"speaker": "x", "text": "hi"}]},
            {},
            "which speaker is the system? the speakers are 'x'; name one with --speaker",
        ),
        (
            {"turns": [{"speaker": "bot", "text": "a"}, {"speaker": "agent", "text": "b"}]},
            {},
            "which speaker is the system? the speakers are 'bot', 'agent'",
        ),
        ({"turns": ["hi"]}, {}, "nobody called 'B' speaks in this dialogue"),
        ({"turns": []}, {}, "`turns` is empty"),
        ({"turns": "hi"}, {}, "`turns` is text where a list is due"),
        ({"turns": [None]}, {}, "turn 1 is null where text is due"),
        ({"turns": [{"text": "hi"}]}, {}, "the speaker of turn 1 is null where text is due"),
        ({"turns": [{"speaker": "a"}]}, {}, "turn 1 is an object without `text` or `content`"),
        (
            {"turns": TURNS, "ratings": {"tone": 1}},
            {},
            "`ratings` is for a single reply, not for a whole dialogue",
        ),
        (
            {"turns": TURNS, "references": ["x"]},
            {},
            "`references` is for a single reply, not for a whole dialogue",
        ),
    ],
)
def test_a_dialogue_that_cannot_be_used_says_why(write, complaint, row, settings, reason):
    assert reason in complaint(write("a.jsonl", row), **settings)
