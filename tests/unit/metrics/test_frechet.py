"""The Fréchet distance: equal to the textbook's, finite where that fails, and without bias when debiased."""

import math

import numpy as np
import pytest
from scipy.linalg import sqrtm

from dialoscope.metrics.shared import fidelity, frechet
from dialoscope.metrics.shared.fidelity import Levels, nuclear_norm
from dialoscope.metrics.shared.frechet import (
    Moments,
    each_left_out,
    estimate_frechet,
    estimate_frechet_from_halves,
    null,
)

distance = frechet.frechet


def drawn(count, dims, seed, power=1.0, scale=1.0):
    """Points with a spectrum that falls like a power of the rank."""
    spread = np.sqrt(scale * np.arange(1, dims + 1.0) ** -power)
    return np.random.default_rng(seed).standard_normal((count, dims)) * spread


def distance_of_halves(points, items, *, squared=True):
    """The plain distance between halves of the same points: the mean over many halvings."""
    side = frechet.PointSet(points, items)
    halves = frechet._split(side, side, frechet._halvings(side, side, 0, 20))
    return np.mean([distance(*each.real, squared=squared) for each in halves])


def textbook(real, generated):
    covariances = np.cov(real.T), np.cov(generated.T)
    shared = np.trace(sqrtm(covariances[0] @ covariances[1]).real)
    apart = real.mean(axis=0) - generated.mean(axis=0)
    return apart @ apart + np.trace(covariances[0]) + np.trace(covariances[1]) - 2 * shared


def of(*sides):
    return [Moments.of(side) for side in sides]


@pytest.mark.parametrize("dims", [12, 300])
def test_the_distance_is_the_textbook_s(dims):
    real, generated = drawn(700, dims, 0), drawn(500, dims, 1, power=0.5) + 0.1
    assert distance(*of(real, generated)) == pytest.approx(textbook(real, generated), abs=1e-6)


@pytest.mark.parametrize(("one", "other"), [(20, 30), (20, 500), (500, 20), (299, 299), (300, 299)])
def test_fewer_points_than_dimensions_make_no_difference(one, other):
    real, generated = drawn(one, 300, 0), drawn(other, 300, 1) + 0.1
    spans = np.linalg.svd(np.concatenate([real, generated]), full_matrices=False)[2]
    assert distance(*of(real, generated)) == pytest.approx(distance(*of(real @ spans.T, generated @ spans.T)))


def test_a_sample_has_no_distance_from_itself():
    for points in (drawn(20, 300, 0), drawn(900, 300, 0), np.repeat(drawn(20, 30, 0), 9, axis=0)):
        assert 0 <= distance(*of(points, points)) < 1e-6


def test_singular_covariances_give_a_finite_distance():
    flat, other = drawn(900, 300, 0), drawn(900, 300, 1)
    flat[:, 100:] = flat[:, :1]
    assert np.isfinite(distance(*of(flat, other)))
    assert distance(*of(flat, flat[::-1])) < 1e-6
    still = np.ones((5, 3))
    assert distance(*of(still, still + 1)) == pytest.approx(3)


def test_the_mean_term_may_be_unsquared():
    points = drawn(50, 4, 0)
    moved = points + np.array([3, 4, 0, 0])
    assert distance(*of(points, moved)) == pytest.approx(25)
    assert distance(*of(points, moved), squared=False) == pytest.approx(5)


@pytest.mark.parametrize("few", [0, 1])
def test_fewer_than_two_points_have_no_distance(few):
    points = drawn(9, 3, 0)
    assert math.isnan(distance(*of(points, points[:few])))
    assert math.isnan(distance(*of(points[:few], points)))


