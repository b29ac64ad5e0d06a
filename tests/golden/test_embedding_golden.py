"""Our Average, Extrema and Greedy against nlg-eval's code and that of FBD's authors; see README.md."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

import dialoscope as ds
from dialoscope.models.vectors import StaticVectors
from dialoscope.text.batch import Batch

HERE = Path(__file__).parent
GOLDEN = json.loads((HERE / "embedding_metrics.json").read_text(encoding="utf-8"))
TEXTS = json.loads((HERE / "texts.json").read_text(encoding="utf-8"))

pytestmark = pytest.mark.usefixtures("glove")


def cases(tokenizers) -> list:
    chosen = [case for case in GOLDEN["cases"] if case["settings"]["tokenizer"] in tokenizers]
    return [pytest.param(case, id="-".join(case["settings"].values())) for case in chosen]


def batch(ids) -> Batch:
    return Batch(
        [
            ds.Example(one["id"], "s", one["response"], (), tuple(one["references"]))
            for one in TEXTS
            if one["id"] in ids
        ]
    )


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("vectors") / "tiny.txt"
    path.write_text(GOLDEN["tiny"], encoding="utf-8")
    return str(path)


def metric(case, tiny):
    settings = case["settings"]
    found = ds.metric(f"{settings['metric']}:variant={settings['variant']}")
    model = tiny if settings["vectors"] == "tiny" else settings["vectors"]
    return replace(found, vectors=StaticVectors(model, case="as-is"))


def differences(found, expected) -> list:
    """The replies whose numbers are more than 1e-6 apart, or undefined on one side alone."""
    return [
        (reply, value, expected[reply])
        for reply, value in found.items()
        if math.isnan(value) != (expected[reply] is None) or abs(value - (expected[reply] or 0)) > 1e-6
    ]


@pytest.mark.parametrize("case", cases(["treebank", "split"]))
def test_every_reply_has_the_number_of_the_other_code(case, tiny):
    one = metric(case, tiny)
    replies = batch(case["replies"])
    each = one.score_each(one.measure(replies)).tolist()
    found = dict(zip([example.id for example in replies], each, strict=True))
    assert differences(found, case["replies"]) == []
    assert one.score(one.measure(batch(case["corpus"]))) == pytest.approx(case["system"], abs=1e-6)


@pytest.mark.parametrize("case", cases(["word_tokenize"]))
def test_splitting_sentences_first_is_the_only_difference_to_nlg_eval(case, tiny):
    one = metric(case, tiny)
    replies = batch(GOLDEN["same_words"])
    assert len(replies) > 55
    each = one.score_each(one.measure(replies)).tolist()
    found = dict(zip([example.id for example in replies], each, strict=True))
    assert differences(found, case["replies"]) == []


@pytest.mark.parametrize("name", ["average", "extrema", "greedy"])
def test_nlg_eval_s_own_example(name):
    given = GOLDEN["unit_test"]
    example = ds.Example("1", "s", given["response"], (), tuple(given["references"]))
    one = ds.metric(f"{name}:variant=nlg-eval")
    expected = given["glove-50d"][name]
    assert one.score(one.measure(Batch([example]))) == pytest.approx(expected, abs=1e-6)


def test_the_cases_differ_so_that_each_is_seen():
    scores = [case["system"] for case in GOLDEN["cases"] if case["settings"]["tokenizer"] != "word_tokenize"]
    assert len(set(scores)) == len(scores) == 12
    assert any(value is None for case in GOLDEN["cases"] for value in case["replies"].values())
