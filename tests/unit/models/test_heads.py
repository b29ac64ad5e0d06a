"""Heads as classifiers: what they compute by hand, what stands beside a pair, and what is refused."""

import json
import pickle
import shutil
import sys
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import dialoscope as ds
from dialoscope.core.errors import BackendError, MissingExtra
from dialoscope.core.signature import signature
from dialoscope.models import heads
from dialoscope.models import protocols as base
from dialoscope.models.classifier import TransformerClassifier
from dialoscope.models.fakes import FakeEncoder, FakeWordVectors
from dialoscope.models.features import Features
from dialoscope.models.heads import HeadClassifier, Shape, is_head
from dialoscope.models.named_models import resolve_model
from dialoscope.models.protocols import Classifier, Pair
from tests.unit.models.tiny import SENTENCES

pytestmark = pytest.mark.usefixtures("one_thread")

PAIRS = [Pair(first, second) for first in SENTENCES for second in SENTENCES]
SMALL = {"units": 3, "layers": 2, "perceptron": [5, 4], "dropout": 0.0}
GRID = [(rep, goal) for rep in ("bi-gru", "max", "mean") for goal in ("ranking", "cross-entropy")]


def checkpoint(folder, representation="max", objective="cross-entropy", dims=26, model="fake", **told):
    """A head with weights of chance."""
    from dialoscope.models.engines.heads import Head

    folder.mkdir()
    settings = {
        "representation": representation, "objective": objective, "turns": 1, "embedding": "fake", **SMALL,
        **told,
    }  # fmt: skip
    torch.manual_seed(3)
    head = Head(Shape.of(settings), dims)
    with torch.no_grad():
        head.bilinear.normal_(std=0.3)
    written(folder, {name: one.clone() for name, one in head.state_dict().items()}, settings, dims, model)
    return folder


def written(folder, weights, settings, dims=26, model="fake"):
    save_file(weights, folder / "weights.safetensors")
    found = sha256((folder / "weights.safetensors").read_bytes()).hexdigest()
    own = sha256(f"weights.safetensors {found}\n".encode()).hexdigest()
    spec = {"recipe": "ruber", "settings": settings, "model": model, "dims": dims, "hash": own}
    (folder / "spec.json").write_text(json.dumps(spec))


# What is computed


def sigmoid(values):
    return 1 / (1 + np.exp(-values))


def gated(weights, rows, layer, way):
    """The last state of a gated recurrent unit, and all states."""
    end = f"_l{layer}{way}"
    state, states = np.zeros(SMALL["units"]), []
    for row in rows[::-1] if way else rows:
        read = weights[f"weight_ih{end}"] @ row + weights[f"bias_ih{end}"]
        kept = weights[f"weight_hh{end}"] @ state + weights[f"bias_hh{end}"]
        (reset, update, new), (reset_kept, update_kept, new_kept) = (np.split(one, 3) for one in (read, kept))
        gate = sigmoid(update + update_kept)
        proposed = np.tanh(new + sigmoid(reset + reset_kept) * new_kept)
        state = (1 - gate) * proposed + gate * state
        states.append(state)
    return state, states[::-1] if way else states


def read(weights, name, rows):
    """Two layers in both directions."""
    own = {key.removeprefix(f"{name}."): one for key, one in weights.items() if key.startswith(name)}
    for layer in range(SMALL["layers"]):
        (left, lefts), (right, rights) = (gated(own, rows, layer, way) for way in ("", "_reverse"))
        rows = [np.concatenate(both) for both in zip(lefts, rights, strict=True)]
    return np.concatenate([left, right])