def test_moments_are_the_same_however_points_are_cut():
    points = (drawn(700, 50, 0) + 1000).astype(np.float32)
    whole = Moments.of(points)
    for cuts in ([1], [10, 20, 49, 50, 51], [0, 300], [699], list(range(0, 700, 7))):
        parts = np.split(points, cuts)
        for moments in (Moments.from_chunks(iter(parts), 50), sum(of(*parts[1:]), Moments.of(parts[0]))):
            assert moments.count == 700
            np.testing.assert_allclose(moments.mean, points.astype(float).mean(axis=0), rtol=1e-12)
            np.testing.assert_allclose(moments.scatter, whole.scatter, atol=1e-8 * whole.trace)


def test_moments_of_many_points_stream(monkeypatch):
    points = drawn(100, 50, 0)
    whole = Moments.of(points)
    monkeypatch.setattr(frechet, "CHUNK", 16)
    np.testing.assert_allclose(Moments.of(points).scatter, whole.scatter, atol=1e-10)
    assert Moments.from_chunks(iter([]), 7).count == 0
    assert Moments.from_chunks(iter([]), 7).dims == 7
    assert math.isnan(Moments.from_chunks(iter([]), 7).trace)


def test_what_is_undefined_is_not_near():
    points = drawn(9, 4, 0)
    unknown = Moments(9, np.full(4, math.nan), Moments.of(points).spread)
    assert math.isnan(distance(Moments.of(points), unknown))


def test_few_points_are_kept_as_they_are():
    few, many = of(drawn(20, 50, 0), drawn(50, 50, 0))
    assert few.spread.shape == (20, 50)
    assert not few.is_scatter
    assert many.spread.shape == (50, 50)
    assert few.trace == pytest.approx(np.trace(few.scatter) / 19)


def test_the_sum_of_singular_values_is_exact_when_some_are_tiny():
    rng = np.random.default_rng(0)
    one, other = (np.linalg.qr(rng.standard_normal((300, 300)))[0] for _ in range(2))
    plain, steep = np.ones(300), np.geomspace(1, 1e-14, 300)
    for values in (plain, steep):
        assert nuclear_norm(one * values @ other) == pytest.approx(values.sum(), rel=1e-10)
    assert nuclear_norm(np.zeros((300, 280))) == 0


@pytest.mark.parametrize("dims", [30, 200])
def test_a_block_left_out_is_as_if_it_had_never_been_there(dims):
    real, generated = drawn(90, dims, 0), drawn(60, dims, 1)
    blocks = np.arange(90) % 5, np.arange(60) % 5
    blocks[0][:4] = -1  # belongs to no block
    parts = [
        [Moments.of(side[own == one]) for one in range(-1, 5)]
        for side, own in zip((real, generated), blocks, strict=True)
    ]
    rest = list(zip(*map(each_left_out, parts), strict=True))[1:]
    found = np.array([distance(*sides) for sides in rest])
    expected = [distance(*of(real[blocks[0] != one], generated[blocks[1] != one])) for one in range(5)]
    np.testing.assert_allclose(found, expected, atol=1e-9)
    unsquared = np.array([distance(*sides, squared=False) for sides in rest])
    assert (unsquared != found).all()


