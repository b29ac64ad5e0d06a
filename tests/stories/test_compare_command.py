"""Comparing systems at the command line, and stopping a release."""

import csv
import inspect
import io
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import dialoscope as ds
from dialoscope.cli.compare import compare as command
from scripts import documents
from tests.conftest import ROOT

PAGE = "docs/compare.md"
METRICS = ("-m", "bleu-2", "-m", "rouge-l", "-m", "distinct-2", "-m", "repetition-1", "-m", "words")


@pytest.fixture(scope="module")
def run(sample, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "sample"
    ds.evaluate(ds.read(sample), list(METRICS[1::2])).save(folder)
    return folder


def build(folder, extra):
    """A run of one bot that says so many more words."""
    examples = [
        ds.Example(f"t{place}", "bot", "well " * (place % 5 + extra), (f"what about {place}?",))
        for place in range(40)
    ]
    return ds.evaluate(examples, ["words", "repetition-1", "distinct-1"]).save(folder)


def test_a_table_of_two_systems(run, cli):
    code, out, err = cli("compare", run, "generic", "parrot")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split()[:4] == ["metric", "generic", "parrot", "difference"]
    assert [line.split()[0] for line in lines[2:10]] == [
        *METRICS[1::2],
        "rated:coherence",
        "rated:engagement",
        "rated:fluency",
    ]
    assert lines[3].split()[-1] == "better"
    assert "44 contexts, all answered by every system." in lines


def test_the_command_line_gives_the_numbers_of_python(run, cli):
    _, out, _ = cli("compare", run, "--json")
    assert json.loads(out) == json.loads(ds.compare(ds.Result.load(run)).json())
    chosen = ("-m", "words", "--baseline", "generic", "--draws", "200", "--seed", "3", "--confidence", "0.9")
    _, out, _ = cli("compare", run, *chosen, "--json")
    same = {"metrics": ["words"], "baseline": "generic", "draws": 200, "seed": 3, "confidence": 0.9}
    assert json.loads(out) == json.loads(ds.compare(ds.Result.load(run), **same).json())


def test_the_defaults_are_those_of_python():
    ours, theirs = (inspect.signature(one).parameters for one in (command, ds.compare))
    for name in ("other", "baseline", "strict", "seed", "confidence", "draws"):
        assert ours[name].default == theirs[name].default


def test_other_forms(run, cli):
    _, out, _ = cli("compare", run, "generic", "parrot", "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["metric"] for row in rows][:2] == ["bleu-2", "rouge-l"]
    assert rows[2]["effect"] == ""
    _, out, _ = cli("compare", run, "--markdown", "--signatures")
    assert out.startswith("| order | 1. |")
    assert "- bleu-2: bleu|order:2" in out
    assert cli("compare", run, "--csv", "--json")[0] == 2


@pytest.mark.parametrize(
    ("gates", "code", "words"),
    [
        (["bleu-2>=-1"], 0, "passed"),
        (["rated:coherence>=0"], 0, "undecided"),
        (["rated:coherence>=0", "--strict"], 1, "undecided"),
        (["rated:coherence>=0", "bleu-2>=10"], 1, "failed"),
        (["repetition-1<=5%"], 1, "undefined"),
    ],
    ids=["passed", "undecided", "strict", "failed", "undefined"],
)
def test_gates_decide_how_the_command_ends(run, cli, gates, code, words):
    asked = [word for gate in gates for word in ([gate] if gate.startswith("--") else ["--gate", gate])]
    ended, out, err = cli("compare", run, "generic", "parrot", *asked)
    assert (ended, err) == (code, "")
    assert words in out.splitlines()[-2 - ("undecided" in words)] or words in out
    assert out.splitlines()[-1] == ("The release is stopped." if code else "The release may go on.")
    ended, out, _ = cli("compare", run, "generic", "parrot", *asked, "--json")
    assert ended == code
    assert json.loads(out)["passed"] is (code == 0)


def test_the_build_of_today_against_that_of_yesterday(tmp_path, cli):
    old, new, worse = (
        build(tmp_path / name, extra) for name, extra in (("old", 2), ("new", 2), ("worse", 4))
    )
    assert cli("compare", old, "--with", new, "--gate", "distinct-1>=0", "--strict")[0] == 0
    code, out, _ = cli("compare", old, "--with", worse, "--gate", "repetition-1<=0.01")
    assert code == 1
    assert re.search(r"^repetition-1<=0.01 +1:bot +2:bot +\+0\.\d+ +failed +surely no lower than", out, re.M)
    code, _, err = cli("compare", old, worse)
    assert code == 2
    assert "to compare it with another run, say --with" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--gate", "bleu-4>=-1"], "Error: This run has no bleu-4; it has: bleu-2"),
        (["--gate", "bleu-2"], "Error: The gate 'bleu-2' is not understood"),
        (["--gate", "repetition-1>=-1"], "Error: The gate 'repetition-1>=-1' would stop what is better"),
        (["--with", "nowhere"], "Error: There is no run at nowhere"),
        (["--plot", "x.gif"], "Error: x.gif cannot be drawn"),
    ],
)
def test_slips_end_with_2_and_a_line(run, cli, arguments, message):
    code, out, err = cli("compare", run, "generic", "parrot", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(message)


def test_a_figure(run, cli, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "apart.svg"
    code, _, err = cli("compare", run, "generic", "parrot", "--plot", path)
    assert (code, err.strip()) == (0, f"Drawn in {path}")
    drawn = path.read_text(encoding="utf-8")
    assert "generic → parrot" in drawn
    assert "rated:coherence" in drawn


def test_what_the_page_shows_is_what_its_commands_print():
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    assert documents.renewed(text) == text, f"make the outputs in {PAGE} again"
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert (ROOT / "docs" / target).exists(), target


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / PAGE).read_text(encoding="utf-8"), re.M | re.S)


