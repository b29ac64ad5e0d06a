"""Halves, expanded percentiles and bounds: arrays in, numbers out."""

import math

import numpy as np
import pytest
import scipy.stats

from dialoscope.runs.resampling import (
    Resamples,
    fewest_blocks,
    half_weights,
    halves_interval,
    halves_p,
    jackknife_interval,
    percentile_interval,
    studentised_bounds,
)


def halves(blocks, times, seed=0):
    return np.concatenate(list(half_weights(blocks, Resamples(times, seed))))


def means(values, times=10_000, seed=0):
    weights = halves(len(values), times, seed)
    with np.errstate(invalid="ignore"):
        return weights @ values / weights.sum(axis=1)


# Halves


@pytest.mark.parametrize("times", [1, 2, 99, 100, 101, 250])
def test_each_half_comes_with_the_other(times):
    found = halves(30, times)
    assert found.shape == (times, 30)
    assert np.isin(found, [0, 1]).all()
    pairs = found[: times // 2 * 2].reshape(-1, 2, 30)
    assert (pairs.sum(axis=1) == 1).all()
    assert np.array_equal(found, halves(30, times))
    assert not np.array_equal(found, halves(30, times, seed=1))


def test_few_blocks_have_all_their_sets_once():
    found = halves(10, 10_000)
    assert len(found) == len({tuple(row) for row in found.tolist()}) == 2**10 - 1
    assert found.sum(axis=1).min() == 1, "the empty one has no value"
    assert len(halves(14, 10_000)) == 10_000
    assert len(halves(100, 10_000)) == 10_000


@pytest.mark.parametrize("times", [31, 63, 100, 999, 1000, 4095])
@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.9, 0.95, 0.99])
def test_the_interval_excludes_zero_where_p_is_small_and_only_there(times, confidence):
    rng = np.random.default_rng(times)
    values = rng.normal(rng.uniform(-3, 3, 400), 1, size=(times, 400))
    values[rng.random(values.shape) < 0.02] = np.nan
    values[:, :50] = np.round(values[:, :50])  # some are 0
    (low, high), p = halves_interval(values, confidence), halves_p(values)
    known = ~np.isnan(low)
    outside = (low > 0) | (high < 0)
    assert np.array_equal(outside[known], (p < 1 - confidence - 1e-12)[known])
    assert not (p[~known] < 1 - confidence - 1e-12).any()


def test_p_of_means_is_that_of_all_changes_of_sign():
    values = np.random.default_rng(3).normal(0.4, 1, 12)
    exact = scipy.stats.permutation_test(
        (values, np.zeros(12)),
        lambda a, b, axis: (a - b).mean(axis=axis),
        permutation_type="samples",
        n_resamples=math.inf,
    ).pvalue
    assert float(halves_p(means(values))) == pytest.approx(exact, abs=1e-12)


def test_zero_counts_for_either_side():
    assert halves_p(np.zeros(99)) == 1
    assert halves_p(np.array([0.0] * 4 + [1.0] * 95)) == pytest.approx(2 * 5 / 100)
    assert halves_p(np.array([1e-15] * 4 + [1.0] * 95)) == pytest.approx(2 * 5 / 100), "but for rounding"


def test_what_never_varies_and_what_is_mostly_undefined_has_no_interval():
    assert np.isnan(halves_interval(np.full(1000, 3.0), 0.95)).all()
    assert halves_interval(np.full(1000, 3.0), 0.95, flat=True).tolist() == [3, 3]
    some = np.arange(1000.0)
    some[:51] = np.nan
    assert np.isnan(halves_interval(some, 0.95)).all()
    assert np.isnan(halves_p(some))
    some[:51] = 3.0
    some[:24] = np.nan
    assert halves_interval(some, 0.95).tolist() == [3, 999], "those without a value may be the lowest"
    assert halves_p(some - 2) == pytest.approx(2 * 25 / 1001)
    some[24] = np.nan
    assert np.isnan(halves_interval(some, 0.95)).all()
    assert halves_p(some - 2) > 0.05
    assert np.isnan(halves_interval(np.empty((0, 2)), 0.95)).all()
    assert np.isnan(halves_p(np.empty((0, 2)))).all()


