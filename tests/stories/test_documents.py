"""What the documents say is true."""

import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import dialoscope as ds
from dialoscope.metrics import METRICS, metric_class
from tests.conftest import ROOT


def blocks(path: str, language: str) -> list[str]:
    text = (ROOT / path).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_table_in_the_readme_is_what_the_demo_prints(monkeypatch, capsys):
    from dialoscope.cli import main

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(
        sys, "argv", ["dialoscope", *["score", "examples/sample.jsonl", "--suite", "lexical"]]
    )
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 0
    said = capsys.readouterr()
    assert said.out.strip() in (ROOT / "README.md").read_text(encoding="utf-8")
    assert said.err == ""
    assert "dialoscope score examples/sample.jsonl --suite lexical" in (ROOT / "Makefile").read_text()


def test_the_python_in_the_readme_runs(tmp_path):
    (code,) = blocks("README.md", "python")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "attentive" in done.stdout


def test_the_row_in_the_readme_can_be_read(tmp_path):
    path = tmp_path / "row.jsonl"
    path.write_text(blocks("README.md", "json")[0], encoding="utf-8")
    assert [example.id for example in ds.read(path)] == ["d01"]


def test_the_dialogue_in_the_data_guide_can_be_read(tmp_path):
    path = tmp_path / "row.jsonl"
    path.write_text(blocks("docs/data.md", "json")[0], encoding="utf-8")
    assert [(example.id, example.response) for example in ds.read(path)] == [("d1#2", "Hello.")]


def test_the_metric_in_the_guide_works(monkeypatch):
    (code,) = blocks("CONTRIBUTING.md", "python")
    assert len(code.strip().splitlines()) <= 30
    made: dict = {"__name__": "questions"}
    exec(compile(code, "CONTRIBUTING.md", "exec"), made)  # noqa: S102 - our own document
    result = ds.evaluate(
        [ds.Example("1", "s", "Really?"), ds.Example("2", "s", "Yes.")], [made["Questions"]()]
    )
    assert result.score(made["Questions"](), "s") == 0.5


def commands(path: str) -> list[tuple[str, str]]:
    """The commands of a page with what it says they print."""
    found = []
    for block in blocks(path, ""):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


PAGES = [*(f"docs/metrics/{name}.md" for name in METRICS), "docs/metrics/tokenizers.md"]


@pytest.mark.parametrize("path", PAGES)
def test_the_commands_of_a_card_print_what_it_says(path):
    place = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    assert commands(path)
    for command, output in commands(path):
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=ROOT,
            env={**os.environ, "PATH": place},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.stdout.rstrip() == output.rstrip(), command


@pytest.mark.parametrize("name", METRICS)
def test_cards_name_every_setting_and_the_signature(name):
    card = (ROOT / f"docs/metrics/{name}.md").read_text(encoding="utf-8")
    metric = metric_class(name)()
    assert f"`{metric.signature}`" in card
    assert metric.paper in card
    for field in fields(metric):
        assert f"| {field.name} |" in card
    for variant in metric.variants:
        assert f"`{variant}`" in card


@pytest.mark.parametrize(
    "path", ["README.md", "CONTRIBUTING.md", *[f"docs/metrics/{name}.md" for name in METRICS]]
)
def test_links_lead_somewhere(path):
    text = (ROOT / path).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert ((ROOT / path).parent / target).exists(), target


def test_the_sample_is_what_its_readme_says():
    examples = list(ds.read(ROOT / "examples/sample.jsonl"))
    assert len({example.id for example in examples}) >= 40
    assert len({example.system for example in examples}) == 4
