"""Heads that learn: the same for a seed, also after a kill, and better than chance on real dialogues."""

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

import dialoscope as ds
from dialoscope.core.errors import TrainingError
from dialoscope.models.fakes import FakeEncoder
from dialoscope.models.heads import HeadClassifier
from dialoscope.models.protocols import Pair
from dialoscope.training.engines.batches import TIE, compute_preference, rank
from dialoscope.training.engines.head_training import HeadLoop, HeadTask, PooledInputs, head_loss
from dialoscope.training.recipes import ruber_recipe
from dialoscope.training.workplace import State
from tests.conftest import ROOT
from tests.unit.training.conftest import talks

pytestmark = pytest.mark.usefixtures("one_thread", "no_scores")

SMALL = {
    "embedding": "fake", "units": 4, "perceptron": (8, 6), "part": "1/1", "epochs": 3, "batch": 8,
    "negative_pool": 3, "learning_rate": 0.01, "device": "cpu",
}  # fmt: skip


def trained(data, folder, **settings):
    return ds.train_ruber(data, folder, ds.RuberRecipe(**{**SMALL, **settings}), validation=0.25)


def weights(checkpoint):
    return (checkpoint.folder / "weights.safetensors").read_bytes()


# A kill


def test_a_training_killed_in_its_second_seed_gives_the_same_weights(dialogues, tmp_path):
    """As the operating system kills: nothing of it can notice."""
    recipe = {**SMALL, "representation": "bi-gru", "objective": "ranking", "seeds": 2, "dropout": 0.2}
    told = {"data": str(dialogues), "folder": str(tmp_path / "killed"), "recipe": recipe}
    program = [sys.executable, str(Path(__file__).with_name("train_ruber_here.py")), json.dumps(told)]
    process = subprocess.Popen(program, cwd=ROOT, stderr=subprocess.DEVNULL)
    killed_amid(process, tmp_path / "killed" / ".training" / "seed-1" / ".training" / "state.json")
    assert not (tmp_path / "killed" / "spec.json").exists()
    assert not (tmp_path / "killed" / "weights.safetensors").exists()
    found, whole = (trained(dialogues, tmp_path / name, **recipe) for name in ("killed", "whole"))
    assert weights(found) == weights(whole)
    for name in ("before", "after", "seeds", "kept seed", "data", "settings", "model", "hash"):
        assert found.spec[name] == whole.spec[name]
    histories = [(one.folder / "history.jsonl").read_text() for one in (found, whole)]
    assert histories[0] == histories[1]
    assert sorted(path.name for path in found.folder.iterdir()) == [
        "card.md", "history.jsonl", "spec.json", "weights.safetensors",
    ]  # fmt: skip


def killed_amid(process, note):
    """Kill it for good once it is in the middle of an epoch."""
    limit = time.monotonic() + 120
    while time.monotonic() < limit and process.poll() is None:
        if note.exists() and json.loads(note.read_text())["state"]["step"]:
            break
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert note.exists()


def test_another_recipe_or_other_data_does_not_go_on(dialogues, tmp_path, monkeypatch, rows):
    class Killed(BaseException):
        pass

    def stopped(self, batch):
        raise Killed

    monkeypatch.setattr(HeadTask, "loss", stopped)
    with pytest.raises(Killed):
        trained(dialogues, tmp_path / "x")
    message = "x holds the beginning of a training with other settings or data; name another folder"
    with pytest.raises(TrainingError, match=message):
        trained(dialogues, tmp_path / "x", objective="ranking")
    fewer = rows([{"id": str(place), "turns": turns} for place, turns in enumerate(talks(20))], "less.jsonl")
    with pytest.raises(TrainingError, match=message):
        trained(fewer, tmp_path / "x")
    with pytest.raises(Killed):
        trained(dialogues, tmp_path / "x")
    with pytest.raises(TrainingError, match="holds no finished checkpoint"):
        ds.Checkpoint.load(tmp_path / "x")


# Seeds


@pytest.mark.parametrize("representation", ["bi-gru", "max"])
def test_the_same_seed_gives_the_same_weights_and_another_others(dialogues, tmp_path, representation):
    one, two, other = (
        trained(dialogues, tmp_path / f"{place}", representation=representation, epochs=1, seed=seed)
        for place, seed in enumerate((0, 0, 1))
    )
    assert weights(one) == weights(two) != weights(other)
    assert one.hash == two.hash != other.hash


