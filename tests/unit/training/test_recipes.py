"""Recipes: what can be chosen, what cannot, and what the outcome depends on."""

import dataclasses

import pytest

import dialoscope as ds
from dialoscope.core.errors import TrainingError
from dialoscope.training.recipes import GROUPS, settings_of


def test_settings_are_what_the_outcome_depends_on():
    assert ds.LmRecipe().settings() == {
        "model": "smollm2",
        "method": "lora",
        "rank": 8,
        "epochs": 4,
        "learning_rate": 1e-3,
        "batch": 8192,
        "dropout": 0.0,
        "patience": 1,
        "seed": 0,
        "max_tokens": 384,
        "begin": 0.25,
        "restyle": 0.3,
        "contrast": 0.0,
        "turns": 4,
        "negatives": ["random", "random", "near", "dialogue", "spliced", "shuffled", "repeated"],
        "each": 2,
        "pairs": 12000,
    }
    assert ds.NliRecipe().settings() == {
        "model": "mpnet",
        "method": "lora",
        "rank": 20,
        "epochs": 3,
        "learning_rate": 5e-4,
        "batch": 128,
        "dropout": 0.05,
        "patience": 1,
        "seed": 0,
        "max_tokens": 160,
        "made": 12000,
        "teacher": "",
        "swapped": 0.0,
    }


def test_where_and_how_long_it_runs_is_no_matter():
    assert ds.LmRecipe(device="cpu", minutes=3) == ds.LmRecipe()
    assert ds.LmRecipe(seed=1) != ds.LmRecipe()


def test_what_is_not_given_stays():
    assert ds.LmRecipe().replace(epochs=2, seed=None, begin=0.0) == ds.LmRecipe(epochs=2, begin=0.0)


@pytest.mark.parametrize(
    ("recipe", "settings", "told"),
    [
        (ds.LmRecipe, {"method": "qlora"}, "method is 'qlora'; it must be one of: lora, full."),
        (ds.LmRecipe, {"rank": 0}, "rank is 0; it must be 1 or more."),
        (ds.LmRecipe, {"epochs": 0}, "epochs is 0; it must be 1 or more."),
        (ds.NliRecipe, {"batch": -1}, "batch is -1; it must be 1 or more."),
        (ds.NliRecipe, {"patience": 0}, "patience is 0; it must be 1 or more."),
        (ds.LmRecipe, {"learning_rate": 0.0}, "learning_rate is 0.0; it must be between 1e-12 and 1."),
        (
            ds.LmRecipe,
            {"learning_rate": float("nan")},
            "learning_rate is nan; it must be between 1e-12 and 1.",
        ),
        (ds.LmRecipe, {"minutes": -1}, "minutes is -1; it must be 0 or more."),
        (ds.LmRecipe, {"seed": -1}, "seed is -1; it must be between 0 and 4294967295."),
        (ds.LmRecipe, {"seed": 2**32}, "seed is 4294967296; it must be between 0 and 4294967295."),
        (ds.LmRecipe, {"dropout": 1.0}, "dropout is 1.0; it must be between 0 and 0.99."),
        (ds.LmRecipe, {"max_tokens": 1}, "max_tokens is 1; it must be 2 or more."),
        (ds.LmRecipe, {"begin": 1.5}, "begin is 1.5; it must be between 0 and 1."),
        (ds.LmRecipe, {"restyle": -0.1}, "restyle is -0.1; it must be between 0 and 1."),
        (ds.NliRecipe, {"made": -1}, "made is -1; it must be 0 or more."),
    ],
)
def test_settings_that_make_no_sense_are_refused(recipe, settings, told):
    with pytest.raises(TrainingError) as caught:
        recipe(**settings)
    assert str(caught.value) == told


@pytest.mark.parametrize("recipe", [ds.LmRecipe(), ds.NliRecipe()])
def test_recipes_cannot_be_changed(recipe):
    with pytest.raises(dataclasses.FrozenInstanceError):
        recipe.epochs = 9


RECIPES = [ds.LmRecipe, ds.NliRecipe, ds.CrossRecipe, ds.RuberRecipe, ds.AdemRecipe]


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_field_is_declared_with_help_and_group(recipe):
    declared = settings_of(recipe)
    assert {field.name for field in dataclasses.fields(recipe)} == set(declared)
    for setting in declared.values():
        assert setting.help.endswith(".")
        assert setting.group in GROUPS


def test_a_new_default_keeps_the_range_of_the_base():
    assert settings_of(ds.LmRecipe)["pairs"] == settings_of(ds.CrossRecipe)["pairs"]
    with pytest.raises(TrainingError, match=r"^pairs is 0; it must be 1 or more\.$"):
        ds.LmRecipe(pairs=0)


def test_checkpoints_keep_the_names_of_renamed_settings():
    settings = ds.RuberRecipe(negatives_per_pair=3, negative_pool=5).settings()
    assert (settings["each"], settings["ready"]) == (3, 5)
    assert not {"negatives_per_pair", "negative_pool"} & set(settings)
