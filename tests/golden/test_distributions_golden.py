"""FBD and PRD against the code of FBD's authors."""

import json

import numpy as np
import pytest

import dialoscope as ds
from dialoscope.metrics.shared.frechet import Moments, frechet
from tests.golden._shared import HERE
from tests.golden.make_distributions import points

KEPT = json.loads((HERE / "distributions.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", KEPT["frechet"], ids=lambda case: str(case["sizes"]))
def test_the_distance_is_that_of_its_authors(case):
    real, generated = map(Moments.of, points(case["seed"], *case["sizes"]))
    assert frechet(real, generated) == pytest.approx(case["value"], rel=1e-9)


@pytest.mark.parametrize("case", KEPT["prd"], ids=lambda case: str(case["angles"]))
def test_the_curve_is_that_of_its_authors(case):
    metric = ds.Prd(clusters=20, angles=case["angles"])
    curve = metric._curve(np.array([case["real"]]), np.array([case["own"]]))
    assert curve.precision[case["at"]] == pytest.approx(case["precision"], rel=1e-9)
    assert curve.recall[case["at"]] == pytest.approx(case["recall"], rel=1e-9)
    assert curve.best == pytest.approx(case["best"], rel=1e-9)