@pytest.mark.parametrize(("confidence", "fewest"), [(0.5, 3), (0.9, 5), (0.95, 6), (0.99, 8), (0.999, 11)])
def test_so_few_blocks_show_nothing(confidence, fewest):
    assert fewest_blocks(confidence) == fewest
    values = np.random.default_rng(0).normal(100, 1, fewest)
    assert halves_p(means(values)) < 1 - confidence
    assert np.isfinite(halves_interval(means(values), confidence)).all()
    assert halves_p(means(values[:-1])) >= 1 - confidence - 1e-12
    assert np.isnan(halves_interval(means(values[:-1]), confidence)).all()


# Expanded percentiles


def test_percentiles_allow_for_the_number_of_blocks():
    """Of a normal sample they are Student's interval."""
    rng = np.random.default_rng(0)
    for blocks in (5, 10, 100):
        drawn = rng.normal(2, math.sqrt((blocks - 1) / blocks), 400_000)
        half = scipy.stats.t.ppf(0.975, blocks - 1)
        assert percentile_interval(drawn, 0.95, blocks) == pytest.approx((2 - half, 2 + half), abs=0.05)


def test_draws_that_are_all_the_same_have_no_interval():
    assert all(map(math.isnan, percentile_interval(np.full(100, 0.25), 0.95, 10)))
    assert all(map(math.isnan, percentile_interval(np.array([0.25, 0.25 + 1e-16] * 50), 0.95, 10)))
    assert all(map(math.isnan, percentile_interval(np.array([1.0, math.nan]), 0.95, 10)))


def test_a_second_sample_adds_its_error():
    ours, theirs = np.array([1.0, 1.2, 0.9, 1.1]), np.array([1.0, 1.1, 0.95])
    (low, high), (lower, higher) = (
        jackknife_interval(1.0, ours, 0.95),
        jackknife_interval(1.0, ours, 0.95, theirs),
    )
    errors = [math.sqrt((len(one) - 1) * np.var(one)) for one in (ours, theirs)]
    freedom = math.hypot(*errors) ** 4 / (errors[0] ** 4 / 3 + errors[1] ** 4 / 2)
    assert (high - low) / 2 == pytest.approx(scipy.stats.t.ppf(0.975, 3) * errors[0])
    assert (higher - lower) / 2 == pytest.approx(scipy.stats.t.ppf(0.975, freedom) * math.hypot(*errors))
    assert jackknife_interval(1.0, ours, 0.95, np.empty(0)) == (low, high)


# Bounds


def left_out(values):
    return (values.sum() - values) / (len(values) - 1)


def test_bounds_are_those_of_student_where_nothing_is_skewed():
    values = scipy.stats.norm.ppf((np.arange(60) + 0.5) / 60)
    low, high = studentised_bounds(values.mean(), left_out(values), 0.95, Resamples(20_000, 0))
    half = scipy.stats.t.ppf(0.95, 59) * scipy.stats.sem(values)
    assert (low, high) == pytest.approx((-half, half), rel=0.05)


def test_bounds_lean_to_the_side_of_the_long_tail():
    values = scipy.stats.lognorm.ppf((np.arange(60) + 0.5) / 60, 1)
    low, high = studentised_bounds(values.mean(), left_out(values), 0.95, Resamples(20_000, 0))
    assert high - values.mean() > 1.4 * (values.mean() - low)


def test_where_a_single_block_makes_the_difference_there_is_no_upper_bound():
    values = np.zeros(20)
    values[3] = 1.0
    low, high = studentised_bounds(values.mean(), left_out(values), 0.95, Resamples(2000, 0))
    assert low < 0.05
    assert high == math.inf
    assert studentised_bounds(1.0, np.full(20, 1.0), 0.95, Resamples(100, 0)) == (1.0, 1.0), (
        "the same everywhere"
    )
    assert all(map(math.isnan, studentised_bounds(1.0, np.array([1.0, math.nan]), 0.95, Resamples(100, 0))))
