"""Classifiers that learn what follows and what contradicts."""

import json

import numpy as np
import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

import dialoscope as ds
from dialoscope.core.errors import BackendError, TrainingError
from dialoscope.models.classifier import TransformerClassifier
from dialoscope.models.protocols import Pair
from dialoscope.training.contradictions import LABELS
from dialoscope.training.engines.pair_tasks import EntailmentTask
from dialoscope.training.nli_pairs import split_pairs
from tests.unit.models.tiny import SENTENCES
from tests.unit.models.tiny_encoders import save_classifier, save_encoder

pytestmark = pytest.mark.usefixtures("one_thread", "no_scores")


def recipe(model, **settings):
    told = {"model": str(model), "epochs": 2, "batch": 8, "rank": 4, "max_tokens": 50, "device": "cpu"}
    return ds.NliRecipe(**{**told, **settings})


def trained(data, folder, model, **settings):
    return ds.train_nli(f"{data}:validation=0.3,test=0.2", folder, recipe(model, **settings))


@pytest.fixture
def easy(rows):
    """Pairs whose class stands in the hypothesis."""
    words = ("thank you", "the water was cold", "in the garden")
    return rows(
        [
            {"premise": f"{first} {place}", "hypothesis": f"{words[at]}", "label": LABELS[at]}
            for place, first in enumerate(SENTENCES * 5)
            for at in range(3)
        ],
        "easy.jsonl",
    )


def by_transformers(model, base, pairs):
    """The share of pairs that transformers judges rightly, one at a time."""
    tokenizer = AutoTokenizer.from_pretrained(base)
    right = 0
    for premise, hypothesis, label, _ in pairs:
        with torch.no_grad():
            told = tokenizer([(premise, hypothesis)], return_tensors="pt")
            right += LABELS[int(model(**told).logits[0].argmax())] == label
    return right / len(pairs)


@pytest.mark.parametrize("name", ["bert", "mpnet"])
@pytest.mark.parametrize("method", ["lora", "full"])
def test_it_learns_and_its_accuracy_is_that_of_transformers(easy, tmp_path, name, method):
    calm = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    base = save_encoder(name, tmp_path / "base", **calm)
    rate = 0.01 if method == "lora" else 0.003
    how = {"method": method, "epochs": 12, "patience": 12, "learning_rate": rate}
    found = trained(easy, tmp_path / "x", base, **how)
    if method == "lora":
        config = AutoConfig.from_pretrained(found.folder)
        whole = AutoModelForSequenceClassification.from_pretrained(base, config=config)
        model = PeftModel.from_pretrained(whole, found.folder).eval()
    else:
        model = AutoModelForSequenceClassification.from_pretrained(found.folder).eval()
    parts = split_pairs([f"{easy}:validation=0.3,test=0.2"])
    assert found.spec["after"] == {
        "accuracy, validation": by_transformers(model, base, parts.validation),
        "accuracy, easy (held back)": by_transformers(model, base, parts.tests["easy (held back)"]),
    }
    assert found.spec["before"]["accuracy, easy (held back)"] < 0.5
    assert found.spec["after"]["accuracy, easy (held back)"] > 0.6
    described = TransformerClassifier(str(found.folder), device="cpu")
    assert described.labels == LABELS
    judged = described.classify([Pair(pair.premise, pair.hypothesis) for pair in parts.validation])
    right = [
        LABELS[place] == pair.label for place, pair in zip(judged.argmax(1), parts.validation, strict=True)
    ]
    assert np.mean(right) == found.spec["after"]["accuracy, validation"]


def test_a_checkpoint_is_what_self_consistency_asks_for(pairs, encoders, tmp_path):
    found = trained(pairs, tmp_path / "x", encoders("mpnet"), epochs=1)
    metric = f"self-consistency:nli={found.folder}"
    examples = [ds.Example("1", "s", "i like tea", ("do you like tea?", "no, i do not", "really?"))]
    assert 0 < ds.evaluate(examples, [metric]).score(metric, "s") < 1


@pytest.mark.parametrize("name", ["distilbert", "roberta", "xlnet", "modernbert", "albert", "electra"])
def test_other_architectures_can_be_trained_and_used(pairs, encoders, tmp_path, name):
    found = trained(pairs, tmp_path / "x", encoders(name), epochs=1)
    judged = TransformerClassifier(str(found.folder), device="cpu").classify([Pair("tea", "coffee")])
    np.testing.assert_allclose(judged.sum(), 1)


