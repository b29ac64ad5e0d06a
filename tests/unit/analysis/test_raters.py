"""The report on raters: what it says of panels, of lists, of outliers and of aspects."""

import csv
import io
import json
import math

import numpy as np
import pytest
from scipy.stats import spearmanr

import dialoscope as ds
from dialoscope.analysis.coefficients import Coefficient
from dialoscope.analysis.raters.outliers import find_outliers
from dialoscope.analysis.raters.reliability import RaterAgreement, leave_one_out
from dialoscope.runs.rating_columns import Ratings
from dialoscope.runs.scaling import normalise_ratings

REPLIES = 40


def run(grids, names=None):
    """A run of two systems with a grid of ratings (replies, raters) for each aspect; NaN: not rated."""
    examples, ratings = [], []
    for place in range(REPLIES):
        name, system = f"q{place // 2}", "ab"[place % 2]
        examples.append(ds.Example(name, system, f"reply {place}", ("hello",)))
        for aspect, grid in grids.items():
            for rater, value in enumerate(grid[place]):
                if not math.isnan(value):
                    whose = names[rater] if names else str(rater + 1)
                    ratings.append(ds.Rating(name, system, aspect, whose, float(value)))
    from dialoscope.data.replies import Replies

    return ds.evaluate(Replies.of(examples, ratings), ["words"])