class TestDebiased:
    dims = 120

    def test_it_finds_no_distance_where_there_is_none(self):
        found, plain = [], []
        for seed in range(6):
            real, generated = drawn(60, self.dims, seed), drawn(60, self.dims, 100 + seed)
            found.append(estimate_frechet(real, generated, np.arange(60), np.arange(60)))
            plain.append(distance(*of(real, generated)))
        assert abs(np.mean(found)) < 0.05 * np.mean(plain)
        assert np.abs(found).max() < 0.2 * np.mean(plain)

    @pytest.mark.parametrize("power", [0.6, 1.5])
    @pytest.mark.parametrize("count", [60, 400])
    def test_it_finds_a_distance_that_is_known(self, power, count):
        spreads = np.arange(1, self.dims + 1.0) ** -1, 2 * np.arange(1, self.dims + 1.0) ** -power
        true = 0.05**2 * self.dims + np.square(np.sqrt(spreads[0]) - np.sqrt(spreads[1])).sum()
        found, plain = [], []
        for seed in range(6):
            real = drawn(count, self.dims, seed)
            generated = drawn(count, self.dims, 50 + seed, power=power, scale=2) + 0.05
            found.append(estimate_frechet(real, generated, np.arange(count), np.arange(count) + 1000) - true)
            plain.append(distance(*of(real, generated)) - true)
        assert abs(np.mean(found)) < 0.2 * abs(np.mean(plain))

    def test_points_that_share_an_item_do_no_harm(self):
        items = np.arange(80)
        for seed in range(3):
            real = drawn(80, self.dims, seed)
            generated = 0.9 * real + math.sqrt(1 - 0.9**2) * drawn(80, self.dims, 10 + seed)
            assert abs(estimate_frechet(real, generated, items, items)) < 0.1
            assert distance(*of(real, generated)) > 0.3

    def test_several_points_of_one_item_do_no_harm(self):
        items, found, ignored = np.repeat(np.arange(60), 4), [], []
        for seed in range(4):
            shared = drawn(60, self.dims, seed)[items]
            real = 0.9 * shared + 0.44 * drawn(240, self.dims, 10 + seed)
            generated = drawn(60, self.dims, 20 + seed)
            found.append(estimate_frechet(real, generated, items, np.arange(100, 160)))
            ignored.append(estimate_frechet(real, generated, np.arange(240), np.arange(300, 360)))
        assert abs(np.mean(found)) < 0.3 < abs(np.mean(ignored))

    def test_neither_order_nor_names_of_items_show(self):
        real, generated, items = drawn(40, 60, 0), drawn(40, 60, 1), np.arange(40) // 2
        value = estimate_frechet(real, generated, items, items)
        order, other = np.random.default_rng(0).permutation(40), np.random.default_rng(1).permutation(40)
        moved = estimate_frechet(real[order], generated[other], items[order] * 7 - 3, items[other] * 7 - 3)
        assert moved == pytest.approx(value, abs=1e-9)

    def test_another_seed_splits_otherwise(self):
        real, generated, items = drawn(40, 60, 0), drawn(40, 60, 1), np.arange(40)
        values = [estimate_frechet(real, generated, items, items, seed=seed) for seed in (0, 0, 1)]
        assert values[0] == values[1] != values[2]

    def test_the_distance_of_the_means_comes_without_bias(self):
        items = np.arange(50)
        values = [
            frechet._exact_terms(
                frechet.PointSet(drawn(50, 9, seed), items), frechet.PointSet(drawn(50, 9, 900 + seed), items)
            )
            for seed in range(300)
        ]
        between = [value.between for value in values]
        assert abs(np.mean(between)) < 4 * np.std(between) / math.sqrt(300)
        assert min(between) < 0 < max(between)
        np.testing.assert_allclose([value.worth for value in values], 1)

    def test_an_unsquared_mean_term_keeps_its_sign(self):
        assert frechet._mean_term(-4, squared=False) == -2
        assert frechet._mean_term(-4, squared=True) == -4
        real, generated, items = drawn(40, 60, 0), drawn(40, 60, 1) + 1, np.arange(40)
        both = [estimate_frechet(real, generated, items, items, squared=squared) for squared in (True, False)]
        assert both[0] - both[1] == pytest.approx(60 - math.sqrt(60), rel=0.1)

    @pytest.mark.parametrize("count", [0, 1, 2, 7])
    def test_too_few_points_have_none(self, count):
        real, generated = drawn(20, 5, 0), drawn(count, 5, 1)
        assert math.isnan(estimate_frechet(real, generated, np.arange(20), np.arange(count)))
        assert math.isnan(estimate_frechet(generated, real, np.arange(count), np.arange(20)))
        halves = tuple(of(generated[::2], generated[1::2])), tuple(of(real[::2], real[1::2]))
        assert math.isnan(estimate_frechet_from_halves(*halves))

    def test_one_item_cannot_be_halved(self):
        assert math.isnan(
            estimate_frechet(drawn(20, 5, 0), drawn(20, 5, 1), np.zeros(20, int), np.arange(20))
        )

    def test_points_that_are_all_the_same_have_one(self):
        still, items = np.ones((20, 5)), np.arange(20)
        assert estimate_frechet(still, still + 2, items, items) == pytest.approx(20)
        moving = drawn(20, 5, 0)
        expected = Moments.of(moving).trace + np.square(moving.mean(axis=0) - 1).sum()
        assert estimate_frechet(still, moving, items, items) == pytest.approx(expected, rel=0.1)

    def test_directions_that_have_nothing_in_common_give_no_fidelity(self):
        real, generated, items = np.zeros((20, 6)), np.zeros((20, 6)), np.arange(20)
        real[:, :3], generated[:, 3:] = drawn(20, 3, 0), drawn(20, 3, 1)
        traces = sum(Moments.of(side).trace for side in (real, generated))
        assert estimate_frechet(real, generated, items, items) == pytest.approx(traces, rel=0.2)

    def test_a_single_point_apart_stays_finite(self):
        real, items = np.zeros((20, 6)), np.arange(20)
        real[3] = 1
        assert np.isfinite(estimate_frechet(real, drawn(20, 6, 0), items, items))

    def test_halves_that_were_streamed_give_it_too(self):
        real, generated = drawn(4000, 30, 0), drawn(4000, 30, 1, power=0.5)
        halves = [tuple(of(side[::2], side[1::2])) for side in (real, generated)]
        value = estimate_frechet_from_halves(*halves)
        items = np.arange(4000)
        assert value == pytest.approx(estimate_frechet(real, generated, items, items), rel=0.01)
        norm = estimate_frechet_from_halves(*halves, squared=False)
        assert norm != value


