"""Language models that learn: the same for a seed, also after a kill, with figures that are true."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM

import dialoscope as ds
from dialoscope.core.errors import BackendError, MissingExtra, TrainingError
from dialoscope.training.dialogue_split import split
from dialoscope.training.engines import adapted
from dialoscope.training.engines.dialogue_tasks import DialogueTask
from dialoscope.training.engines.loop import Loop
from tests.conftest import ROOT
from tests.unit.models.tiny import END, save_model
from tests.unit.training.conftest import talks

pytestmark = pytest.mark.usefixtures("one_thread", "no_scores")


METHODS = ("lora", "full")


def recipe(model, **settings):
    return ds.LmRecipe(**{"model": str(model), "epochs": 2, "batch": 128, "device": "cpu", **settings})


def trained(data, folder, model, *, save_every=60.0, **settings):
    return ds.train_lm(data, folder, recipe(model, **settings), validation=0.25, save_every=save_every)


def weights(checkpoint):
    (file,) = checkpoint.folder.glob("*.safetensors")
    return file.read_bytes()


# A kill


def test_trainings_killed_in_mid_epoch_give_the_same_weights(dialogues, tiny, tmp_path):
    """As the operating system kills: nothing of it can notice."""
    processes = [begun(dialogues, tmp_path / method, tiny("llama"), method) for method in METHODS]
    notes = [tmp_path / method / ".training" / "state.json" for method in METHODS]
    with ThreadPoolExecutor(len(METHODS)) as watching:
        assert set(watching.map(killed_amid, processes, notes)) == {-signal.SIGKILL}
    for method in METHODS:
        settings = {"method": method, "epochs": 3, "batch": 64, "contrast": 0.5}
        found = trained(dialogues, tmp_path / method, tiny("llama"), **settings)
        whole = trained(dialogues, tmp_path / f"whole {method}", tiny("llama"), **settings)
        assert weights(found) == weights(whole)
        assert found.hash == whole.hash
        for name in ("before", "after", "data", "settings"):
            assert found.spec[name] == whole.spec[name]
        histories = [(one.folder / "history.jsonl").read_text() for one in (found, whole)]
        assert histories[0] == histories[1]
        assert not (found.folder / ".training").exists()


def begun(data, folder, model, method):
    """A training in a process of its own, each step of which is saved."""
    told = {"data": str(data), "folder": str(folder), "model": str(model), "method": method}
    program = [sys.executable, str(Path(__file__).with_name("train_here.py")), json.dumps(told)]
    return subprocess.Popen(program, cwd=ROOT, stderr=subprocess.DEVNULL)


def killed_amid(process, note):
    """Kill it for good once it is in the middle of its second epoch or later; how it ended."""
    limit = time.monotonic() + 120
    while time.monotonic() < limit and process.poll() is None:
        if note.exists() and (state := json.loads(note.read_text())["state"])["epoch"] and state["step"]:
            break
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGKILL)
    ended = process.wait()
    assert json.loads(note.read_text())["state"]["epoch"]
    return ended


class Killed(BaseException):
    """What happens to a training, as far as it can notice."""


def test_a_kill_while_the_checkpoint_is_written_does_not_show(dialogues, tiny, tmp_path, monkeypatch):
    wanted = trained(dialogues, tmp_path / "whole", tiny("llama"))
    with monkeypatch.context() as patch:
        patch.setattr(
            "dialoscope.training.transformer_training.finish", lambda *_: (_ for _ in ()).throw(Killed)
        )
        with pytest.raises(Killed):
            trained(dialogues, tmp_path / "killed", tiny("llama"))
    assert (tmp_path / "killed" / "adapter_model.safetensors").exists()
    with pytest.raises(TrainingError, match="holds no finished checkpoint"):
        ds.Checkpoint.load(tmp_path / "killed")
    assert weights(trained(dialogues, tmp_path / "killed", tiny("llama"))) == weights(wanted)


def test_another_recipe_or_other_data_does_not_go_on(dialogues, tiny, tmp_path, monkeypatch, rows):
    folder = tmp_path / "x"
    step = Loop._step
    monkeypatch.setattr(
        Loop,
        "_step",
        lambda self, *told: (_ for _ in ()).throw(Killed) if self.state.step else step(self, *told),
    )
    with pytest.raises(Killed):
        trained(dialogues, folder, tiny("llama"), save_every=0.0)
    message = "holds the beginning of a training with other settings or data"
    with pytest.raises(TrainingError, match=message):
        trained(dialogues, folder, tiny("llama"), seed=1)
    fewer = rows([{"id": str(place), "turns": turns} for place, turns in enumerate(talks(20))], "less.jsonl")
    with pytest.raises(TrainingError, match=message):
        trained(fewer, folder, tiny("llama"))
    with pytest.raises(TrainingError, match=message):
        trained(dialogues, folder, tiny("llama-tied"))
    with pytest.raises(Killed):
        trained(dialogues, folder, tiny("llama"), minutes=9.0)


# Seeds


@pytest.mark.parametrize("method", ["lora", "full"])
def test_the_same_seed_gives_the_same_weights_and_another_others(dialogues, tiny, tmp_path, method):
    one, two, other = (
        trained(dialogues, tmp_path / f"{place}", tiny("llama"), method=method, epochs=1, seed=seed)
        for place, seed in enumerate((0, 0, 1))
    )
    assert weights(one) == weights(two) != weights(other)
    assert one.hash == two.hash != other.hash


def test_chance_elsewhere_does_not_show(dialogues, tiny, tmp_path):
    wanted = trained(dialogues, tmp_path / "one", tiny("llama"), epochs=1, dropout=0.3)
    torch.manual_seed(77)
    torch.rand(5)
    found = trained(dialogues, tmp_path / "two", tiny("llama"), epochs=1, dropout=0.3)
    assert weights(found) == weights(wanted)
    assert weights(trained(dialogues, tmp_path / "three", tiny("llama"), epochs=1)) != weights(wanted)


# Figures


def by_transformers(model, base, dialogues, longest=384):
    """The perplexity, one dialogue at a time and token by token."""
    tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
    off = []
    for turns in dialogues:
        text = "".join(f"{turn}\n" for turn in turns)
        ids = [0, *tokenizer.encode(text, add_special_tokens=False).ids][:longest]
        with torch.no_grad():
            rows = model(input_ids=torch.tensor([ids])).logits[0].double().log_softmax(1)
        off += [-float(rows[place, number]) for place, number in enumerate(ids[1:])]
    return math.exp(sum(off) / len(off))


@pytest.mark.parametrize("name", ["llama", "gpt2", "llama-tied"])
@pytest.mark.parametrize("method", ["lora", "full"])
def test_perplexities_before_and_after_are_those_of_transformers(tiny, rows, tmp_path, name, method):
    every = talks(30)
    data, test = (
        str(rows([{"id": str(place), "turns": turns} for place, turns in enumerate(part)], f"{file}.jsonl"))
        for file, part in (("train", every[:24]), ("test", every[24:]))
    )
    base = tiny(name)
    found = ds.train_lm(data, tmp_path / "x", recipe(base, method=method), validation=0.25, tests=[test])
    parts = split([data], 0.25, [test])
    before = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32).eval()
    if method == "lora":
        whole = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
        after = PeftModel.from_pretrained(whole, found.folder).eval()
    else:
        after = AutoModelForCausalLM.from_pretrained(found.folder, dtype=torch.float32).eval()
    limit = 96 if name == "gpt2" else 384
    for when, model in (("before", before), ("after", after)):
        assert found.spec[when] == {
            "perplexity, validation": pytest.approx(
                by_transformers(model, base, parts.validation, limit), rel=1e-4
            ),
            "perplexity, test": pytest.approx(by_transformers(model, base, every[24:], limit), rel=1e-4),
        }
    assert found.spec["after"]["perplexity, test"] < 0.95 * found.spec["before"]["perplexity, test"]


def test_the_checkpoint_says_what_it_is(dialogues, tiny, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["/somewhere/dialoscope", "train", "lm", "a b.jsonl"])
    found = ds.train_lm(
        [dialogues],
        tmp_path / "my-lm",
        recipe(tiny("llama"), learning_rate=0.01),
        validation=0.25,
        licence="CC|0",
    )
    said = capsys.readouterr().err.splitlines()
    parts = split([str(dialogues)], 0.25)
    counts = (
        f"{len(parts.train)} dialogues for training, {len(parts.validation)} for validation; 0 were left out"
    )
    assert said[0].startswith(counts)
    assert [line.split(":")[0] for line in said[1:]] == ["Before", "Epoch 1", "Epoch 2", "After"]
    spec = json.loads((found.folder / "spec.json").read_text())
    assert spec == found.spec
    assert spec["settings"] == recipe(tiny("llama"), learning_rate=0.01).settings()
    assert spec["data"] == {
        "files": ["talks.jsonl"],
        "sha256": parts.hash,
        "training": len(parts.train),
        "validation": len(parts.validation),
        "removed": 0,
        "licence": "CC|0",
    }
    assert spec["made with"]["command"] == "dialoscope train lm 'a b.jsonl'"
    assert spec["made with"]["device"] == "cpu"
    assert spec["made with"]["torch"] == torch.__version__
    assert spec["hash"] == found.hash == ds.Checkpoint.load(found.folder).hash
    history = [json.loads(line) for line in (found.folder / "history.jsonl").read_text().splitlines()]
    assert [one["epoch"] for one in history] == [1, 2]
    assert math.exp(min(one["validation"] for one in history)) == pytest.approx(
        spec["after"]["perplexity, validation"], rel=1e-2
    )
    card = (found.folder / "card.md").read_text()
    assert card.startswith("# my-lm\n")
    for part in (
        "trained with `dialoscope train lm` (lora).",
        f"| perplexity, validation | {spec['before']['perplexity, validation']:.4g} | ",
        parts.hash,
        "Licence of the data: CC|0.",
        "| learning_rate | 0.01 |",
        "| command | `dialoscope train lm 'a b.jsonl'` |",
        f"| 2 | {history[1]['batches']} | {history[1]['training']:.4f} | {history[1]['validation']:.4f} |",
    ):
        assert part in card


def test_a_licence_that_is_not_stated_is_told(dialogues, tiny, tmp_path):
    found = trained(dialogues, tmp_path / "x", tiny("llama"), epochs=1)
    assert "Licence of the data: not stated." in (found.folder / "card.md").read_text()


def test_duplicates_between_parts_are_counted(tiny, rows, tmp_path, capsys):
    every = talks(24)
    same = [[turn.upper().replace(" ", "  ") for turn in turns] for turns in every[:5]]
    data = rows(
        [{"id": str(place), "turns": turns} for place, turns in enumerate([*every, *same])], "a.jsonl"
    )
    test = rows([{"id": "1", "turns": every[0]}, {"id": "2", "turns": every[1]}], "b.jsonl")
    kept = rows([{"id": "1", "turns": every[2]}], "c.jsonl")
    avoid = rows([{"id": "1", "turns": every[3]}], "d.jsonl")
    found = ds.train_lm(
        data, tmp_path / "x", recipe(tiny("llama"), epochs=1), validation=kept, tests=[test], avoid=[avoid]
    )
    assert found.spec["data"]["removed"] == 8
    assert found.spec["data"]["training"] == 29 - 8
    assert "8 were left out because they are also in held-out data." in capsys.readouterr().err
    assert set(found.spec["after"]) == {"perplexity, validation", "perplexity, b"}


def test_early_stopping_and_the_best(tiny, rows, tmp_path):
    """What is learned by heart is of no use elsewhere."""
    data, kept = (
        rows([{"id": str(place), "turns": [f"{said} {place}", said]} for place in range(count)], file)
        for said, count, file in (("tea or coffee", 12, "a.jsonl"), ("XQZ 77 & @!", 3, "b.jsonl"))
    )
    how = recipe(tiny("llama"), epochs=9, patience=2, learning_rate=0.05, method="full")
    found = ds.train_lm(data, tmp_path / "x", how, validation=kept)
    history = [json.loads(line) for line in (found.folder / "history.jsonl").read_text().splitlines()]
    losses = [one["validation"] for one in history]
    assert len(losses) < 9
    assert min(losses) == losses[-3]
    assert found.spec["after"]["perplexity, validation"] == pytest.approx(math.exp(min(losses)), rel=1e-4)


def test_minutes_end_it(dialogues, tiny, tmp_path):
    found = trained(dialogues, tmp_path / "x", tiny("llama"), epochs=50, minutes=1e-6)
    assert len((found.folder / "history.jsonl").read_text().splitlines()) == 1
    assert "minutes" not in found.spec["settings"]


# What comes of it


@pytest.mark.parametrize("method", ["lora", "full"])
def test_a_checkpoint_is_a_model_like_any_other(dialogues, tiny, tmp_path, method, sample):
    found = trained(dialogues, tmp_path / "x", tiny("llama"), method=method, learning_rate=0.02)
    examples = [one for one in ds.read(sample) if one.id < "d06"]
    result = ds.evaluate(examples, [f"coherence:lm={found.folder}", f"perplexity:lm={found.folder}"])
    bare = ds.evaluate(examples, [f"perplexity:lm={tiny('llama')}"])
    for system in result.systems:
        assert math.isfinite(result.score(f"coherence:lm={found.folder}", system))
        assert result.score(f"perplexity:lm={found.folder}", system) != pytest.approx(
            bare.score(f"perplexity:lm={tiny('llama')}", system), rel=1e-3
        )
    assert ds.system(str(found.folder)).label


def test_an_adapter_is_small_and_holds_nothing_of_this_machine(dialogues, tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tiny("llama").parent)
    found = trained(dialogues, tmp_path / "x", "llama", rank=2)
    names = sorted(path.name for path in found.folder.iterdir())
    assert names == [
        "adapter_config.json",
        "adapter_model.safetensors",
        "card.md",
        "history.jsonl",
        "spec.json",
    ]
    settings = json.loads((found.folder / "adapter_config.json").read_text())
    assert (settings["base_model_name_or_path"], settings["r"], settings["lora_alpha"]) == ("llama", 2, 4)
    kept = load_file(found.folder / "adapter_model.safetensors")
    assert {one.dtype for one in kept.values()} == {torch.float16}
    assert len(kept) == 2 * 2 * 7, "a pair for each linear layer, and none for the vocabulary"
    assert str(tmp_path) not in (found.folder / "adapter_config.json").read_text()


def test_a_whole_model_has_its_tokenizer(dialogues, tiny, tmp_path):
    found = trained(dialogues, tmp_path / "x", tiny("llama"), method="full", epochs=1)
    own = (tiny("llama") / "tokenizer.json").read_bytes()
    assert (found.folder / "tokenizer.json").read_bytes() == own
    assert "_name_or_path" not in json.loads((found.folder / "config.json").read_text())


def test_special_tokens_in_dialogues_are_text(tiny, rows, tmp_path):
    turns = [[f"hello {END} there {place}", "fine"] for place in range(20)]
    data = rows([{"id": str(place), "turns": one} for place, one in enumerate(turns)], "odd.jsonl")
    task = DialogueTask(recipe(tiny("llama")), split([str(data)], 0.25))
    read = {
        number
        for epoch in range(2)
        for batch in task.batches(epoch)
        for text in batch.texts
        for number in text[1:]
    }
    assert not read & {0, 1}
    assert {text[0] for batch in task.batches(0) for text in batch.texts} == {0}


def test_dialogues_are_cut_at_turns_and_written_otherwise_by_chance(tiny, dialogues):
    words = Tokenizer.from_file(str(tiny("llama") / "tokenizer.json"))

    def texts(epoch, **settings):
        task = DialogueTask(recipe(tiny("llama"), **settings), split([str(dialogues)], 0.25))
        return sorted(words.decode(text[1:]) for batch in task.batches(epoch) for text in batch.texts)

    parts = split([str(dialogues)], 0.25)
    plain = sorted("".join(f"{turn}\n" for turn in turns) for turns in parts.train)
    assert texts(0, begin=0.0, restyle=0.0) == plain
    assert texts(0, begin=1.0, restyle=0.0) == sorted(f"{turn}\n" for turns in parts.train for turn in turns)
    assert texts(0) == texts(0) != texts(1)
    assert texts(0, begin=0.0, restyle=1.0) != plain
    some = texts(0, begin=0.4, restyle=0.0)
    assert "".join(sorted("".join(some))) == "".join(sorted("".join(plain)))
    assert len(some) > len(plain)


def test_batches_are_within_their_budget_and_hold_everything(tiny, dialogues):
    task = DialogueTask(
        recipe(tiny("llama"), batch=100, begin=0.0, restyle=0.0), split([str(dialogues)], 0.25)
    )
    batches = [batch.texts for batch in task.batches(0)]
    assert sum(map(len, batches)) == len(task.data.train)
    assert all(len(batch) * max(map(len, batch)) <= 100 or len(batch) == 1 for batch in batches)


# What is refused


def test_a_finished_checkpoint_is_not_overwritten(dialogues, tiny, tmp_path):
    trained(dialogues, tmp_path / "x", tiny("llama"), epochs=1)
    with pytest.raises(TrainingError, match="holds a finished checkpoint; name another folder"):
        trained(dialogues, tmp_path / "x", tiny("llama"), epochs=1)


def test_foreign_files_are_not_touched(dialogues, tiny, tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "mine.txt").write_text("mine")
    with pytest.raises(TrainingError, match="is not empty, and holds no training; name another folder"):
        trained(dialogues, tmp_path / "x", tiny("llama"))


def test_nothing_to_learn_from_is_told(tiny, tmp_path):
    with pytest.raises(TrainingError) as caught:
        ds.train_lm("", tmp_path / "x", recipe(tiny("llama")))
    assert str(caught.value) == "There is no training data: name at least one file."
    with pytest.raises(TrainingError, match="There are 0 dialogues for training and 0 for validation"):
        ds.train_lm([], tmp_path / "x", recipe(tiny("llama")))


@pytest.mark.parametrize("method", ["lora", "full"])
def test_an_adapter_is_trained_further_from_where_it_was(dialogues, tiny, tmp_path, method):
    first = trained(dialogues, tmp_path / "x", tiny("llama"), epochs=1)
    second = trained(dialogues, tmp_path / "y", first.folder, epochs=1, method=method, learning_rate=0.01)
    assert second.spec["before"] == pytest.approx(first.spec["after"], rel=1e-5)
    assert second.spec["after"] != first.spec["after"]
    if method == "lora":
        told = [json.loads((one.folder / "adapter_config.json").read_text()) for one in (first, second)]
        assert told[0] == told[1], "on top of the same model"
    else:
        assert not (second.folder / "adapter_config.json").exists()


def test_an_adapter_keeps_its_rank(dialogues, tiny, tmp_path):
    found = trained(dialogues, tmp_path / "x", tiny("llama"), epochs=1, rank=4)
    with pytest.raises(TrainingError) as caught:
        trained(dialogues, tmp_path / "y", found.folder, rank=5)
    assert str(caught.value) == (
        f"rank is 5, but {found.folder} is an adapter of rank 4, which cannot change when it is "
        "trained further."
    )


def test_what_takes_no_adapter_is_told(dialogues, tiny, tmp_path):
    with pytest.raises(TrainingError) as caught:
        trained(dialogues, tmp_path / "x", tiny("mamba"))
    assert str(caught.value).startswith(f"No adapter can be added to {tiny('mamba')} (")
    assert str(caught.value).endswith("); train all weights: method full.")


def test_a_model_that_lacks_weights_is_told(dialogues, tmp_path):
    base = save_model("llama", tmp_path / "base")
    kept = load_file(base / "model.safetensors")
    del kept["lm_head.weight"]
    save_file(kept, base / "model.safetensors", {"format": "pt"})
    with pytest.raises(TrainingError) as caught:
        trained(dialogues, tmp_path / "x", base)
    assert str(caught.value) == f"{base} is no whole language model: lm_head.weight is missing."


def test_what_is_no_model_is_told(dialogues, encoders, tmp_path):
    with pytest.raises(BackendError):
        trained(dialogues, tmp_path / "x", tmp_path)


def test_without_peft_it_says_what_to_install(dialogues, tiny, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(MissingExtra) as caught:
        trained(dialogues, tmp_path / "x", tiny("llama"))
    assert str(caught.value) == "Training needs peft. Install it with: pip install 'dialoscope[train]'"
    assert not (tmp_path / "x").exists()


def test_weights_are_as_coarse_as_they_are_saved(dialogues, tiny, tmp_path, monkeypatch):
    """So that figures are of what is saved."""
    met = []
    save = adapted.Learner.save

    def watched(self, folder):
        met.append({name: one.clone() for name, one in self.model.named_parameters() if one.requires_grad})
        save(self, folder)

    monkeypatch.setattr(adapted.Learner, "save", watched)
    trained(dialogues, tmp_path / "x", tiny("llama"), epochs=1)
    assert all(torch.equal(one, one.half().float()) for one in met[0].values())