def grid(raters=5, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    true = rng.standard_normal(REPLIES)
    return np.clip(np.round(3 + true[:, None] + noise * rng.standard_normal((REPLIES, raters))), 1, 5)


@pytest.fixture(scope="module")
def odd():
    """A panel of six of whom the third rolls dice and the fifth always says 4."""
    panel = grid(6)
    panel[:, 2] = np.random.default_rng(9).integers(1, 6, REPLIES)
    panel[:, 4] = 4
    return run({"sense": panel}, ("ann", "bob", "dice", "eve", "same", "zoe"))


def test_who_rolls_dice_or_always_says_the_same_is_found(odd):
    found = ds.raters(odd)["sense"]
    assert [(one.rater, one.why.split(" ")[0]) for one in found.outliers] == [
        ("dice", "correlation"),
        ("same", "always"),
    ]
    assert found.without is not None
    assert found.without.numbers["pearson mean"].value > found.numbers["pearson mean"].value
    assert found.without.numbers["ICC(2,k)"].value > found.numbers["ICC(2,k)"].value
    assert 0.9 < found.without.means.value < 1


def test_raters_as_good_as_each_other_are_left_alone():
    assert ds.raters(run({"sense": grid(8)}))["sense"].outliers == ()
    careless = leave_one_out(
        Ratings.of_aspect(run({"x": np.random.default_rng(0).random((40, 8))}).ratings, "x")
    )
    assert find_outliers(careless) == (), "where nobody agrees with anybody, nobody stands out"


def alone(r, n=200, variance=1.0):
    found = Coefficient(r, n)
    return RaterAgreement(str(r), n, 3.0, variance, found, found)


@pytest.mark.parametrize(
    ("one", "is_odd"),
    [
        pytest.param(alone(0.46), False, id="just half as well as the median of .9"),
        pytest.param(alone(0.44), True, id="less than half"),
        pytest.param(alone(-0.5), True, id="the other way round"),
        pytest.param(alone(0.44, n=9), False, id="nine replies"),
        pytest.param(alone(-0.9, n=10), True, id="ten replies, beyond chance"),
        pytest.param(alone(math.nan, variance=0.0), True, id="always the same"),
        pytest.param(alone(math.nan, n=9, variance=0.0), False, id="always the same, nine times"),
    ],
)
def test_less_than_half_the_median_beyond_chance_is_an_outlier(one, is_odd):
    assert [odd.rater for odd in find_outliers([*[alone(0.9)] * 5, one])] == [one.rater] * is_odd


def test_what_chance_explains_makes_no_outlier():
    """On ten replies a correlation of .25 may well be one of .6; on a hundred it is not."""
    others = [alone(0.6)] * 5
    assert find_outliers([*others, alone(0.25, n=10)]) == ()
    assert len(find_outliers([*others, alone(0.25, n=100)])) == 1


def test_too_few_ratings_judge_nobody():
    panel = grid(4)
    panel[:, 3] = math.nan
    panel[:5, 3] = [5, 1, 5, 1, 5]
    assert ds.raters(run({"sense": panel}, ("a", "b", "c", "d")))["sense"].outliers == ()


def test_lists_of_different_lengths_have_places_and_no_persons():
    panel = grid(5)
    panel[::3, 4] = math.nan
    found = ds.raters(run({"sense": panel}))
    assert found["sense"].are_places
    assert math.isnan(found["sense"].numbers["ICC(2,1)"].value)
    assert not math.isnan(found["sense"].numbers["ICC(1,1)"].value)
    assert "replies have 4 to 5 of them, so a number is a place in a list and no person" in found.text()
    named = ds.raters(run({"sense": panel}, tuple("abcde")))
    assert not named["sense"].are_places


def test_a_rater_who_gave_none_is_counted_as_missing():
    result = run({"sense": grid(3)})
    records = [
        ds.Rating(result.replies.ids[row], "ab"[row % 2], "sense", rater, value)
        for row in range(REPLIES)
        for rater, value in (("1", float(row % 5)), ("2", None if row == 3 else float(row % 4)))
    ]
    found = ds.raters(result, records)["sense"]
    assert (found.replies, found.ratings, found.missing, found.fewest, found.most) == (40, 79, 1, 1, 2)
    assert not found.are_places, "a list with a gap in it is a list of persons"


def test_aspects_are_correlated_on_the_replies_that_have_both():
    first, second = grid(3, seed=1), grid(3, seed=2)
    second[:10] = math.nan
    found = ds.raters(run({"a": first, "b": second, "c": 6 - first}), draws=200)
    means = [np.nanmean(one[10:], axis=1) for one in (first, second)]
    ab, ac, _ = sorted(found.pairs, key=lambda one: sorted((one.first, one.second)))
    assert ab.pearson.value == pytest.approx(np.corrcoef(*means)[0, 1])
    assert ({ab.first, ab.second}, ab.pearson.n) == ({"a", "b"}, 30)
    assert ab.spearman.value == pytest.approx(spearmanr(*means).statistic)
    assert ab.pearson.low < ab.pearson.value < ab.pearson.high
    assert ac.spearman.value == pytest.approx(-1)
    assert "200 random halves of the contexts, seed 0." in found.text(notes=True)
    assert ds.raters(run({"a": first})).pairs == ()


def test_an_aspect_can_be_chosen_and_must_be_there():
    result = run({"Sense": grid(3), "style": grid(3, seed=1)})
    assert [one.aspect for one in ds.raters(result, aspect="sense").aspects] == ["Sense"]
    assert [one.aspect for one in ds.raters(result, aspect=["style", "Sense"]).aspects] == ["style", "Sense"]
    with pytest.raises(ds.DialoscopeError, match=r"Nobody rated 'stil'.*did you mean 'style'"):
        ds.raters(result, aspect="stil")
    with pytest.raises(ds.DialoscopeError, match="Nothing is known of 'x'; there is: Sense, style"):
        ds.raters(result)["x"]
    nobody = ds.evaluate([ds.Example("a", "b", "c")], ["words"])
    with pytest.raises(ds.DialoscopeError, match=r"There are no ratings; .*--ratings"):
        ds.raters(nobody)


def test_the_replies_of_one_system_alone():
    panel = grid(3)
    panel[1::2] = 6 - panel[1::2]
    found = ds.raters(run({"sense": panel}), system="a")["sense"]
    assert found.replies == REPLIES / 2
    assert found.numbers["mean"].value == pytest.approx(panel[::2].mean())
    with pytest.raises(ds.DialoscopeError, match="There is no system 'c'"):
        ds.raters(run({"sense": panel}), system="c")


def test_chances_that_are_none_are_refused(odd):
    with pytest.raises(ds.DialoscopeError, match="confidence must lie between 0 and 1"):
        ds.raters(odd, confidence=95)


def test_ratings_without_a_value_are_no_ratings():
    result = run({"sense": grid(3)})
    records = [ds.Rating("q0", "a", "sense", "ann", None)]
    with pytest.raises(ds.DialoscopeError, match="Of 'sense' there are ratings, but none with a value"):
        ds.raters(result, records)


@pytest.mark.parametrize("normalise", [None, "scale", "rater"])
def test_an_aspect_without_a_value_is_left_out_and_told(normalise):
    """Also where it has none any more, because its only rater always said the same."""
    result = run({"sense": grid(3)})
    records = [
        ds.Rating(name, system, aspect, rater, value)
        for name, system, place in [("q0", "a", 1), ("q0", "b", 4), ("q1", "a", 5)]
        for aspect, rater, value in [
            ("sense", "ann", place),
            ("sense", "bob", 6 - place),
            ("wit", "ann", 3 if normalise == "rater" else None),
        ]
    ]
    found = ds.raters(result, records, normalise=normalise)
    assert [one.aspect for one in found.aspects] == ["sense"]
    assert "Of 'wit' there are ratings, but none with a value." in found.notes()
    with pytest.raises(ds.DialoscopeError, match="Of 'wit' there are ratings, but none with a value"):
        ds.raters(result, records, aspect="wit", normalise=normalise)


def test_only_the_aspects_looked_at_need_a_scale():
    result = run({"sense": grid(3), "reach": 1000 * grid(3, seed=1)})
    found = ds.raters(result, aspect="sense", normalise="scale")
    assert not any("reach" in note for note in found.notes())
    with pytest.raises(
        ds.DialoscopeError, match="Ratings of 'reach' run from 1000 to 5000, on no usual scale"
    ):
        ds.raters(result, normalise="scale")


@pytest.mark.parametrize("size", [1e49, 1e-40])
def test_the_size_of_ratings_does_not_show_in_coefficients(size):
    plain, other = (ds.raters(run({"sense": grid(4) * one}))["sense"].numbers for one in (1, size))
    for name in set(plain) - {"mean", "variance", "variance within replies"}:
        assert other[name][:3] == pytest.approx(plain[name][:3], nan_ok=True), name


def test_ratings_of_a_size_that_is_none_are_refused():
    result = run({"sense": grid(3)})
    with pytest.raises(ds.DialoscopeError, match=r"A rating of 'sense' is 1e\+300, which is none"):
        ds.raters(result, [ds.Rating("q0", "a", "sense", "ann", -1e300)])
    with pytest.raises(ds.DialoscopeError, match=r"A rating of 'sense' is 5e\+99, which is none"):
        ds.raters(run({"sense": grid(3) * 1e99}))
    with pytest.raises(ds.DialoscopeError, match=r"Ratings of 'sense' differ by 4e-300 at most"):
        ds.raters(run({"sense": grid(3) * 1e-300}))


def test_pairs_of_aspects_without_a_number_or_an_interval_say_why():
    found = ds.raters(run({"sense": grid(3), "wit": np.full((REPLIES, 2), 2.0)}))
    assert (math.isnan(found.pairs[0].pearson.value), found.pairs[0].pearson.n) == (True, REPLIES)
    assert "sense with wit: the second aspect is the same everywhere." in found.notes()
    result = run({"sense": grid(3)})
    records = [
        ds.Rating("q0", system, aspect, "ann", value)
        for system, values in (("a", (1, 2, 4)), ("b", (2, 5, 1)))
        for aspect, value in zip(("sense", "wit", "zest"), values, strict=True)
    ]
    assert "2 pairs of values, and 3 are needed." in ds.raters(result, records).text()
    many = ds.evaluate([ds.Example(f"r{place}", "a", "so", ("hello",)) for place in range(6)], ["words"])
    records = [
        ds.Rating(f"r{place}", "a", aspect, "ann", value)
        for place in range(6)
        for aspect, value in (("sense", place), ("wit", place % 4))
    ]
    alone = ds.raters(many, records)
    assert math.isnan(alone.pairs[0].spearman.low)
    assert not math.isnan(alone.pairs[0].spearman.value)
    assert "sense with wit: no interval, for it has 1 context, and 6 are needed." in alone.notes()


def test_what_is_undefined_of_all_raters_says_why():
    same = ds.raters(run({"sense": np.full((REPLIES, 2), 3.0)}))["sense"]
    assert same.numbers["pearson mean"].why == "of no rater (all are the same everywhere)"
    assert same.numbers["ICC(2,1)"].why == "all ratings are the same"
    apart = ds.raters(run({"sense": np.tile([1.0, 2.0], (REPLIES, 1))}))["sense"]
    assert apart.numbers["ICC(2,1)"].why.startswith("the mean ratings of replies differ less")
    few = ds.raters(run({"sense": np.vstack([[[1, 2], [3, 5]], np.full((REPLIES - 2, 2), np.nan)])}))["sense"]
    assert few.numbers["spearman max"].why == (
        "of no rater (2 pairs of ratings by the rater and by others, and 3 are needed)"
    )
    one_sided = ds.raters(run({"sense": np.column_stack([np.arange(REPLIES), np.ones(REPLIES)])}))["sense"]
    assert [one.pearson.why for one in one_sided.each] == [
        "the others' means are the same everywhere",
        "the rater's are the same everywhere",
    ]


def test_ratings_are_normalised_by_the_scale(odd):
    plain, scaled = ds.raters(odd)["sense"], ds.raters(odd, normalise="scale")
    assert scaled["sense"].numbers["mean"].value == pytest.approx((plain.numbers["mean"].value - 1) / 4)
    assert scaled["sense"].numbers["variance"].value == pytest.approx(plain.numbers["variance"].value / 16)
    for name in ("pearson mean", "alpha interval", "ICC(1,k)", "ceiling of replies"):
        assert scaled["sense"].numbers[name].value == pytest.approx(plain.numbers[name].value), name
    assert "Ratings of sense are on 0 to 1, from 1 to 5 (the usual scale that holds them)." in scaled.notes()
    told = ds.raters(odd, scales={"Sense": (0, 10)})
    assert told["sense"].numbers["mean"].value == pytest.approx(plain.numbers["mean"].value / 10)
    assert "from 0 to 10 (as told)" in told.text()


def test_ratings_are_normalised_by_each_raters_range(odd):
    found = normalise_ratings(odd.ratings, "rater").of_aspect("sense")
    for place, name in enumerate(found.raters):
        own = found.value[found.rater == place]
        assert (own.min(), own.max()) == (0, 1), name
    assert "same" not in found.raters
    assert (
        "raters who gave one value only count as missing: same." in ds.raters(odd, normalise="rater").text()
    )


def test_a_scale_that_does_not_hold_the_ratings_is_refused(odd):
    with pytest.raises(
        ds.DialoscopeError, match=r"run from 1 to 5, off its scale of 1 to 3; .*--scale sense=1-5"
    ):
        ds.raters(odd, scales={"sense": (1, 3)})
    with pytest.raises(ds.DialoscopeError, match="Nobody rated 'x'"):
        ds.raters(odd, scales={"x": (1, 3)})
    with pytest.raises(ds.DialoscopeError, match="by scale or by rater, not by 'hand'"):
        ds.raters(odd, normalise="hand")
    with pytest.raises(ds.DialoscopeError, match="by rater have no scale; leave out --scale"):
        ds.raters(odd, normalise="rater", scales={"sense": (1, 5)})
    long = run({"sense": grid(2) + 1_234_567_890})
    with pytest.raises(ds.DialoscopeError, match=r"--scale sense=1234567891-1234567895"):
        ds.raters(long, normalise="scale")
    far = run({"sense": grid(2) - 1000})
    with pytest.raises(ds.DialoscopeError, match=r"run from -\d+ to -\d+, on no usual scale"):
        ds.raters(far, normalise="scale")


def test_all_forms_hold_the_same_numbers(odd):
    found = ds.raters(odd)
    rows, lines = json.loads(found.json()), list(csv.DictReader(io.StringIO(found.csv())))
    assert len(rows) == len(lines)
    wanted = found["sense"].numbers["ICC(2,1)"]
    (row,) = [one for one in rows if one["statistic"] == "ICC(2,1)"]
    assert (row["value"], row["low"], row["n"]) == (wanted.value, wanted.low, REPLIES)
    assert f"{wanted.value:.3f} [{wanted.low:.3f}, {wanted.high:.3f}]" in found.text()
    assert f"| {wanted.value:.3f} [{wanted.low:.3f}, {wanted.high:.3f}] |" in found.markdown()
    (dice,) = [one for one in rows if one["rater"] == "dice" and one["statistic"] == "pearson"]
    assert dice["why"].startswith("correlation with the others less than half")
    (same,) = [one for one in rows if one["rater"] == "same" and one["statistic"] == "pearson"]
    assert same["value"] is None
    assert same["why"]
    (system,) = [one for one in rows if one["statistic"] == "ceiling of systems"]
    assert (system["value"], system["why"]) == (None, "3 rated systems are needed, and there are 2")
    assert str(found) == found.text()
    assert found._repr_markdown_() == found.markdown()
    assert repr(found) == "<Raters: 1 aspects>"


def test_many_raters_and_aspects_keep_the_tables_readable():
    found = ds.raters(run({f"aspect {place}": grid(25, seed=place) for place in range(6)}), draws=100)
    text = found.text()
    assert max(map(len, text.split("\n\n")[0].splitlines())) < 120
    assert "The first 20 raters are shown (25 of aspect 0" in text
    assert len(json.loads(found.json())) > 6 * 25 * 4


def test_names_from_files_are_made_safe():
    found = ds.raters(run({"\x1b[2J|x": grid(3)}, ("\x07", "b", "c")))
    assert not any(mark in found.text() + found.markdown() for mark in "\x1b\x07")
    assert "\\|x" in found.markdown()


def test_the_order_of_replies_and_ratings_does_not_show():
    """To the last digit, with ratings whose sums depend on the order they are added up in."""
    from dialoscope.data.replies import Replies

    rng = np.random.default_rng(3)
    examples = [ds.Example(f"q{place // 3}", "abc"[place % 3], "so") for place in range(60)]
    ratings = [
        ds.Rating(one.id, one.system, aspect, rater, float(rng.random()))
        for one in examples
        for aspect in ("sense", "wit")
        for rater in ("ann", "bob", "eve")
    ]
    ours = ds.raters(ds.evaluate(Replies.of(examples, ratings), ["words"]))
    for _ in range(3):
        rng.shuffle(examples)
        rng.shuffle(ratings)
        result = ds.evaluate(Replies.of(examples, ratings), ["words"])
        assert ds.raters(result, aspect=["sense", "wit"]).json() == ours.json()
