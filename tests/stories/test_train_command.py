"""`dialoscope train` as users start it, and what its page says of it."""

import dataclasses
import json
import re
import sys

import pytest

import dialoscope as ds
from dialoscope.models.registry import locate
from dialoscope.training.contradictions import LABELS
from tests.conftest import ROOT
from tests.unit.models.conftest import no_scores, one_thread, tiny  # noqa: F401 - fixtures
from tests.unit.models.tiny_encoders import save_classifier, save_encoder
from tests.unit.training.conftest import dialogues, encoders, pairs, rows  # noqa: F401 - fixtures

pytestmark = pytest.mark.usefixtures("one_thread", "no_scores")

PAGE = (ROOT / "docs" / "train.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def long_reader(tmp_path_factory):
    """A small encoder that reads as much as the recipe has it read."""
    folder = save_encoder("mpnet", tmp_path_factory.mktemp("encoders") / "mpnet", max_position_embeddings=200)
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "model_max_length": 198}))
    return folder


def test_a_language_model_is_trained_with_the_defaults_of_its_recipe(cli, dialogues, tiny, tmp_path):  # noqa: F811
    folder = tmp_path / "my-lm"
    told = ("--model", tiny("llama"), "--validation", "0.25", "--device", "cpu", "--licence", "CC0")
    code, out, err = cli("train", "lm", dialogues, "-o", folder, *told)
    found = ds.Checkpoint.load(folder)
    assert (code, out) == (0, f"{folder}: sha256 {found.hash}\n")
    assert "Before: perplexity, validation " in err
    assert found.spec["settings"] == ds.LmRecipe(model=str(tiny("llama"))).settings()
    assert found.spec["data"]["licence"] == "CC0"
    assert f"train lm {dialogues} -o {folder}" in found.spec["made with"]["command"]
    code, out, _ = cli("score", ROOT / "examples/sample.jsonl", "-m", f"perplexity:lm={folder}")
    assert code == 0
    assert "perplexity" in out


def test_every_option_of_a_language_model_is_a_setting(cli, dialogues, tiny, tmp_path):  # noqa: F811
    settings = {
        "model": str(tiny("llama")),
        "method": "full",
        "rank": 3,
        "epochs": 1,
        "learning_rate": 0.01,
        "batch": 100,
        "patience": 2,
        "dropout": 0.1,
        "max_tokens": 40,
        "begin": 0.5,
        "restyle": 0.1,
        "seed": 7,
        "minutes": 5.0,
        "device": "cpu",
    }
    options = [part for name, value in settings.items() for part in (f"--{name.replace('_', '-')}", value)]
    kept = dialogues.with_name("kept.jsonl")
    kept.write_text(json.dumps({"id": "1", "turns": ["any", "thing"]}) + "\n")
    other = dialogues.with_name("other.jsonl")
    other.write_text(json.dumps({"id": "1", "turns": ["something", "else"]}) + "\n")
    more = ("--validation", kept, "--test", other, "--avoid", other)
    code, _, err = cli("train", "lm", dialogues, "-o", tmp_path / "x", *options, *more)
    assert code == 0, err
    found = ds.Checkpoint.load(tmp_path / "x")
    assert found.spec["settings"] == ds.LmRecipe(**settings).settings()
    assert set(found.spec["after"]) == {"perplexity, validation", "perplexity, other"}


def test_a_classifier_is_trained_with_the_defaults_of_its_recipe(cli, pairs, long_reader, tmp_path):  # noqa: F811
    folder = tmp_path / "my-nli"
    told = ("--model", long_reader, "--device", "cpu", "--epochs", 1)
    code, out, _ = cli("train", "nli", f"{pairs}:validation=.2", "-o", folder, *told)
    found = ds.Checkpoint.load(folder)
    assert (code, out) == (0, f"{folder}: sha256 {found.hash}\n")
    assert found.spec["settings"] == ds.NliRecipe(model=str(long_reader), epochs=1).settings()


