"""One number from several studies, against statsmodels and by hand."""

import json
import math

import numpy as np
import pytest

from dialoscope.analysis.trust.pooling import fisher, pool, pool_coefficients
from tests.conftest import ROOT

GOLDEN = json.loads((ROOT / "tests/golden/random_effects.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["name"])
def test_the_mean_and_its_interval_are_those_of_statsmodels(case):
    values, errors = np.array(case["values"]), np.sqrt(case["variances"])
    found = pool(values, errors, 0.95)
    assert found.studies == len(values)
    assert found.spread**2 == pytest.approx(case["between"], abs=1e-9)
    assert found.value == pytest.approx(case["mean"], abs=1e-9)
    # Hartung and Knapp's where studies differ, and never narrower than Student's t makes it.
    wider = max(case["hartung_knapp"], case["with_t"], key=lambda ends: ends[1] - ends[0])
    assert (found.low, found.high) == pytest.approx(tuple(wider), abs=1e-8)


def test_studies_that_agree_are_weighed_by_their_errors_alone():
    found = pool(np.array([0.5, 0.5]), np.array([0.1, 0.3]), 0.95)
    assert found.value == 0.5
    assert found.spread == 0
    weight = 1 / 0.1**2 + 1 / 0.3**2
    assert found.high - 0.5 == pytest.approx(12.7062 / math.sqrt(weight), rel=1e-5)  # t with one degree


def test_one_study_has_no_interval_over_studies_and_none_has_nothing():
    assert pool(np.array([0.4]), np.array([0.1]), 0.95)[0] == 0.4
    assert np.isnan(pool(np.array([0.4]), np.array([0.1]), 0.95)[1:4]).all()
    assert np.isnan(pool(np.array([]), np.array([]), 0.95)[:4]).all()
    assert pool(np.array([]), np.array([]), 0.95).studies == 0


def test_coefficients_stay_coefficients():
    found = pool_coefficients(np.array([0.9, 0.99, 1.0, 0.2]), np.full(4, 0.2), 0.95)
    assert -1 < found.low < found.value < found.high < 1
    turned = pool_coefficients(-np.array([0.9, 0.99, 1.0, 0.2]), np.full(4, 0.2), 0.95)
    assert turned[:3] == pytest.approx((-found.value, -found.high, -found.low))
    assert np.isfinite(fisher(np.array([-1.0, 1.0]))).all()


def test_a_study_that_leaves_nothing_to_chance_is_no_trouble():
    found = pool_coefficients(np.array([1.0, 1.0]), np.zeros(2), 0.95)
    assert found[:3] == pytest.approx((1, 1, 1), abs=1e-5)
    assert np.isfinite(pool_coefficients(np.array([1.0, 0.2]), np.array([0, 0.1]), 0.95)[:4]).all()


def test_the_order_of_studies_does_not_show():
    rng = np.random.default_rng(1)
    values, errors = rng.normal(0.2, 0.3, 9), rng.uniform(0.05, 0.2, 9)
    order = rng.permutation(9)
    assert pool(values[order], errors[order], 0.9) == pytest.approx(pool(values, errors, 0.9))


@pytest.mark.parametrize(
    ("between", "least", "most"), [(0.0, 0.97, 1.0), (0.1, 0.93, 0.97), (0.3, 0.93, 0.97)]
)
def test_intervals_hold_the_mean_as_often_as_they_say(between, least, most):
    """Seven studies with errors like those on the rated corpora; too wide where none of them differ."""
    rng, held, rounds = np.random.default_rng(0), 0, 1000
    for _ in range(rounds):
        errors = rng.uniform(0.03, 0.09, 7)
        found = pool(rng.normal(0.3, between, 7) + rng.normal(0, errors), errors, 0.95)
        held += found.low <= 0.3 <= found.high
    assert least <= held / rounds <= most
