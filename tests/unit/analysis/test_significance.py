"""Tests of correlations against the literature's own numbers."""

import math

import numpy as np
import pytest

from dialoscope.analysis.significance import holm, steiger, williams


def test_holm_as_worked_by_hand():
    """Four tests; the two smallest are rejected at .05, as the article "Holm–Bonferroni method" works out."""
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_leaves_out_what_is_unknown_and_stays_below_1():
    corrected = holm(np.array([0.6, math.nan, 0.001, 0.5]))
    assert corrected == pytest.approx([1, math.nan, 0.003, 1], nan_ok=True)
    assert len(holm(np.empty(0))) == 0


def test_holm_keeps_the_order_of_the_tests():
    p = np.random.default_rng(0).random(30)
    order = np.random.default_rng(1).permutation(30)
    assert holm(p)[order] == pytest.approx(holm(p[order]))
    assert (holm(p) >= p).all()


def test_williams_as_published():
    """Steiger (1980, p. 249) finds -.8913 in his case A; DEPCOR (Silver, Hittner and May, 2006) the other."""
    assert williams(0.4, 0.5, 0.1, 103).statistic == pytest.approx(-0.8913, abs=5e-5)
    assert williams(0.3, 0.4, 0.5, 100) == pytest.approx((-1.0767, 0.2843), abs=5e-5)


def test_steiger_as_published():
    """DEPCOR (Silver, Hittner and May, 2006, Applied Psychological Measurement 30)."""
    assert steiger(0.3, 0.4, 0.5, 100) == pytest.approx((-1.0718, 0.2838), abs=5e-5)


@pytest.mark.parametrize("test", [williams, steiger])
def test_the_two_sides_of_a_comparison(test):
    one, other = test(0.5, 0.3, 0.6, 80), test(0.3, 0.5, 0.6, 80)
    assert one.statistic == -other.statistic > 0
    assert one.p == other.p < test(0.5, 0.3, 0.6, 40).p
    assert test(0.4, 0.4, 0.2, 50) == pytest.approx((0, 1))


@pytest.mark.parametrize("test", [williams, steiger])
@pytest.mark.parametrize(
    ("first", "second", "between", "n"),
    [(0.3, 0.4, 0.5, 3), (math.nan, 0.4, 0.5, 50), (0.3, 0.4, math.nan, 50), (1.0, 1.0, 1.0, 50)],
    ids=["too few", "no correlation", "nothing between", "one and the same"],
)
def test_what_cannot_be_tested_has_no_p(test, first, second, between, n):
    found = test(first, second, between, n)
    assert math.isnan(found.statistic)
    assert math.isnan(found.p)
