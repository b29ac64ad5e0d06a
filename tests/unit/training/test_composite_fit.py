"""Composites: scales, weights, and what is told of corpora that were left out."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from dialoscope.core.errors import TrainingError
from dialoscope.metrics.shared.combination import ASPECTS, Combination, CombinationPart, Scale, load
from dialoscope.training.composite_fit import (
    CompositeRecipe,
    RatedCorpus,
    by_aspect,
    cross_validate_corpora,
    fit_scale,
    fit_weights,
    has_ratings,
    part_of,
)
from dialoscope.training.rating_correlation import correlations
from tests.golden._shared import HERE

GOLDEN = json.loads((HERE / "composite.json").read_text(encoding="utf-8"))
THREE = (CombinationPart("a", "a"), CombinationPart("b", "b"), CombinationPart("c", "c", better="less"))


def rated(values, ratings, name="one", source="", aspect="overall"):
    values = np.asarray(values, float)
    told = {aspect: np.asarray(ratings, float)}
    return RatedCorpus(name, source or name, values, told, np.arange(len(values)))


def golden_corpora():
    return [
        rated(one["values"], one["ratings"], name=f"corpus {number}")
        for number, one in enumerate(GOLDEN["corpora"])
    ]


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: str(case["settings"]))
def test_weights_are_those_of_other_peoples_least_squares(case):
    found = fit_weights(CompositeRecipe(parts=THREE, **case["settings"]), golden_corpora())
    assert found.weights["overall"] == pytest.approx(case["weights"], abs=2e-5)


def test_scales_are_other_peoples_percentiles():
    corpora = golden_corpora()
    found = fit_weights(CompositeRecipe(parts=THREE), corpora)
    for one, expected in zip(corpora, GOLDEN["merits"], strict=True):
        assert found.merits(one.values) == pytest.approx(np.array(expected), abs=1e-5)


def test_a_scale_goes_on_as_it_ends_and_what_is_undefined_stays_so():
    scale = Scale((0.0, 2.0), (0.25, 0.75))
    assert scale(np.array([-9, 0, 1, 2, 9, math.nan])).tolist()[:5] == [0.25, 0.25, 0.5, 0.75, 0.75]
    assert math.isnan(scale(np.array([math.nan]))[0])
    assert scale.steepest == 0.25
    assert Scale((3.0,), (0.5,)).steepest == 0


def test_a_scale_has_no_more_knots_than_asked_for_and_reaches_both_ends():
    scale = fit_scale([np.arange(1000.0)], 5)
    assert len(scale.values) == 5
    assert (scale.values[0], scale.values[-1]) == (0, 999)
    assert scale(np.array([500.0]))[0] == pytest.approx(0.5, abs=1e-3)


def test_a_part_that_nothing_is_known_of_is_neutral():
    assert fit_scale([np.empty(0)], 9) == Scale((0.0,), (0.5,))


def test_small_corpora_count_as_much_as_large_ones():
    few, many = np.zeros(10), np.ones(990)
    assert fit_scale([few, many], 9)(np.array([0.0, 1.0])).tolist() == [0.25, 0.75]
    rng = np.random.default_rng(0)
    values = rng.normal(size=(50, 3))
    good = rated(values, values[:, 0])
    other = rated(values, values[:, 1], name="other")
    thrice = rated(np.tile(values, (3, 1)), np.tile(values[:, 1], 3), name="other")
    recipe = CompositeRecipe(parts=THREE, evenness=0)
    once, often = (fit_weights(recipe, [good, one]).weights["overall"] for one in (other, thrice))
    assert once == pytest.approx(often)


def test_more_is_no_better_from_the_cap_on_and_less_can_be_better():
    parts = (
        CombinationPart("words", "words", cap=5),
        CombinationPart("repetition", "repetition", better="less"),
    )
    found = Combination(parts, (Scale((0.0, 5.0), (0.0, 1.0)),) * 2, {"overall": (0.5, 0.5)}, ("", ""))
    assert found.merits(np.array([[5, 0], [50, 5], [1, 2.5]])).tolist() == [[1, 1], [1, 0], [0.2, 0.5]]


def test_contributions_add_up_to_the_score_and_undefined_parts_add_nothing():
    found = Combination(
        THREE, (Scale((0.0, 1.0), (0.0, 1.0)),) * 3, {"overall": (0.5, 0.25, 0.25)}, ("",) * 3
    )
    values = np.array([[1, 0, 0.5], [math.nan, 1, 1], [math.nan] * 3])
    added = found.contributions(values, "overall")
    assert added.tolist() == [[0.25, -0.125, 0], [0, 0.125, -0.125], [0, 0, 0]]
    assert found.scores(values, "overall")[:2].tolist() == [0.625, 0.5]
    assert math.isnan(found.scores(values, "overall")[2])


def test_what_hardly_any_reply_has_costs_more_than_its_weight():
    parts = (
        CombinationPart("a", "a"),
        CombinationPart("copying", "copying", better="less", aspects=("overall",), excess=0.4),
    )
    scales = (Scale((0.0, 1.0), (0.0, 1.0)), Scale((0.0, 0.5), (0.0, 0.95)))
    found = Combination(parts, scales, {"overall": (0.5, 0.5), "coherence": (1.0, 0.0)}, ("", ""))
    values = np.array([[0.5, 0.5], [0.5, 0.75], [0.5, 1.0], [0.5, math.nan], [0.0, 1.0]])
    added = found.contributions(values, "overall")[:, 1]
    assert added == pytest.approx([-0.225, -0.425, -0.625, 0, -0.625])
    assert found.scores(values, "overall") == pytest.approx([0.275, 0.075, 0, 0.5, 0]), "not below 0"
    assert found.scores(values, "coherence")[2] == 0.5, "of other aspects it is no part"
    assert (found.find_used("overall"), found.find_used("coherence")) == ([0, 1], [0])
    light = replace(found, weights={"overall": (1.0, 0.0)})
    assert light.find_used("overall") == [0, 1], "it has its price without a weight, too"
    assert light.scores(values, "overall")[2] == pytest.approx(0.1)
    assert Scale((1.0,), (0.5,)).rare == 1


def test_a_part_that_points_the_wrong_way_has_no_weight():
    values = np.random.default_rng(1).normal(size=(80, 3))
    found = fit_weights(
        CompositeRecipe(parts=THREE, evenness=0), [rated(values, values[:, 0] - values[:, 1])]
    )
    assert found.weights["overall"][1] == 0
    assert found.weights["overall"][0] > 0.9


def test_weights_are_equal_where_they_are_drawn_together_or_nothing_goes_with_the_ratings():
    values = np.random.default_rng(2).normal(size=(80, 3))
    even = fit_weights(CompositeRecipe(parts=THREE, evenness=1e4), [rated(values, values[:, 0])])
    assert even.weights["overall"] == pytest.approx((1 / 3,) * 3, abs=1e-3)
    against = rated(np.tile(values[:, :1], 3) * [1, 1, -1], -values[:, 0])
    lost = fit_weights(CompositeRecipe(parts=THREE), [against])
    assert lost.weights["overall"] == pytest.approx((1 / 3,) * 3)


def test_a_part_weighs_in_its_own_aspects_alone():
    parts = (
        CombinationPart("a", "a"),
        CombinationPart("b", "b", aspects=("coherence",)),
        CombinationPart("c", "c"),
    )
    values = np.random.default_rng(3).normal(size=(40, 3))
    found = fit_weights(CompositeRecipe(parts=parts), [rated(values, values[:, 1])])
    assert found.weights["overall"][1] == 0
    assert set(found.weights) == {"overall"}, "nobody rated the others"
    assert sum(found.weights["overall"]) == pytest.approx(1)


def test_ratings_go_by_many_names():
    asked = {
        "Maintains Context": [1, 2, 3],
        "Natural": [1, 2, 3],
        "Understandable": [0, 0, 1],
        "grammar": [2, 2, 2],
        "content ": [3, 1, 2],
        "Uses Knowledge": [1, 0, 1],
    }
    found = by_aspect({name: np.array(given, float) for name, given in asked.items()})
    assert set(found) == {"coherence", "fluency", "engagement", "overall"}
    assert found["overall"].tolist() == found["coherence"].tolist(), "coherence stands for the whole"
    assert np.isnan(found["fluency"]).all(), "ratings that are all alike tell nothing of any reply"
    given = by_aspect({"Overall": np.array([1.0, 2.0]), "relevance": np.array([2.0, 1.0])})
    assert given["overall"].tolist() == [-1, 1]
    both = by_aspect({"Natural": np.array([1.0, 3.0]), "Understandable": np.array([0.0, 1.0])})
    assert both["fluency"].tolist() == [-1, 1]
    assert by_aspect({"mood": np.array([1.0, 2.0])}) == {}


def test_a_corpus_tells_something_with_ten_ratings_that_differ():
    assert has_ratings(rated(np.zeros((10, 1)), range(10)), "overall")
    assert not has_ratings(rated(np.zeros((9, 1)), range(9)), "overall")
    assert not has_ratings(rated(np.zeros((12, 1)), [1] * 12), "overall")
    assert not has_ratings(rated(np.zeros((10, 1)), range(10)), "fluency")


def test_a_corpus_left_out_is_judged_by_others_alone():
    rng = np.random.default_rng(4)
    values = [rng.normal(size=(30, 3)) for _ in range(3)]
    first = rated(values[0], values[0][:, 0], "first")
    twin = rated(values[1], values[1][:, 0], "twin", source="first")
    other = rated(values[2], values[2][:, 1], "other")
    recipe = CompositeRecipe(parts=THREE, evenness=0)
    folds = {fold.corpus: fold for fold in cross_validate_corpora(recipe, [first, twin, other])}
    assert list(folds) == ["first", "twin", "other"]
    assert folds["first"].weights == fit_weights(recipe, [other]).weights["overall"]
    assert folds["other"].weights == fit_weights(recipe, [first, twin]).weights["overall"]
    changed = first._replace(ratings={"overall": -first.ratings["overall"]})
    again = {fold.corpus: fold for fold in cross_validate_corpora(recipe, [changed, twin, other])}
    assert again["first"].weights == folds["first"].weights
    assert again["first"].spearman == pytest.approx(-folds["first"].spearman)
    assert folds["first"].replies == 30


def test_a_single_source_can_be_judged_by_no_other():
    values = np.random.default_rng(5).normal(size=(30, 3))
    same = [rated(values, values[:, 0], name, source="one") for name in ("one", "copy")]
    assert cross_validate_corpora(CompositeRecipe(parts=THREE), same) == []


def test_correlations_are_undefined_where_nothing_varies():
    assert all(map(math.isnan, correlations(np.ones(5), np.arange(5.0))))
    assert all(map(math.isnan, correlations(np.arange(5.0), np.ones(5))))
    assert all(map(math.isnan, correlations(np.array([1, 2, math.nan]), np.arange(3.0))))
    assert correlations(np.array([1, 2, 3, math.nan]), np.array([1, 2, 9, 0.0]))[1] == pytest.approx(1)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"evenness": -1}, r"evenness is -1; it must be 0 or more\."),
        ({"evenness": math.nan}, r"evenness is nan; it must be 0 or more\."),
        (
            {"parts": (CombinationPart("a", "b"), CombinationPart("a", "c"))},
            r"Two parts have the same name; give each its own\.",
        ),
        ({"knots": 1}, r"knots is 1; it must be 2 or more\."),
        (
            {"parts": (CombinationPart("a", "a", aspects=("overall",)),)},
            r"No part is one of coherence; each aspect needs",
        ),
        ({"parts": ()}, r"No part is one of overall; each aspect needs at least one\."),
    ],
)
def test_a_recipe_that_makes_nothing_is_refused(settings, told):
    with pytest.raises(TrainingError, match=told):
        CompositeRecipe(**settings)


def test_parts_are_named_by_a_text():
    assert part_of("pmi=pmi:lm=fake") == CombinationPart("pmi", "pmi:lm=fake")
    assert part_of("twice=-repetition-2") == CombinationPart("twice", "repetition-2", better="less")
    for text in ("pmi", "=pmi", "pmi=", "pmi=-"):
        with pytest.raises(TrainingError, match=rf"'{text}' is no part; write it as NAME=METRIC\."):
            part_of(text)


def test_names_of_parts_are_visible():
    for name in ("\x1b[31mred", "two\nlines"):
        with pytest.raises(TrainingError, match=r"A part is called '.*'; name it in visible characters"):
            part_of(f"{name}=words")


def whole():
    parts = (CombinationPart("a", "a", cap=3.0), CombinationPart("b", "b", aspects=("overall",)))
    scales = (Scale((0.0, 1.0), (0.25, 0.5)), Scale((2.0,), (0.5,)))
    return Combination(parts, scales, dict.fromkeys(ASPECTS, (0.75, 0.25)), ("a|v:1", "b|v:1"), {"m": "hash"})


def written(folder, found, **changed):
    spec = {"recipe": "composite", "combination": found.to_dict(), "combination_sha256": found.hash}
    (folder / "spec.json").write_text(json.dumps({**spec, **changed}), encoding="utf-8")
    return folder


def test_a_combination_is_read_back_as_it_was(tmp_path):
    assert load(written(tmp_path, whole())) == whole()
    assert whole().to_dict()["parts"][1]["cap"] is None


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ({"scales": (Scale((0.0, 1.0), (0.25, 0.5)),)}, "are not of one number"),
        ({"parts": (), "scales": (), "signatures": (), "weights": {"overall": ()}}, "are not of one number"),
        ({"scales": (Scale((1.0, 0.0), (0.25, 0.5)),) * 2}, "a scale does not rise"),
        ({"scales": (Scale((0.0, 1.0), (0.5, 0.25)),) * 2}, "a scale does not rise"),
        ({"scales": (Scale((0.0, 1.0), (0.5,)),) * 2}, "a scale does not rise"),
        ({"scales": (Scale((), ()),) * 2}, "a scale does not rise"),
        ({"weights": {"overall": (1.5, -0.5)}}, "weights are negative or do not add up to 1"),
        ({"weights": {"overall": (0.5, 0.25)}}, "weights are negative or do not add up to 1"),
        ({"weights": {"wit": (0.5, 0.5)}}, "weights are of no aspect that is known"),
        ({"weights": {}}, "weights are of no aspect that is known"),
    ],
)
def test_what_cannot_be_a_combination_is_refused(tmp_path, broken, why):
    with pytest.raises(TrainingError, match=f"is damaged: spec.json holds no whole combination .*{why}"):
        load(written(tmp_path, replace(whole(), **broken)))


def test_a_checkpoint_that_is_damaged_or_of_another_kind_is_refused(tmp_path):
    with pytest.raises(TrainingError, match=r"holds no finished checkpoint: .*No such file"):
        load(tmp_path)
    (tmp_path / "spec.json").write_text("{", encoding="utf-8")
    with pytest.raises(TrainingError, match="holds no finished checkpoint: "):
        load(tmp_path)
    with pytest.raises(TrainingError, match="holds no composite; make one with dialoscope train composite"):
        load(written(tmp_path, whole(), recipe="lm"))
    (tmp_path / "spec.json").write_text("[]", encoding="utf-8")
    with pytest.raises(TrainingError, match="holds no composite"):
        load(tmp_path)
    with pytest.raises(TrainingError, match=r"no whole combination \(KeyError\('parts'\)\)"):
        load(written(tmp_path, whole(), combination={}))
    with pytest.raises(TrainingError, match="its weights are not those that the training left there"):
        load(written(tmp_path, whole(), combination_sha256=replace(whole(), models={}).hash))


def test_a_part_that_never_varies_has_no_weight_unless_drawn_to_others():
    values = np.random.default_rng(6).normal(size=(40, 3)) * [1, 1, 0]
    found = fit_weights(CompositeRecipe(parts=THREE, evenness=0), [rated(values, values[:, 0])])
    assert found.weights["overall"][2] == 0