def by_hand(folder, pair):
    """How surely the reply is right, with numpy alone."""
    spec = json.loads((folder / "spec.json").read_text())["settings"]
    weights = {name: one.double().numpy() for name, one in load_file(folder / "weights.safetensors").items()}
    rows = [found.vectors.astype(float) for found in FakeEncoder().encode_tokens(list(pair))]
    if spec["representation"] == "bi-gru":
        query, reply = read(weights, "query_reader", rows[0]), read(weights, "reply_reader", rows[1])
    else:
        query, reply = (getattr(part, spec["representation"])(axis=0) for part in rows)
    state = np.concatenate([query, reply, [query @ weights["bilinear"] @ reply]])
    for layer in (0, 2):
        state = np.tanh(weights[f"perceptron.{layer}.weight"] @ state + weights[f"perceptron.{layer}.bias"])
    last = weights["perceptron.5.weight"] @ state + weights["perceptron.5.bias"]
    return sigmoid(last[0]) if spec["objective"] == "ranking" else np.exp(last[1]) / np.exp(last).sum()


@pytest.mark.parametrize(("representation", "objective"), GRID)
def test_the_whole_grid_computes_what_numpy_computes(tmp_path, no_scores, representation, objective):
    folder = checkpoint(tmp_path / "head", representation, objective)
    found = HeadClassifier(str(folder), device="cpu").classify(PAIRS)
    assert found.shape == (len(PAIRS), 2)
    assert np.allclose(found.sum(axis=1), 1)
    expected = [by_hand(folder, pair) for pair in PAIRS]
    assert np.allclose(found[:, 1], expected, atol=1e-6)
    assert np.ptp(found[:, 1]) > 0.01


@pytest.mark.parametrize("representation", ["bi-gru", "max"])
def test_order_and_what_stands_beside_a_pair_do_not_show(tmp_path, no_scores, monkeypatch, representation):
    from dialoscope.models.engines import heads as head_engine

    judge = HeadClassifier(str(checkpoint(tmp_path / "head", representation)), device="cpu")
    whole = judge.classify(PAIRS)
    assert np.allclose(judge.classify(PAIRS[::-1])[::-1], whole, rtol=0, atol=1e-14)
    alone = np.concatenate([judge.classify([pair]) for pair in PAIRS[:9]])
    assert np.allclose(alone, whole[:9], rtol=0, atol=1e-14)
    monkeypatch.setattr(head_engine, "_AT_ONCE", 4)
    assert np.allclose(judge.classify(PAIRS), whole, rtol=0, atol=1e-14)
    assert judge.classify([]).shape == (0, 2)


@pytest.mark.parametrize("representation", ["bi-gru", "max"])
def test_where_nothing_is_said_nothing_is_judged(tmp_path, no_scores, representation):
    judge = HeadClassifier(str(checkpoint(tmp_path / "head", representation)), device="cpu")
    told = [Pair("tea", "milk"), Pair("tea", ""), Pair("", "milk"), Pair("tea", " \n"), Pair("tea\n", "milk")]
    assert np.isnan(judge.classify(told)).all(axis=1).tolist() == [False, True, True, True, True]
    assert np.isnan(judge.classify(told[1:2])).all()


def test_as_many_turns_are_read_as_were_learned_from(tmp_path, no_scores):
    one, two = (
        HeadClassifier(str(checkpoint(tmp_path / f"{turns}", turns=turns)), device="cpu") for turns in (1, 2)
    )
    shorter, longer = Pair("b c", "d"), Pair("a\nb c", "d")
    assert np.array_equal(one.classify([longer]), one.classify([shorter]))
    assert not np.array_equal(two.classify([longer]), two.classify([shorter]))
    assert np.array_equal(two.classify([Pair("z\na\nb c", "d")]), two.classify([longer]))


def test_word_vectors_serve_as_well(tmp_path, no_scores, monkeypatch):
    monkeypatch.setattr(heads, "resolve_embedding", lambda name, device: FakeWordVectors())
    judge = HeadClassifier(str(checkpoint(tmp_path / "head", "mean")), device="cpu")
    found = judge.classify([Pair("tea", "milk"), Pair("tea", "12")])
    assert np.isnan(found).all(axis=1).tolist() == [False, True]


# What it is


