"""Rated replies as they are read to be learned from."""

import numpy as np
import pytest

from dialoscope.core.errors import DataError, TrainingError
from dialoscope.training.rated_replies import read_rated_replies

REPLY = {
    "context": ["Tea?"],
    "response": "Yes.",
    "references": ["Please."],
    "ratings": {"Overall": [2, 4]},
}


def reply(number, **more):
    return {**REPLY, "id": str(number), **more}


def test_the_mean_of_the_raters_that_gave_a_number_is_put_on_a_scale_from_one_to_five(rows):
    file = rows([reply(1), reply(2, ratings={"Overall": [1, None]}), reply(3, ratings={"Overall": 5})])
    found = read_rated_replies([file])
    assert found.ratings.tolist() == [3, 1, 5]
    assert found.scales == {"overall": (1, 5)}
    assert found.left_out == {}


@pytest.mark.parametrize(
    ("values", "wanted"),
    [([0, 0.5, 1], [1, 3, 5]), ([1, 2, 3], [1, 3, 5]), ([1, 4, 7], [1, 3, 5]), ([0, 50, 100], [1, 3, 5])],
)
def test_the_scale_is_the_first_usual_one_that_holds_all_ratings(rows, values, wanted):
    file = rows([reply(place, ratings={"overall": value}) for place, value in enumerate(values)])
    assert read_rated_replies([file]).ratings.tolist() == wanted


def test_a_scale_that_is_told_holds_whatever_the_case_of_its_name(rows):
    found = read_rated_replies([rows([reply(1, ratings={"overall": 2})])], scales={"OVERALL": (0, 4)})
    assert found.ratings.tolist() == [3]


@pytest.mark.parametrize(
    ("value", "scales", "why"),
    [
        (-2, None, "from -2 to -2, on no usual scale"),
        (7, {"overall": (1, 5)}, "from 7 to 7, off its scale of 1 to 5"),
        (1, {"overall": (1, 1)}, "from 1 to 1, off its scale of 1 to 1"),
    ],
)
def test_ratings_off_their_scale_are_refused(rows, value, scales, why):
    with pytest.raises(TrainingError) as found:
        read_rated_replies([rows([reply(1, ratings={"overall": value})])], scales=scales)
    told = f"Ratings of 'overall' run {why}; name the scale: --scale overall={value}-{value}."
    assert str(found.value) == told


def test_what_lacks_something_is_left_out_and_counted_by_what_it_lacks(rows):
    file = rows(
        [
            reply(1),
            reply(2, ratings={"other": 1}),
            reply(3, ratings={"overall": [None]}),
            reply(4, response="  "),
            reply(5, context=[" "]),
            reply(6, references=[""]),
            reply(7, references=[]),
        ]
    )
    found = read_rated_replies([file])
    assert [one.id for one in found.replies] == ["1"]
    assert found.left_out == {"rating": 2, "words": 1, "context": 1, "reference": 2}


def test_of_several_aspects_the_first_that_is_rated_counts(rows):
    both = {"coherence": 1, "Overall": 5}
    one = rows([reply(1, ratings=both)], "one.jsonl")
    other = rows([reply(1, ratings={"coherence": 3})], "other.jsonl")
    found = read_rated_replies([one, other], ["overall", "Coherence"])
    assert found.ratings.tolist() == [5, 5]  # 3 of those from 1 to 3 is the highest
    assert found.scales == {"overall": (1, 5), "coherence": (1, 3)}
    assert found.files == ("one.jsonl", "other.jsonl")


def test_an_unknown_aspect_is_told_with_those_there_are(rows):
    file = rows([reply(1, ratings={"Fluency": 1, "Overall\x1b": 2})])
    with pytest.raises(TrainingError) as found:
        read_rated_replies([file], ["overall"])
    assert str(found.value) == (
        "No reply is rated for 'overall'. Rated aspects: fluency, overall\\x1b; choose with --aspect."
    )


def test_where_nothing_is_rated_it_is_told(rows):
    with pytest.raises(TrainingError, match=r"No reply is rated for 'overall'\. There are no ratings\."):
        read_rated_replies([rows([{key: value for key, value in REPLY.items() if key != "ratings"}])])


@pytest.mark.parametrize(("files", "aspects"), [([], ["overall"]), (["x"], [])])
def test_nothing_to_learn_from_is_told(files, aspects):
    with pytest.raises(TrainingError, match="name at least one file, and one aspect"):
        read_rated_replies(files, aspects)


def test_a_file_that_cannot_be_read_is_told_as_everywhere(tmp_path):
    with pytest.raises(DataError, match="no-such"):
        read_rated_replies([tmp_path / "no-such.jsonl"])


def test_contexts_are_the_same_whatever_their_case_spaces_and_punctuation(rows):
    file = rows([reply(1), reply(2, context=["tea"]), reply(3, context=["Tea", "milk"])])
    one, same, other = read_rated_replies([file]).contexts
    assert one == same != other


def test_what_is_told_of_the_data_holds_no_text_and_changes_with_texts_and_ratings(rows):
    told = [
        read_rated_replies([rows([reply(1, **more)])]).describe("CC0")
        for more in ({}, {"response": "No."}, {"ratings": {"overall": 5}}, {})
    ]
    assert told[0] == told[3]
    assert len({one["sha256"] for one in told}) == 3
    assert told[0] | {"sha256": ""} == {
        "files": ["rows.jsonl"],
        "sha256": "",
        "replies": 1,
        "contexts": 1,
        "systems": {"rows": 1},
        "left out": {},
        "scales": {"overall": [1.0, 5.0]},
        "licence": "CC0",
    }
    assert np.isfinite(read_rated_replies([rows([reply(1)])]).ratings).all()
