"""Exchanges, and replies that do not belong there."""

import pytest

from dialoscope.core.errors import TrainingError
from dialoscope.training.negatives import KINDS, Exchange, list_exchanges, sample_wrong_replies

TALKS = [
    ("How are you?", "Fine, thanks.", "Shall we go to the cinema tonight?", "Yes, which film do you like?"),
    ("Where is the station?", "It is behind the big church.", "Thanks."),
    ("Do you like the cinema?", "The film at the cinema was boring.", "Thanks."),
    ("What did you eat?", "Two apples and some old bread.", "That sounds healthy to me."),
]
FOUND = list_exchanges(TALKS, 2)


def test_every_turn_after_the_first_answers_the_turns_before_it():
    assert list_exchanges(TALKS[:1], 2) == [
        Exchange(("How are you?",), "Fine, thanks.", 0),
        Exchange(("How are you?", "Fine, thanks."), "Shall we go to the cinema tonight?", 0),
        Exchange(("Fine, thanks.", "Shall we go to the cinema tonight?"), "Yes, which film do you like?", 0),
    ]


def test_nothing_answers_silence_and_silence_answers_nothing():
    assert [one.reply for one in list_exchanges([("a", " ", "b", "c"), ("d",)], 1)] == ["c"]


def test_longer_contexts_end_as_shorter_ones():
    for short, long in zip(list_exchanges(TALKS, 1), list_exchanges(TALKS, 9), strict=True):
        assert short.context == long.context[-1:]
        assert short.reply == long.reply


@pytest.mark.parametrize("kind", KINDS)
def test_no_wrong_reply_is_the_right_one(kind):
    for exchange, wrong in zip(FOUND, sample_wrong_replies(FOUND, [kind], 3, [0]), strict=True):
        assert len(wrong) == len(set(wrong)) == 3
        assert exchange.reply not in wrong
        assert all(wrong)


def test_random_ones_are_replies_of_others():
    said = {exchange.reply for exchange in FOUND}
    assert {one for wrong in sample_wrong_replies(FOUND, ["random"], 2, [0]) for one in wrong} <= said


def test_those_of_the_same_dialogue_are():
    for exchange, (wrong,) in zip(FOUND[:3], sample_wrong_replies(FOUND, ["dialogue"], 1, [0]), strict=False):
        assert wrong in TALKS[exchange.dialogue]


def test_near_ones_share_words_with_what_was_said_and_come_from_elsewhere():
    place = next(place for place, one in enumerate(FOUND) if one.context[-1].startswith("Shall we go"))
    assert sample_wrong_replies(FOUND, ["near"], 1, [0])[place] != ("Yes, which film do you like?",)
    drawn = {sample_wrong_replies(FOUND, ["near"], 1, [seed])[place][0] for seed in range(20)}
    assert "The film at the cinema was boring." in drawn
    assert not drawn & set(TALKS[0])


def test_shuffled_ones_have_the_same_words():
    place = next(place for place, one in enumerate(FOUND) if one.reply.startswith("Two apples"))
    (wrong,) = sample_wrong_replies(FOUND, ["shuffled"], 1, [0])[place]
    assert sorted(wrong.split()) == sorted(FOUND[place].reply.split())
    assert wrong != FOUND[place].reply


def test_a_single_word_cannot_be_shuffled_and_gives_way_to_another_reply():
    places = [place for place, one in enumerate(FOUND) if one.reply == "Thanks."]
    wrong = sample_wrong_replies(FOUND, ["shuffled"], 1, [0])
    assert all(wrong[place][0] in {one.reply for one in FOUND} - {"Thanks."} for place in places)


def test_repeated_ones_are_what_was_said_just_before():
    for exchange, (wrong,) in zip(FOUND, sample_wrong_replies(FOUND, ["repeated"], 1, [0]), strict=True):
        assert wrong == exchange.context[-1]


def test_spliced_ones_begin_right():
    for exchange, (wrong,) in zip(FOUND, sample_wrong_replies(FOUND, ["spliced"], 1, [3]), strict=True):
        first = exchange.reply.split()[0]
        assert wrong.split()[0] == first or wrong in {one.reply for one in FOUND}


def test_generic_ones_are_said_most_often():
    many = list_exchanges(
        [(f"Question {place}", "Yes.", f"Something rare {place}") for place in range(40)], 1
    )
    drawn = [wrong for (wrong,) in sample_wrong_replies(many, ["generic"], 1, [0])]
    assert drawn[1::2].count("Yes.") >= 1
    assert len(set(drawn)) <= 40


def test_the_same_seed_gives_the_same_and_another_gives_others():
    kinds = ["random", "spliced"]
    assert sample_wrong_replies(FOUND, kinds, 2, [1, 2]) == sample_wrong_replies(FOUND, kinds, 2, [1, 2])
    assert sample_wrong_replies(FOUND, kinds, 2, [1, 2]) != sample_wrong_replies(FOUND, kinds, 2, [1, 3])


def test_a_kind_named_twice_is_chosen_more_often():
    often = sample_wrong_replies(FOUND * 20, ["repeated", "repeated", "repeated", "random"], 1, [0])
    share = sum(wrong == exchange.context[-1] for exchange, (wrong,) in zip(FOUND * 20, often, strict=True))
    assert share > 0.6 * len(often)


@pytest.mark.parametrize(
    ("kinds", "each", "message"),
    [
        (["funny"], 1, "There are no wrong replies of the kind 'funny', but: random, dialogue, near,"),
        (["random"], 8, "8 wrong ones of 1 kinds are asked for, but there are only 8 different replies"),
        (["random"], 0, "For each reply 0 wrong ones"),
        ([], 1, "of 0 kinds are asked for"),
    ],
)
def test_what_cannot_be_had_is_said(kinds, each, message):
    with pytest.raises(TrainingError, match=message):
        sample_wrong_replies(FOUND, kinds, each, [0])


def test_the_one_other_reply_among_hundreds_is_found():
    same = list_exchanges([(f"Question {place}", "Yes.") for place in range(400)] + [("Is it?", "No.")], 1)
    assert [wrong for (wrong,) in sample_wrong_replies(same, ["random"], 1, [0])] == ["No."] * 400 + ["Yes."]
