"""Counts of pairs, reply by reply, and what they say of many draws."""

import numpy as np
import pytest

from dialoscope.analysis.correlation import row_orders
from dialoscope.analysis.correlation.row_orders import count_untied, net_agreement, orders_in_halves, suits
from dialoscope.analysis.halves import Clusters, in_halves
from dialoscope.runs.resampling import Resamples


@pytest.mark.parametrize("n", [0, 1, 2, 7, 64, 150])
@pytest.mark.parametrize("levels", [2, 6, 1000])
def test_what_a_reply_has_in_common_with_the_others_is_counted_right(n, levels):
    rng = np.random.default_rng(n + levels)
    x, y = np.round(rng.normal(size=n), 1), rng.integers(0, levels, n).astype(float)
    pairs = np.sign(x[:, None] - x) * np.sign(y[:, None] - y)
    assert net_agreement(x, y).tolist() == pairs.sum(axis=1).tolist()
    assert count_untied(x[:, None])[:, 0].tolist() == (x[:, None] != x).sum(axis=1).tolist()


@pytest.mark.parametrize("name", ["kendall", "accuracy"])
def test_halves_to_the_first_order_are_those_of_all_pairs(name):
    rng = np.random.default_rng(0)
    item = np.arange(600) // 3
    of_context = rng.normal(size=200)[item, None]
    y = np.round(2 * rng.normal(size=(600, 2)) + of_context)
    x = rng.normal(size=(600, 3)) + 0.5 * y[:, :1] + of_context
    x[:30, 1] = np.nan
    clusters, draws = Clusters.of(item, 0), Resamples(300, 0)
    assert suits(clusters)
    ours, exact = (one(name, x, y, clusters, draws) for one in (orders_in_halves, in_halves))
    assert ours.shape == exact.shape == (300, 3, 2)
    assert ours.std(axis=0) == pytest.approx(exact.std(axis=0), rel=0.06)
    assert ours.mean(axis=0) == pytest.approx(exact.mean(axis=0), abs=0.003)
    assert np.corrcoef(ours[:, 0, 0], exact[:, 0, 0])[0, 1] > 0.99


def test_pairs_are_counted_one_by_one_where_a_context_outweighs_others(monkeypatch):
    large = np.concatenate([np.zeros(12, np.int64), np.arange(1, 600)])
    assert not suits(Clusters.of(large, 0))
    assert suits(Clusters.of(np.concatenate([np.zeros(5, np.int64), np.arange(1, 600)]), 0))
    assert not suits(Clusters.of(np.arange(400), 0)), "so few that all pairs are counted soon"
    monkeypatch.setattr(row_orders, "MOST_REPLIES", 600)
    assert suits(Clusters.of(large, 0)), "so many that they never are"
