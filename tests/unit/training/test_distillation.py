"""What one speaker says, and what a larger model says of it."""

import json
import math

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import dialoscope as ds
from dialoscope.core.errors import TrainingError
from dialoscope.models.classifier import TransformerClassifier
from dialoscope.models.fakes import FakeClassifier
from dialoscope.models.protocols import Pair
from dialoscope.training.contradictions import LABELS, LabelledPair
from dialoscope.training.dialogue_split import words_of
from dialoscope.training.distillation import label_pairs, load_teacher, sample_utterances
from dialoscope.training.engines.pair_tasks import EntailmentTask
from dialoscope.training.nli_pairs import split_pairs
from tests.unit.models.tiny import SENTENCES
from tests.unit.models.tiny_encoders import save_classifier

pytestmark = pytest.mark.usefixtures("one_thread", "no_scores")

THINGS = ("tea", "water", "milk", "coffee", "wine", "juice", "bread", "cake", "rice", "soup", "fish")
TALKS = [
    (
        f"I like {one} , k{place} .",
        f"And who likes {THINGS[place % 7]} , k{place} ?",
        f"Not me , I have {place + 2} , k{place} .",
        f"Then have some {THINGS[place % 5]} with {one} , k{place} !",
        f"No , thank you , k{place} .",
    )
    for place in range(60)
    for one in (THINGS[place % 11],)
]


class Doubtful(FakeClassifier):
    """Cannot judge every pair."""

    def classify(self, pairs):
        found = super().classify(pairs)
        found[::2] = np.nan
        return found


def said(text):
    return words_of((text,))


def words(split):
    return {
        word for pair in (*split.train, *split.validation) for text in pair[:2] for word in said(text).split()
    }


# Which pairs


def test_pairs_are_of_what_a_speaker_said_and_what_came_later_or_did_not():
    found = sample_utterances(TALKS, 400)
    own, others = set(), set()
    for turns in TALKS:
        told = [said(turn) for turn in turns]
        own |= {(told[at], told[later]) for later in range(2, 5) for at in range(later - 2, -1, -2)}
        others |= {(first, second) for first in told for second in told}
    really = [pair for pair in found if (said(pair.first), said(pair.second)) in own]
    assert 120 < len(really) <= 260
    assert len(found) <= 400
    firsts = {said(turn) for turns in TALKS for turn in turns}
    later = [pair for pair in found if said(pair.first) in firsts]
    elsewhere = [pair for pair in later if (said(pair.first), said(pair.second)) not in others]
    assert len(elsewhere) > 100, "what was not said, and what rules make"
    assert any(pair.first == pair.first.lower() != pair.first.upper() for pair in found)
    assert any(" ." in pair.first for pair in found)
    assert any("." in pair.first and " ." not in pair.first for pair in found)


def test_they_are_the_same_for_a_seed_and_no_more_than_asked_for():
    assert sample_utterances(TALKS, 100) == sample_utterances(TALKS, 100)
    assert sample_utterances(TALKS, 100) != sample_utterances(TALKS, 100, seed=1)
    assert len(set(sample_utterances(TALKS, 100))) == len(sample_utterances(TALKS, 100)) <= 100
    assert (
        sample_utterances(TALKS, 0)
        == sample_utterances([], 90)
        == sample_utterances([("Hi .", "Oh .")], 90)
        == []
    )


# What is said of them


def test_a_verdict_is_how_probable_the_three_classes_are_among_themselves():
    pairs = [Pair("i like tea", "i do not like tea"), Pair("i like tea", "i like milk"), Pair("a", "b")]
    raw = FakeClassifier().classify(pairs)[:, :3]
    found = label_pairs(pairs, FakeClassifier())
    assert [pair[:2] for pair in found] == [tuple(pair) for pair in pairs]
    for pair, row in zip(found, raw, strict=True):
        np.testing.assert_allclose(pair.odds, row / row.sum(), atol=5.1e-5)
        assert pair.label == LABELS[int(row.argmax())]
    assert label_pairs(pairs, Doubtful()) == [found[1]]


def test_columns_are_taken_by_their_names(tmp_path):
    order = ("contradiction", "neutral", "entailment")
    folder = save_classifier("bert", tmp_path / "t", id2label=dict(enumerate(map(str.upper, order))))
    (found,) = label_pairs([Pair("tea", "milk")], load_teacher(str(folder), "cpu"))
    row = TransformerClassifier(str(folder), device="cpu").classify([Pair("tea", "milk")])[0]
    np.testing.assert_allclose(found.odds, row[::-1], atol=5.1e-5)


def test_a_teacher_that_knows_no_contradiction_is_refused():
    with pytest.raises(TrainingError) as caught:
        load_teacher("ruber-unreferenced", "cpu")
    assert str(caught.value) == (
        "ruber-unreferenced is no classifier of entailment and contradiction: of the classes entailment, "
        "neutral, contradiction it lacks entailment, neutral, contradiction; it has: wrong, right."
    )


# Learning from it


@pytest.fixture
def talks(rows):
    return str(rows([{"id": f"{at}", "turns": list(one)} for at, one in enumerate(TALKS)], "talks.jsonl"))


