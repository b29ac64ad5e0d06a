"""Asking how far metrics can be trusted, at the command line."""

import csv
import inspect
import io
import json
import re
import subprocess
import sys

import pytest

import dialoscope as ds
from dialoscope.cli.trust import trust as command
from scripts import documents
from tests.conftest import ROOT


@pytest.fixture
def runs(tmp_path, cli):
    """Two runs of rated replies, and one of replies that nobody rated."""
    for name, liked in (("long", 1), ("short", -1)):
        rows = [
            {
                "id": n,
                "context": [f"{name} {n}?"],
                "response": "word " * (n % 7 + 1),
                "ratings": {"overall": r},
            }
            for n in range(30)
            for r in [[liked * (n % 7) + n % 3, liked * (n % 7)]]
        ]
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        assert cli("score", path, "-m", "words", "-o", tmp_path / name)[0] == 0
    return tmp_path / "long", tmp_path / "short"


def test_without_runs_the_shipped_table_is_shown(cli):
    code, out, err = cli("trust")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["metric", "better", "ρ", "[95%]", "new", "corpus", "corpora", *"1234567"]
    assert lines[2].startswith("composite")
    assert any(line.startswith("bleu-4 ") for line in lines)
    assert "grade/grade_convai2 (coherence)" in out
    assert "Measured on 20" in lines[-2]


def test_another_aspect_can_be_asked_for(cli):
    code, out, _ = cli("trust", "--aspect", "fluency")
    assert code == 0
    assert "pang2020/fluency (fluency)" in out
    assert out.splitlines()[0].split()[-3:] == ["1", "2", "3"]
    code, out, err = cli("trust", "--aspect", "wit")
    assert (code, out) == (2, "")
    assert "Error: No corpus has ratings of wit; people rated: coherence, fluency" in err


def test_runs_are_called_by_their_folders(runs, cli):
    code, out, _ = cli("trust", *runs)
    assert code == 0
    assert "1: long (overall); 2: short (overall)" in out
    row = out.splitlines()[2].split()
    assert row[:2] == ["words", "–"]
    assert float(row[-2].replace("−", "-")) > 0.8
    assert float(row[-1].replace("−", "-")) < -0.8


def test_forms(cli, runs):
    told = json.loads(cli("trust", *runs, "--json")[1])
    assert told == json.loads(ds.trust(*map(ds.Result.load, runs), names=["long", "short"]).printed("json"))
    rows = list(csv.DictReader(io.StringIO(cli("trust", "--csv")[1])))
    assert {row["corpus"] for row in rows} == {corpus.name for corpus in ds.trust().corpora}
    assert cli("trust", "--markdown")[1].startswith("| metric | better |")
    assert "choose one" in cli("trust", "--json", "--csv")[2]


def test_it_can_be_drawn(cli, runs, tmp_path):
    code, _, err = cli("trust", *runs, "--plot", tmp_path / "trust.svg")
    assert (code, err) == (0, f"Drawn in {tmp_path / 'trust.svg'}\n")
    assert b"words" in (tmp_path / "trust.svg").read_bytes()
    code, out, err = cli("trust", "--plot", tmp_path / "trust.jpg")
    assert (code, out) == (2, "")
    assert "ends in .svg, .png or .pdf" in err


def test_what_cannot_be_done_is_told(cli, tmp_path):
    assert (
        "intervals from 10000 random halves of the contexts; name rated runs"
        in cli("trust", "--draws", 500)[2]
    )
    (tmp_path / "bare.jsonl").write_text('{"response": "hello"}\n', encoding="utf-8")
    cli("score", tmp_path / "bare.jsonl", "-m", "words", "-o", tmp_path / "bare")
    code, _, err = cli("trust", tmp_path / "bare")
    assert code == 2
    assert "bare has no ratings" in err


def test_the_defaults_are_those_of_python():
    ours, theirs = (inspect.signature(one).parameters for one in (command, ds.trust))
    for name in ("aspect", "confidence", "draws", "seed"):
        assert ours[name].default == theirs[name].default


