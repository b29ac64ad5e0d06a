"""ADEM is trained on rated replies, and says how far it can be trusted."""

import json
import sys

import numpy as np
import pytest

import dialoscope as ds
from dialoscope.core.errors import MissingExtra, TrainingError
from dialoscope.models.bilinear import ReplyVectors
from dialoscope.training import train_adem as adem
from dialoscope.training.bilinear_fit import (
    RatedVectors,
    assign_parts,
    calibrate,
    check_variance,
    cross_validate,
    find_stop,
    fit_form,
    initial_form,
    leave_systems_out,
)
from dialoscope.training.rating_correlation import correlations
from tests.unit.training import rated_replies

RECIPE = ds.AdemRecipe(model="fake", dims=6, seeds=2)


@pytest.fixture
def rated(rows):
    return rows(rated_replies.rows(), "rated.jsonl")


@pytest.fixture(scope="module")
def lesson():
    """Vectors of which ratings are a bilinear form, nearly."""
    chance = np.random.default_rng(0)
    sides = ReplyVectors(*(chance.normal(size=(120, 5)) for _ in range(3)))
    turned = chance.normal(size=(5, 5))
    said = ((sides.context @ turned + sides.reference) * sides.reply).sum(axis=1)
    return RatedVectors(sides, 3 + said / said.std() / 2 + chance.normal(size=120) / 20)


def test_it_starts_with_the_identity_and_scores_like_the_ratings(lesson):
    start = initial_form(lesson, 3)
    assert start.axes.shape == (5, 3)
    assert np.array_equal(start.context_matrix, np.eye(3))
    assert np.array_equal(start.reference_matrix, np.eye(3))
    said = start.ratings(lesson.sides)
    assert said.mean() == pytest.approx(lesson.ratings.mean())
    assert said.std() == pytest.approx(lesson.ratings.std())


def test_no_more_dimensions_are_kept_than_there_are(lesson):
    flat = RatedVectors(ReplyVectors(*(side * [1, 1, 0, 0, 0] for side in lesson.sides)), lesson.ratings)
    assert initial_form(flat, 50).axes.shape == (5, 2)


def test_descent_ends_where_the_equations_do(lesson):
    """The solution of the normal equations, by hand."""
    start = initial_form(lesson, 5)
    found = fit_form(start, lesson, ds.AdemRecipe(l2=0.5), 500)
    context, reference, reply = lesson.project(start).sides
    beta = start.scale[1]
    features = np.concatenate(
        [np.einsum("ni,nj->nij", side, reply).reshape(120, -1) / beta for side in (context, reference)],
        axis=1,
    )
    hold = 0.5 * (features**2).sum(axis=1).mean()
    centred = features - features.mean(axis=0)
    wrong = lesson.ratings - start.ratings(lesson.sides)
    change = np.linalg.solve(centred.T @ centred + hold * np.eye(50), centred.T @ (wrong - wrong.mean()))
    assert found.context_matrix == pytest.approx(np.eye(5) + change[:25].reshape(5, 5), abs=1e-8)
    assert found.reference_matrix == pytest.approx(np.eye(5) + change[25:].reshape(5, 5), abs=1e-8)
    assert found.ratings(lesson.sides).mean() == pytest.approx(lesson.ratings.mean())


def test_the_more_it_is_held_the_nearer_it_stays(lesson):
    start = initial_form(lesson, 5)
    far, near = (
        np.abs(fit_form(start, lesson, ds.AdemRecipe(l2=l2), 50).context_matrix - np.eye(5)).sum()
        for l2 in (0.1, 100)
    )
    assert near < far / 2


def test_no_steps_leave_it_as_it_began(lesson):
    start = initial_form(lesson, 5)
    found = fit_form(start, lesson, ds.AdemRecipe(), 0)
    assert all(np.array_equal(one, start.arrays()[name]) for name, one in found.arrays().items())


def test_it_stops_when_what_is_kept_apart_is_foretold_no_better(lesson):
    half = np.arange(120) < 60
    recipe = ds.AdemRecipe(l2=0, patience=3)
    found = find_stop(lesson.take(half), lesson.take(~half), recipe)
    errors = [one["validation"] for one in found.history]
    assert found.steps == int(np.argmin(errors)) > 0
    assert len(errors) == found.steps + 1 + 3
    assert [one["step"] for one in found.history] == list(range(len(errors)))
    assert found.history[-1]["training"] < found.history[0]["training"]
    few = find_stop(lesson.take(half), lesson.take(~half), ds.AdemRecipe(l2=0, steps=2))
    assert len(few.history) == 3


def test_equal_texts_teach_nothing(lesson):
    same = RatedVectors(ReplyVectors(*(np.ones((120, 5)) for _ in range(3))), lesson.ratings)
    with pytest.raises(TrainingError, match="All replies have the same vector"):
        initial_form(same, 5)


