"""Correlations in clustered draws: equal to what resampled replies give, gaps and ties included."""

import numpy as np
import pytest

from dialoscope import coefficients
from dialoscope.meta import bootstrap
from dialoscope.meta.halves import Clusters, drawn, interval
from dialoscope.results.resampling import Draws

DRAWS = Draws(20, seed=1)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 3))
    x[:, 1] = np.round(x[:, 1])
    y = np.round(x[:, [0]] + rng.normal(size=(120, 2)))
    x[5, 2] = y[7, 1] = np.nan
    return x, y, Clusters.of(np.repeat(np.arange(30), 4), seed=0)


def resampled(clusters, draws=DRAWS):
    """The rows of each draw, those of a context drawn twice standing there twice."""
    for weights in clusters.weights(draws):
        for row in weights:
            yield np.repeat(np.arange(len(clusters.block)), row[clusters.block].astype(int))


@pytest.mark.parametrize("name", coefficients.NAMES)
def test_a_draw_is_the_coefficient_of_the_replies_drawn(name, data):
    x, y, clusters = data
    found = drawn(name, x, y, clusters, DRAWS)
    for draw, rows in zip(found, resampled(clusters), strict=True):
        for i, j in np.ndindex(3, 2):
            expected = coefficients.measure(name, x[rows, i], y[rows, j]).value
            assert draw[i, j] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", coefficients.NAMES)
def test_columns_with_themselves_are_the_same_as_with_a_copy(name, data):
    x, _, clusters = data
    np.testing.assert_allclose(
        drawn(name, x, x, clusters, DRAWS), drawn(name, x, x.copy(), clusters, DRAWS), rtol=0, atol=1e-14
    )


def test_rows_of_some_systems_are_drawn_with_the_same_contexts(data):
    x, y, clusters = data
    some = np.arange(0, 120, 4)
    found = drawn("pearson", x[some], y[some], clusters.take(some), DRAWS)
    for draw, rows in zip(found, resampled(clusters), strict=True):
        rows = rows[np.isin(rows, some)]
        assert draw[0, 0] == pytest.approx(coefficients.pearson(x[rows, 0], y[rows, 0]), abs=1e-12)


@pytest.mark.parametrize("name", coefficients.NAMES)
def test_the_order_of_replies_does_not_show(name, data):
    x, y, clusters = data
    shuffled = np.random.default_rng(5).permutation(120)
    np.testing.assert_allclose(
        drawn(name, x[shuffled], y[shuffled], clusters.take(shuffled), DRAWS),
        drawn(name, x, y, clusters, DRAWS),
        rtol=0,
        atol=1e-12,
    )


@pytest.mark.parametrize("name", coefficients.NAMES)
def test_where_a_draw_does_not_vary_it_is_undefined(name):
    x = np.zeros((40, 1))
    x[0] = 1.0
    clusters = Clusters.of(np.arange(40), seed=0)
    found = drawn(name, x, np.arange(40.0)[:, None], clusters, Draws(50, seed=0))[:, 0, 0]
    without = [0 not in rows for rows in resampled(clusters, Draws(50, seed=0))]
    if name == "accuracy":  # people do tell these replies apart, and the metric guesses
        assert (found[without] == 0.5).all()
    else:
        assert np.isnan(found).tolist() == without


def test_many_contexts_become_fewer_blocks_for_pairs(monkeypatch, data):
    x, y, clusters = data
    exact = drawn("kendall", x, y, clusters, Draws(400, seed=1))
    monkeypatch.setattr(bootstrap, "MOST_PAIRED_BLOCKS", 10)
    fewer = drawn("kendall", x, y, clusters, Draws(400, seed=1))
    assert fewer.std(axis=0) == pytest.approx(exact.std(axis=0), rel=0.5)
    assert fewer.mean(axis=0) == pytest.approx(exact.mean(axis=0), abs=0.03)


def test_clustered_replies_have_wider_intervals():
    rng = np.random.default_rng(2)
    context = rng.normal(size=(50, 1))
    x = np.repeat(context, 8, axis=0) + 0.1 * rng.normal(size=(400, 1))
    y = np.repeat(context + rng.normal(size=(50, 1)), 8, axis=0) + 0.1 * rng.normal(size=(400, 1))
    together = drawn("spearman", x, y, Clusters.of(np.repeat(np.arange(50), 8), 0), Draws(300, 0))
    apart = drawn("spearman", x, y, Clusters.of(np.arange(400), 0), Draws(300, 0))
    assert together.std() > 2 * apart.std()


def test_an_interval_is_the_middle_of_the_draws():
    low, high = interval(np.linspace(0, 1, 1001)[:, None], 0.9)
    assert low == pytest.approx([0.05])
    assert high == pytest.approx([0.95])


def test_an_interval_is_unknown_where_many_draws_are_undefined():
    draws = np.stack([np.arange(100.0), np.arange(100.0)], axis=1)
    draws[:5, 0] = np.nan
    draws[:6, 1] = np.nan
    low, high = interval(draws, 0.95)
    assert np.isfinite([low[0], high[0]]).all()
    assert np.isnan([low[1], high[1]]).all()