def test_what_a_teacher_judges_is_apart_as_what_rules_make_is(pairs, talks):
    told = {"corpora": [talks], "limit": 300, "teacher": FakeClassifier()}
    found = split_pairs([f"{pairs}:validation=0.2"], **told)
    plain = split_pairs([f"{pairs}:validation=0.2"])
    for part, fewer in ((found.train, plain.train), (found.validation, plain.validation)):
        assert part[: len(fewer)] == fewer
        assert len(part) > len(fewer)
        assert all(len(pair.odds) == 3 for pair in part[len(fewer) :])
    assert not {pair[:2] for pair in found.train} & {pair[:2] for pair in found.validation}
    assert found.hash == split_pairs([f"{pairs}:validation=0.2"], **told).hash
    sure = tuple(pair._replace(odds=()) for pair in found.train)
    assert found.hash != type(found)(sure, found.validation, {}, 0).hash


@pytest.mark.parametrize("teacher", [None, FakeClassifier()])
def test_nothing_is_made_of_dialogues_that_are_to_be_avoided(pairs, talks, rows, teacher):
    shared = [list(TALKS[at][1:3]) for at in range(0, 60, 2)]
    avoid = str(rows([{"id": f"{at}", "turns": two} for at, two in enumerate(shared)], "avoid.jsonl"))
    told = {"corpora": [talks], "limit": 900, "teacher": teacher}
    found = split_pairs([f"{pairs}:validation=0.2"], **told, avoid=[avoid])
    gone, kept = ({f"k{at}" for at in range(begin, 60, 2)} for begin in (0, 1))
    assert words(found) & kept
    assert not words(found) & gone
    assert words(split_pairs([f"{pairs}:validation=0.2"], **told)) & gone


@pytest.mark.parametrize("swapped", [(), (0,), (1, 2), (0, 1, 2)])
def test_the_loss_is_the_cross_entropy_to_the_odds(encoders, pairs, swapped):
    """Of pairs with their sides swapped, that of two classes: contradiction, and all else."""
    some = [
        LabelledPair(SENTENCES[0], SENTENCES[1], "neutral", (0.2, 0.5, 0.3)),
        LabelledPair(SENTENCES[2], SENTENCES[3], "contradiction"),
        LabelledPair("tea", "milk", "entailment", (0.9, 0.1, 0.0)),
    ]
    calm = {"method": "full", "max_tokens": 50, "device": "cpu", "batch": 8}
    base = encoders("mpnet")
    task = EntailmentTask(ds.NliRecipe(model=str(base), **calm), split_pairs([f"{pairs}:validation=0.2"]))
    task.model.eval()
    tokenizer = AutoTokenizer.from_pretrained(base)
    model = AutoModelForSequenceClassification.from_pretrained(base, num_labels=3).eval()
    model.load_state_dict(task.model.state_dict())
    wanted = 0.0
    for place, pair in enumerate(some):
        sides = [(pair.premise, pair.hypothesis), (pair.hypothesis, pair.premise)][place in swapped]
        with torch.no_grad():
            found = model(**tokenizer([sides], return_tensors="pt")).logits[0].softmax(0).tolist()
        odds = pair.odds or [float(label == pair.label) for label in LABELS]
        if place in swapped:
            odds, found = ([1 - two[2], two[2]] for two in (odds, found))
        wanted -= sum(one * math.log(other) for one, other in zip(odds, found, strict=True)) / len(some)
    items, others = task._tokenize(some), task._tokenize_swapped(some)
    batch = [others[place] if place in swapped else item for place, item in enumerate(items)]
    assert task.loss(batch).item() == pytest.approx(wanted, rel=1e-5)


def test_a_small_model_comes_to_think_as_its_teacher_does(pairs, talks, encoders, tmp_path):
    teacher = tmp_path / "teacher"
    save_classifier("bert", teacher, id2label=dict(enumerate(LABELS)))
    weights = load_file(teacher / "model.safetensors")
    weights["classifier.bias"] = torch.tensor([0.0, 0.0, 3.0])  # a verdict that nobody comes to by accident
    save_file(weights, teacher / "model.safetensors", {"format": "pt"})
    told = {"model": str(encoders("mpnet")), "max_tokens": 50, "device": "cpu", "batch": 8, "rank": 4}
    found = ds.train_nli(
        f"{pairs}:validation=0.3",
        tmp_path / "x",
        ds.NliRecipe(**told, epochs=3, made=300, teacher=str(teacher), learning_rate=0.01, patience=3),
        dialogues=[talks],
    )
    assert found.spec["settings"]["teacher"] == str(teacher)
    asked = [Pair(*pair) for pair in sample_utterances(TALKS, 90, seed=5)]
    wanted = TransformerClassifier(str(teacher), device="cpu").classify(asked)
    plain = ds.train_nli(f"{pairs}:validation=0.3", tmp_path / "y", ds.NliRecipe(**told, epochs=3))
    off = {
        name: float(
            np.abs(TransformerClassifier(str(one.folder), device="cpu").classify(asked) - wanted).mean()
        )
        for name, one in (("taught", found), ("plain", plain))
    }
    assert off["taught"] < off["plain"] / 2
    assert json.loads((found.folder / "spec.json").read_text())["data"]["files"][-1] == "talks.jsonl"


def test_a_teacher_without_dialogues_has_nothing_to_judge(pairs, tmp_path):
    with pytest.raises(TrainingError, match="name at least one file of dialogues"):
        ds.train_nli(f"{pairs}:validation=.2", tmp_path / "x", ds.NliRecipe(teacher="nli"))
