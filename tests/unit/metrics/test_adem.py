"""ADEM: what it makes of what a checkpoint foretells."""

import json
import math

import numpy as np
import pytest

import dialoscope as ds
from dialoscope.core.errors import BackendError
from dialoscope.core.tally import Sums
from dialoscope.models.bilinear import BilinearRegressor
from dialoscope.text.batch import Batch
from tests.unit.models.test_bilinear import trained  # noqa: F401 - a fixture
from tests.unit.training import rated_replies


def reply(number, text, **more):
    has = {"context": ("what shall we have",), "references": ("some tea",)}
    return ds.Example(str(number), more.pop("system", "s"), text, **{**has, **more})


def test_ratings_beyond_the_scale_are_cut_at_its_ends():
    examples = [reply(1, "some tea"), reply(2, "oh dear"), reply(3, "some rum")]
    metric = ds.metric("adem:checkpoint=fake")
    tally = metric.measure(Batch(examples))
    assert tally.rows[:, 0].tolist() == [5.5, 0.5, 3.0]
    assert metric.score_each(tally).tolist() == [5, 1, 3]
    assert metric.score(tally) == 3
    assert metric.bounds == (1, 5)


def test_without_words_context_or_references_it_is_undefined():
    examples = [reply(1, " "), reply(2, "tea", context=()), reply(3, "tea", references=()), reply(4, "tea")]
    values = ds.evaluate(examples, "adem:checkpoint=fake", missing="undefined").values("adem:checkpoint=fake")
    assert [math.isnan(value) for value in values] == [True, True, True, False]


def test_the_share_of_strange_replies_stands_beside_it_and_many_are_warned_of():
    known = [reply(place, "some tea", system="known") for place in range(40)]
    odd = [reply(place, "oh dear" if place < 3 else "some tea", system="odd") for place in range(40)]
    result = ds.evaluate([*known, *odd], "adem:checkpoint=fake")
    notes = "\n".join(result.table().notes(details=True))
    assert "adem:checkpoint=fake of known: far 0; odd: far 0.075." in notes
    assert (
        "adem:checkpoint=fake: more than 5% of replies are farther from the training data of the "
        "checkpoint than 99 of 100 rated replies were (far); their predicted ratings are guesses. Train a "
        "checkpoint on replies and contexts of this kind."
    ) in notes
    alone = ds.evaluate(known, "adem:checkpoint=fake")
    assert "are guesses" not in "\n".join(alone.table().notes())


def test_where_no_reply_has_a_number_nothing_is_said_of_strange_ones():
    nothing = Sums(np.full((2, 2), math.nan))
    metric = ds.Adem("fake")
    assert math.isnan(metric.notes(nothing).numbers["far"])
    assert metric.notes(nothing).warning == ""


def test_its_name_and_signature_say_which_weights_it_is_of(trained, tmp_path):  # noqa: F811
    begins = ds.Checkpoint.load(trained).hash[:8]
    metric = ds.metric(f"adem:checkpoint={trained}")
    assert str(metric) == f"adem:checkpoint={trained},checkpoint.hash={begins}"
    assert metric.signature == f"adem|checkpoint:[bilinear|model:{trained}|hash:{begins}|v:2]|v:2"
    assert metric == ds.metric(str(metric)) == ds.Adem(trained) == ds.Adem(BilinearRegressor(str(trained)))
    gone = ds.metric(f"adem:checkpoint={tmp_path / 'gone'},checkpoint.hash=0123abcd")
    assert str(gone) == f"adem:checkpoint={tmp_path / 'gone'},checkpoint.hash=0123abcd"


def test_a_run_can_be_read_after_its_checkpoint_is_gone(trained, tmp_path):  # noqa: F811
    place = tmp_path / "checkpoint"
    place.mkdir()
    for file in trained.iterdir():
        (place / file.name).write_bytes(file.read_bytes())
    result = ds.evaluate([reply(1, "honey"), reply(2, "tea and rice")], f"adem:checkpoint={place}")
    result.save(tmp_path / "run")
    (place / "spec.json").unlink()
    again = ds.Result.load(tmp_path / "run")
    assert again.score(again.metrics[0], "s") == result.score(result.metrics[0], "s")
    assert [*again.provenance.models.values()] == [BilinearRegressor(str(trained)).fingerprint]


def test_without_a_checkpoint_it_is_refused_before_anything_is_computed():
    with pytest.raises(BackendError, match="adem needs a checkpoint; Dialoscope has none"):
        ds.evaluate([reply(1, "tea")], "adem")


def test_a_real_encoder_can_be_trained_on_and_scored_with(minilm, tmp_path):
    rows = rated_replies.rows(30, systems=("good", "poor"))
    file = tmp_path / "rated.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = ds.train_adem(file, tmp_path / "x", ds.AdemRecipe(dims=5, folds=3, seeds=1, device="cpu"))
    assert found.spec["settings"]["model"] == "minilm"
    result = ds.evaluate(ds.read(file), f"adem:checkpoint={found.folder},checkpoint.device=cpu")
    people = [np.mean(row["ratings"]["Overall"]) for row in rows]
    assert np.corrcoef(result.values(result.metrics[0]), people)[0, 1] > 0.3
