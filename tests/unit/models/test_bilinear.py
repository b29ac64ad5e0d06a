"""A checkpoint of ADEM as a model that foretells ratings, and what is refused."""

import json
import math
import sys
from hashlib import sha256

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import dialoscope as ds
from dialoscope.core.errors import BackendError, MissingExtra
from dialoscope.models.bilinear import BilinearRegressor, _load, encode_replies
from dialoscope.models.checkpoints import WEIGHTS
from dialoscope.models.fakes import FakeEncoder
from dialoscope.models.locations import SPEC
from tests.unit.training import rated_replies

REPLY = ds.Example("1", "s", "honey and tea", ("What is there?",), ("tea with honey",))


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A checkpoint over the stand-in for an encoder."""
    folder = tmp_path_factory.mktemp("adem")
    (folder / "rated.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rated_replies.rows()))
    recipe = ds.AdemRecipe(model="fake", dims=4, seeds=1)
    return ds.train_adem(folder / "rated.jsonl", folder / "checkpoint", recipe).folder


@pytest.fixture
def copy(trained, tmp_path):
    """The same, to be damaged."""
    place = tmp_path / "copy"
    place.mkdir()
    for file in trained.iterdir():
        (place / file.name).write_bytes(file.read_bytes())
    return place


def change_spec(folder, **changes):
    spec = json.loads((folder / SPEC).read_text())
    (folder / SPEC).write_text(json.dumps({**spec, **changes}))


def seal(folder):
    """Note the hash of the weights as they are."""
    own = f"{WEIGHTS} {sha256((folder / WEIGHTS).read_bytes()).hexdigest()}\n"
    change_spec(folder, hash=sha256(own.encode()).hexdigest())


def test_the_rating_is_the_formula_of_the_paper(trained):
    weights = load_file(trained / WEIGHTS)
    context, reference, reply = (
        (vector - weights["mean"]) @ weights["axes"]
        for vector in FakeEncoder().encode([REPLY.context[0], REPLY.references[0], REPLY.response])
    )
    alpha, beta = weights["scale"]
    wanted = (
        context @ weights["context_matrix"] @ reply + reference @ weights["reference_matrix"] @ reply - alpha
    ) / beta
    ((rating, strangeness),) = BilinearRegressor(str(trained)).rate([REPLY])
    assert rating == pytest.approx(wanted)
    assert strangeness > 0


def test_company_does_not_show(trained):
    other = ds.Example("2", "s", "bread", ("More?", "Yes."), ("eggs", "rice", " "))
    alone = [BilinearRegressor(str(trained)).rate([one])[0] for one in (REPLY, other)]
    assert BilinearRegressor(str(trained)).rate([REPLY, other, REPLY]) == pytest.approx(
        np.array([*alone, alone[0]])
    )
    assert BilinearRegressor(str(trained)).rate([]).shape == (0, 2)


def test_of_several_references_the_mean_counts(trained):
    def rated(*references):
        return BilinearRegressor(str(trained)).rate([ds.Example("1", "s", "tea", ("And?",), references)])[
            0, 0
        ]

    assert rated("rice", "milk tea") == pytest.approx((rated("rice") + rated("milk tea")) / 2)
    assert rated("rice", "  ") == rated("rice")


def test_only_the_last_turns_are_read():
    turns = ("a", " ", "b", "c")
    (one,) = encode_replies(FakeEncoder(), [ds.Example("1", "s", "x", turns, ("y",))], 2).context
    assert np.flatnonzero(one).tolist() == [1, 2]


@pytest.mark.parametrize(
    "reply",
    [
        ds.Example("1", "s", " ", ("a",), ("b",)),
        ds.Example("1", "s", "x", (), ("b",)),
        ds.Example("1", "s", "x", (" ",), ("b",)),
        ds.Example("1", "s", "x", ("a",), ()),
        ds.Example("1", "s", "x", ("a",), ("",)),
    ],
)
def test_a_reply_that_lacks_something_is_undefined_and_spoils_no_other(trained, reply):
    found = BilinearRegressor(str(trained)).rate([reply, REPLY])
    assert np.isnan(found[0]).all()
    assert found[1] == pytest.approx(BilinearRegressor(str(trained)).rate([REPLY])[0])


def test_what_is_like_nothing_in_training_is_strange(trained):
    odd = ds.Example("1", "s", "zzzz xxxxxx vvvv", ("qqqq zzzz",), ("wwww",))
    known = ds.Example("1", "s", "bread and tea", ("Well?", "Do we have bread and tea, 3?"), ("bread",))
    strange, usual = BilinearRegressor(str(trained)).rate([odd, known])[:, 1]
    assert strange > 1 > usual


def test_a_moved_encoder_can_be_named_and_changes_no_signature(trained):
    moved = BilinearRegressor(str(trained), encoder="fake", device="cpu")
    assert moved == BilinearRegressor(str(trained))
    assert moved.fingerprint == BilinearRegressor(str(trained)).fingerprint


def test_its_fingerprint_changes_with_its_files(trained, copy):
    before = BilinearRegressor(str(copy)).fingerprint
    assert before == BilinearRegressor(str(trained)).fingerprint
    change_spec(copy, anything=1)
    assert BilinearRegressor(str(copy)).fingerprint != before


def test_it_can_be_held_to_the_weights_that_are_there(trained):
    pinned = BilinearRegressor(str(trained)).pinned
    assert pinned.hash == ds.Checkpoint.load(trained).hash[:8]
    assert pinned.pinned is pinned
    assert np.array_equal(pinned.rate([REPLY]), BilinearRegressor(str(trained)).rate([REPLY]))
    for name in ("", "no such folder", "~nobody-at-all/x"):
        assert BilinearRegressor(name).pinned == BilinearRegressor(name)


def refused(folder, **how):
    with pytest.raises(BackendError) as found:
        BilinearRegressor(str(folder), **how).rate([REPLY])
    return str(found.value)


def test_without_a_checkpoint_it_says_how_to_train_one():
    assert refused("") == (
        "adem needs a checkpoint; Dialoscope has none, since rated replies can rarely be redistributed. "
        "Train one with: dialoscope train adem RATED.jsonl -o FOLDER, and use it with: "
        "adem:checkpoint=FOLDER."
    )


def test_what_is_no_checkpoint_of_adem_is_refused(tmp_path, copy):
    told = "is not a checkpoint for adem; dialoscope train adem RATED.jsonl -o FOLDER writes one."
    assert refused(tmp_path / "none") == f"'{tmp_path / 'none'}' {told}"
    change_spec(copy, recipe="lm")
    assert refused(copy) == f"'{copy}' {told}"
    (copy / WEIGHTS).unlink()
    assert refused(copy) == f"'{copy}' {told}"


def test_a_checkpoint_that_was_trained_again_is_refused(trained):
    has = ds.Checkpoint.load(trained).hash[:8]
    assert refused(trained, hash="0123abcd") == (
        f"The weights in {trained} have the hash {has}, but those with 0123abcd are needed: the model was "
        "trained again."
    )


def test_another_encoder_is_refused(copy):
    change_spec(copy, model="another")
    assert refused(copy) == (
        f"{copy} was trained with the encoder 'fake', but 'fake' is different now. Give the "
        "location of the original one (checkpoint.encoder=FOLDER), or train again."
    )


@pytest.mark.parametrize("settings", [None, {}, {"turns": "x", "model": "fake"}])
def test_a_damaged_spec_is_refused(copy, settings):
    change_spec(copy, settings=settings)
    assert refused(copy).startswith(f"{copy / SPEC} is damaged: ")
    assert refused(copy).endswith("is missing or invalid. Train again.")


def test_truncated_weights_are_refused(copy):
    whole = (copy / WEIGHTS).read_bytes()
    (copy / WEIGHTS).write_bytes(whole[: len(whole) // 2])
    told = f"{copy / WEIGHTS} is damaged: "
    assert refused(copy) == f"{told}the weights have changed since the training. Train again."
    seal(copy)  # even where somebody notes the hash of what is left
    assert refused(copy).startswith(told)
    assert refused(copy).endswith(" Train again.")


@pytest.mark.parametrize("name", ["scale", "spread", "axes"])
@pytest.mark.parametrize("damage", ["lacking", "nan", "size", "type"])
def test_weights_that_are_not_as_they_should_be_are_refused(copy, name, damage):
    weights = load_file(copy / WEIGHTS)
    array = weights.pop(name)
    weights |= {
        "lacking": {},
        "nan": {name: array * math.nan},
        "size": {name: np.concatenate([array, array])},
        "type": {name: array.astype(np.float32)},
    }[damage]
    save_file(weights, copy / WEIGHTS)
    seal(copy)
    assert refused(copy).startswith(f"{copy / WEIGHTS} is damaged: ")


def test_weights_of_vectors_of_another_size_are_refused(copy):
    weights = load_file(copy / WEIGHTS)
    weights |= {name: np.concatenate([weights[name], weights[name][:1]]) for name in ("mean", "axes")}
    save_file(weights, copy / WEIGHTS)
    seal(copy)
    assert refused(copy) == (
        f"{copy / WEIGHTS} is damaged: its sizes differ from those of the encoder's vectors. Train again."
    )


def test_without_safetensors_it_says_what_to_install(copy, monkeypatch):
    change_spec(copy, anything=2)
    _load.cache_clear()
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(MissingExtra, match="The metric adem needs safetensors"):
        BilinearRegressor(str(copy)).rate([REPLY])
