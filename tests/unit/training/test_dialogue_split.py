"""Dialogues to learn from: whole ones, split as wholes, and nothing twice."""

import pytest

from dialoscope.core.errors import TrainingError
from dialoscope.core.records import Example
from dialoscope.training.dialogue_split import (
    hash_of,
    read_whole_dialogues,
    share_of,
    split,
    titles_of,
    whole_dialogues,
    words_of,
)
from dialoscope.training.styles import add_spaces, add_spaces_and_lower, remove_spaces
from tests.unit.training.conftest import talks


def written(rows, found, name):
    return str(rows([{"id": str(place), "turns": turns} for place, turns in enumerate(found)], name))


def test_dialogues_are_whole_again(dialogues):
    assert read_whole_dialogues(str(dialogues)) == [tuple(turns) for turns in talks()]


def test_replies_that_go_on_are_one_dialogue():
    examples = [
        Example("1", "s", "b", ("a",)),
        Example("2", "s", "c", ("a", "b")),
        Example("3", "s", "x", ("a",)),
        Example("4", "s", "z", ("y",)),
    ]
    assert list(whole_dialogues(examples)) == [("a", "b", "c"), ("a", "x"), ("y", "z")]
    assert list(whole_dialogues([])) == []


def test_dialogues_that_stand_there_twice_are_read_once(rows):
    path = written(rows, [["a", "b"], ["c", "d"], ["a", "b"]], "x.jsonl")
    assert read_whole_dialogues(path, path) == [("a", "b"), ("c", "d")]


def test_a_file_that_is_not_there_is_told():
    with pytest.raises(TrainingError) as caught:
        read_whole_dialogues("no-such.jsonl")
    assert str(caught.value) == "There is no file of dialogues no-such.jsonl, nor an asset of that name."


def test_dialogues_are_split_as_wholes_whatever_their_order(rows):
    every = talks(200)
    found = split([written(rows, every, "a.jsonl")], 0.3)
    assert {*found.train, *found.validation} == {tuple(turns) for turns in every}
    assert not set(found.train) & set(found.validation)
    assert 35 < len(found.validation) < 85
    assert (found.removed, found.tests) == (0, {})
    every.reverse()
    assert set(split([written(rows, every, "b.jsonl")], 0.3).validation) == set(found.validation)


@pytest.mark.parametrize("where", ["validation", "test", "avoid"])
def test_what_is_kept_apart_is_not_learned_from_however_it_is_written(rows, where):
    train = [
        ["Hello there!", "How are you?"],
        ["hello   there", "HOW are you"],
        ["Hello", "there how are you"],
        ["Good morning.", "Is it?"],
        ["Do you like tea?", "I do."],
    ]
    data, apart = (
        written(rows, train, "train.jsonl"),
        written(rows, [["Hello there .", "how are you ?"]], "apart.jsonl"),
    )
    validation = apart if where == "validation" else written(rows, [["Any", "thing"]], "other.jsonl")
    found = split(
        [data],
        validation,
        [apart] if where == "test" else [],
        [apart] if where == "avoid" else [],
    )
    assert found.train == tuple(map(tuple, train[3:]))
    assert found.removed == 3
    assert list(found.tests) == ([apart] if where == "test" else [])


def test_repetitions_within_what_is_learned_from_are_removed_from_it_too(rows):
    """One in validation, and the same in capitals in training."""
    every = [["hello there", f"number {place}"] for place in range(50)]
    shouted = [[turn.upper() for turn in turns] for turns in every]
    found = split([written(rows, every + shouted, "a.jsonl")], 0.2)
    apart = {words_of(turns) for turns in found.validation}
    assert found.removed > 0
    assert not apart & {words_of(turns) for turns in found.train}
    assert len(found.train) + len(found.validation) + found.removed == 100


@pytest.mark.parametrize(
    ("share", "told"), [(0.0, "12 dialogues for training and 0"), (1.0, "0 dialogues for training and 12")]
)
def test_both_parts_are_needed(rows, share, told):
    with pytest.raises(TrainingError) as caught:
        split([written(rows, talks(12), "a.jsonl")], share)
    assert str(caught.value) == f"There are {told} for validation; both are needed."


