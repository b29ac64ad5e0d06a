"""Diversity against NLTK's n-grams and SciPy's entropy."""

import json

import pytest

import dialoscope as ds
from tests.conftest import ROOT
from tests.golden._shared import HERE

CASES = json.loads((HERE / "diversity.json").read_text(encoding="utf-8"))["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["settings"]))
def test_each_group_and_each_system_has_the_entropy_of_other_peoples_code(case):
    metric = ds.Diversity(**case["settings"])
    replies = list(ds.read(ROOT / "examples" / "variants.jsonl"))
    result = ds.evaluate(replies, metric)
    wanted = {(each["system"], each["group"]): each["value"] for each in case["groups"]}
    assert len(wanted) == 32
    for example, value in zip(replies, result.values(metric), strict=True):
        assert value == pytest.approx(wanted[example.system, example.group], rel=1e-12)
    for system in result.systems:
        own = [value for (whose, _), value in wanted.items() if whose == system]
        assert result.score(metric, system) == pytest.approx(sum(own) / len(own), rel=1e-12)
