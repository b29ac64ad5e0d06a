"""Five coefficients, against scipy and by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from dialoscope.analysis import coefficients
from dialoscope.analysis.coefficients import measure


@pytest.fixture
def columns():
    rng = np.random.default_rng(3)
    x = rng.normal(size=200)
    return x, np.round(x + rng.normal(size=200))


@pytest.mark.parametrize(
    ("name", "theirs"),
    [("pearson", stats.pearsonr), ("spearman", stats.spearmanr), ("kendall", stats.kendalltau)],
)
def test_equal_to_scipy(name, theirs, columns):
    assert measure(name, *columns).value == pytest.approx(theirs(*columns).statistic, abs=1e-14)


def test_accuracy_counts_pairs_that_people_tell_apart(columns):
    x, y = columns
    x = np.round(x, 1)
    right = total = 0.0
    for i in range(200):
        for j in range(i):
            if y[i] != y[j]:
                total += 1
                right += 0.5 if x[i] == x[j] else (x[i] > x[j]) == (y[i] > y[j])
    assert measure("accuracy", x, y).value == pytest.approx(right / total, abs=1e-14)


def test_cosine_subtracts_nothing():
    assert measure("cosine", np.array([1.0, 1, 1]), np.array([1.0, 2, 2])).value == pytest.approx(5 / 27**0.5)
    assert math.isnan(measure("cosine", np.zeros(3), np.ones(3)).value)


@pytest.mark.parametrize("name", coefficients.NAMES)
def test_pairs_with_a_gap_are_left_out(name, columns):
    x, y = columns
    gaps = x.copy()
    gaps[:50] = math.nan
    found = measure(name, gaps, y)
    assert found == measure(name, x[50:], y[50:])
    assert found.n == 150


@pytest.mark.parametrize("name", coefficients.NAMES)
def test_too_few_pairs_say_so(name):
    one = np.array([1.0, 2.0])
    found = measure(name, one, one)
    assert math.isnan(found.value)
    assert found.why == "2 pairs of values, and 3 are needed"
    assert measure(name, one[:1], one[:1]).why == "1 pair of values, and 3 are needed"
    assert measure(name, one[:0], one[:0]).why == "no pairs of values, and 3 are needed"
    assert measure(name, one, one, min_points=2).value == pytest.approx(1)


@pytest.mark.parametrize("name", ["pearson", "spearman", "kendall"])
def test_what_does_not_vary_says_so(name):
    same, other = np.full(5, 0.1), np.arange(5.0)
    assert measure(name, same, other).why == "the first side is the same everywhere"
    assert measure(name, other, same).why == "the second side is the same everywhere"
    assert measure(name, same, same).why == "both sides are the same everywhere"
    assert math.isnan(measure(name, same, other).value)


def test_a_column_that_varies_by_rounding_alone_does_not_vary():
    same = np.array([0.1 + 0.2, 0.3, 0.3, 0.3])
    assert math.isnan(measure("pearson", same, np.arange(4.0)).value)


@pytest.mark.parametrize("name", ["pearson", "spearman", "kendall"])
def test_signs_are_kept(name, columns):
    x, y = columns
    assert measure(name, -x, y).value == pytest.approx(-measure(name, x, y).value)
    assert measure(name, x, y).value == pytest.approx(measure(name, y, x).value)
    assert measure(name, 3 * x + 7, y).value == pytest.approx(measure(name, x, y).value)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.421, ".42"), (-0.05, "−.05"), (1, "1"), (-1, "−1"), (-0.001, ".00"), (0, ".00"), (math.nan, "–")],
)
def test_coefficients_are_written_short(value, text):
    assert coefficients.format_coefficient(value) == text


@pytest.mark.parametrize("n", [0, 1, 2, 300])
def test_ranks_are_those_of_scipy(n):
    x = np.round(np.random.default_rng(n).normal(size=n), 1)
    assert coefficients.ranks(x).tolist() == stats.rankdata(x).tolist()