@pytest.mark.parametrize("share", [-0.1, 1.5, float("nan")])
def test_a_share_is_between_none_and_all(rows, share):
    with pytest.raises(TrainingError) as caught:
        split([written(rows, talks(12), "a.jsonl")], share)
    assert str(caught.value) == f"validation is {share}; it must be a file, or a share from 0 to 1."


def test_the_hash_is_of_what_is_learned_from_and_chosen_by(rows):
    one = split([written(rows, talks(60), "a.jsonl")], 0.2)
    same = split([written(rows, talks(60), "b.jsonl")], 0.2)
    other = split([written(rows, talks(61), "c.jsonl")], 0.2)
    assert one.hash == same.hash != other.hash
    assert hash_of(["ab", "c"]) != hash_of(["a", "bc"])
    assert hash_of(["\ud800"]) != hash_of(["?"])


def test_shares_depend_on_the_text_alone_and_spread():
    found = [share_of(str(place)) for place in range(500)]
    assert all(0 <= one < 1 for one in found)
    assert 0.45 < sum(found) / 500 < 0.55
    assert share_of("\ud800") == share_of("\ud800")


def test_files_are_called_by_their_names_where_these_differ():
    assert titles_of(["a/test.jsonl", "b/other.jsonl.gz", "snli-test"]) == {
        "a/test.jsonl": "test",
        "b/other.jsonl.gz": "other",
        "snli-test": "snli-test",
    }
    assert titles_of(["a/x.jsonl", "b/x.csv", "validation.jsonl"], "validation") == {
        "a/x.jsonl": "a/x.jsonl",
        "b/x.csv": "b/x.csv",
        "validation.jsonl": "validation.jsonl",
    }


@pytest.mark.parametrize(
    ("style", "turn", "wanted"),
    [
        (remove_spaces, "I ' m fine , thanks .And you ?", "I'm fine, thanks. And you?"),
        (remove_spaces, "don ’ t  worry !", "don't worry!"),
        (remove_spaces, "", ""),
        (add_spaces, "Fine, thanks. And you?", "Fine , thanks . And you ?"),
        (add_spaces, "Fine , thanks .", "Fine , thanks ."),
        (add_spaces, "3.5 o'clock", "3.5 o'clock"),
        (add_spaces_and_lower, "Fine, THANKS!", "fine , thanks !"),
    ],
)
def test_styles_change_how_words_are_written(style, turn, wanted):
    assert style(turn) == wanted
    assert style(style(turn)) == style(turn)
    assert words_of((remove_spaces(style(turn)),)) == words_of((remove_spaces(turn),))


def test_what_is_tested_on_is_not_chosen_by_either(rows):
    every = talks(60)
    data, test = written(rows, every, "a.jsonl"), written(rows, every[:30], "test.jsonl")
    found = split([data], 0.3, [test])
    tested = {words_of(tuple(turns)) for turns in every[:30]}
    assert found.validation
    assert not tested & {words_of(turns) for turns in (*found.train, *found.validation)}
    assert found.removed == 30
    assert len(found.train) + len(found.validation) == 30


def test_no_exchange_that_is_to_be_avoided_is_learned_from_in_whatever_dialogue_it_stands(rows):
    every = [["a", "b", "c"], ["x", "A!", "b", "y"], ["b", "a"], ["b", "c"], ["d", "e"], ["f", "g"]]
    data = rows([{"id": str(place), "turns": turns} for place, turns in enumerate(every)], "data.jsonl")
    kept = rows([{"id": "1", "turns": ["k", "a", "b"]}, {"id": "2", "turns": ["k", "l"]}], "kept.jsonl")
    rated = rows([{"id": "1", "system": "s", "context": ["z", "a"], "response": "b"}], "rated.jsonl")
    found = split([str(data)], str(kept), avoid=[str(rated)])
    assert found.train == (("b", "a"), ("b", "c"), ("d", "e"), ("f", "g"))
    assert found.validation == (("k", "l"),)
    assert found.removed == 3