def test_it_is_a_classifier_that_can_be_signed_copied_and_compared(tmp_path, no_scores):
    judge = HeadClassifier(str(checkpoint(tmp_path / "head")))
    assert isinstance(judge, Classifier)
    assert judge.labels == ("wrong", "right")
    assert str(judge) == str(tmp_path / "head")
    assert signature(judge) == f"head|model:{tmp_path / 'head'}|hash:|v:2"
    assert judge == replace(judge, device="cpu") == pickle.loads(pickle.dumps(judge))  # noqa: S301


def test_other_weights_have_another_fingerprint(tmp_path):
    one = HeadClassifier(str(checkpoint(tmp_path / "one")))
    same = HeadClassifier(str(shutil.copytree(tmp_path / "one", tmp_path / "same")))
    other = HeadClassifier(str(checkpoint(tmp_path / "other", "mean")))
    assert one.fingerprint == same.fingerprint != other.fingerprint


def test_each_pair_is_judged_once(tmp_path, own_scores, monkeypatch):
    judge = HeadClassifier(str(checkpoint(tmp_path / "head")), device="cpu")
    whole = judge.classify(PAIRS)
    monkeypatch.setattr(Features, "pool", lambda *_: pytest.fail("it was read again"))
    assert np.array_equal(judge.classify(PAIRS[::-1])[::-1], whole)


def test_a_folder_is_known_by_what_it_holds(tmp_path):
    folder = checkpoint(tmp_path / "head")
    assert resolve_model(base.Classifier, str(folder)) == HeadClassifier(str(folder))
    own = replace(HeadClassifier("x"), device="cpu")
    assert resolve_model(base.Classifier, str(folder), own) == replace(own, model=str(folder))
    for name in ("nli", "smollm2", "head", str(tmp_path), "x" * 5000):
        assert not is_head(name)
        assert resolve_model(base.Classifier, name) == TransformerClassifier(name)
    shutil.copytree(folder, tmp_path / "lm")
    (tmp_path / "lm" / "spec.json").write_text('{"recipe": "lm"}')
    assert not is_head(str(tmp_path / "lm"))


def test_metrics_take_it_by_the_folders_name(tmp_path, no_scores):
    judge = HeadClassifier(str(checkpoint(tmp_path / "head")))
    metric = ds.metric(f"ruber-unreferenced:model={judge.model}")
    assert metric.model == judge.pinned != judge
    assert metric.model.pinned == metric.model
    noted = json.loads((tmp_path / "head" / "spec.json").read_text())["hash"]
    assert f"[head|model:{judge.model}|hash:{noted[:8]}|v:2]" in metric.signature
    assert ds.metric(str(metric)) == metric
    told = ds.metric(f"ruber-unreferenced:model={judge.model},model.embedding=elsewhere")
    assert told.model.embedding == "elsewhere"


# What is refused


def refused(folder, message, **settings):
    with pytest.raises(BackendError) as error:
        HeadClassifier(str(folder), device="cpu", **settings).classify(PAIRS[:2])
    assert str(error.value).startswith(message)


def test_what_is_no_head_is_refused(tmp_path):
    told = "is not the folder of a head; `dialoscope train ruber` writes one."
    refused(tmp_path, f"'{tmp_path}' {told}")
    refused("nowhere", f"'nowhere' {told}")


def test_a_truncated_file_of_weights_is_refused(tmp_path, no_scores):
    path = checkpoint(tmp_path / "head") / "weights.safetensors"
    path.write_bytes(path.read_bytes()[:-7])
    refused(tmp_path / "head", f"{path} cannot be read (")
    path.write_bytes(b"")
    refused(tmp_path / "head", f"{path} cannot be read (")


def test_weights_are_those_of_the_head_and_no_others(tmp_path, no_scores):
    folder = checkpoint(tmp_path / "head")
    path, spec = folder / "weights.safetensors", json.loads((folder / "spec.json").read_text())
    sound = load_file(path)
    lacking = {name: one for name, one in sound.items() if name != "bilinear"}
    written(folder, lacking, spec["settings"])
    refused(folder, f"{path}: the weight 'bilinear' is missing; it is not this kind of head.")
    written(folder, {**sound, "more": torch.zeros(1)}, spec["settings"])
    refused(folder, f"{path}: the weight 'more' is unexpected; it is not this kind of head.")
    written(folder, {**sound, "bilinear": torch.zeros(2, 3)}, spec["settings"])
    refused(folder, f"{path}: the weight 'bilinear' has the shape (2, 3), but must have (26, 26).")
    save_file({**sound, "bilinear": torch.zeros(26, 26)}, path)
    refused(folder, f"{path} is damaged: the weights have changed since the training.")


