"""Encoders that learn which replies belong to what was said."""

import json

import pytest
import torch
from peft import PeftModel
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

import dialoscope as ds
from dialoscope.core.errors import TrainingError
from dialoscope.models.classifier import TransformerClassifier
from dialoscope.models.protocols import Pair
from tests.unit.models.tiny import SENTENCES
from tests.unit.models.tiny_encoders import save_encoder

pytestmark = pytest.mark.usefixtures("one_thread", "no_scores")


def recipe(model, **settings):
    told = {"model": str(model), "epochs": 1, "batch": 8, "rank": 4, "max_tokens": 50, "device": "cpu"}
    return ds.CrossRecipe(**{**told, "pairs": 40, "restyle": 0.0, "negatives": ("random",), **settings})


def trained(data, folder, model, *, validation=0.25, tests=(), avoid=(), **settings):
    return ds.train_ruber(
        data, folder, recipe(model, **settings), validation=validation, tests=tests, avoid=avoid
    )


@pytest.fixture
def base(tmp_path):
    return save_encoder("mpnet", tmp_path / "base")


@pytest.fixture
def easy(rows):
    """Dialogues in which each sentence has an answer of its own."""
    answers = (*SENTENCES[1:], SENTENCES[0])
    return rows(
        [
            {"id": str(place), "turns": [f"{asked} {place}", answer]}
            for place, (asked, answer) in enumerate(zip(SENTENCES * 12, answers * 12, strict=True))
        ],
        "easy.jsonl",
    )


def test_it_learns_and_prefers_as_transformers_does(easy, base, tmp_path):
    how = {
        "epochs": 8,
        "patience": 8,
        "learning_rate": 0.02,
        "negatives_per_pair": 1,
        "pairs": 72,
        "batch": 16,
    }
    found = trained(easy, tmp_path / "x", base, **how)
    after = found.spec["after"]["right preferred, validation"]
    assert after > max(found.spec["before"]["right preferred, validation"], 0.6)
    assert TransformerClassifier(str(found.folder)).labels == ("wrong", "right")
    config = AutoConfig.from_pretrained(found.folder)
    whole = AutoModelForSequenceClassification.from_pretrained(base, config=config)
    model = PeftModel.from_pretrained(whole, found.folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(base)
    pair = (f"{SENTENCES[0]} 3", SENTENCES[1])
    with torch.no_grad():
        wanted = model(**tokenizer([pair], return_tensors="pt")).logits.softmax(1)[0].tolist()
    judged = TransformerClassifier(str(found.folder), device="cpu").classify([Pair(*pair)])
    assert judged[0].tolist() == pytest.approx(wanted, abs=1e-5)


def test_the_spec_says_all_that_was_learned_with(dialogues, base, tmp_path):
    found = trained(
        dialogues, tmp_path / "x", base, negatives=("random", "spliced"), negatives_per_pair=2, turns=2
    )
    assert found.spec["recipe"] == "ruber"
    settings = found.spec["settings"]
    assert (settings["representation"], settings["turns"], settings["each"]) == ("cross", 2, 2)
    assert settings["negatives"] == ["random", "spliced"]
    card = (found.folder / "card.md").read_text()
    assert "right preferred, validation" in card
    assert json.loads((found.folder / "spec.json").read_text()) == found.spec


def test_a_training_that_was_stopped_gives_the_same_weights(dialogues, base, tmp_path, monkeypatch):
    whole = trained(dialogues, tmp_path / "whole", base, epochs=2, restyle=0.5, turns=2)
    with monkeypatch.context() as patch:
        patch.setattr(
            "dialoscope.training.transformer_training.finish",
            lambda *_: (_ for _ in ()).throw(KeyboardInterrupt),
        )
        with pytest.raises(KeyboardInterrupt):
            trained(dialogues, tmp_path / "part", base, epochs=2, restyle=0.5, turns=2)
    assert trained(dialogues, tmp_path / "part", base, epochs=2, restyle=0.5, turns=2).hash == whole.hash


def test_figures_of_other_files_are_reported_and_their_dialogues_not_learned_from(rows, base, tmp_path):
    every = [[f"{SENTENCES[place % 6]} {place}", f"{SENTENCES[-place % 6]} {place}"] for place in range(30)]
    data = rows([{"id": str(place), "turns": turns} for place, turns in enumerate(every)], "a.jsonl")
    test = rows([{"id": str(place), "turns": turns} for place, turns in enumerate(every[:4])], "b.jsonl")
    found = trained(data, tmp_path / "x", base, tests=[test])
    assert set(found.spec["after"]) == {"right preferred, validation", "right preferred, b"}
    assert found.spec["data"]["removed"] == 4


def test_too_few_replies_are_refused_before_anything_is_written(rows, base, tmp_path):
    data = rows([{"id": str(place), "turns": [f"a {place}", "yes"]} for place in range(40)], "a.jsonl")
    with pytest.raises(TrainingError, match="but there are only 1 different replies"):
        trained(data, tmp_path / "x", base)
