"""How far raters agree, against worked examples of the literature, plain sums, and what must be so."""

import math
from itertools import permutations

import numpy as np
import pytest

from dialoscope.analysis.raters import intraclass
from dialoscope.analysis.raters.intraclass import ONE_EACH, ceiling, one_way, two_way
from dialoscope.analysis.raters.reliability import LEVELS, alpha, leave_one_out
from dialoscope.runs.rating_columns import AspectRatings

_ = math.nan

# Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), section C: four observers, twelve units.
KRIPPENDORFF = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
        [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
    ]
).T

# Shrout and Fleiss, Intraclass correlations: uses in assessing rater reliability (1979), table 2.
SHROUT_FLEISS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
)


def judged(grid, raters=None):
    grid = np.array(grid, float)
    reply, rater = np.nonzero(~np.isnan(grid))
    names = raters or tuple(map(str, range(1, grid.shape[1] + 1)))
    return AspectRatings(reply, rater, grid[reply, rater], names, int(np.isnan(grid).sum()))


def drawn(replies, raters, *, truth=1.0, noise=1.0, bias=0.0, missing=0.0, seed=0):
    """True scores with the noise of each rating and the bias of each rater; and the grid of ratings."""
    rng = np.random.default_rng(seed)
    true = truth * rng.standard_normal(replies)
    grid = true[:, None] + bias * rng.standard_normal(raters) + noise * rng.standard_normal((replies, raters))
    grid[rng.random(grid.shape) < missing] = math.nan
    return true, grid