def test_another_encoder_is_refused_by_name(tmp_path, no_scores, monkeypatch):
    folder = checkpoint(tmp_path / "head")
    words = tmp_path / "words.txt"
    words.write_text("tea 1 2\nmilk 2 1\n")
    told = "Give the location of the original one (`embedding`), or train again."
    refused(
        folder,
        f"{folder} was trained with 'fake', but '{words}' is different now. {told}",
        embedding=str(words),
    )
    monkeypatch.setattr(FakeEncoder, "fingerprint", "changed")
    refused(folder, f"{folder} was trained with 'fake', but 'fake' is different now. {told}")


def test_the_right_encoder_may_lie_elsewhere(tmp_path, no_scores):
    folder = checkpoint(tmp_path / "head", embedding="/no/such/folder")
    found = HeadClassifier(str(folder), device="cpu", embedding="fake").classify(PAIRS)
    same = HeadClassifier(str(checkpoint(tmp_path / "same")), device="cpu").classify(PAIRS)
    assert np.array_equal(found, same)


def test_weights_that_were_trained_again_are_refused(tmp_path, no_scores):
    folder = checkpoint(tmp_path / "head")
    assert HeadClassifier("absent").pinned == HeadClassifier("absent")
    refused(folder, f"The weights in {folder} have the hash ", hash="00000000")


def test_a_run_is_shown_and_not_scored_again_where_its_head_is_gone(tmp_path, no_scores):
    folder, reply = checkpoint(tmp_path / "head"), ds.Example("1", "bot", "Hello.", ("Hi.",))
    result = ds.evaluate([reply], f"ruber-unreferenced:model={folder}")
    result.save(tmp_path / "run")
    shutil.rmtree(folder)
    assert ds.Result.load(tmp_path / "run") == result
    refused(
        folder, f"'{folder}' is not the folder of a head; `dialoscope train ruber` writes one.", hash="0123"
    )


@pytest.mark.parametrize("part", ["settings", "model", "dims", "hash"])
def test_a_spec_that_lacks_something_is_refused(tmp_path, part):
    path = checkpoint(tmp_path / "head") / "spec.json"
    spec = json.loads(path.read_text())
    path.write_text(json.dumps({name: value for name, value in spec.items() if name != part}))
    refused(tmp_path / "head", f"{path} is damaged: '{part}' is missing.")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"perceptron": "wide"}, "sizes of layers must be positive integers"),
        ({"units": 0}, "sizes of layers must be positive integers"),
        ({"representation": "sum"}, "there is no head with 'sum' and 'cross-entropy'"),
        ({"objective": "hinge"}, "there is no head with 'max' and 'hinge'"),
        ({"turns": "x"}, "invalid literal for int() with base 10: 'x'"),
    ],
)
def test_a_spec_with_settings_that_cannot_be_is_refused(tmp_path, settings, told):
    path = checkpoint(tmp_path / "head") / "spec.json"
    spec = json.loads(path.read_text())
    path.write_text(json.dumps({**spec, "settings": {**spec["settings"], **settings}}))
    refused(tmp_path / "head", f"{path} is damaged: {told}.")


def test_without_torch_it_says_what_to_install(tmp_path, no_scores, monkeypatch):
    folder = checkpoint(tmp_path / "head")
    heads._load.cache_clear()
    monkeypatch.setitem(sys.modules, "dialoscope.models.engines.heads", None)
    with pytest.raises(MissingExtra, match=r"The head .* needs .*pip install 'dialoscope\[neural\]'"):
        HeadClassifier(str(folder)).classify(PAIRS[:1])