def test_chance_and_threads_elsewhere_do_not_show(dialogues, tmp_path):
    whole = trained(dialogues, tmp_path / "one", epochs=1)
    torch.manual_seed(99)
    torch.set_num_threads(2)
    try:
        assert weights(trained(dialogues, tmp_path / "two", epochs=1)) == weights(whole)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)


def test_of_several_seeds_the_best_is_kept_and_all_are_told(dialogues, tmp_path):
    found = trained(dialogues, tmp_path / "x", seeds=3, seed=5)
    name = "accuracy, validation"
    each = found.spec["seeds"][name]["each"]
    assert found.spec["seeds"][name]["mean"] == pytest.approx(np.mean(each))
    assert found.spec["seeds"][name]["sd"] == pytest.approx(np.std(each, ddof=1))
    losses = found.spec["seeds"]["loss, validation"]["each"]
    best = int(np.argmin(losses))
    assert found.spec["kept seed"] == 5 + best
    assert found.spec["after"]["loss, validation"] == min(losses)
    assert weights(found) == weights(trained(dialogues, tmp_path / "alone", seed=5 + best))
    card = (found.folder / "card.md").read_text()
    assert f"| {np.mean(each):.4g} ± {np.std(each, ddof=1):.2g} |" in card
    assert f"seed {5 + best}, kept" in card
    entries = [json.loads(line) for line in (found.folder / "history.jsonl").read_text().splitlines()]
    assert [(entry["seed"], entry["epoch"]) for entry in entries] == [
        (seed, epoch) for seed in (5, 6, 7) for epoch in (1, 2, 3)
    ]
    shown = card.split("## Epochs of the kept seed")[1]
    assert shown.count("\n| ") == 2 + 3


# What is lost, and what is told


def test_the_ranking_loss_by_hand():
    right, wrong = torch.tensor([[0.0], [3.0], [-1.0]]), torch.tensor([[0.0], [-3.0], [1.0]])
    high, low = 1 / (1 + math.exp(-1)), 1 / (1 + math.exp(1))
    expected = (0.5 + max(0.5 - (2 / (1 + math.exp(-3)) - 1), 0) + 0.5 - low + high) / 3
    assert float(head_loss(right, wrong, 0.5)) == pytest.approx(expected)


def test_the_cross_entropy_by_hand():
    right, wrong = torch.tensor([[0.0, 1.0]]), torch.tensor([[0.0, 2.0]])
    expected = (math.log(1 + math.exp(-1)) + math.log(1 + math.exp(2))) / 2
    assert float(head_loss(right, wrong, 0.5)) == pytest.approx(expected)


def test_preferences_and_ranks_count_equal_ones_half():
    scores = np.array([[0.5, 0.4, 0.6, 0.5], [0.9, 0.1, 0.2, 0.3], [0.1, 0.1, 0.1, 0.1]])
    assert compute_preference(scores) == pytest.approx([0.5, 1, 0.5])
    assert rank(scores) == pytest.approx([2.5, 1, 2.5])


def test_scores_that_differ_by_rounding_alone_are_equal():
    above = 1 + np.array([0, 0.9, -0.9, 1.1, -1.1]) * TIE
    for size in (1, -1, 30):
        scores = size * np.column_stack([np.ones(5), above])
        wins = [0.5, 0.5, 0.5, 0, 1] if size > 0 else [0.5, 0.5, 0.5, 1, 0]
        assert compute_preference(scores).tolist() == wins
        assert rank(scores).tolist() == [2 - win for win in wins]
    assert compute_preference(np.array([[0, 0.9 * TIE], [0, 1.1 * TIE]])).tolist() == [0.5, 0]


@pytest.fixture
def vectors(tmp_path):
    """A file of word vectors that single precision does not hold exactly, and half precision still less."""
    chance = np.random.default_rng(0)
    words = sorted({word for talk in talks(70, 4) for turn in talk for word in re.findall(r"\w+", turn)})
    path = tmp_path / "words.txt"
    path.write_text("".join(f"{word} {' '.join(map(str, chance.normal(size=5)))}\n" for word in words))
    return path