@pytest.mark.parametrize(("level", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_is_that_of_krippendorffs_example(level, value):
    found = alpha(judged(KRIPPENDORFF), level)
    assert round(found.value, 3) == value
    assert found.n == 40


def plain_alpha(grid, level):
    """By the coincidence matrix, value by value, as the definition has it."""
    units = [[value for value in row if not math.isnan(value)] for row in grid]
    units = [unit for unit in units if len(unit) > 1]
    kinds = sorted({value for unit in units for value in unit})
    together = dict.fromkeys(((a, b) for a in kinds for b in kinds), 0.0)
    for unit in units:
        for a, b in permutations(unit, 2):
            together[a, b] += 1 / (len(unit) - 1)
    many = {a: sum(together[a, b] for b in kinds) for a in kinds}
    total = sum(many.values())

    def far(a, b):
        low, high = sorted((a, b))
        between = sum(many[g] for g in kinds if low <= g <= high) - (many[a] + many[b]) / 2
        return {"nominal": float(a != b), "ordinal": between**2 if a != b else 0.0, "interval": (a - b) ** 2}[
            level
        ]

    seen = sum(together[a, b] * far(a, b) for a in kinds for b in kinds) / total
    expected = sum(many[a] * many[b] * far(a, b) for a in kinds for b in kinds) / (total * (total - 1))
    return 1 - seen / expected


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", range(3))
def test_alpha_is_that_of_the_coincidence_matrix(level, seed):
    _true, grid = drawn(30, 5, missing=0.4, seed=seed)
    grid = np.round(grid)
    assert alpha(judged(grid), level).value == pytest.approx(plain_alpha(grid.tolist(), level), abs=1e-12)


def test_alpha_does_not_see_the_unit_of_a_scale_nor_ordinal_its_steps():
    _true, grid = drawn(40, 4, missing=0.2)
    grid = np.round(grid)
    assert alpha(judged(7 + 3 * grid), "interval").value == pytest.approx(
        alpha(judged(grid), "interval").value
    )
    assert alpha(judged(np.exp(grid)), "ordinal").value == pytest.approx(alpha(judged(grid), "ordinal").value)


def test_intraclass_correlations_are_those_of_shrout_and_fleiss():
    """Their values, and the intervals that R's psych 2.4 prints for the same table."""
    said = judged(SHROUT_FLEISS)
    single, mean = one_way(said)
    assert [round(one, 2) for one in (single.value, single.low, single.high)] == [0.17, -0.13, 0.72]
    assert [round(one, 2) for one in (mean.value, mean.low, mean.high)] == [0.44, -0.88, 0.91]
    single, mean = two_way(said)
    assert [round(one, 3) for one in (single.value, single.low)] == [0.290, 0.019]
    assert [round(one, 2) for one in (single.high, mean.value, mean.low, mean.high)] == [
        0.76,
        0.62,
        0.07,
        0.93,
    ]


def test_the_ceiling_of_a_whole_panel_is_the_root_of_icc_3_k():
    """Strictness of a rater who rated everything is seen by no correlation; psych: ICC3k .91 [.676, .99]."""
    found = ceiling(judged(SHROUT_FLEISS))
    assert [round(one**2, 3) for one in (found.value, found.low)] == [0.909, 0.676]
    assert round(found.high**2, 2) == 0.99


def plain_one_way(grid):
    """Variance components by hand (Searle, Linear Models, 1971): unequal numbers of ratings."""
    rows = [[value for value in row if not math.isnan(value)] for row in grid]
    total = sum(map(len, rows))
    grand = sum(map(sum, rows)) / total
    between = sum(len(row) * (sum(row) / len(row) - grand) ** 2 for row in rows) / (len(rows) - 1)
    inner = sum((value - sum(row) / len(row)) ** 2 for row in rows for value in row) / (total - len(rows))
    many = (total - sum(len(row) ** 2 for row in rows) / total) / (len(rows) - 1)
    truth = (between - inner) / many
    harmonic = len(rows) / sum(1 / len(row) for row in rows)
    return truth / (truth + inner), truth / (truth + inner / harmonic)


def test_replies_may_have_different_numbers_of_ratings():
    _true, grid = drawn(60, 6, missing=0.3, seed=3)
    assert not np.isnan(grid).all(axis=1).any()
    assert [one.value for one in one_way(judged(grid))] == pytest.approx(plain_one_way(grid.tolist()))
    assert two_way(judged(grid))[0].why == "not every rater rated every reply"


@pytest.mark.parametrize("bias", [0.0, 2.0])
@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_the_ceiling_is_what_the_true_scores_reach(bias, missing):
    """Also with strict and lenient raters, who are noise where each reply has others, and none otherwise."""
    true, grid = drawn(4000, 6, bias=bias, missing=missing, seed=1)
    rated = ~np.isnan(grid).all(axis=1)
    means = np.nanmean(grid[rated], axis=1)
    reached = float(np.corrcoef(true[rated], means)[0, 1])
    found = ceiling(judged(grid))
    assert found.value == pytest.approx(reached, abs=0.015)
    assert found.low < found.value < found.high


def test_strictness_is_noise_where_no_rater_comes_again():
    """A crowd of whom everybody rates once: 2,000 replies with three raters each."""
    true, grid = drawn(2000, 3, seed=4)
    strict = np.random.default_rng(5).standard_normal(grid.shape)
    crowd = judged(grid + strict)._replace(rater=np.arange(6000), raters=tuple(map(str, range(6000))))
    reached = float(np.corrcoef(true, (grid + strict).mean(axis=1))[0, 1])
    assert ceiling(crowd).value == pytest.approx(reached, abs=0.02)


@pytest.mark.parametrize("bound", ["_MOST_RATERS", "_MOST_CELLS"])
def test_strictness_is_noise_where_there_is_too_much_to_tell(monkeypatch, bound):
    _true, grid = drawn(50, 4, bias=1.0)
    told = ceiling(judged(grid)).value
    monkeypatch.setattr(intraclass, bound, 3)
    assert ceiling(judged(grid)).value == pytest.approx(math.sqrt(one_way(judged(grid))[1].value))
    assert ceiling(judged(grid)).value < told


def test_the_ceiling_of_systems_is_what_their_true_means_reach():
    rng = np.random.default_rng(2)
    reached, estimated = [], []
    for seed in range(40):
        true, grid = drawn(300, 3, noise=6.0, seed=seed)
        systems = np.arange(300) % 30
        shift = 0.8 * rng.standard_normal(30)[systems]
        means = [np.bincount(systems, values) / 10 for values in (true + shift, grid.mean(axis=1) + shift)]
        reached.append(np.corrcoef(*means)[0, 1])
        estimated.append(ceiling(judged(grid + shift[:, None]), systems).value)
    assert np.nanmean(estimated) == pytest.approx(np.mean(reached), abs=0.05)
    assert np.mean(reached) < 0.75, "noise that matters"


def test_the_interval_of_the_ceiling_holds_it_as_often_as_it_says():
    inside = []
    for seed in range(200):
        _true, grid = drawn(50, 4, seed=seed)
        found = ceiling(judged(grid))
        inside.append(found.low <= math.sqrt(1 / (1 + 1 / 4)) <= found.high)
    assert 0.91 <= np.mean(inside) <= 0.985


def test_each_rater_stands_against_the_mean_of_the_others():
    _true, grid = drawn(25, 4, missing=0.3, seed=5)
    found = leave_one_out(judged(grid))
    for place, one in enumerate(found):
        others = np.delete(grid, place, axis=1)
        both = ~np.isnan(grid[:, place]) & ~np.isnan(others).all(axis=1)
        wanted = np.corrcoef(grid[both, place], np.nanmean(others[both], axis=1))[0, 1]
        assert one.pearson.value == pytest.approx(wanted)
        assert one.pearson.n == both.sum()
        assert one.mean == pytest.approx(np.nanmean(grid[:, place]))


def test_equal_means_are_equal_however_they_were_added_up():
    """Thirds of tenths: sums in another order differ in the last digit, and ranks would see it."""
    rng = np.random.default_rng(0)
    grid = rng.integers(1, 4, (200, 4)) / 10
    turned = grid[:, ::-1]
    found, other = (leave_one_out(judged(one)) for one in (grid, turned))
    assert [one.spearman.value for one in found] == [one.spearman.value for one in other[::-1]]


@pytest.mark.parametrize("of", [*LEVELS, "one-way", "two-way", "ceiling"])
def test_neither_the_order_of_ratings_nor_of_raters_matters(of):
    _true, grid = drawn(40, 5, missing=0.0 if of == "two-way" else 0.2)
    said = judged(np.round(grid, 1))
    rng = np.random.default_rng(1)
    order, raters, replies = rng.permutation(len(said.value)), rng.permutation(5), rng.permutation(40)
    mixed = AspectRatings(
        replies[said.reply[order]], raters[said.rater[order]], said.value[order], said.raters, said.missing
    )
    measure = {"one-way": one_way, "two-way": two_way, "ceiling": ceiling}.get(of, lambda one: alpha(one, of))
    numbers = [
        np.hstack([np.array(part[:4], float) for part in _several(measure(one))]) for one in (said, mixed)
    ]
    np.testing.assert_allclose(*numbers, rtol=1e-9)


def _several(found):
    return found if isinstance(found[0], tuple) else (found,)


def test_what_cannot_be_said_is_undefined_and_says_why():
    same, once = judged(np.full((4, 3), 0.1)), judged([[1.0], [2.0], [3.0]])
    for level in LEVELS:
        assert alpha(same, level).why == "all ratings are the same"
        assert alpha(once, level).why == "no reply has two ratings"
    assert one_way(same)[0].why == "all ratings are the same"
    assert two_way(same)[1].why == "all ratings are the same"
    assert one_way(once)[1].why == ceiling(once).why == ONE_EACH
    assert one_way(judged([[1.0, 2.0]]))[0].why == "fewer than two replies were rated"
    noise = judged([[1, 5], [5, 1], [3, 3]])
    assert math.isnan(ceiling(noise).value)
    assert ceiling(noise).why.startswith("the means differ no more")
    assert one_way(noise)[0].value == pytest.approx(-1)
    for _single, mean in (one_way(noise), two_way(judged([[1, 3], [3, 1], [2, 2]]))):
        assert (math.isnan(mean.value), mean.why) == (
            True,
            "the mean ratings of replies differ less than chance would have it",
        )
    assert (
        ceiling(judged(SHROUT_FLEISS), np.arange(6) % 2).why == "3 rated systems are needed, and there are 2"
    )
    assert ceiling(judged([[1, 2], [4, 5]])).why == "3 rated replies are needed, and there are 2"
    assert two_way(once)[0].why == "there is one rater"


def test_whatever_is_rated_a_number_or_a_reason_comes_out():
    """Five hundred grids of a few ratings, most of them degenerate in some way."""
    rng = np.random.default_rng(0)
    for _ in range(500):
        shape = rng.integers(1, 6), rng.integers(1, 5)
        grid = rng.integers(0, rng.integers(1, 4) + 1, shape) * rng.choice([1.0, 0.1, 1e6])
        grid[rng.random(shape) < rng.choice([0.0, 0.4])] = math.nan
        kept = grid[:, ~np.isnan(grid).all(axis=0)]
        if not kept.size:
            continue
        said = judged(kept)
        found = [*one_way(said), *two_way(said), ceiling(said), *(alpha(said, level) for level in LEVELS)]
        for one in found:
            assert math.isnan(one.value) == bool(one.why), (kept, one)
            assert not math.isinf(one.value)
            assert math.isnan(one.low) or one.low <= one.value + 1e-9 <= one.high + 2e-9, (kept, one)


def test_raters_of_one_mind_agree_wholly():
    grid = np.repeat([[1.0], [2.0], [5.0]], 3, axis=1)
    assert [alpha(judged(grid), level).value for level in LEVELS] == pytest.approx([1.0] * 3)
    assert [one.value for one in (*one_way(judged(grid)), *two_way(judged(grid)))] == [1.0] * 4
    assert ceiling(judged(grid))[:3] == (1.0, 1.0, 1.0)
