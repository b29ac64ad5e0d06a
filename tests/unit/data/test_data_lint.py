"""Warnings about data that is odd, and none about data that is not."""

import pytest

from dialoscope.core.records import Example, Rating
from dialoscope.data.layout import Row
from dialoscope.data.lint import Lint, lint
from dialoscope.data.problems import ReadLog
from dialoscope.data.replies import Replies, read


def warned(rows, log=None, **settings) -> list[str]:
    lint = Lint(**settings)
    for row in rows:
        lint.add(row)
    return lint.warnings(log or ReadLog())


def replies(*texts, system="bot", references=()) -> list[Row]:
    return [Row(Example(f"q{place}", system, text, (), references)) for place, text in enumerate(texts)]


def rated(*values, aspect="tone") -> list[Row]:
    return [
        Row(Example(str(place), "bot", "x"), (Rating(str(place), "bot", aspect, "1", value),))
        for place, value in enumerate(values)
    ]


def test_ordinary_replies_raise_no_warning():
    rows = replies("Hello, there.", "I don't know...", "C'est la vie !", "It's fine.", "Well, yes.", "", "ok")
    assert warned(rows) == []
    assert warned([]) == []


@pytest.mark.parametrize(
    "text", ["well , yes", "it is .", "i do n't know", "it 's fine", "I ' m here", "-lrb- smiles -rrb-"]
)
def test_tokenised_replies_are_noticed(text):
    (warning,) = warned(replies("fine.", *[text] * 6))
    assert "look tokenised" in warning
    assert "'bot' (6 of 7), first in 'q1'" in warning


def test_few_tokenised_replies_are_no_habit():
    assert warned(replies(*["well , yes"] * 4)) == []
    assert warned(replies(*["well , yes"] * 6, *["Well, yes."] * 6)) == []


def test_only_a_sample_of_many_replies_is_looked_at():
    (warning,) = warned(replies(*["well , yes"] * 1600))
    assert "'bot' (569 of 569)" in warning


def test_systems_with_other_ids_are_noticed_in_whatever_order_they_come():
    same = [*replies("a", "b", "c", system="one"), *reversed(replies("a", "b", "c", system="two"))]
    assert warned(same) == []
    (warning,) = warned([*same, *replies("a", "b", system="three")])
    assert warning.startswith(
        "Not all systems reply to the same ids as 'one' (3 replies, first 'q0'): 'three' (2 replies"
    )


def test_a_long_list_of_systems_is_cut():
    rows = [*replies("a", "b"), *(Row(Example("z", f"s{place}", "x")) for place in range(9))]
    assert "and 4 more;" in warned(rows)[0]


def test_replies_equal_to_a_reference_are_noticed():
    (warning,) = warned(replies("no", "yes", "yes", references=("yes", "")))
    assert warning.startswith("Replies equal one of their references: 'bot' (2 of 3), first in 'q1'")


def test_ratings_off_a_declared_scale_are_noticed():
    (warning,) = warned(rated(1, 5, 0, None, 6), scales={"tone": (1, 5)})
    assert warning.startswith("2 ratings of 'tone' are outside its scale 1–5: 0, 6 (first for '2')")


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ([0, 1] * 100, "0–1"),
        ([1, 2, 3] * 70, "1–3"),
        ([1, 5] * 100, "1–5"),
        ([1, 7] * 100, "1–7"),
        ([0, 10] * 100, "0–10"),
    ],
)
def test_a_typo_is_noticed_on_a_scale_that_is_guessed(values, scale):
    assert warned(rated(*values)) == []
    (warning,) = warned(rated(*values, 155))
    assert f"1 rating of 'tone' is outside its scale {scale}: 155" in warning


def test_values_on_no_usual_scale_are_left_alone():
    assert warned(rated(-500, 3, 1000)) == []


def test_values_without_end_do_not_fill_the_memory():
    lint = Lint()
    for row in rated(*(place / 20_000 for place in range(11_000))):
        lint.add(row)
    assert lint.warnings(ReadLog()) == []


def test_ignored_columns_are_told_with_what_they_may_have_meant():
    log = ReadLog()
    log.ignore("refrences", 3)
    log.ignore("gold")
    log.ignore("", 2)
    assert warned([], log) == [
        "Column 'refrences' was ignored in 3 rows (did you mean 'references'?); rename it, or use --map.",
        "Columns that are not read were ignored in up to 2 rows: gold, (unnamed).",
    ]


@pytest.mark.parametrize("text", ["我很喜欢这个", "とてもいいです", "สวัสดีครับ", "我用 GPT 写的东西很好"])
def test_scripts_without_spaces_are_noticed(text):
    (warning,) = warned(replies(*[text] * 6, "ok"))
    assert "tokenizer 13a sees one word: 'bot' (6 of 7), first in 'q0'; use tokenizer=words" in warning


def test_other_scripts_are_left_alone():
    assert warned(replies(*["Привет, как дела?"] * 6, *["안녕하세요 여러분"] * 6)) == []


def test_a_file_can_be_looked_over_in_one_call(write):
    path = write("a.jsonl", {"response": "x", "respons": "y", "ratings": {"tone": 9}})
    consumed = []
    scale, column = lint(read(path), scales={"tone": (1, 5)}, progress=consumed.append)
    assert scale.startswith("1 rating of 'tone' is outside its scale 1–5: 9 (first for '1'); correct them")
    assert column == (
        "Column 'respons' was ignored in 1 row (did you mean 'response'?); rename it, or use --map."
    )
    assert sum(consumed) == path.stat().st_size


def test_a_slip_of_the_pen_is_seen_among_few_ratings(tmp_path):
    values = [4, 5, 3, 55, 2, 4]
    examples = [Example(str(i), "s", "hi") for i in range(6)]
    ratings = [Rating(str(i), "s", "coherence", "1", float(value)) for i, value in enumerate(values)]
    (warning,) = lint(Replies.of(examples, ratings))
    assert "1 rating of 'coherence' is outside its scale 1–5: 55 (first for '3')" in warning
    honest = [Rating(str(i), "s", "coherence", "1", value) for i, value in enumerate([1.0, 1, 1, 1, 5, 1])]
    assert lint(Replies.of(examples, honest)) == []
