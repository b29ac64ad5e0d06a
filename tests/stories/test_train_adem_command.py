"""`dialoscope train adem` as users start it, and the metric that reads what it leaves."""

import re

import pytest

import dialoscope as ds
from tests.conftest import ROOT
from tests.unit.training import rated_replies
from tests.unit.training.conftest import rows  # noqa: F401 - a fixture

PAGE = (ROOT / "docs" / "train.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## A predictor of ratings")[2].partition("\n## ")[0]


@pytest.fixture
def rated(rows):  # noqa: F811
    return rows(rated_replies.rows(), "rated.jsonl")


def test_a_checkpoint_is_trained_and_scored_with(cli, rated, tmp_path):
    folder = tmp_path / "my-adem"
    command = ("train", "adem", rated, "-o", folder, "--model", "fake", "--seeds", 1, "--licence", "CC0")
    code, out, err = cli(*command)
    found = ds.Checkpoint.load(folder)
    assert (code, out) == (0, f"{folder}: sha256 {found.hash}\n")
    assert "72 rated replies of 3 systems to 24 contexts" in err
    assert found.spec["settings"] == ds.AdemRecipe(model="fake", seeds=1).settings()
    assert f"train adem {rated} -o {folder}" in found.spec["made with"]["command"]
    code, out, _ = cli("score", rated, "-m", f"adem:checkpoint={folder}", "--signatures")
    assert code == 0
    assert f"adem:checkpoint={folder},checkpoint.hash={found.hash[:8]}" in out.replace("\n", "")
    assert "far 0" in out
    code, _, err = cli(*command)
    assert (code, err.splitlines()[-1]) == (
        2,
        f"Error: {folder} holds a finished checkpoint; name another folder.",
    )


def test_every_option_is_a_setting(cli, rated, tmp_path):
    settings = {
        "model": "fake",
        "dims": 7,
        "turns": 2,
        "l2": 0.5,
        "steps": 9,
        "patience": 2,
        "folds": 4,
        "seeds": 1,
        "seed": 3,
        "device": "cpu",
    }
    options = [part for name, value in settings.items() for part in (f"--{name}", value)]
    more = ("--aspect", "none", "--aspect", "Overall", "--scale", "overall=0-5")
    code, _, err = cli("train", "adem", rated, "-o", tmp_path / "x", *options, *more[2:])
    assert code == 0, err
    found = ds.Checkpoint.load(tmp_path / "x").spec
    assert found["settings"] == ds.AdemRecipe(**settings).settings()
    assert found["data"]["scales"] == {"overall": [0, 5]}
    code, _, err = cli("train", "adem", rated, "-o", tmp_path / "y", *options, *more)
    assert (code, err) == (
        2,
        "Error: No reply is rated for 'none'. Rated aspects: overall; choose with --aspect.\n",
    )
    assert not (tmp_path / "y").exists()


def test_without_a_checkpoint_the_metric_says_how_to_train_one(cli, sample):
    code, _, err = cli("score", sample, "-m", "adem")
    assert code == 2
    assert "Train one with: dialoscope train adem RATED.jsonl -o FOLDER" in err.replace("\n", " ")


def test_the_page_names_every_setting_with_its_default():
    for name, value in {**ds.AdemRecipe().settings(), "device": "auto"}.items():
        row = re.search(rf"^\| `{name}` \| (.*?) \|", SECTION, re.MULTILINE)
        assert row, name
        assert row[1] == str(value)


def test_the_pages_commands_are_commands(cli):
    known = cli("train", "adem", "--help")[1]
    told = re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", SECTION)
    assert told
    for option in told:
        assert option in known, option