@pytest.mark.parametrize("representation", ["bi-gru", "max", "mean"])
def test_figures_are_those_of_the_checkpoint_as_a_classifier(
    dialogues, tmp_path, rows, vectors, representation
):
    from dialoscope.training.dialogue_split import read_whole_dialogues as read
    from dialoscope.training.head_data import make_head_data

    test = rows(
        [{"id": str(place), "turns": turns} for place, turns in enumerate(talks(70, 4)[30:])], "t.jsonl"
    )
    for embedding in ("fake", str(vectors)):
        changes = {"representation": representation, "embedding": embedding, "pairs": 10**6}
        recipe = ds.RuberRecipe(**{**SMALL, **changes})
        folder = tmp_path / f"x {embedding == 'fake'}"
        figures = ds.train_ruber(dialogues, folder, recipe, validation=0.25, tests=[test]).spec["after"]
        lesson = make_head_data(read(str(test)), {"t": read(str(test))}, recipe)
        judged, ranked = lesson.evaluated["t"], lesson.ranked["t"]
        logits, candidates = (classified(folder, lesson, rivals) for rivals in (judged, ranked))
        assert figures["accuracy, t"] == compute_preference(logits).mean()
        assert figures["reciprocal rank among 10, t"] == (1 / rank(candidates)).mean()
        loss = (np.logaddexp(0, -logits[:, 0]) + np.logaddexp(0, logits[:, 1])).mean() / 2
        assert figures["loss, t"] == pytest.approx(loss, rel=1e-9)  # double precision on both sides


def classified(folder, lesson, rivals):
    """The logits that the checkpoint gives to right and wrong replies when it is used."""
    pairs = [
        Pair(lesson.texts[query], lesson.texts[reply])
        for query, replies in zip(rivals.queries, np.column_stack([rivals.right, rivals.wrong]), strict=True)
        for reply in replies
    ]
    wrong, right = np.log(HeadClassifier(str(folder), device="cpu").classify(pairs)).T
    return (right - wrong).reshape(len(rivals.queries), -1)


# The pace


class Place:
    """A training that has gone so far."""

    def __init__(self, *validation):
        self._state = State()
        for value in validation:
            self._state = self._state.after_epoch(value)

    def state(self):
        return self._state


@pytest.mark.parametrize(
    ("validation", "slowed"),
    [
        ((), 0),
        ((1, 1, 1, 1, 1), 0),
        ((1, 1, 1, 1, 1, 1), 1),
        ((1, 2, 2, 2, 2, 2, 0.5, 2, 2, 2, 2), 1),
        ((1, *[2] * 10), 2),
        ((1, *[math.nan] * 5), 1),
    ],
)
def test_the_pace_falls_after_five_epochs_without_improvement(validation, slowed):
    class Task:
        model = torch.nn.Linear(1, 1)

        def loss(self, batch):
            return self.model.weight.sum()

    recipe = ds.RuberRecipe(learning_rate=0.5, decay=0.1)
    loop = HeadLoop(Task(), recipe, Place(*validation))
    before = float(Task.model.weight.detach())
    loop._step(None, 0, 1)
    assert before - float(Task.model.weight.detach()) == pytest.approx(0.5 * 0.1**slowed, rel=1e-3)


def test_it_stops_when_nothing_improves_any_more(dialogues, tmp_path, monkeypatch):
    monkeypatch.setattr(HeadTask, "validate", lambda self: 1.0)
    found = trained(dialogues, tmp_path / "x", epochs=50, patience=4)
    assert len((found.folder / "history.jsonl").read_text().splitlines()) == 5


def test_each_epoch_takes_other_wrong_replies_and_the_same_right_ones(dialogues, tmp_path, monkeypatch):
    seen = {}
    batches = HeadTask.batches

    def noted(self, epoch):
        found = batches(self, epoch)
        seen[epoch] = [np.concatenate(part) for part in zip(*found, strict=True)]
        return found

    monkeypatch.setattr(HeadTask, "batches", noted)
    trained(dialogues, tmp_path / "x", negatives_per_pair=2)
    orders = [np.lexsort(seen[epoch][::-1]) for epoch in (0, 1)]
    one, two = ([part[orders[epoch]] for part in seen[epoch]] for epoch in (0, 1))
    assert np.array_equal(one[0], two[0])
    assert np.array_equal(one[1], two[1])
    assert not np.array_equal(one[2], two[2])
    assert np.array_equal(one[0][::2], one[0][1::2])
    assert np.array_equal(one[1][::2], one[1][1::2])


def test_batches_hold_texts_of_like_length(dialogues, tmp_path, monkeypatch):
    spans = []
    loss = HeadTask.loss

    def noted(self, batch):
        longest = np.max([self.inputs.counts[part] for part in batch], axis=0)
        spans.append(np.ptp(longest))
        return loss(self, batch)

    monkeypatch.setattr(HeadTask, "loss", noted)
    trained(dialogues, tmp_path / "x", representation="bi-gru", epochs=1)
    assert np.median(spans) <= 2


# What is read


