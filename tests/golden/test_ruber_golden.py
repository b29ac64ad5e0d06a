"""Referenced RUBER against plain numpy on the same vectors, and its blends against plain arithmetic."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import dialoscope as ds
from dialoscope.models.fakes import FakeClassifier
from tests.arithmetic import DOUBLE_ERROR, cosine_error

HERE = Path(__file__).parent
GOLDEN = json.loads((HERE / "ruber.json").read_text(encoding="utf-8"))
LENGTH = 64
"""Tokens: more than any of the texts has."""
BLENDS = ("min", "max", "arithmetic", "geometric")


@dataclass(frozen=True)
class Drawn(FakeClassifier):
    """Says what was drawn for each reply, whose context is its id."""

    labels: ClassVar[tuple[str, ...]] = ("wrong", "right")
    drawn: ClassVar[Mapping[str, float]] = GOLDEN["blends"]["probabilities"]

    def classify(self, pairs):
        right = np.array([self.drawn.get(pair.first, 0.5) for pair in pairs])
        return np.stack([1 - right, right], axis=1)


def named(settings):
    return "ruber-referenced:" + ",".join(f"{name}={value}" for name, value in settings.items())


def examples(ids):
    texts = {one["id"]: one for one in json.loads((HERE / "texts.json").read_text(encoding="utf-8"))}
    return [ds.Example(i, "s", texts[i]["response"], (i,), tuple(texts[i]["references"])) for i in ids]


@pytest.fixture(scope="module")
def result(minilm, glove):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DIALOSCOPE_SCORES", "off")
        ids = list(GOLDEN["cases"][0]["replies"])
        parts = [named(case["settings"]) for case in GOLDEN["cases"]]
        return ds.evaluate(examples(ids), [*parts, *(ds.Ruber(model=Drawn(), blend=one) for one in BLENDS)])


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: named(case["settings"]))
def test_cosines_are_those_of_plain_numpy(result, case, minilm):
    found = dict(zip(result.replies.ids, result.values(named(case["settings"])).tolist(), strict=True))
    expected = {name: math.nan if value is None else value for name, value in case["replies"].items()}
    error = cosine_error(minilm, LENGTH) if "encoder" in case["settings"] else DOUBLE_ERROR
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=error, nan_ok=True)


@pytest.mark.parametrize("blend", BLENDS)
def test_blends_are_those_of_plain_arithmetic(result, blend, minilm):
    values = result.values(ds.Ruber(model=Drawn(), blend=blend)).tolist()
    found = {name: value for name, value in zip(result.replies.ids, values, strict=True) if value == value}
    cosines = [value for value in GOLDEN["cases"][0]["replies"].values() if value is not None]
    error = 2 * cosine_error(minilm, LENGTH) / (max(cosines) - min(cosines))  # of the value and of an end
    near = math.sqrt(error) if blend == "geometric" else error  # a root is steep near 0
    assert found == pytest.approx(GOLDEN["blends"][blend], abs=near)