def test_a_context_is_in_one_part_and_the_order_of_replies_does_not_show():
    contexts = [f"c{place % 11}" for place in range(40)]
    parts = assign_parts(contexts, 4, seed=3)
    assert {
        len({part for part, one in zip(parts, contexts, strict=True) if one == name}) for name in contexts
    } == {1}
    assert sorted(np.bincount([parts[place] for place in range(11)])) == [2, 3, 3, 3]
    assert np.array_equal(assign_parts(contexts[::-1], 4, seed=3), parts[::-1])
    assert not np.array_equal(assign_parts(contexts, 4, seed=4), parts)


def test_too_few_contexts_are_told():
    with pytest.raises(TrainingError) as found:
        assign_parts(["a", "b", "a"], 5, seed=0)
    assert str(found.value) == (
        "There are 2 different contexts, which cannot be split into 5 parts; rate replies to more contexts, "
        "or split into fewer (--folds)."
    )


def test_what_is_kept_apart_is_foretold_by_models_that_never_met_it(lesson):
    """Replies with a rating of their own teach the others nothing of it."""
    contexts = [f"c{place % 30:02}" for place in range(120)]
    recipe = ds.AdemRecipe(dims=5)
    found = cross_validate(lesson, contexts, recipe, 0)
    apart = found.parts == 2
    other = lesson._replace(ratings=np.where(apart, 6 - lesson.ratings, lesson.ratings))
    again = cross_validate(other, contexts, recipe, 0)
    assert again.stops[2] == found.stops[2]
    assert np.array_equal(again.after[apart], found.after[apart])
    assert np.array_equal(again.before[apart], found.before[apart])
    assert not np.array_equal(again.after[~apart], found.after[~apart])
    assert np.corrcoef(found.after, lesson.ratings)[0, 1] > np.corrcoef(found.before, lesson.ratings)[0, 1]


def test_a_system_is_foretold_by_models_that_never_met_it(lesson):
    contexts = [f"c{place % 30:02}" for place in range(120)]
    systems = [f"s{place // 30}" for place in range(120)]
    recipe = ds.AdemRecipe(dims=5)
    told = cross_validate(lesson, contexts, recipe, 0)
    found = leave_systems_out(lesson, systems, told, recipe)
    own = np.array(systems) == "s1"
    other = lesson._replace(ratings=np.where(own, 6 - lesson.ratings, lesson.ratings))
    assert np.array_equal(leave_systems_out(other, systems, told, recipe)[own], found[own])
    assert not np.isnan(found).any()
    assert np.isnan(leave_systems_out(lesson, ["one"] * 120, told, recipe)).all()


def test_scores_are_put_where_people_are_on_contexts_not_met(lesson):
    contexts = [f"c{place % 30:02}" for place in range(120)]
    told = cross_validate(lesson, contexts, ds.AdemRecipe(dims=5), 0)
    start = initial_form(lesson, 5)
    found = calibrate(start, [told], lesson.ratings)
    slope, offset = np.polyfit(told.after, lesson.ratings, 1)
    assert found.ratings(lesson.sides) == pytest.approx(offset + slope * start.ratings(lesson.sides))
    assert found.limit == pytest.approx(np.percentile(told.strangeness, 99))


def test_what_goes_against_people_is_refused(lesson):
    contexts = [f"c{place % 30:02}" for place in range(120)]
    told = cross_validate(lesson, contexts, ds.AdemRecipe(dims=5), 0)
    with pytest.raises(
        TrainingError, match="On held-out contexts, predictions do not correlate with ratings"
    ):
        calibrate(initial_form(lesson, 5), [told], 6 - lesson.ratings)


def test_too_little_beside_what_is_kept_apart_is_told(lesson):
    chosen = np.arange(120) < 5
    with pytest.raises(TrainingError, match="5 rated replies are left: too few, or all with the same rating"):
        check_variance(lesson.take(chosen))


def test_a_checkpoint_is_left_with_card_history_and_figures(rated, tmp_path, capsys):
    found = ds.train_adem(rated, tmp_path / "my-adem", RECIPE, licence="CC0")
    assert sorted(path.name for path in found.folder.iterdir()) == [
        "card.md",
        "history.jsonl",
        "spec.json",
        "weights.safetensors",
    ]
    assert ds.Checkpoint.load(found.folder).hash == found.hash
    figures = found.spec["figures"]
    assert figures["contexts"]["after"]["spearman"]["mean"] > 0.3
    assert set(figures["systems"]["each"]) == {"good", "fair", "poor"}
    assert figures["systems"]["mean"]["n"] == 72
    card = (found.folder / "card.md").read_text(encoding="utf-8")
    assert "# my-adem\n\nA bilinear form over 6 dimensions of `fake`" in card
    assert "Ratings and their scales: overall: 1 to 5." in card
    assert "72 rated replies of 3 systems to 24 contexts; left out: none." in card
    assert "Licence of the data: CC0." in card
    assert "| `good` | 24 |" in card
    history = [json.loads(line) for line in (found.folder / "history.jsonl").read_text().splitlines()]
    assert {(one["seed"], one["part"]) for one in history} == {(s, p) for s in (0, 1) for p in range(5)}
    told = capsys.readouterr().err
    assert "72 rated replies of 3 systems to 24 contexts; ratings of overall from 1 to 5, mapped to" in told
    assert "Left out: none." in told
    assert "Spearman on held-out contexts: " in told


