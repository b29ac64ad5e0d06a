"""Labelled pairs: how they are read, and how some are kept apart."""

import gzip
import json
from pathlib import Path

import pytest

from dialoscope.core.errors import TrainingError
from dialoscope.training.contradictions import LABELS, LabelledPair
from dialoscope.training.nli_pairs import PairSource, read_pairs, split_pairs
from tests.unit.models.tiny import SENTENCES

SNLI_TEST, SNLI_TRAIN = 9824, 99890
"""Pairs of the asset on which raters agreed."""
ROW = {"premise": "a", "hypothesis": "b", "label": "neutral"}


# Reading


def test_pairs_are_read_by_both_names_and_without_disagreement(rows):
    path = rows(
        [
            ROW,
            {"sentence1": "c", "sentence2": "d", "gold_label": "entailment", "label": 1},
            {"sentence1": "e", "sentence2": "f", "gold_label": "-"},
            {**ROW, "label": "-"},
            {**ROW, "label": "contradiction", "more": [1]},
        ]
    )
    with path.open("a") as file:
        file.write("\n")
    wanted = [
        LabelledPair("a", "b", "neutral"),
        LabelledPair("c", "d", "entailment"),
        LabelledPair("a", "b", "contradiction"),
    ]
    assert list(read_pairs(str(path))) == wanted
    packed = path.with_name("rows.jsonl.gz")
    packed.write_bytes(gzip.compress(b"\xef\xbb\xbf" + path.read_bytes()))
    assert list(read_pairs(str(packed))) == wanted


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "{",
            "this is no JSON (Expecting property name enclosed in double quotes: line 2 column 1 (char 2)).",
        ),
        ("[1]", "a pair has `premise`, `hypothesis` and `label`, which are texts."),
        ('{"premise": "a"}', "a pair has `premise`, `hypothesis` and `label`, which are texts."),
        (
            json.dumps({**ROW, "label": 2}),
            "a pair has `premise`, `hypothesis` and `label`, which are texts.",
        ),
        (
            json.dumps({**ROW, "label": "maybe"}),
            "the label is 'maybe'; it must be one of: entailment, neutral, contradiction.",
        ),
    ],
)
def test_bad_rows_are_told_with_their_place(tmp_path, line, told):
    path = tmp_path / "x.jsonl"
    path.write_text(f"{json.dumps(ROW)}\n{line}\n")
    with pytest.raises(TrainingError) as caught:
        list(read_pairs(str(path)))
    assert str(caught.value) == f"{path}:2: {told}"


def test_rows_that_nest_too_deep_are_no_json(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text("[" * 200_000)
    with pytest.raises(TrainingError, match=r"x\.jsonl:1: this is no JSON"):
        list(read_pairs(str(path)))


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00", b"cut", b"no gzip"])
def test_files_that_cannot_be_read_are_told(tmp_path, content):
    path = tmp_path / ("x.jsonl.gz" if content in (b"cut", b"no gzip") else "x.jsonl")
    if content == b"cut":
        path.write_bytes(gzip.compress(json.dumps(ROW).encode() * 9)[:-12])
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(TrainingError) as caught:
        list(read_pairs(str(path)))
    assert str(caught.value).startswith(f"{path} cannot be read: ")


def test_the_asset_is_read_by_its_names(snli):
    test = list(read_pairs("snli-test"))
    assert (len(test), len(list(read_pairs("snli")))) == (SNLI_TEST, SNLI_TRAIN)
    assert {pair.label for pair in test} == set(LABELS)


# What is kept apart


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x.jsonl", PairSource("x.jsonl")),
        ("snli", PairSource("snli")),
        ("x.jsonl:validation=.1", PairSource("x.jsonl", 0.1)),
        ("c:/x.jsonl:validation=.1,test=0.2,times=2", PairSource("c:/x.jsonl", 0.1, 0.2, 2)),
        ("x.jsonl:test=1", PairSource("x.jsonl", 0, 1)),
        ("a:b.jsonl", PairSource("a:b.jsonl")),
        (":a=b", PairSource(":a=b")),
    ],
)
def test_what_becomes_of_a_file_stands_behind_it(text, wanted):
    assert PairSource.parse(text) == wanted


@pytest.mark.parametrize(
    "settings",
    ["validation=x", "validation=-0.1", "test=1.1", "validation=.6,test=.6", "times=0", "times=1.5",
     "share=1", "validation=nan", "validation=0.1,", "times="],
)  # fmt: skip
def test_what_makes_no_sense_behind_a_file_is_told(settings):
    with pytest.raises(TrainingError) as caught:
        PairSource.parse(f"x.jsonl:{settings}")
    assert str(caught.value) == (
        f"'x.jsonl:{settings}' cannot be read; write FILE:validation=0.1,test=0.2,times=1."
    )


