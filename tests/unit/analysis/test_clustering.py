"""Trees of average linkage, and how well their clusters stand resampling."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from dialoscope.analysis.agreement.clustering import Tree, distances, stabilities, support
from dialoscope.analysis.agreement.coefficient_matrix import partial_correlations
from dialoscope.analysis.agreement.text_tree import draw_tree

# Distances of the 5S ribosomal RNA of five bacteria (Erdmann & Wolters, 1986), and what average linkage makes
# of them: the worked example of the article "UPGMA" in Wikipedia.
BACTERIA = np.array(
    [
        [0, 17, 21, 31, 23],
        [17, 0, 30, 34, 21],
        [21, 30, 0, 28, 39],
        [31, 34, 28, 0, 43],
        [23, 21, 39, 43, 0],
    ],
    float,
)


def correlations(columns: int, seed: int = 0) -> np.ndarray:
    return np.corrcoef(np.random.default_rng(seed).normal(size=(columns, 9)))


def test_the_worked_example_of_five_bacteria():
    merges = [(set(merge.held), merge.distance) for merge in Tree.of(BACTERIA).merges]
    assert merges == [({0, 1}, 17), ({0, 1, 4}, 22), ({2, 3}, 28), ({0, 1, 2, 3, 4}, 33)]


@pytest.mark.parametrize("cut", [0, 0.3, 0.7, 1, 1.2, 2])
def test_clusters_are_those_of_scipy(cut):
    apart = distances(correlations(12))
    labels = fcluster(linkage(squareform(apart), "average"), cut, "distance")
    theirs = {frozenset(np.flatnonzero(labels == label).tolist()) for label in labels}
    assert set(Tree.of(apart).clusters(cut)) == theirs


def test_clusters_come_in_the_order_of_the_leaves():
    tree = Tree.of(distances(correlations(12)))
    leaves = tree.order.tolist()
    firsts = [min(map(leaves.index, cluster)) for cluster in tree.clusters(0.7)]
    assert firsts == sorted(firsts)
    assert sorted(leaves) == list(range(12))


def test_neighbours_are_near():
    apart = distances(correlations(12))
    flat = squareform(apart)

    def length(order):
        return sum(apart[i, j] for i, j in pairwise(order))

    assert length(Tree.of(apart).order.tolist()) <= length(Tree(linkage(flat, "average")).order.tolist())


def test_distance_is_one_less_r_and_nothing_speaks_for_what_is_undefined():
    r = np.array([[1, 0.25, np.nan], [0.25, 1, -0.5], [np.nan, -0.5, 1]])
    assert distances(r).tolist() == [[0, 0.75, 1], [0.75, 0, 1.5], [1, 1.5, 0]]
    assert distances(np.array([r, r])).shape == (2, 3, 3)


def test_a_column_and_its_double_are_at_distance_0():
    values = np.random.default_rng(1).normal(size=(5, 40))
    r = np.corrcoef([*values, values[2]])
    first = next(Tree.of(distances(r)).merges)
    assert (set(first.held), first.distance) == ({2, 5}, 0)


def test_the_order_of_columns_does_not_show():
    apart = distances(correlations(10))
    order = np.random.default_rng(2).permutation(10)
    mixed = Tree.of(apart[np.ix_(order, order)])
    found = {frozenset(order[list(cluster)].tolist()) for cluster in mixed.clusters(0.8)}
    assert found == set(Tree.of(apart).clusters(0.8))
    assert [m.distance for m in mixed.merges] == pytest.approx([m.distance for m in Tree.of(apart).merges])


def test_one_column_is_a_tree():
    tree = Tree.of(np.zeros((1, 1)))
    assert (tree.order.tolist(), tree.clusters(0.5), draw_tree(tree, 0.5)) == (
        [0],
        (frozenset([0]),),
        [" " * 60 + "┊"],
    )


def test_stability_is_the_likeness_of_the_best_cluster_in_each_draw():
    drawn = [
        (frozenset({0, 1}), frozenset({2, 3})),  # just so
        (frozenset({0, 1, 2, 3}),),  # half of it
        (frozenset({0}), frozenset({1, 2}), frozenset({3})),  # half, and a third
    ]
    (found,) = stabilities([frozenset({0, 1})], drawn)
    assert found.jaccard == pytest.approx((1 + 1 / 2 + 1 / 2) / 3)
    assert found.exact == pytest.approx(1 / 3)


def test_support_counts_the_trees_with_the_same_branch():
    tree = Tree.of(BACTERIA)
    other = BACTERIA.copy()
    other[2, 3] = other[3, 2] = 60
    assert support(tree, [tree, Tree.of(other, ordered=False)]) == [1, 1, 0.5, 1]


@pytest.mark.parametrize("seed", range(3))
def test_partial_correlations_are_those_of_residuals(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(50, 4)) + rng.normal(size=(50, 1))
    line = np.column_stack([np.ones(50), values[:, 3]])
    rest = values[:, :3] - line @ np.linalg.lstsq(line, values[:, :3], rcond=None)[0]
    found = partial_correlations(np.corrcoef(values.T), [3])
    assert found[:3, :3] == pytest.approx(np.corrcoef(rest.T))
    assert np.isnan(found[3]).all()


def test_several_columns_are_held_constant_at_once():
    rng = np.random.default_rng(4)
    values = rng.normal(size=(60, 6)) + rng.normal(size=(60, 1))
    plane = np.column_stack([np.ones(60), values[:, 3:]])
    rest = values[:, :3] - plane @ np.linalg.lstsq(plane, values[:, :3], rcond=None)[0]
    r = np.corrcoef(values.T)
    assert partial_correlations(r, [3, 4, 5])[:3, :3] == pytest.approx(np.corrcoef(rest.T))
    flat = np.full((7, 7), np.nan)
    flat[:6, :6] = r
    assert partial_correlations(flat, [3, 4, 5, 6])[:3, :3] == pytest.approx(np.corrcoef(rest.T)), (
        "what does not vary"
    )
    twice = np.corrcoef([*values.T, values[:, 3] * 2])
    assert partial_correlations(twice, [3, 4, 5, 6])[:3, :3] == pytest.approx(np.corrcoef(rest.T)), (
        "nor what is known"
    )


def test_a_column_that_is_what_is_held_constant_has_nothing_left():
    values = np.random.default_rng(3).normal(size=(3, 30))
    r = np.corrcoef([*values, -2 * values[0] + 1])
    found = partial_correlations(np.array([r, r]), [0])
    assert np.isnan(found[:, [0, 3]]).all()
    assert np.isfinite(found[:, 1, 2]).all()


def test_a_drawing_has_a_line_for_each_leaf_and_merges_at_their_distances():
    tree = Tree.of(BACTERIA / 33)
    assert tree.order.tolist() == [4, 1, 0, 2, 3]
    assert draw_tree(tree, 0.6, width=33) == [  # merges at 17, 22, 28 and 33 of 33
        "╶─────────────────────┬──────────┐",
        "╶────────────────┬────┘          │",
        "╶────────────────┘  ┊            │",
        "╶───────────────────────────┬────┘",
        "╶───────────────────────────┘",
    ]
