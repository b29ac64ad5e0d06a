"""P-values by permutation, and the sums that they are made from."""

import math
from itertools import permutations

import numpy as np
import pytest

from dialoscope.coefficients import NAMES, measure
from dialoscope.meta.correlation import forms
from dialoscope.meta.correlation.forms import Groups, form_to_shuffle, grouped
from dialoscope.meta.correlation.permutation import exchanged, p_values, reordered, together, within


@pytest.fixture(scope="module")
def columns():
    """Sixty rows with ties, in nine groups; in one of them a column is the same everywhere."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 9, 60)
    x, y = np.round(rng.normal(size=(60, 3)), 1), rng.integers(0, 3, (60, 2)).astype(float)
    x[group == 4, 1] = 2
    return x, y, group


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fewest", [3, 8])
def test_a_coefficient_in_each_group_is_that_of_its_rows(name, fewest, columns, monkeypatch):
    x, y, group = columns
    expected = [
        [
            [measure(name, x[group == k, i], y[group == k, j], fewest).value for j in range(2)]
            for i in range(3)
        ]
        for k in range(10)
    ]
    groups = Groups(group, 10, fewest)
    assert grouped(name, x, y, groups) == pytest.approx(np.array(expected), nan_ok=True, abs=1e-12)
    monkeypatch.setattr(forms, "MOST_PAIRS", 0)
    assert grouped(name, x, y, groups) == pytest.approx(np.array(expected), nan_ok=True, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_a_form_shuffled_is_the_mean_of_the_groups_of_the_shuffled_rows(name, columns):
    x, y, group = columns
    groups = Groups(group, 9)
    (orders,) = within(group, 5, seed=1)
    found = form_to_shuffle(name, x, y, groups).shuffled(orders)
    for order, one in zip(orders, found, strict=True):
        assert one == pytest.approx(np.nanmean(grouped(name, x, y[order], groups), axis=0))


def test_rows_change_places_within_their_group():
    group = np.array([0, 1, 0, 2, 1, 0, 1, 1, 3])
    orders = np.concatenate(list(within(group, 120, seed=0)))
    assert orders.shape == (120, 9)
    assert (group[orders] == group).all()
    assert (np.sort(orders, axis=1) == np.arange(9)).all()
    assert {tuple(order) for order in orders[:, [0, 2, 5]]} == set(permutations([0, 2, 5]))


def test_contexts_change_places_in_all_systems_alike():
    context, system = np.repeat(np.arange(12), 3), np.tile(np.arange(3), 12)
    for order in np.concatenate(list(together(context, system, 60, seed=1))):
        assert sorted(order) == list(range(36))
        assert (system[order] == system).all()
        assert (context[order].reshape(12, 3) == context[order].reshape(12, 3)[:, :1]).all()


def test_contexts_that_few_share_their_systems_with_change_places_within_systems():
    context = np.array([0, 0, 1, 1, 2, 3, 3, 4, 5, 6, 7, 8])
    system = np.array([0, 1, 0, 1, 0, 0, 1, 1, 1, 1, 1, 1])
    orders = np.concatenate(list(together(context, system, 200, seed=1)))
    assert (system[orders] == system).all()
    assert {tuple(sorted(one)) for one in orders.tolist()} == {tuple(range(12))}
    alone = np.array([7, 8, 9, 10, 11])  # contexts of the second system alone keep to themselves
    assert (np.sort(orders[:, alone], axis=1) == alone).all()
    assert len({tuple(one) for one in orders[:, :7].tolist()}) > 10
    assert len(next(together(context[:0], system[:0], 3, seed=1))[0]) == 0


def test_contexts_of_one_size_change_places_whole():
    context = np.repeat(np.arange(50), 3)
    for order in np.concatenate(list(exchanged(context, 20, seed=0))):
        assert (np.sort(order) == np.arange(150)).all()
        assert (np.ptp(context[order].reshape(50, 3), axis=1) == 0).all(), "rows of a context stay together"
        assert (context[order] != context).any()


def test_contexts_of_rare_sizes_change_places_as_well():
    context = np.repeat(np.arange(12), np.arange(1, 13))
    orders = np.concatenate(list(exchanged(context, 60, seed=0)))
    assert (np.sort(orders, axis=1) == np.arange(len(context))).all()
    assert (context[orders] != context).mean() > 0.5
    neighbours = (np.diff(context[orders], axis=1) == 0).mean()
    assert neighbours == pytest.approx((np.diff(context) == 0).mean()), "laid end to end"


def test_every_other_order_of_a_few_systems_and_some_of_many():
    (orders,) = reordered(4, 1000, seed=0)
    assert len({tuple(order) for order in orders}) == 23
    assert sum(len(some) for some in reordered(8, 1000, seed=0)) == 1000
    assert [some.shape for some in reordered(0, 10, seed=0)] == [(0, 0)]


@pytest.mark.parametrize("name", NAMES)
def test_p_of_four_systems_is_exact(name):
    """Of the 24 orders of 1, 2, 4, 3 against 1 to 4, those as far from the middle as the one found."""
    x, y = np.arange(1.0, 5)[:, None], np.array([[1.0], [2], [4], [3]])
    every = np.array([measure(name, x[:, 0], y[list(order), 0]).value for order in permutations(range(4))])
    far = np.abs(every - every.mean())
    form = form_to_shuffle(name, x, y, Groups(np.zeros(4, np.int64), 1))
    (p,) = p_values([every[:1, None]], [form], reordered(4, 1000, seed=0))
    assert p[0, 0] == pytest.approx((far >= far[0] - 1e-9).mean())
    if name == "spearman":
        assert p[0, 0] == 8 / 24, "as tables of Spearman's coefficient have it for .8"


def test_p_has_no_zero_and_no_sign():
    y = np.arange(40.0)[:, None]
    x = np.concatenate([y, -y], axis=1)
    form = form_to_shuffle("pearson", x, y, Groups(np.zeros(40, np.int64), 1))
    (p,) = p_values([np.array([[1.0], [-1.0]])], [form], exchanged(np.arange(40), 99, seed=0))
    assert p.tolist() == [[0.01], [0.01]]
    (p,) = p_values([np.full((2, 1), math.nan)], [form], exchanged(np.arange(40), 99, seed=0))
    assert np.isnan(p).all()


def rejected(context, orders, name="spearman", metrics=50, aspects=10, groups=None):
    """The share of pairs, in none of which the two have to do with each other, that a test at .05 rejects."""
    rng = np.random.default_rng(3)
    of_context = rng.normal(size=(context.max() + 1, metrics + aspects))
    values = 2 * of_context[context] + rng.normal(size=(len(context), metrics + aspects))
    x, y = values[:, :metrics], np.round(values[:, metrics:])
    groups = groups or Groups(np.zeros(len(context), np.int64), 1)
    observed = grouped(name, x, y, groups).mean(axis=0)
    (p,) = p_values([observed], [form_to_shuffle(name, x, y, groups)], orders)
    return (p < 0.05).mean()


@pytest.mark.parametrize("name", ["pearson", "spearman"])
def test_chance_is_taken_for_more_in_one_of_twenty_cases_though_replies_hang_together(name):
    context = np.repeat(np.arange(25), 4)
    assert 0.02 < rejected(context, exchanged(context, 199, seed=0), name) < 0.09
    assert rejected(context, within(np.zeros(100, np.int64), 199, seed=0), name) > 0.15, "as if independent"


def test_chance_is_taken_for_more_as_rarely_where_every_context_has_its_own_size():
    context = np.repeat(np.arange(30), np.arange(30) % 15 + 1)
    assert 0.02 < rejected(context, exchanged(context, 199, seed=0)) < 0.09
    assert rejected(context, within(np.zeros(len(context), np.int64), 199, seed=0)) > 0.3


def test_chance_is_taken_for_more_as_rarely_within_systems_that_answered_the_same_contexts():
    context, system = np.repeat(np.arange(40), 4), np.tile(np.arange(4), 40)
    groups = Groups(system, 4)
    assert 0.02 < rejected(context, together(context, system, 199, seed=0), groups=groups) < 0.09
    assert rejected(context, within(system, 199, seed=0), groups=groups) > 0.15, "as if independent"


@pytest.mark.parametrize("name", forms.PAIRED)
def test_the_form_for_many_rows_gives_the_p_of_all_pairs(name, monkeypatch):
    rng = np.random.default_rng(5)
    y = rng.integers(0, 5, (80, 1)).astype(float)
    x = np.round(rng.normal(size=(80, 60)) + y * np.linspace(0, 0.4, 60), 1)
    groups = Groups(np.arange(80) % 4, 4)

    def p():
        observed = np.nanmean(grouped(name, x, y, groups), axis=0)
        orders = within(groups.of, 999, seed=0)
        return p_values([observed], [form_to_shuffle(name, x, y, groups)], orders)[0]

    exact = p()
    monkeypatch.setattr(forms, "MOST_SHUFFLED_PAIRS", 0)
    assert p() == pytest.approx(exact, abs=0.04)
    assert np.abs(p() - exact).mean() < 0.01
