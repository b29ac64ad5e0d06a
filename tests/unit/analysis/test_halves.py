"""Correlations in random halves: equal to what the replies of each half give, gaps and ties included."""

import numpy as np
import pytest

from dialoscope.analysis import coefficients, halves
from dialoscope.analysis.halves import Clusters, in_halves, narrow_halves, no_interval
from dialoscope.runs.resampling import Resamples

DRAWS = Resamples(20, seed=1)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 3))
    x[:, 1] = np.round(x[:, 1])
    y = np.round(x[:, [0]] + rng.normal(size=(120, 2)))
    x[5, 2] = y[7, 1] = np.nan
    return x, y, Clusters.of(np.repeat(np.arange(30), 4), seed=0)


def rows_of_halves(clusters, draws=DRAWS):
    """The rows of each half."""
    for weights in clusters.weights(draws):
        for row in weights:
            yield np.flatnonzero(row[clusters.block])


@pytest.mark.parametrize("name", coefficients.NAMES)
def test_a_half_has_the_coefficient_of_its_replies(name, data):
    x, y, clusters = data
    found = in_halves(name, x, y, clusters, DRAWS)
    for half, rows in zip(found, rows_of_halves(clusters), strict=True):
        for i, j in np.ndindex(3, 2):
            expected = coefficients.measure(name, x[rows, i], y[rows, j]).value
            assert half[i, j] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", coefficients.NAMES)
def test_few_contexts_have_every_set_of_them(name, data):
    x, y, clusters = data
    few = clusters.take(np.arange(20))
    found = in_halves(name, x[:20], y[:20], Clusters(few.block, 5), Resamples(1000, 0))
    assert len(found) == Clusters(few.block, 5).halves(Resamples(1000, 0)) == 31
    whole = coefficients.measure(name, x[:20, 0], y[:20, 0]).value
    assert found[-1, 0, 0] == pytest.approx(whole), "the last set has all of them"


@pytest.mark.parametrize("name", coefficients.NAMES)
def test_columns_with_themselves_are_the_same_as_with_a_copy(name, data):
    x, _, clusters = data
    np.testing.assert_allclose(
        in_halves(name, x, x, clusters, DRAWS),
        in_halves(name, x, x.copy(), clusters, DRAWS),
        rtol=0,
        atol=1e-14,
    )


def test_rows_of_some_systems_are_in_the_halves_of_their_contexts(data):
    x, y, clusters = data
    some = np.arange(0, 120, 4)
    found = in_halves("pearson", x[some], y[some], clusters.take(some), DRAWS)
    for half, rows in zip(found, rows_of_halves(clusters), strict=True):
        rows = rows[np.isin(rows, some)]
        assert half[0, 0] == pytest.approx(coefficients.pearson(x[rows, 0], y[rows, 0]), abs=1e-12)


@pytest.mark.parametrize("name", coefficients.NAMES)
def test_the_order_of_replies_does_not_show(name, data):
    x, y, clusters = data
    shuffled = np.random.default_rng(5).permutation(120)
    np.testing.assert_allclose(
        in_halves(name, x[shuffled], y[shuffled], clusters.take(shuffled), DRAWS),
        in_halves(name, x, y, clusters, DRAWS),
        rtol=0,
        atol=1e-12,
    )


def test_ranks_are_the_same_however_many_halves_are_ranked_at_a_time(monkeypatch, data):
    x, y, clusters = data
    plain = in_halves("spearman", x, y, clusters, Resamples(250, 0))
    monkeypatch.setattr(halves, "RANKED_AT_ONCE", 7 * 120)
    assert np.array_equal(in_halves("spearman", x, y, clusters, Resamples(250, 0)), plain, equal_nan=True)


@pytest.mark.parametrize("name", coefficients.NAMES)
def test_where_a_half_does_not_vary_it_is_undefined(name):
    x = np.zeros((40, 1))
    x[0] = 1.0
    clusters = Clusters.of(np.arange(40), seed=0)
    found = in_halves(name, x, np.arange(40.0)[:, None], clusters, Resamples(50, seed=0))[:, 0, 0]
    without = [0 not in rows for rows in rows_of_halves(clusters, Resamples(50, seed=0))]
    assert sum(without) == 25, "each half comes with the other"
    if name == "accuracy":  # people do distinguish these replies, and the metric guesses
        assert (found[without] == 0.5).all()
    else:
        assert np.isnan(found).tolist() == without


def test_many_contexts_become_fewer_blocks_for_pairs(monkeypatch, data):
    x, y, clusters = data
    exact = in_halves("kendall", x, y, clusters, Resamples(400, seed=1))
    monkeypatch.setattr(halves, "MOST_PAIRED_BLOCKS", 15)
    fewer = in_halves("kendall", x, y, clusters, Resamples(400, seed=1))
    assert fewer.std(axis=0) == pytest.approx(exact.std(axis=0), rel=0.5)
    assert fewer.mean(axis=0) == pytest.approx(exact.mean(axis=0), abs=0.03)


def test_clustered_replies_have_wider_intervals():
    rng = np.random.default_rng(2)
    context = rng.normal(size=(50, 1))
    x = np.repeat(context, 8, axis=0) + 0.1 * rng.normal(size=(400, 1))
    y = np.repeat(context + rng.normal(size=(50, 1)), 8, axis=0) + 0.1 * rng.normal(size=(400, 1))
    together = in_halves("spearman", x, y, Clusters.of(np.repeat(np.arange(50), 8), 0), Resamples(300, 0))
    apart = in_halves("spearman", x, y, Clusters.of(np.arange(400), 0), Resamples(300, 0))
    assert together.std() > 2 * apart.std()


@pytest.mark.parametrize("name", ["spearman", "accuracy"])
def test_few_contexts_vary_less_as_a_whole_than_their_halves_say(name):
    centre = 0.5 if name == "accuracy" else 0.0
    whole, values = np.array([[centre + 0.1]]), np.array([[[centre]], [[centre + 0.1]], [[centre + 0.3]]])
    found = narrow_halves(name, values, whole, clusters=12)
    scale = 2 if centre else 1
    near, far = (np.arctanh(scale * (side - centre)) for side in (whole, values))
    again = np.arctanh(scale * (found - centre))
    assert again - near == pytest.approx((far - near) * np.sqrt(8 / 12))
    assert narrow_halves(name, values, whole, clusters=10**9) == pytest.approx(values, abs=1e-8)


def test_why_there_is_no_interval_is_told():
    assert no_interval(0.0, 6, 0.95) == ""
    assert no_interval(0.0, 5, 0.95) == "no interval, for it has 5 contexts, and 6 are needed"
    assert no_interval(1.0, 1, 0.99) == "no interval, for it has 1 context, and 8 are needed"
    assert no_interval(0.024, 40, 0.95) == ""
    assert no_interval(0.025, 40, 0.95) == "no interval, for too many random halves have no value"
