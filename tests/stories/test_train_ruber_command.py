"""`dialoscope train ruber` as users start it, what its page says, and scoring with what comes out."""

import dataclasses
import re

import pytest

import dialoscope as ds
from tests.conftest import ROOT
from tests.unit.models.conftest import no_scores, one_thread  # noqa: F401 - fixtures
from tests.unit.training.conftest import dialogues, encoders, rows  # noqa: F401 - fixtures

pytestmark = pytest.mark.usefixtures("one_thread", "no_scores")

PAGE = (ROOT / "docs" / "train.md").read_text(encoding="utf-8").split("## A classifier of replies")[-1]
SMALL = {
    "embedding": "fake", "representation": "mean", "objective": "ranking", "negatives_per_pair": 2,
    "negative_pool": 4, "turns": 2, "pairs": 50, "part": "1/1", "seeds": 2, "margin": 0.4, "units": 3,
    "layers": 1, "decay": 0.3, "slow_after": 2, "epochs": 2, "learning_rate": 0.01, "batch": 9, "patience": 3,
    "dropout": 0.1, "seed": 7, "minutes": 5.0, "device": "cpu",
}  # fmt: skip


def options(settings):
    return [part for name, value in settings.items() for part in (f"--{name.replace('_', '-')}", value)]


def test_every_option_is_a_setting_and_what_comes_out_scores(cli, dialogues, tmp_path):  # noqa: F811
    folder = tmp_path / "my-head"
    kinds = ("--negatives", "random,near", "--negatives", "random")
    more = (*kinds, "--perceptron", "7,5", "--validation", "0.25", "--licence", "CC0")
    code, out, err = cli("train", "ruber", dialogues, "-o", folder, *options(SMALL), *more)
    assert code == 0, err
    found = ds.Checkpoint.load(folder)
    assert out == f"{folder}: sha256 {found.hash}\n"
    wanted = ds.RuberRecipe(**SMALL, negatives=("random", "near", "random"), perceptron=(7, 5))
    assert found.spec["settings"] == wanted.settings()
    assert found.spec["data"]["licence"] == "CC0"
    assert f"train ruber {dialogues} -o {folder}" in found.spec["made with"]["command"]
    for told in ("Before: loss, validation ", "Seed 7: loss, validation ", "Seed 8: "):
        assert told in err
    code, out, err = cli(
        "score", ROOT / "examples/sample.jsonl", "-m", f"ruber-unreferenced:model={folder}", "--signatures"
    )
    assert code == 0, err
    assert f"model:[head|model:{folder}|hash:{found.hash[:8]}|v:2]" in out


def test_an_encoder_that_reads_both_texts_is_trained_by_the_same_command(cli, dialogues, encoders, tmp_path):  # noqa: F811
    told = {
        "representation": "cross",
        "model": encoders("mpnet"),
        "method": "lora",
        "rank": 2,
        "negatives_per_pair": 1,
    }
    rest = {"max_tokens": 40, "restyle": 0.1, "epochs": 1, "validation": 0.25, "device": "cpu"}
    code, _, err = cli("train", "ruber", dialogues, "-o", tmp_path / "x", *options({**told, **rest}))
    assert code == 0, err
    assert (tmp_path / "x" / "adapter_config.json").exists()


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (("--rank", "3"), r"rank is no setting of the representation max, which has: .*units\."),
        (
            ("--representation", "cross", "--units", "3"),
            r"units is no setting of the representation cross, which has: .*rank.*",
        ),
        (
            ("--representation", "sum"),
            r"representation is 'sum'; it must be one of: bi-gru, max, mean, cross\.",
        ),
        (
            ("--part", "1/1000"),
            r"The part 1/1000 has 0 dialogues for training and 0 for validation; both are needed\. "
            r"Name more dialogues, or take all of them: --part 1/1\.",
        ),
        (
            ("--perceptron", "wide"),
            r"--perceptron wide is not understood; write --perceptron 256,512,128\.",
        ),
        (
            ("--negatives", "near,miss", "--part", "1/1", "--validation", ".3"),
            r"There are no wrong replies of the kind 'miss', but: random, .*",
        ),
        (
            ("--negatives-per-pair", "90", "--part", "1/1", "--validation", ".3"),
            r"For each reply 90 wrong ones of 1 kinds are asked for, but there are only \d+ different .*",
        ),
    ],
)
def test_mistakes_are_told_in_a_line_and_nothing_is_written(cli, dialogues, tmp_path, told, message):  # noqa: F811
    code, out, err = cli("train", "ruber", dialogues, "-o", tmp_path / "x", *told)
    assert (code, out) == (2, "")
    assert re.fullmatch(f"Error: {message}", err.splitlines()[-1])
    assert "Traceback" not in err
    assert not (tmp_path / "x").exists()


def test_the_page_names_every_setting_with_its_default():
    for name, value in {**dataclasses.asdict(ds.RuberRecipe()), "minutes": 0}.items():
        row = re.search(rf"^\| `{name}` \| (.*?) \|", PAGE, re.MULTILINE)
        assert row, name
        shown = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
        assert row[1] == shown


def test_the_pages_commands_are_commands(cli):
    known = cli("train", "ruber", "--help")[1]
    commands = re.findall(r"^dialoscope train ruber (.*)$", PAGE, re.MULTILINE)
    assert commands
    for command in commands:
        for option in re.findall(r"(?<!\S)--[a-z-]+", command):
            assert option in known, option
