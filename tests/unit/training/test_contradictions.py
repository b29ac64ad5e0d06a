"""Pairs made from dialogues: opposites that are opposites, as many of each class, the same for a seed."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialoscope.training.contradictions import (
    CONTRADICTION,
    ENTAILMENT,
    LABELS,
    NEUTRAL,
    LabelledPair,
    generate_pairs,
    opposite_of,
)
from dialoscope.training.dialogue_split import words_of


def opposites(sentence):
    """Everything that chance can make of a sentence."""
    return {opposite_of(sentence, random.Random(seed)) for seed in range(300)}  # noqa: S311


@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [
        ("I am tired.", {"I am not tired."}),
        ("I can swim.", {"I can't swim.", "I can not swim."}),
        ("I can't swim.", {"I can swim."}),
        ("He doesn't know.", {"He does know."}),
        ("I didn't see him.", {"I did see him."}),
        ("They won't come.", {"They will come."}),
        ("I must not go.", {"I must go."}),
        ("I don't like tea.", {"I like tea."}),
        ("I do not really agree.", {"I agree."}),
        ("I like tea.", {"I don't like tea.", "I do not like tea.", "I never like tea.", "I hate tea."}),
        ("We need help.", {"We don't need help.", "We do not need help.", "We never need help."}),
        ("I have been there.", {"I haven't been there.", "I have not been there."}),
        ("I never sing.", {"I sing.", "I often sing.", "I always sing."}),
        ("It's cold here.", {"It's not cold here.", "It's hot here.", "It's warm here."}),
        ("I'm from Ohio.", {"I'm not from Ohio."}),
        ("You should go.", {"You shouldn't go.", "You should not go."}),
        ("My street is long.", {"My street isn't long.", "My street is not long.", "My street is short."}),
        ("We were late.", {"We weren't late.", "We were not late.", "We were early."}),
        ("There is a problem.", {"There isn't a problem.", "There is not a problem."}),
        ("Oh, I hope so.", {"Oh, I don't hope so.", "Oh, I do not hope so.", "Oh, I never hope so."}),
        ("It would be good.", {"It wouldn't be good.", "It would not be good.", "It would be bad."}),
        ("Best of all.", {"Worst of all."}),
        ("It has been easy.", {"It hasn't been easy.", "It has not been easy.", "It has been difficult.",
                               "It has been hard."}),
        ("Is it cold?", {""}),
        ("Thanks a lot.", {""}),
        ("She works here.", {""}),
        ("Nothing is easy.", {""}),
        ("I don't have no money.", {""}),
        ("Not me.", {""}),
    ],
)  # fmt: skip
def test_opposites_are_those_that_a_reader_expects(sentence, wanted):
    assert opposites(sentence) == wanted


def test_other_numbers_are_other_numbers():
    assert {int(one.split()[-1][:-1]) for one in opposites("Room number 5.")} == {2, 3, 4, 6, 7, 8, 10, 15}
    assert opposites("Room number 0.") == {f"Room number {number}." for number in (1, 2, 3, 5, 10)}
    words = opposites("Seven of us.")
    assert len(words) == 14
    assert "Two of us." in words
    assert opposites("At 10:30 o'clock.") == {
        f"At 10:{n} o'clock." for n in (27, 28, 29, 31, 32, 33, 35, 40, 60, 90)
    }


@given(st.text("abcdnot' .,?iI15", max_size=40), st.integers(0, 9))
def test_an_opposite_is_something_else(text, seed):
    for sentence in (text, f"I like {text}", f"It is {text}", f"I don't want {text}", f"I have 3 {text}"):
        assert opposite_of(sentence, random.Random(seed)) != sentence or not sentence  # noqa: S311


def talk(place):
    """A dialogue with something of every kind."""
    yes = place % 2
    return (
        "Hi, where do you live?",
        f"I live in {_TOWNS[place % 4]}. It is a nice town.",
        "Do you like dogs?",
        "Yes, I love them very much." if yes else "No, they make me sneeze.",
        f"How old is your house, neighbour {place}?",
        f"It is {place + 3} years old. I have {place + 2} rooms.",
    )


_TOWNS = ("Boston", "Chicago", "Denver", "Seattle")
TALKS = [talk(place) for place in range(60)]


def test_pairs_are_as_many_of_each_class():
    found = generate_pairs(TALKS, 90)
    assert Counter(pair.label for pair in found) == dict.fromkeys(LABELS, 30)
    assert len(set(found)) == len(found)
    assert [pair.label for pair in found] != sorted(pair.label for pair in found)


@pytest.mark.parametrize(("most", "count"), [(0, 0), (2, 0), (3, 3), (91, 90)])
def test_no_more_than_asked_for(most, count):
    assert len(generate_pairs(TALKS, most)) == count


def test_few_dialogues_give_few_pairs_and_still_as_many_of_each():
    found = generate_pairs(TALKS[:2], 9000)
    counts = Counter(pair.label for pair in found)
    assert len(set(counts.values())) == 1
    assert generate_pairs([], 9) == generate_pairs([("Hi.", "Oh.")], 9) == []


def test_the_same_seed_makes_the_same_pairs():
    assert generate_pairs(TALKS, 90) == generate_pairs(TALKS, 90)
    assert generate_pairs(TALKS, 90) != generate_pairs(TALKS, 90, seed=1)


def test_contradictions_never_say_the_same_and_entailments_do():
    for pair in generate_pairs(TALKS, 600):
        premise, hypothesis = words_of((pair.premise,)), words_of((pair.hypothesis,))
        if pair.label == CONTRADICTION:
            assert premise != hypothesis
        elif pair.label == ENTAILMENT:
            assert hypothesis in premise


def across(talks):
    """The labels of pairs of different answers, by the answers, whatever chance chooses."""
    plain = {answer.lower(): answer for _, answer in talks}
    found = {}
    for seed in range(20):
        for pair in generate_pairs([*talks, *TALKS], 3000, seed):
            one, other = (text.lower().replace(" ,", ",").replace(" .", ".") for text in pair[:2])
            if one in plain and other in plain and one != other:
                found.setdefault((plain[one], plain[other]), set()).add(pair.label)
    return found


def test_a_yes_and_a_no_to_one_question_contradict_each_other():
    yes, no, again = "Yes, I like it a lot.", "No, it is too bitter for me.", "Yeah, every day at five."
    found = across([("Is tea good?", yes), ("is tea good ?", no), ("Is tea good?", again)])
    assert found == {
        **{key: {CONTRADICTION} for key in [(yes, no), (no, yes), (again, no), (no, again)]},
        **{key: {NEUTRAL} for key in [(yes, again), (again, yes)]},
    }


def test_two_answers_to_what_has_one_answer_contradict_each_other():
    one, other, same = "In Boston since May.", "North of Denver, near the lake.", "Not far from Boston."
    nothing = "Here or there."
    found = across([("Where is your home?", answer) for answer in (one, other, same, nothing)])
    assert set(found) == {(one, other), (other, one), (same, other), (other, same)}
    assert set().union(*found.values()) == {CONTRADICTION}


def test_of_what_a_speaker_has_one_of_somebody_elses_contradicts():
    talks = [
        ("Hi there, friend.", f"{fact}.")
        for town in _TOWNS
        for fact in (f"I live in {town}", f"My name is {town}")
    ]
    found = [pair for seed in range(20) for pair in generate_pairs([*talks, *TALKS], 3000, seed)]
    lives = [pair for pair in found if pair.premise in {f"I live in {town}." for town in _TOWNS}]
    for pair in lives:
        if pair.hypothesis.startswith("I live in") and pair.hypothesis != pair.premise:
            assert pair.label == CONTRADICTION
        if pair.hypothesis.startswith("My friend live in"):
            assert pair.label == NEUTRAL
    assert {pair.label for pair in lives} == set(LABELS)
    named = [
        pair for pair in found if pair.premise.startswith("My name is") and "My name is" in pair.hypothesis
    ]
    assert named
    assert all(pair.label != NEUTRAL for pair in named)


def test_what_a_speaker_says_twice_is_not_neutral():
    talks = [
        ("I like the red one.", "Oh, you do?", "I like the red one.", f"Fine, {place}.") for place in range(9)
    ]
    found = [pair for seed in range(9) for pair in generate_pairs([*talks, *TALKS], 3000, seed)]
    assert not [pair for pair in found if pair.premise == pair.hypothesis and pair.label != ENTAILMENT]


def test_answers_that_ask_back_or_say_nothing_are_no_answers():
    talks = [("Do you like tea?", answer) for answer in ("Why do you ask?", "Hm.", "", "x" * 300)]
    assert generate_pairs(talks, 300) == []


def test_pairs_are_written_as_corpora_write():
    found = generate_pairs(TALKS, 600)
    assert any(pair.premise == pair.premise.lower() for pair in found)
    assert any(" ." in pair.premise for pair in found)
    assert any(pair.premise != pair.premise.lower() and " ." not in pair.premise for pair in found)
    assert all(isinstance(pair, LabelledPair) and pair.premise and pair.hypothesis for pair in found)


def test_long_utterances_are_left_out():
    long = "I like it. " * 40
    found = generate_pairs([(long, "Yes, I do like it.", long, "I live in Boston."), *TALKS], 3000)
    assert max(len(pair.premise) for pair in found) <= 300
    assert all(long.strip().lower() not in pair.premise.lower() for pair in found)