def test_what_a_model_lacks_besides_its_head_is_learned_and_kept(easy, tmp_path):
    """An encoder is often saved without its pooler, which its classifier needs."""
    base = save_encoder("bert", tmp_path / "base")
    weights = {
        name: one for name, one in load_file(base / "model.safetensors").items() if "pooler" not in name
    }
    save_file(weights, base / "model.safetensors", {"format": "pt"})
    found = trained(easy, tmp_path / "x", base, epochs=4, learning_rate=0.02)
    kept = load_file(found.folder / "adapter_model.safetensors")
    assert "base_model.model.bert.pooler.dense.weight" in kept
    assert not [name for name in kept if "pooler" in name and "lora" in name]
    parts = split_pairs([f"{easy}:validation=0.3,test=0.2"])
    judged = TransformerClassifier(str(found.folder), device="cpu").classify(
        [Pair(pair.premise, pair.hypothesis) for pair in parts.validation]
    )
    right = [
        LABELS[place] == pair.label for place, pair in zip(judged.argmax(1), parts.validation, strict=True)
    ]
    assert np.mean(right) == found.spec["after"]["accuracy, validation"]


@pytest.mark.parametrize("method", ["lora", "full"])
def test_the_same_seed_gives_the_same_weights_and_another_others(pairs, encoders, tmp_path, method):
    one, two, other = (
        trained(pairs, tmp_path / f"{place}", encoders("mpnet"), method=method, epochs=1, seed=seed)
        for place, seed in enumerate((0, 0, 1))
    )
    assert one.hash == two.hash != other.hash


@pytest.mark.parametrize("method", ["lora", "full"])
def test_classes_of_the_model_below_do_not_stay(pairs, tmp_path, method):
    base = save_classifier("bert", tmp_path / "base", num_labels=3, problem_type="multi_label_classification")
    found = trained(pairs, tmp_path / "x", base, method=method, epochs=1)
    config = json.loads((found.folder / "config.json").read_text())
    assert config.get("problem_type") is None
    assert config["id2label"] == dict(zip("012", LABELS, strict=True))
    judged = TransformerClassifier(str(found.folder), device="cpu").classify([Pair("tea", "coffee")])
    np.testing.assert_allclose(judged.sum(), 1)


def test_contradictions_made_from_dialogues_are_learned_from(pairs, encoders, rows, tmp_path):
    talks = [
        [
            "Where do you live?",
            f"I live in town {place}. I have {place} dogs.",
            "And?",
            f"It is nice {place}.",
        ]
        for place in range(60)
    ]
    made_from = rows([{"id": str(place), "turns": turns} for place, turns in enumerate(talks)], "talks.jsonl")
    test = rows([{"premise": "tea", "hypothesis": "tea", "label": "entailment"}], "own-test.jsonl")
    found = ds.train_nli(
        [f"{pairs}:validation=0.3"],
        tmp_path / "x",
        recipe(encoders("mpnet"), epochs=1, made=90),
        dialogues=[made_from],
        tests=[test],
        licence="MIT",
    )
    plain = split_pairs([f"{pairs}:validation=0.3"])
    assert found.spec["data"]["files"] == ["pairs.jsonl:validation=0.3", "talks.jsonl"]
    assert 60 < found.spec["data"]["training"] - len(plain.train) <= 90
    assert set(found.spec["after"]) == {"accuracy, validation", "accuracy, own-test"}
    card = (found.folder / "card.md").read_text()
    assert "`dialoscope train nli` (lora)" in card
    assert "| made | 90 |" in card


def test_a_config_holds_nothing_of_where_the_model_lay(pairs, encoders, tmp_path):
    found = trained(pairs, tmp_path / "x", encoders("bert"), epochs=1)
    config = json.loads((found.folder / "config.json").read_text())
    assert "_name_or_path" not in config
    assert config["architectures"] == ["BertForSequenceClassification"]


def test_a_model_without_padding_is_told(pairs, tiny, tmp_path):
    base = tmp_path / "base"
    from tests.unit.models.tiny import save_model

    save_model("gpt2", base, pad_token_id=None)
    with pytest.raises(TrainingError) as caught:
        trained(pairs, tmp_path / "x", base)
    assert str(caught.value) == f"{base} has no padding token, which a classifier of pairs needs."


def test_more_tokens_than_the_model_reads_are_told(pairs, encoders, tmp_path):
    with pytest.raises(BackendError, match=r"max_tokens is 160; it must be above \d and at most 60"):
        trained(pairs, tmp_path / "x", encoders("mpnet"), max_tokens=160)


def test_pairs_that_are_too_few_are_told_before_anything_is_loaded(pairs, tmp_path):
    with pytest.raises(TrainingError, match=r"Hold out some of a file: FILE:validation=0\.1\."):
        ds.train_nli(pairs, tmp_path / "x", ds.NliRecipe(model="no such model"))


