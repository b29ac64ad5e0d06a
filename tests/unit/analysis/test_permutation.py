"""P-values by permutation, and the sums that they are made from."""

import math
from itertools import permutations

import numpy as np
import pytest

from dialoscope.analysis.coefficients import NAMES, measure
from dialoscope.analysis.correlation import group_sums as forms
from dialoscope.analysis.correlation.group_sums import RowGroups, coefficients_in_groups, form_to_shuffle
from dialoscope.analysis.correlation.permutation import list_orders, p_values


@pytest.fixture(scope="module")
def columns():
    """Sixty rows with ties, in nine groups; in one of them a column is the same everywhere."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 9, 60)
    x, y = np.round(rng.normal(size=(60, 3)), 1), rng.integers(0, 3, (60, 2)).astype(float)
    x[group == 4, 1] = 2
    return x, y, group


def orders_within(group, times, seed):
    """Random orders in which rows change places with others of their group."""
    rng = np.random.default_rng(seed)
    orders = np.tile(np.arange(len(group)), (times, 1))
    for one in np.unique(group):
        places = np.flatnonzero(group == one)
        orders[:, places] = rng.permuted(orders[:, places], axis=1)
    return orders


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("min_points", [3, 8])
def test_a_coefficient_in_each_group_is_that_of_its_rows(name, min_points, columns, monkeypatch):
    x, y, group = columns
    expected = [
        [
            [measure(name, x[group == k, i], y[group == k, j], min_points).value for j in range(2)]
            for i in range(3)
        ]
        for k in range(10)
    ]
    groups = RowGroups(group, 10, min_points)
    assert coefficients_in_groups(name, x, y, groups) == pytest.approx(
        np.array(expected), nan_ok=True, abs=1e-12
    )
    monkeypatch.setattr(forms, "MOST_PAIRS", 0)
    assert coefficients_in_groups(name, x, y, groups) == pytest.approx(
        np.array(expected), nan_ok=True, abs=1e-12
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_form_shuffled_is_the_mean_of_the_groups_of_the_shuffled_rows(name, columns):
    x, y, group = columns
    groups = RowGroups(group, 9)
    orders = orders_within(group, 5, seed=1)
    found = form_to_shuffle(name, x, y, groups).shuffle(orders)
    for order, one in zip(orders, found, strict=True):
        assert one == pytest.approx(np.nanmean(coefficients_in_groups(name, x, y[order], groups), axis=0))


def test_every_other_order_of_a_few_systems_and_some_of_many():
    (orders,) = list_orders(4, 1000, seed=0)
    assert len({tuple(order) for order in orders}) == 23
    assert sum(len(some) for some in list_orders(8, 1000, seed=0)) == 1000
    assert [some.shape for some in list_orders(0, 10, seed=0)] == [(0, 0)]


@pytest.mark.parametrize("name", NAMES)
def test_p_of_four_systems_is_exact(name):
    """Of the 24 orders of 1, 2, 4, 3 against 1 to 4, those as far from the middle as the one found."""
    x, y = np.arange(1.0, 5)[:, None], np.array([[1.0], [2], [4], [3]])
    every = np.array([measure(name, x[:, 0], y[list(order), 0]).value for order in permutations(range(4))])
    far = np.abs(every - every.mean())
    form = form_to_shuffle(name, x, y, RowGroups(np.zeros(4, np.int64), 1))
    (p,) = p_values([every[:1, None]], [form], list_orders(4, 1000, seed=0))
    assert p[0, 0] == pytest.approx((far >= far[0] - 1e-9).mean())
    if name == "spearman":
        assert p[0, 0] == 8 / 24, "as tables of Spearman's coefficient have it for .8"


def test_p_has_no_zero_and_no_sign():
    y = np.arange(40.0)[:, None]
    x = np.concatenate([y, -y], axis=1)
    form = form_to_shuffle("pearson", x, y, RowGroups(np.zeros(40, np.int64), 1))
    (p,) = p_values([np.array([[1.0], [-1.0]])], [form], list_orders(40, 99, seed=0))
    assert p.tolist() == [[0.01], [0.01]]
    (p,) = p_values([np.full((2, 1), math.nan)], [form], list_orders(40, 99, seed=0))
    assert np.isnan(p).all()


@pytest.mark.parametrize("name", forms.PAIRED)
def test_the_form_for_many_rows_gives_the_p_of_all_pairs(name, monkeypatch):
    rng = np.random.default_rng(5)
    y = rng.integers(0, 5, (80, 1)).astype(float)
    x = np.round(rng.normal(size=(80, 60)) + y * np.linspace(0, 0.4, 60), 1)
    groups = RowGroups(np.arange(80) % 4, 4)

    def p():
        observed = np.nanmean(coefficients_in_groups(name, x, y, groups), axis=0)
        orders = orders_within(groups.of, 999, seed=0)
        return p_values([observed], [form_to_shuffle(name, x, y, groups)], [orders])[0]

    exact = p()
    monkeypatch.setattr(forms, "MOST_SHUFFLED_PAIRS", 0)
    assert p() == pytest.approx(exact, abs=0.04)
    assert np.abs(p() - exact).mean() < 0.01
