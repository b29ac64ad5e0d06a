"""Whole dialogues, of which the turns of one speaker are judged."""

import pytest

from dialoscope.core.errors import DataError
from dialoscope.core.records import Example

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


def test_a_system_prompt_is_no_reply_where_nobody_has_replied_yet(write, examples):
    turns = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hi"}]
    reason = "nobody replies in this dialogue: it has only instructions and turns of a user"
    with pytest.raises(DataError, match=reason):
        examples(write("a.jsonl", {"turns": turns}))
    greeting = [{"speaker": "system", "text": "hello"}, {"speaker": "user", "text": "hi"}]
    assert [example.response for example in examples(write("b.jsonl", {"turns": greeting}))] == ["hello"]


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
        ({"turns": "hi"}, {}, "`turns` is text where a list is expected"),
        ({"turns": [None]}, {}, "turn 1 is null where text is expected"),
        ({"turns": [{"text": "hi"}]}, {}, "the speaker of turn 1 is null where text is expected"),
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


def named(key, *names):
    return [{key: name, "text": f"turn {place}"} for place, name in enumerate(names)]


@pytest.mark.parametrize(
    ("context", "settings", "speakers"),
    [
        (named("speaker", 1, 2, 2), {}, ("1", "2", "2", "1")),
        (named("role", 0, 1), {}, ("0", "1", "0")),
        (named("speaker", 1, None), {}, ()),
        (named("speaker", 1, ""), {}, ()),
        (named("speaker", "Bot", "user"), {"speaker": "bot"}, ("Bot", "user", "Bot")),
        (named("speaker", "Bot", "bot"), {"speaker": "bot"}, ("Bot", "bot", "bot")),
        (named("speaker", "BOT", "Bot"), {"speaker": "bot"}, ("BOT", "Bot", "bot")),
        (named("speaker", "user"), {"speaker": "bot"}, ("user", "bot")),
        (named("role", "system", "user", "user"), {}, ("system", "user", "user", "")),
        (named("role", "system", "user"), {}, ("system", "user", "")),
        (named("role", "system"), {}, ("system", "")),
        (named("role", "system", "user", "Bot", "user"), {}, ("system", "user", "Bot", "user", "Bot")),
        (named("role", "user", "system", "user"), {}, ("user", "system", "user", "system")),
        (named("role", "system", "user", "system"), {}, ("system", "user", "system", "system")),
        (named("speaker", "system", "user", "user"), {}, ("system", "user", "user", "system")),
    ],
)
def test_who_speaks_in_a_context(write, examples, context, settings, speakers):
    path = write("a.jsonl", {"context": context, "response": "x"})
    assert [example.speakers for example in examples(path, **settings)] == [speakers]


@pytest.mark.parametrize("name", [True, 1.5, ["a"]])
def test_a_speaker_is_a_text_or_a_whole_number(write, complaint, name):
    path = write("a.jsonl", {"context": named("speaker", "a", name), "response": "x"})
    assert "the speaker of item 2 of `context` is " in complaint(path)
    path = write("a.jsonl", {"turns": named("speaker", "a", name)})
    assert "the speaker of turn 2 is " in complaint(path)
    path = write("a.jsonl", {"context": ["a", "b"], "speakers": ["a", name], "response": "x"})
    assert "item 2 of `speakers` is " in complaint(path)


def test_speakers_may_be_numbers_in_dialogues_and_in_the_column(write, examples):
    (example,) = examples(write("a.jsonl", {"turns": named("speaker", 1, 2)}), speaker="2")
    assert example.speakers == ("1", "2")
    (example,) = examples(write("a.jsonl", {"context": ["a", "b"], "speakers": [1, 2], "response": "x"}))
    assert example.speakers == ("1", "2", "1")


def test_a_speaker_is_found_in_whatever_letters_unless_it_may_be_either(write, examples, complaint):
    (example,) = examples(write("a.jsonl", {"turns": TURNS}), speaker="bot")
    assert example.response == "hello"
    path = write("a.jsonl", {"turns": named("speaker", "Bot", "BOT")})
    assert "nobody called 'bot' speaks in this dialogue: the speakers are 'Bot', 'BOT'" in complaint(
        path, speaker="bot"
    )
