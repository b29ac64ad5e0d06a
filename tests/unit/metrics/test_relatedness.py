"""Relatedness: a reply beside the turn before it."""

import json
import math

import pytest

import dialoscope as ds
from dialoscope.core.errors import MetricError
from dialoscope.models.fakes import FakeEncoder
from tests.arithmetic import cosine_error
from tests.golden._shared import HERE, load_texts

CASES = json.loads((HERE / "relatedness.json").read_text(encoding="utf-8"))["cases"]
LENGTH = 64
"""Tokens: more than any of the texts has."""


def value(reply, *context, **settings):
    metric = ds.Relatedness(**{"encoder": "fake", **settings})
    result = ds.evaluate([ds.Example("1", "s", reply, context)], metric, missing="undefined")
    return result.values(metric)[0]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["settings"]))
def test_it_is_the_cosine_that_transformers_has(case, minilm):
    metric = ds.Relatedness(encoder="minilm", **case["settings"])
    texts = [one for one in load_texts() if one["id"] in case["replies"]]
    examples = [ds.Example(one["id"], "s", one["response"], tuple(one["context"])) for one in texts]
    found = ds.evaluate(examples, metric).values(metric)
    assert found == pytest.approx(list(case["replies"].values()), abs=cosine_error(minilm, LENGTH))
    assert len(found) == 30


def test_a_reply_that_is_the_turn_before_it_could_not_be_nearer():
    assert value("tea please", "no", "tea please") == pytest.approx(1)
    assert value("zzz", "tea") == 0


def test_so_many_turns_stand_for_the_context():
    assert value("zzz", "zzz", "tea") == 0
    assert value("zzz", "zzz", "tea", turns=2) > 0.5


def test_nothing_said_is_nothing_near():
    for reply, *context in (("", "tea"), ("  ", "tea"), ("tea",), ("tea", " "), ("123", "tea")):
        assert math.isnan(value(reply, *context)), (reply, context)


def test_each_text_is_encoded_once(monkeypatch):
    asked = []
    encode = FakeEncoder.encode
    monkeypatch.setattr(FakeEncoder, "encode", lambda self, texts: asked.extend(texts) or encode(self, texts))
    rows = [ds.Example(str(row), "s", reply, ("tea?",)) for row, reply in enumerate(["no", "no", "tea?"])]
    ds.evaluate(rows, ds.Relatedness(encoder="fake"))
    assert asked == ["tea?", "no"]


def test_turns_are_one_at_least():
    with pytest.raises(MetricError, match=r"relatedness: turns must be 1 or more\."):
        ds.Relatedness(turns=0)