def test_every_option_of_a_classifier_is_a_setting(cli, pairs, dialogues, long_reader, tmp_path):  # noqa: F811
    teacher = save_classifier("bert", tmp_path / "teacher", id2label=dict(enumerate(LABELS)))
    settings = {
        "model": str(long_reader),
        "method": "full",
        "rank": 3,
        "epochs": 1,
        "learning_rate": 0.01,
        "batch": 9,
        "patience": 2,
        "dropout": 0.1,
        "max_tokens": 40,
        "made": 30,
        "teacher": str(teacher),
        "seed": 7,
        "minutes": 5.0,
        "device": "cpu",
    }
    options = [part for name, value in settings.items() for part in (f"--{name.replace('_', '-')}", value)]
    other = dialogues.with_name("other.jsonl")
    other.write_text(json.dumps({"id": "1", "turns": ["something", "else"]}) + "\n")
    test = pairs.with_name("own.jsonl")
    test.write_text(json.dumps({"premise": "tea", "hypothesis": "tea", "label": "entailment"}) + "\n")
    more = ("--dialogues", dialogues, "--test", test, "--avoid", other, "--licence", "MIT")
    code, _, err = cli(
        "train", "nli", f"{pairs}:validation=.3,test=.2", "-o", tmp_path / "x", *options, *more
    )
    assert code == 0, err
    found = ds.Checkpoint.load(tmp_path / "x")
    assert found.spec["settings"] == ds.NliRecipe(**settings).settings()
    assert set(found.spec["after"]) == {
        "accuracy, validation",
        "accuracy, own",
        "accuracy, pairs (held back)",
    }
    assert found.spec["data"]["files"] == ["pairs.jsonl:validation=.3,test=.2", "talks.jsonl"]


def test_without_peft_it_says_what_to_install(cli, dialogues, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setitem(sys.modules, "peft", None)
    code, out, err = cli("train", "lm", dialogues, "-o", tmp_path / "x", "--validation", "0.25")
    assert (code, out) == (2, "")
    assert err.splitlines()[-1] == (
        "Error: Training needs peft. Install it with: pip install 'dialoscope[train]'"
    )


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--method", "qlora"), "Error: method is 'qlora'; it must be one of: lora, full."),
        (("--epochs", "0"), "Error: epochs is 0; it must be 1 or more."),
        (
            ("--validation", "no.jsonl"),
            "Error: There is no file of dialogues no.jsonl, nor an asset of that name.",
        ),
        (
            ("--validation", "0"),
            "Error: There are 24 dialogues for training and 0 for validation; both are needed.",
        ),
    ],
)
def test_mistakes_are_told_in_a_line(cli, dialogues, tmp_path, options, told):  # noqa: F811
    code, out, err = cli("train", "lm", dialogues, "-o", tmp_path / "x", *options)
    assert (code, out, err) == (2, "", f"{told}\n")


def test_a_finished_checkpoint_is_not_overwritten(cli, dialogues, tiny, tmp_path):  # noqa: F811
    command = (
        "train",
        "lm",
        dialogues,
        "-o",
        tmp_path / "x",
        "--model",
        tiny("llama"),
        "--validation",
        "0.25",
    )
    assert cli(*command, "--epochs", 1)[0] == 0
    code, _, err = cli(*command, "--epochs", 1)
    assert code == 2
    assert (
        err.splitlines()[-1] == f"Error: {tmp_path / 'x'} holds a finished checkpoint; name another folder."
    )


# The page


@pytest.mark.parametrize("recipe", [ds.LmRecipe(), ds.NliRecipe(), ds.CrossRecipe()])
def test_the_page_names_every_setting_with_its_default(recipe):
    settings = {**dataclasses.asdict(recipe), "minutes": 0}
    settings.pop("representation", None)  # which makes it this recipe
    for name, value in settings.items():
        row = re.search(rf"^\| `{name}` \| (.*?) \| (.*?) \| (.*?) \|", PAGE, re.MULTILINE)
        assert row, name
        shown = ",".join(value) if isinstance(value, tuple) else str(value)
        assert row[{"lm": 1, "nli": 2, "ruber": 3}[recipe.name]].strip() == shown


def test_the_pages_commands_are_commands(cli):
    for verb, options in re.findall(
        r"dialoscope train (lm|nli) (.*?)(?:`|$)", PAGE.replace("\\\n", ""), re.M
    ):
        known = cli("train", verb, "--help")[1]
        for option in re.findall(r"(?<!\S)--[a-z-]+", options):
            assert option in known, option


@pytest.mark.parametrize("name", ["smollm2-dialog", "smollm2-chat", "nli", "ruber-unreferenced"])
def test_the_page_tells_how_the_shipped_checkpoints_were_made(name):
    spec = ds.Checkpoint.load(locate(name)).spec
    (row,) = (line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |"))
    assert f"`{spec['made with']['command']}`" in row
    for figure, value in spec["after"].items():
        assert f"{figure} {spec['before'][figure]:.4g} → {value:.4g}" in row


def test_what_the_page_says_of_a_folder_is_what_is_in_one(cli, dialogues, tiny, tmp_path):  # noqa: F811
    for method in ("lora", "full"):
        told = ("--model", tiny("llama"), "--validation", "0.25", "--epochs", 1, "--method", method)
        assert cli("train", "lm", dialogues, "-o", tmp_path / method, *told)[0] == 0
        for file in (tmp_path / method).iterdir():
            assert f"`{file.name}`" in PAGE


def test_the_pages_links_lead_somewhere():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
