"""What a head learns from: parts of a corpus that never meet, and each text once."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest

import dialoscope as ds
from dialoscope.core.errors import TrainingError
from dialoscope.training.head_data import is_in_part, make_head_data
from tests.unit.training.conftest import talks

TALKS = [tuple(turns) for turns in talks(40, 5)]


def lesson(train=TALKS, judged=TALKS[:9], **settings):
    return make_head_data(train, {"validation": judged}, ds.RuberRecipe(**settings))


def test_parts_are_about_equal_and_share_nothing():
    for count in (1, 2, 3):
        parts = [[turns for turns in TALKS if is_in_part(turns, f"{n + 1}/{count}")] for n in range(count)]
        assert sorted(turns for part in parts for turns in part) == sorted(TALKS)
        assert min(map(len, parts)) > 40 / count / 2


def test_a_dialogue_is_in_the_same_part_however_it_is_written():
    for turns in TALKS:
        assert is_in_part(turns, "1/2") == is_in_part(tuple(f"  {turn.upper()} !" for turn in turns), "1/2")


def test_the_share_kept_to_choose_by_is_not_all_of_one_part():
    from dialoscope.training.dialogue_split import share_of

    low = [turns for turns in TALKS if share_of("\n".join(turns)) < 0.5]
    assert {is_in_part(turns, "2/2") for turns in low} == {True, False}


def test_right_replies_are_what_people_said_and_wrong_ones_are_not():
    found = lesson(negatives_per_pair=2, negative_pool=5)
    texts = np.array(found.texts)
    assert len(set(found.texts)) == len(found.texts)
    said = {two for turns in TALKS for two in pairwise(turns)}
    pairs = zip(texts[found.training.queries], texts[found.training.right], strict=True)
    assert set(pairs) == said
    assert found.training.wrong.shape == (160, 5)
    assert (found.training.wrong != found.training.right[:, None]).all()
    assert found.evaluated["validation"].wrong.shape == (36, 2)
    assert found.ranked["validation"].wrong.shape == (36, 9)


def test_the_query_is_as_many_turns_as_are_asked_for_each_on_a_line():
    talk = ("one\ntwo", "three", "four", "five")
    found = lesson([talk, *TALKS], turns=2, pairs=1000)
    queries = {found.texts[place] for place in found.training.queries}
    assert {"one two", "one two\nthree", "three\nfour"} <= queries


def test_no_more_pairs_than_asked_for_and_a_tenth_to_judge_by():
    found = lesson(judged=TALKS, pairs=60)
    assert len(found.training.right) == 60
    assert len(found.evaluated["validation"].right) == len(found.ranked["validation"].right) == 6
    again = lesson(TALKS[::-1], TALKS[::-1], pairs=60)
    chosen = [{one.texts[place] for place in one.training.right} for one in (found, again)]
    assert chosen[0] == chosen[1]


def test_wrong_replies_do_not_depend_on_the_seed():
    one, other = lesson(seed=1), lesson(seed=2)
    assert one.texts == other.texts
    assert np.array_equal(one.training.wrong, other.training.wrong)


def test_few_replies_give_fewer_that_stand_ready_but_never_fewer_than_are_asked_for():
    few = [("one", "two"), ("three", "four"), ("five", "six")]
    assert lesson(few, few).training.wrong.shape == (3, 2)
    assert lesson(few, few).ranked["validation"].wrong.shape == (3, 2)
    told = (
        "For each reply 3 wrong ones of 1 kinds are asked for, but there are only 3 different replies. "
        "Ask for fewer, at least one, or give more dialogues."
    )
    with pytest.raises(TrainingError) as error:
        lesson(few, few, negatives_per_pair=3)
    assert str(error.value) == told


def test_replies_that_are_all_the_same_are_one_class_alone():
    same = [("one", "yes"), ("two", "Yes!"), ("three", "yes")]
    with pytest.raises(TrainingError, match="there are only 1 different replies"):
        lesson(same, same)


def test_turns_that_say_nothing_are_left_out_and_nothing_else_is_refused():
    found = lesson([*TALKS, ("hello", " ", "well", "")], TALKS)
    assert "" not in found.texts
    assert "well" not in found.texts
    for train, judged, name in (([("a", " ")], TALKS, "training"), (TALKS, [("", "b")], "validation")):
        with pytest.raises(TrainingError) as error:
            lesson(train, judged)
        assert str(error.value) == f"There is no exchange of two turns that are not blank ({name})."


def test_exchanges_of_unknown_words_are_left_out():
    found = lesson(negative_pool=1)
    known = np.ones(len(found.texts), bool)
    unknown = found.training.right[7]
    known[unknown] = False
    left = found.restrict_to(known)
    for one in (left.training, *left.evaluated.values(), *left.ranked.values()):
        assert all(unknown not in part for part in one)
    assert 0 < len(left.training.right) < len(found.training.right)
    assert len(found.restrict_to(np.ones(len(found.texts), bool)).training.right) == len(found.training.right)
    with pytest.raises(TrainingError) as error:
        found.restrict_to(np.zeros(len(found.texts), bool))
    assert str(error.value) == (
        "No exchange is left (training): in none of them the embedding knows a word of each text."
    )


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"part": "3/2"}, "part is '3/2'; write 2/2 for the second of two parts, 1/1 for all."),
        ({"part": "half"}, "part is 'half'; write 2/2 for the second of two parts, 1/1 for all."),
        ({"part": "0/2"}, "part is '0/2'; write 2/2 for the second of two parts, 1/1 for all."),
        ({"perceptron": ()}, "perceptron must name the width of at least one layer, each 1 or more."),
        ({"perceptron": (3, 0)}, "perceptron must name the width of at least one layer, each 1 or more."),
        ({"representation": "min"}, "representation is 'min'; it must be one of: bi-gru, max, mean."),
        ({"objective": "hinge"}, "objective is 'hinge'; it must be one of: ranking, cross-entropy."),
        ({"seeds": 0}, "seeds is 0; it must be 1 or more."),
        ({"margin": 2.0}, "margin is 2.0; it must be between 1e-12 and 1."),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, told):
    with pytest.raises(TrainingError) as error:
        ds.RuberRecipe(**settings)
    assert str(error.value) == told


def test_the_defaults_are_the_papers():
    recipe = dataclasses.asdict(ds.RuberRecipe())
    paper = {
        "representation": "max", "objective": "cross-entropy", "units": 128, "layers": 2,
        "negatives_per_pair": 1, "perceptron": (256, 512, 128), "learning_rate": 1e-4, "slow_after": 5,
        "patience": 20, "margin": 0.5, "turns": 1, "pairs": 22000, "part": "2/2", "negatives": ("random",),
    }  # fmt: skip
    assert {name: recipe[name] for name in paper} == paper