def test_a_second_training_reads_nothing_again(dialogues, tmp_path, own_scores, monkeypatch):
    trained(dialogues, tmp_path / "one", negatives=("random", "shuffled", "spliced", "generic"))
    monkeypatch.setattr(FakeEncoder, "encode_tokens", lambda *_: pytest.fail("it was read again"))
    others = {"objective": "ranking", "seed": 7, "representation": "mean"}
    trained(dialogues, tmp_path / "two", negatives=("random", "shuffled", "spliced", "generic"), **others)


@pytest.fixture
def own_scores(tmp_path, monkeypatch, no_scores):
    """A score cache of this test alone."""
    monkeypatch.setenv("DIALOSCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DIALOSCOPE_SCORES")


def test_half_of_the_dialogues_is_left_to_others(dialogues, tmp_path):
    parts = [trained(dialogues, tmp_path / f"{n}", part=f"{n}/2", epochs=1).spec["data"] for n in (1, 2)]
    whole = trained(dialogues, tmp_path / "all", epochs=1).spec["data"]
    for name in ("training", "validation"):
        assert sum(part[name] for part in parts) == whole[name]
        assert all(part[name] for part in parts)


def test_word_vectors_serve_as_well(dialogues, tmp_path):
    words = sorted({word for talk in talks() for turn in talk for word in turn.lower().split()})
    path = tmp_path / "words.txt"
    path.write_text("".join(f"{word} {len(word)} {place} 1\n" for place, word in enumerate(words)))
    found = trained(dialogues, tmp_path / "x", embedding=str(path))
    judged = HeadClassifier(str(found.folder), device="cpu").classify([Pair(*talks()[0][:2])])
    assert np.isfinite(judged).all()


def test_words_that_nobody_knows_cannot_be_learned_from(dialogues, tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("xyzzy 1 2\nplugh 2 1\n")
    with pytest.raises(TrainingError, match=r"^No exchange is left \(training\): in none of them"):
        trained(dialogues, tmp_path / "x", embedding=str(path))
    assert not (tmp_path / "x").exists()


def test_a_finished_checkpoint_is_not_overwritten(dialogues, tmp_path):
    before = weights(trained(dialogues, tmp_path / "x", epochs=1))
    modes = {path.stat().st_mode for path in (tmp_path / "x").iterdir()}
    assert len(modes) == 1
    with pytest.raises(TrainingError, match="x holds a finished checkpoint; name another folder"):
        trained(dialogues, tmp_path / "x", epochs=1, seed=3)
    assert (tmp_path / "x" / "weights.safetensors").read_bytes() == before


# Which recipe


def test_settings_choose_the_recipe_and_those_of_the_other_are_refused():
    assert ruber_recipe() == ds.RuberRecipe()
    assert ruber_recipe(units=3, rank=None) == ds.RuberRecipe(units=3)
    assert ruber_recipe(representation="cross", rank=3) == ds.CrossRecipe(rank=3)
    with pytest.raises(TrainingError, match=r"^units is no setting of the representation cross, which has: "):
        ruber_recipe(representation="cross", units=3)
    with pytest.raises(TrainingError, match=r"^rank is no setting of the representation max, which has: "):
        ruber_recipe(rank=3)


def test_an_encoder_that_reads_both_texts_is_trained_by_the_same_function(dialogues, encoders, tmp_path):
    recipe = ds.CrossRecipe(
        model=str(encoders("mpnet")), epochs=1, max_tokens=40, device="cpu", negatives_per_pair=1
    )
    found = ds.train_ruber(dialogues, tmp_path / "x", recipe, validation=0.25)
    assert found.spec["recipe"] == "ruber"
    assert (tmp_path / "x" / "adapter_config.json").exists()


# On real dialogues


@pytest.mark.corpora
def test_what_is_learned_from_some_dialogues_holds_for_others(corpora, tmp_path):
    recipe = ds.RuberRecipe(
        embedding="glove-50d", representation="mean", part="1/1", epochs=8, learning_rate=2e-3,
        perceptron=(64,), device="cpu",
    )  # fmt: skip
    file = corpora / "dialogues" / "dailydialog" / "dailydialog_valid.jsonl"
    found = ds.train_ruber(file, tmp_path / "x", recipe, validation=0.2)
    assert 0.4 < found.spec["before"]["accuracy, validation"] < 0.6
    assert found.spec["after"]["accuracy, validation"] > 0.65


def test_pooled_texts_know_where_nothing_stands():
    from dialoscope.models.features import Features

    assert PooledInputs(Features(FakeEncoder()), ["tea", ""], "max", torch.device("cpu")).counts.tolist() == [
        1,
        0,
    ]
