"""Classes of pairs: those of transformers, whatever is judged beside, and each computed once."""

import json
import pickle
import shutil
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from dialoscope.core.errors import BackendError, MissingExtra
from dialoscope.core.signature import signature
from dialoscope.models.cache import cache_status
from dialoscope.models.classifier import TransformerClassifier
from dialoscope.models.engines import encoder as encoder_engine
from dialoscope.models.protocols import Classifier, Pair
from tests.unit.models.tiny import SENTENCES
from tests.unit.models.tiny_encoders import ARCHITECTURES, PLAIN, save_classifier, save_encoder

pytestmark = pytest.mark.usefixtures("one_thread", "no_scores")

LONG = " ".join(SENTENCES * 3)
PAIRS = [
    *(Pair(first, second) for first in SENTENCES[:3] for second in SENTENCES),
    Pair("", ""),
    Pair("", "tea"),
    Pair("tea", ""),
]
NLI = {0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """The folder of a small classifier with three classes, which is made when it is first asked for."""
    made = {}

    def folder(name):
        if name not in made:
            made[name] = save_classifier(name, tmp_path_factory.mktemp("classifiers") / name, id2label=NLI)
        return made[name]

    return folder


def classifier(folder, **settings):
    return TransformerClassifier(str(folder), device="cpu", **settings)


def by_transformers(folder, pairs, **how):
    """The logits by one forward pass of transformers for each pair."""
    tokenizer = AutoTokenizer.from_pretrained(folder, truncation_side="left")
    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
    found = []
    for pair in pairs:
        told = tokenizer([tuple(pair)], return_tensors="pt", **how)
        if model.config.model_type in ("distilbert", "modernbert"):
            del told["token_type_ids"]
        with torch.no_grad():
            found.append(model(**told).logits[0].double().numpy())
    return np.array(found)


def softmax(logits):
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


# The numbers


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_probabilities_are_those_of_transformers(tiny, name, capfd):
    wanted = softmax(by_transformers(tiny(name), PAIRS))
    capfd.readouterr()
    found = classifier(tiny(name)).classify(PAIRS)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert found.dtype == float
    assert np.std(wanted, axis=0).max() > 0.003, "a model that tells pairs apart"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["bert", "roberta", "distilbert", "xlnet"])
def test_what_is_judged_beside_and_in_which_order_does_not_show(tiny, name):
    whole = classifier(tiny(name)).classify(PAIRS)
    np.testing.assert_allclose(
        classifier(tiny(name), budget=50).classify(PAIRS[::-1]), whole[::-1], rtol=0, atol=1e-5
    )
    alone = np.concatenate([classifier(tiny(name)).classify([pair]) for pair in PAIRS[:4]])
    np.testing.assert_allclose(alone, whole[:4], rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["bert", "xlnet"])
def test_a_context_that_is_too_long_loses_its_beginning(tiny, name):
    pair = Pair(LONG, SENTENCES[1])
    wanted = softmax(by_transformers(tiny(name), [pair], truncation="only_first", max_length=30))
    np.testing.assert_allclose(
        classifier(tiny(name), max_tokens=30).classify([pair]), wanted, rtol=0, atol=1e-5
    )


@pytest.mark.parametrize("name", ["bert", "distilbert"])
def test_a_single_output_is_how_well_a_text_suits(tmp_path, name):
    folder = save_classifier(name, tmp_path / name, num_labels=1)
    wanted = 1 / (1 + np.exp(-by_transformers(folder, PAIRS)))
    np.testing.assert_allclose(classifier(folder).classify(PAIRS), wanted, rtol=0, atol=1e-5)
    assert classifier(folder).labels == ("relevance",)


def test_classes_that_do_not_exclude_each_other_are_rated_each_by_itself(tmp_path):
    folder = save_classifier("bert", tmp_path / "bert", problem_type="multi_label_classification")
    wanted = 1 / (1 + np.exp(-by_transformers(folder, PAIRS)))
    np.testing.assert_allclose(classifier(folder).classify(PAIRS), wanted, rtol=0, atol=1e-5)