def test_metrics_are_listed_with_their_trust(cli):
    told = ds.trust().of(ds.metric("bleu")).told
    assert f"  trust: {told}\n" in cli("metrics")[1]
    listed = {entry["name"]: entry["trust"] for entry in json.loads(cli("metrics", "--json")[1])}
    assert listed["bleu"]["told"] == told
    assert listed["bleu"]["low"] < listed["bleu"]["spearman"] < listed["bleu"]["high"]
    assert listed["fbd"] == {"told": "not measured: a single reply has no value"}
    assert f"| {told} |" in cli("metrics", "--markdown")[1]


@pytest.mark.parametrize("verb", ["score", "show"])
def test_tables_show_trust_where_it_is_asked_for(cli, sample, tmp_path, verb):
    metrics = ["-m", "bleu", "-m", "self-bleu", "-m", "repetition", "-m", "copying"]
    cli("score", sample, *metrics, "-o", tmp_path / "run")
    about = [sample, *metrics] if verb == "score" else [tmp_path / "run"]
    _, plain, _ = cli(verb, *about)
    assert "trust" not in plain
    _, out, _ = cli(verb, *about, "--trust", "--notes")
    rows = {line.split()[0]: line for line in out.splitlines()[2:6]}
    assert out.splitlines()[0].endswith("trust")
    assert rows["bleu-4"].endswith(ds.trust().of(ds.metric("bleu")).told)
    assert rows["repetition-1"].endswith("on 7 corpora, where less is better")
    assert rows["self-bleu-4"].endswith("–")
    assert "No trust of self-bleu-4: not measured: a single reply has no value." in out
    assert "'dialoscope trust' shows each." in out
    cells = {cell["metric"]: cell for cell in json.loads(cli(verb, *about, "--trust", "--json")[1])}
    assert cells["bleu-4"]["trust"]["corpora"] == 7
    assert cells["bleu-4"]["trust"]["low"] < cells["bleu-4"]["trust"]["spearman"]
    assert cells["self-bleu-4"]["trust"] == {}
    assert cells["self-bleu-4"]["trust_told"] == "not measured: a single reply has no value"
    rows = list(csv.DictReader(io.StringIO(cli(verb, *about, "--trust", "--csv")[1])))
    assert rows[0]["trust"].startswith("spearman=0.1")
    assert "| trust |" in cli(verb, *about, "--trust", "--markdown")[1].splitlines()[0]


def test_trust_stands_below_where_systems_go_down(cli, sample):
    _, out, _ = cli("score", sample, "-m", "bleu", "--trust")
    assert out.splitlines()[6].startswith("trust      ρ .")


def test_the_page_shows_what_its_commands_print():
    text = (ROOT / "docs/trust.md").read_text(encoding="utf-8")
    assert documents.renewed(text) == text, "make the outputs in docs/trust.md again"


@pytest.mark.parametrize("page", ["trust", "figures"])
def test_the_python_of_the_page_runs(page, tmp_path):
    (code,) = re.findall(
        r"^```python\n(.*?)^```$", (ROOT / f"docs/{page}.md").read_text(encoding="utf-8"), re.M | re.S
    )
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert ("trust" in done.stdout) == (page == "trust")
    drawn = {"scatter.svg", "heatmap.png", "intervals.pdf"} if page == "figures" else set()
    assert {path.name for path in tmp_path.iterdir()} == {"examples", *drawn}


def test_the_page_tells_the_figures_that_are_shipped():
    text = (ROOT / "docs/trust.md").read_text(encoding="utf-8").partition("## What comes out")[2]
    for metric in ("bleu-4", "rouge-l", "meteor", "pmi", "relatedness", "ruber-unreferenced", "composite"):
        told = ds.trust().of(ds.metric(metric)).told
        assert re.search(r"ρ (.*) on 7", told)[1] in " ".join(text.split()), metric