@pytest.mark.parametrize("name", ["bert", "mpnet"])
def test_a_classifier_is_trained_further_from_where_it_was(easy, encoders, tmp_path, name):
    first = trained(easy, tmp_path / "x", encoders(name), learning_rate=0.01)
    second = trained(easy, tmp_path / "y", first.folder, learning_rate=0.01, dropout=0.3)
    assert second.spec["before"] == first.spec["after"]
    told = [json.loads((one.folder / "adapter_config.json").read_text()) for one in (first, second)]
    assert told[1] == {**told[0], "lora_dropout": 0.3}, "on top of the same model"
    pair = [Pair("thank you", "the water was cold")]
    one, two = (
        TransformerClassifier(str(found.folder), device="cpu").classify(pair) for found in (first, second)
    )
    assert not np.allclose(one, two)
    assert (first.folder / "config.json").read_bytes() == (second.folder / "config.json").read_bytes()


@pytest.mark.parametrize("name", ["ruber-unreferenced", "smollm2-dialog"])
def test_an_adapter_that_learned_something_else_is_refused(pairs, tmp_path, name):
    below = {"ruber-unreferenced": "mpnet", "smollm2-dialog": "smollm2"}[name]
    with pytest.raises(TrainingError) as caught:
        trained(pairs, tmp_path / "x", name)
    assert str(caught.value) == (
        f"{name} is an adapter for another task; start from the model that it belongs to: {below}."
    )


def test_an_adapter_that_does_not_fit_is_told(pairs, encoders, tmp_path):
    found = trained(pairs, tmp_path / "x", encoders("mpnet"), epochs=1)
    path = found.folder / "adapter_model.safetensors"
    weights = load_file(path)
    key = next(name for name in weights if "lora_A" in name)
    save_file({**weights, key.replace("layer.0", "layer.77"): weights[key].clone()}, path)
    with pytest.raises(TrainingError, match=r"does not fit its model, which has no .*layer\.77"):
        trained(pairs, tmp_path / "y", found.folder)
    save_file({**weights, key: weights[key][:2].clone()}, path)
    with pytest.raises(TrainingError, match="does not fit its model: "):
        trained(pairs, tmp_path / "z", found.folder)
    path.write_bytes(b"?")
    with pytest.raises(TrainingError, match="does not fit its model: "):
        trained(pairs, tmp_path / "w", found.folder)


def test_a_contradiction_is_learned_from_either_side(easy, tmp_path):
    calm = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    base = save_encoder("mpnet", tmp_path / "base", **calm)
    how = {"epochs": 16, "patience": 16, "learning_rate": 0.01}
    found = trained(easy, tmp_path / "x", base, swapped=0.5, **how)
    plain = trained(easy, tmp_path / "y", base, **how)
    assert found.spec["settings"]["swapped"] == 0.5
    held = split_pairs([f"{easy}:validation=0.3,test=0.2"]).tests["easy (held back)"]
    told = [Pair(pair.hypothesis, pair.premise) for pair in held]
    right = {}
    for name, one in (("swapped", found), ("plain", plain)):
        judged = TransformerClassifier(str(one.folder), device="cpu").classify(told).argmax(1)
        said = np.array([pair.label == LABELS[2] for pair in held])
        right[name] = np.mean((judged == 2) == said)
    assert found.spec["after"]["swapped, easy (held back)"] == right["swapped"]
    assert right["swapped"] > max(right["plain"], 0.9)
    assert found.spec["after"]["accuracy, easy (held back)"] > 0.6
    assert not any(name.startswith("swapped") for name in plain.spec["after"])


def test_other_pairs_are_swapped_in_each_epoch(pairs, encoders):
    split = split_pairs([f"{pairs}:validation=0.2"])
    task = EntailmentTask(recipe(encoders("mpnet"), swapped=0.25), split)
    epochs = [[item for batch in task.batches(epoch) for item in batch] for epoch in (0, 1, 0)]
    swapped = [{tuple(item.ids) for item in items if item.swapped} for items in epochs]
    assert epochs[0] == epochs[2]
    assert swapped[0] != swapped[1]
    assert all(len(items) == len(split.train) for items in epochs)
    assert 0.1 < len(swapped[0]) / len(split.train) < 0.4
    plain = EntailmentTask(recipe(encoders("mpnet")), split).batches(0)
    assert not any(item.swapped for batch in plain for item in batch)
    every = EntailmentTask(recipe(encoders("mpnet"), swapped=1.0), split).batches(0)
    assert all(item.swapped for batch in every for item in batch)
