"""What the doctor sees."""

import json
import shutil
import subprocess
import sys

import pytest

import dialoscope as ds
from dialoscope.models import doctor as checkup
from dialoscope.models import registry as assets
from dialoscope.models.registry import ASSETS


def about(found, name):
    (finding,) = (finding for finding in found.findings if finding.about == name)
    return finding


def test_everything_is_looked_at():
    found = ds.doctor()
    names = {finding.about for finding in found.findings}
    assert {"python", "packages", "packages (neural)", "device", "score cache", "network"} < names
    assert {f"asset {name}" for name in ASSETS} < names
    assert len(json.loads(found.json())) == len(found.findings)
    assert "numpy" in str(found)


def test_what_is_not_here_comes_with_the_command_that_brings_it(tmp_path, monkeypatch):
    monkeypatch.setenv("DIALOSCOPE_CACHE", str(tmp_path))
    monkeypatch.delenv("DIALOSCOPE_ASSETS", raising=False)
    finding = about(ds.doctor(), "asset smollm2")
    assert (finding.state, finding.advice) == ("lacking", "dialoscope assets fetch smollm2")
    assert "→ dialoscope assets fetch smollm2" in ds.doctor().text()
    assert ds.doctor().healthy


def test_a_damaged_asset_is_an_illness(tmp_path, monkeypatch):
    monkeypatch.setenv("DIALOSCOPE_CACHE", str(tmp_path))
    (tmp_path / "assets" / "minilm").mkdir(parents=True)
    (tmp_path / "assets" / "minilm" / "asset.json").write_text("{}")
    found = ds.doctor()
    assert about(found, "asset minilm").state == "wrong"
    assert "assets remove minilm" in about(found, "asset minilm").advice
    assert not found.healthy


def test_a_damaged_asset_in_the_users_own_folder_is_not_to_be_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("DIALOSCOPE_ASSETS", str(tmp_path))
    (tmp_path / "minilm").mkdir()
    finding = about(ds.doctor(), "asset minilm")
    assert finding.state == "wrong"
    assert finding.advice == f"Copy it to {tmp_path / 'minilm'} again, or move that folder away."


def test_missing_packages_are_named(monkeypatch):
    required = ["numpy>=1.26", "no-such-one>=1", "no-such-two[x]>=1; extra == 'tagger'"]
    monkeypatch.setattr(checkup.metadata, "requires", lambda _: required)
    found = ds.doctor()
    assert about(found, "packages").state == "wrong"
    assert "no-such-one is not installed" in about(found, "packages").said
    assert about(found, "packages (tagger)").advice == "pip install 'dialoscope[tagger]'"


def test_without_torch_there_is_advice():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import dialoscope as ds\n"
        "(found,) = (one for one in ds.doctor().findings if one.about == 'device')\n"
        "print(found.state, found.advice)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "lacking pip install 'dialoscope[neural]'"


class Card:
    name, total_memory = "Some Card", 8 * 2**30


def test_a_gpu_is_named_with_what_makes_it_fast(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: Card)
    finding = about(ds.doctor(), "device")
    assert finding.said == "Some Card, 8 GiB"
    assert "bfloat16" in finding.advice


@pytest.mark.parametrize("driver", [None, "/usr/bin/nvidia-smi"])
def test_a_gpu_that_torch_cannot_use_is_pointed_out(driver, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(shutil, "which", lambda _: driver)
    finding = about(ds.doctor(), "device")
    assert "no GPU" in finding.said
    assert bool(finding.advice) == bool(driver)


def test_what_is_switched_off_is_said(monkeypatch):
    monkeypatch.setenv("DIALOSCOPE_OFFLINE", "1")
    monkeypatch.setenv("DIALOSCOPE_SCORES", "off")
    assert assets.is_offline()
    assert about(ds.doctor(), "network").said == "offline"
    assert about(ds.doctor(), "score cache").said == "off"


def test_a_score_cache_of_somebody_else_is_an_illness_and_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("DIALOSCOPE_CACHE", str(tmp_path))
    monkeypatch.delenv("DIALOSCOPE_SCORES", raising=False)
    path = tmp_path / "scores-1.sqlite"
    path.write_bytes(b"no database")
    found = about(ds.doctor(), "score cache")
    assert (found.state, found.said) == ("wrong", f"{path} cannot be read: file is not a database")
    assert found.advice == "move the file away; a new one is created when needed"
    assert path.read_bytes() == b"no database"


def test_a_limit_of_scores_that_is_no_number_is_an_illness(monkeypatch):
    monkeypatch.setenv("DIALOSCOPE_SCORES_LIMIT", "much")
    found = about(ds.doctor(), "score cache")
    assert found.state == "wrong"
    assert found.said.startswith("DIALOSCOPE_SCORES_LIMIT must be a number of bytes")
    assert found.advice == "unset DIALOSCOPE_SCORES_LIMIT, or correct it"


def test_the_command_shows_it_and_fails_when_something_is_wrong(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from dialoscope.cli import app

    monkeypatch.setenv("DIALOSCOPE_CACHE", str(tmp_path))
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == 0
    assert "asset smollm2" in done.output
    assert json.loads(CliRunner().invoke(app, ["doctor", "--json"]).output)
    (tmp_path / "assets" / "minilm").mkdir(parents=True)
    (tmp_path / "assets" / "minilm" / "asset.json").write_text("{}")
    assert CliRunner().invoke(app, ["doctor"]).exit_code == 1
