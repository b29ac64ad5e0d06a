"""Our METEOR against the official jar and against NLTK, on text written for the purpose; see README.md."""

import json
from pathlib import Path

import pytest

import dialoscope as ds
from dialoscope.text.batch import Batch

HERE = Path(__file__).parent
SETTINGS = {
    "default": {},
    "lower case only": {"tokenizer": "split"},
    "other parameters": {"alpha": 0.5, "beta": 1.0, "gamma": 0.3, "delta": 0.6},
    "other weights": {"stem_weight": 0.9, "synonym_weight": 0.2},
    "narrow beam": {"beam": 2},
    "paraphrases": {"paraphrases": str(HERE / "meteor_paraphrases.txt")},
}

pytestmark = pytest.mark.usefixtures("wordnet")


def read(name: str):
    return json.loads((HERE / name).read_text(encoding="utf-8"))


def cases(name: str) -> list:
    return [pytest.param(case, id=str(list(case["settings"].values()))) for case in read(name)["cases"]]


def batch() -> Batch:
    texts = [*read("meteor_texts.json"), *read("texts.json")]
    return Batch([ds.Example(t["id"], "s", t["response"], (), tuple(t["references"])) for t in texts])


def values(metric, replies: Batch) -> dict[str, float]:
    each = metric.score_each(metric.measure(replies)).tolist()
    return dict(zip([example.id for example in replies], each, strict=True))


@pytest.mark.parametrize("case", cases("meteor.json"))
def test_meteor_gives_the_numbers_of_the_jar(case):
    metric = ds.Meteor(**SETTINGS[case["settings"]["case"]])
    replies = batch()
    assert sum(len(example.references) for example in replies) > 400
    assert values(metric, replies) == pytest.approx(case["replies"], abs=1e-12)
    assert metric.score(metric.measure(replies)) == pytest.approx(case["system"], abs=1e-12)


@pytest.mark.parametrize("case", cases("nltk_meteor.json"))
def test_the_nltk_variant_gives_the_numbers_of_nltk(case):
    settings = {**ds.Meteor.variants["nltk"], "tokenizer": case["settings"]["tokenizer"]}
    metric = ds.Meteor(**{**settings, **case["settings"]["parameters"]})
    replies = batch()
    assert values(metric, replies) == pytest.approx(case["replies"], abs=1e-9)
    mean = sum(case["replies"].values()) / len(replies)
    assert metric.score(metric.measure(replies)) == pytest.approx(mean, abs=1e-9)


def test_the_cases_differ_so_that_each_setting_is_seen():
    scores = [case["system"] for case in read("meteor.json")["cases"]]
    assert len(set(scores)) == len(scores)