class TestNull:
    def test_halves_of_the_same_points_are_as_far_apart_as_samples_of_that_size(self):
        points, items = drawn(120, 90, 0), np.arange(120)
        halves = distance_of_halves(points, items)
        others = np.mean([distance(*of(drawn(60, 90, s), drawn(60, 90, s + 50))) for s in range(1, 9)])
        assert halves == pytest.approx(others, rel=0.1)
        assert null(points, items, (60, 60)) == pytest.approx(halves, rel=0.05)
        assert distance_of_halves(points, items, squared=False) > halves

    @pytest.mark.parametrize("sizes", [(30, 200), (120, 120), (500, 90)])
    def test_the_null_is_known_at_any_size(self, sizes):
        points, items = drawn(120, 90, 0), np.arange(120)
        shown = [distance(*of(drawn(sizes[0], 90, s), drawn(sizes[1], 90, s + 50))) for s in range(1, 9)]
        assert null(points, items, sizes) == pytest.approx(np.mean(shown), rel=0.12)

    def test_it_is_undefined_or_nothing_where_there_is_nothing_to_learn_from(self):
        assert math.isnan(null(drawn(7, 5, 0), np.arange(7), (9, 9)))
        assert math.isnan(null(drawn(20, 5, 0), np.arange(20), (9, 1)))
        assert null(np.ones((20, 5)), np.arange(20), (9, 9)) == 0


def test_levels_undo_what_the_size_of_a_sample_does():
    dims = 200
    values = np.arange(1, dims + 1.0) ** -0.5
    rng = np.random.default_rng(0)
    squares = [
        np.linalg.svd(one * values @ other.T / 120, compute_uv=False) ** 2
        for one, other in rng.standard_normal((8, 2, 120, dims))
    ]
    seen, true = Levels.of(squares, (120, 120)), Levels.of([values**2], (1e12, 1e12))
    for left in (1, 5, 20, 50, 90):
        assert float(seen.at(left)) == pytest.approx(float(true.at(left)), rel=0.03)
    assert true.body(dims) == pytest.approx(values.sum(), rel=1e-3)
    assert true.tail(dims, dims, 0) == 0
    assert fidelity.expected_fidelity(true, values.sum(), dims, (120, 120)) == pytest.approx(
        np.mean([np.sqrt(one).sum() for one in squares]), rel=0.01
    )