def test_the_same_training_leaves_the_same_weights(rated, tmp_path):
    one, other = (ds.train_adem([rated], tmp_path / name, RECIPE, aspects="overall").hash for name in "ab")
    assert one == other
    assert ds.train_adem(rated, tmp_path / "c", RECIPE.replace(seed=1)).hash != one


def test_a_training_that_was_killed_at_the_end_begins_anew(rated, tmp_path, monkeypatch):
    whole = ds.train_adem(rated, tmp_path / "whole", RECIPE)

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(adem, "finish", killed)
        with pytest.raises(KeyboardInterrupt):
            ds.train_adem(rated, tmp_path / "x", RECIPE)
    assert not (tmp_path / "x" / "spec.json").exists()
    with pytest.raises(TrainingError, match="the beginning of a training with other settings or data"):
        ds.train_adem(rated, tmp_path / "x", RECIPE.replace(dims=3))
    assert ds.train_adem(rated, tmp_path / "x", RECIPE).hash == whole.hash
    with pytest.raises(TrainingError, match="holds a finished checkpoint"):
        ds.train_adem(rated, tmp_path / "x", RECIPE)


def test_too_few_rated_replies_are_told_with_what_others_lack(rows, tmp_path):
    few = rated_replies.rows(5)
    for row in few[:3]:
        row["references"] = []
    with pytest.raises(TrainingError) as found:
        ds.train_adem(rows(few), tmp_path / "x", RECIPE)
    assert str(found.value) == (
        "There are 12 rated replies with context and reference for training, and at least 20 are needed "
        "(3 without reference)."
    )
    with pytest.raises(TrainingError, match=r"at least 20 are needed\.$"):
        ds.train_adem(rows(rated_replies.rows(2)), tmp_path / "x", RECIPE)
    assert not (tmp_path / "x").exists()


def test_ratings_that_are_all_the_same_are_told(rows, tmp_path):
    same = rows(rated_replies.rows(ratings={"overall": 3}))
    with pytest.raises(TrainingError) as found:
        ds.train_adem(same, tmp_path / "x", RECIPE)
    assert str(found.value) == ("All 72 replies have the same rating; no model can be fitted to that.")
    assert not (tmp_path / "x").exists()


def test_where_there_is_one_system_none_can_be_left_out(rows, tmp_path, capsys):
    found = ds.train_adem(rows(rated_replies.rows(40, systems=("only",))), tmp_path / "x", RECIPE)
    assert np.isnan(found.spec["figures"]["systems"]["mean"]["unseen"]["spearman"])
    card = (tmp_path / "x" / "card.md").read_text(encoding="utf-8")
    assert "| undefined |" in card
    assert "Warning" not in card
    assert "undefined for held-out ones" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seen", "unseen", "warns"), [(0.5, 0.3, False), (0.5, 0.2, True), (0.12, 0.09, True)]
)
def test_it_warns_where_it_knows_systems_rather_than_replies(seen, unseen, warns):
    told = adem._make_warning({"seen": {"spearman": seen}, "unseen": {"spearman": unseen}})
    assert (
        told.startswith(f"Within the replies of a held-out system, Spearman's correlation is {unseen}")
        == warns
    )


def test_a_warning_stands_in_the_card_and_is_told(rated, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(adem, "WEAK", 2.0)
    found = ds.train_adem(rated, tmp_path / "x", RECIPE)
    assert f"**Warning.** {found.spec['figures']['warning']}" in (tmp_path / "x" / "card.md").read_text()
    assert found.spec["figures"]["warning"] in capsys.readouterr().err


def test_correlations_of_two_replies_or_of_equal_ones_are_undefined():
    one, few = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0])
    assert correlations(one, one) == pytest.approx((1, 1))
    assert np.isnan(correlations(one, np.ones(3)).pearson)
    assert np.isnan(correlations(few, few).spearman)
    assert np.isnan(adem._summarise([float("nan")])["mean"])


def test_without_safetensors_it_says_what_to_install(rated, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(
        MissingExtra, match=r"Training needs safetensors. Install it with: pip install 'dialoscope\[train\]'"
    ):
        ds.train_adem(rated, tmp_path / "x", RECIPE)