def test_a_pair_without_a_token_has_no_class(tiny, tmp_path):
    folder = shutil.copytree(tiny("bert"), tmp_path / "bert")
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    (folder / "tokenizer.json").write_text(json.dumps({**tokenizer, "post_processor": None}))
    found = classifier(folder).classify([Pair("", ""), Pair("tea", "or coffee")])
    assert np.isnan(found).all(axis=1).tolist() == [True, False]
    assert np.isnan(classifier(folder).classify([Pair("", "")])).all()


# Labels


def test_labels_are_the_models_own_in_lower_case(tiny, tmp_path):
    assert classifier(tiny("roberta")).labels == ("contradiction", "neutral", "entailment")
    assert classifier(save_classifier("bert", tmp_path / "two")).labels == ("label_0", "label_1")
    assert classifier(save_classifier("bert", tmp_path / "many", num_labels=12)).labels[-2:] == (
        "label_10",
        "label_11",
    )


def test_labels_that_are_not_named_are_two(tmp_path):
    folder = save_classifier("bert", tmp_path / "bert")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "id2label": None}))
    assert classifier(folder).labels == ("label_0", "label_1")
    assert classifier(folder).classify(PAIRS).shape == (len(PAIRS), 2)


def test_nothing_has_a_shape(tiny):
    assert classifier(tiny("bert")).classify([]).shape == (0, 3)


# Folders


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_plain_models_are_read_without_padding(tiny, name):
    kind = type(classifier(tiny(name))._engine.body).__name__
    assert kind == ("Bert" if name in PLAIN else "Padded")


def test_an_encoder_is_no_classifier(tmp_path):
    with pytest.raises(
        BackendError, match=r"This model is not a classifier: it has no classification head\."
    ):
        classifier(save_encoder("bert", tmp_path / "bert")).classify(PAIRS)
    message = r"distilbert is not a complete classifier: the weights classifier\.bias are missing\."
    with pytest.raises(BackendError, match=message):
        classifier(save_encoder("distilbert", tmp_path / "distilbert")).classify(PAIRS)


def test_heads_are_loaded_with_what_stands_before_them(tiny, tmp_path):
    """A head whose inner part lacks would be made up by chance otherwise."""
    folder = shutil.copytree(tiny("roberta"), tmp_path / "roberta")
    weights = load_file(folder / "model.safetensors")
    del weights["classifier.dense.weight"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(BackendError, match="not a classifier"):
        classifier(folder).classify(PAIRS)


# What is kept


def test_classes_are_computed_once(tiny, own_scores, monkeypatch):
    first = classifier(tiny("bert")).classify(PAIRS)
    assert cache_status().entries == len(set(PAIRS))
    monkeypatch.setattr(encoder_engine, "in_batches", lambda *_: pytest.fail("computed again"))
    np.testing.assert_array_equal(classifier(tiny("bert")).classify(PAIRS[::-1]), first[::-1])


# The description


def test_a_description_is_light_and_signs_itself(tiny):
    described = TransformerClassifier("roberta-large-mnli", revision="2a8f12d", device="cpu")
    assert signature(described) == (
        "transformer-classifier|model:roberta-large-mnli|revision:2a8f12d|dtype:float32|max_tokens:0|v:1"
    )
    assert described == pickle.loads(pickle.dumps(described))  # noqa: S301
    assert isinstance(classifier(tiny("bert")), Classifier)


def test_without_torch_it_says_what_to_install(tiny, monkeypatch):
    monkeypatch.setitem(sys.modules, "dialoscope.models.engines.encoder", None)
    with pytest.raises(MissingExtra, match=r"The classifier .* pip install 'dialoscope\[neural\]'"):
        classifier(tiny("bert"), budget=77).classify(PAIRS)