def test_pairs_are_split_by_premise(pairs):
    found = split_pairs([f"{pairs}:validation=0.3,test=0.3"])
    parts = [found.train, found.validation, found.tests["pairs (held back)"]]
    assert all(parts)
    premises = [{pair.premise for pair in part} for part in parts]
    assert sum(map(len, premises)) == len(set.union(*premises)) == 12
    assert sum(map(len, parts)) == 72
    assert found.removed == 0


def test_pairs_may_be_learned_from_more_than_once(pairs):
    once = split_pairs([f"{pairs}:validation=0.3"])
    thrice = split_pairs([f"{pairs}:validation=0.3,times=3"])
    assert sorted(thrice.train) == sorted(once.train * 3)
    assert thrice.validation == once.validation
    assert once.hash != thrice.hash


def test_what_is_tested_on_is_not_learned_from(pairs, rows):
    lines = [json.loads(line) for line in Path(pairs).read_text().splitlines()]
    apart = str(rows(lines[:10], "apart.jsonl"))
    found = split_pairs([f"{pairs}:validation=0.2"], [apart])
    tested = {pair[:2] for pair in found.tests["apart"]}
    assert len(tested) == 10
    assert not tested & {pair[:2] for pair in found.train}
    assert found.removed == 72 - len(found.train) - len(found.validation) > 0


def test_files_of_one_name_are_told_apart(pairs, rows, tmp_path):
    (tmp_path / "b").mkdir()
    held, one, two = (str(rows([ROW], name)) for name in ("b/pairs.jsonl", "x.jsonl", "b/x.jsonl"))
    found = split_pairs([f"{pairs}:validation=.3,test=.2", f"{held}:test=1"], [one, two])
    assert set(found.tests) == {one, two, f"{pairs} (held back)", f"{held} (held back)"}


@pytest.mark.parametrize(
    ("settings", "told"),
    [("", "72 pairs for training and 0"), (":validation=1", "0 pairs for training and 72")],
)
def test_both_parts_are_needed(pairs, settings, told):
    with pytest.raises(TrainingError) as caught:
        split_pairs([f"{pairs}{settings}"])
    assert str(caught.value) == (
        f"There are {told} for validation; both are needed. Hold out some of a file: FILE:validation=0.1."
    )


# Pairs that are made


def talk(place):
    """A dialogue that gives pairs of every class."""
    return [
        f"Where do you live, number {place}?",
        f"I live in town {place}. I have {place + 2} dogs.",
        f"Do you like {SENTENCES[place % 6].split()[-1][:-1]}?",
        f"Yes, I like it. My street is number {place}.",
    ]


@pytest.fixture
def made_from(rows):
    return str(rows([{"id": str(place), "turns": talk(place)} for place in range(200)], "made.jsonl"))


def test_made_pairs_are_the_same_for_a_seed_and_apart(pairs, made_from):
    found = split_pairs([f"{pairs}:validation=0.2"], corpora=[made_from], limit=300)
    again = split_pairs([f"{pairs}:validation=0.2"], corpora=[made_from], limit=300)
    other = split_pairs([f"{pairs}:validation=0.2"], corpora=[made_from], limit=300, seed=1)
    assert found == again != other
    assert (found.hash, found.hash == other.hash) == (again.hash, False)
    assert not {pair[:2] for pair in found.train} & {pair[:2] for pair in found.validation}
    without = split_pairs([f"{pairs}:validation=0.2"])
    for part, fewer in ((found.train, without.train), (found.validation, without.validation)):
        counts = [sum(pair.label == label for pair in part[len(fewer) :]) for label in LABELS]
        assert max(counts) - min(counts) <= 2
        assert min(counts) > 1


def test_made_pairs_are_as_many_of_each_corpus(pairs, made_from, rows):
    second = str(
        rows([{"id": str(place), "turns": talk(place + 500)} for place in range(200)], "second.jsonl")
    )
    found = split_pairs([f"{pairs}:validation=0.2"], corpora=[made_from, second], limit=300)
    late = [pair for pair in found.train if any(f"{number}" in pair.premise for number in range(500, 702))]
    assert len(late) > 75


def test_none_made_is_none(pairs, made_from):
    found = split_pairs([f"{pairs}:validation=0.2"], corpora=[made_from], limit=0)
    assert found == split_pairs([f"{pairs}:validation=0.2"])
