"""ADEM's form and descent against scikit-learn's PCA and ridge regression."""

import json

import numpy as np
import pytest

import dialoscope as ds
from dialoscope.models.bilinear import encode_replies, resolve_encoder
from dialoscope.training.bilinear_fit import RatedVectors, fit_form, initial_form
from tests.golden._shared import HERE, load_texts

FILE = json.loads((HERE / "adem.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", FILE["cases"], ids=lambda case: str(case["settings"]["steps"]))
def test_what_is_foretold_is_what_ridge_regression_foretells(case):
    texts = {row["id"]: row for row in load_texts()}
    sides = ("context", "references")
    replies = [
        ds.Example(one, "s", texts[one]["response"], **{side: tuple(texts[one][side]) for side in sides})
        for one in FILE["ratings"]
    ]
    recipe = ds.AdemRecipe(**case["settings"] | {"steps": 1000})
    lesson = RatedVectors(
        encode_replies(resolve_encoder("fake"), replies, recipe.turns), np.array([*FILE["ratings"].values()])
    )
    found = fit_form(initial_form(lesson, recipe.dims), lesson, recipe, case["settings"]["steps"])
    assert found.ratings(lesson.sides) == pytest.approx([*case["replies"].values()], abs=1e-6)
    assert found.ratings(lesson.sides).mean() == pytest.approx(case["system"])