def test_the_python_of_the_page_runs(tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (code,) = blocks("python")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "True"


BOT = """
def reply(context):
    words = context[-1].split()
    return " ".join(words[:8]) if {good} else "no no no no"
"""


@pytest.mark.parametrize("good", [True, False], ids=["as good", "worse"])
def test_the_workflow_of_the_page_stops_what_is_worse_and_nothing_else(
    tmp_path, sample, cli, monkeypatch, good
):
    """Its own lines, in a repository as it describes."""
    (workflow,) = blocks("yaml")
    steps = re.findall(r"^ +(?:- )?run: (.*)$", workflow, re.M)
    assert steps[0] == "pip install dialoscope"
    monkeypatch.chdir(tmp_path)
    Path("contexts.jsonl").write_bytes(sample.read_bytes())
    summary = ""

    def call(line):
        nonlocal summary
        (program, *words), target = shlex.split(line.partition(" >> ")[0]), line.partition(" >> ")[2]
        assert program == "dialoscope"
        code, out, _ = cli(*words)
        summary += out if target == '"$GITHUB_STEP_SUMMARY"' else ""
        return code

    Path("bot.py").write_text(BOT.format(good=True))
    assert call(steps[1].replace("new.jsonl", "old.jsonl")) == 0
    assert call("dialoscope score old.jsonl -m rouge-l -m repetition-1 -m words -o baseline") == 0
    sys.modules.pop("bot", None)
    Path("bot.py").write_text(BOT.format(good=good))
    assert [call(line) for line in steps[1:]] == [0, 0, 0 if good else 1]
    assert ("The release may go on." if good else "The release is stopped.") in summary
    assert "| repetition-1&lt;=0.02 | 1:bot | 2:bot |" in summary


def test_ratings_in_a_file_of_their_own(run, cli, tmp_path):
    ids = dict.fromkeys(ds.Result.load(run).replies.ids)
    rows = [f"{one},{name},charm,{3 + (name == 'parrot')}" for one in ids for name in ("generic", "parrot")]
    path = tmp_path / "said.csv"
    path.write_text("\n".join(["id,system,aspect,rating", *rows]) + "\n", encoding="utf-8")
    code, out, _ = cli("compare", run, "generic", "parrot", "--ratings", path, "-m", "rated:charm", "--json")
    assert code == 0
    assert json.loads(out)["comparisons"][0]["difference"] == 1
