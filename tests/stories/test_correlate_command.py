"""Somebody has replies rated, and wants to know which metrics say the same as the people."""

import csv
import inspect
import io
import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest

import dialoscope as ds
from dialoscope.cli.correlate import correlate as command
from dialoscope.core.errors import DialoscopeError
from dialoscope.report.figures.correlated import draw_correlations
from scripts import documents
from scripts.documents import differences
from tests.arithmetic import DOUBLE_ERROR
from tests.conftest import ROOT

PAGE = "docs/correlate.md"
QUICK = ("--draws", 100, "--permutations", 100)


@pytest.fixture(scope="module")
def run(sample, tmp_path_factory):
    """The run of the sample, which has three raters and three aspects."""
    folder = tmp_path_factory.mktemp("runs") / "sample"
    ds.evaluate(ds.read(sample), ["rouge-l", "words", "repetition-1", "self-bleu-2"]).save(folder)
    return folder


def test_the_command_shows_what_the_function_says(cli, run):
    code, out, err = cli("correlate", run, *QUICK)
    assert (code, err) == (0, "")
    assert out == str(ds.correlate(ds.Result.load(run), draws=100, permutations=100)) + "\n"
    assert out.startswith("coherence: over all replies; ceiling ")
    assert cli("correlate", run, *QUICK) == (code, out, err), "the same again, to the last digit"


def test_the_defaults_are_those_of_python():
    ours, theirs = (inspect.signature(one).parameters for one in (command, ds.correlate))
    for name in ("system_value", "min_points", "confidence", "draws", "permutations", "seed"):
        assert ours[name].default == theirs[name].default
    assert [ours[name].default for name in ("level", "group", "coefficient", "aspect")] == [[]] * 4


def test_every_form_can_be_had(cli, run):
    chosen = ("correlate", run, *QUICK, "--aspect", "fluency", "--coefficient", "pearson")
    rows = json.loads(cli(*chosen, "--json")[1])
    lines = list(csv.DictReader(io.StringIO(cli(*chosen, "--csv")[1])))
    assert [row["value"] for row in rows] == [float(line["value"]) for line in lines]
    kinds = {(row["level"], row["group"]) for row in rows}
    assert kinds == {("reply", "overall"), ("reply", "system"), ("reply", "item"), ("system", "overall")}
    marked = cli(*chosen, "--markdown", "--signatures")[1]
    assert "\n| metric | Pearson | p | by system | by item | systems |\n" in marked
    assert marked.endswith(f"- self-bleu-2: {ds.metric('self-bleu-2').signature}\n")
    assert cli(*chosen, "--signatures")[1].endswith(f"\nself-bleu-2: {ds.metric('self-bleu-2').signature}\n")
    code, _, err = cli(*chosen, "--json", "--csv")
    assert (code, err.startswith("Error: --json and --csv exclude each other")) == (2, True)


def test_the_first_kind_asked_for_is_shown_in_full(cli, run):
    _, out, _ = cli("correlate", run, *QUICK, "--level", "system", "--aspect", "fluency")
    assert out.startswith("fluency: over systems; ceiling ")
    assert "by item" not in out
    _, out, _ = cli("correlate", run, *QUICK, "--group", "item", "--level", "reply", "--aspect", "fluency")
    assert out.startswith("fluency: mean over contexts, within the replies to each\n")


def test_ratings_and_scores_may_come_from_files_of_their_own(cli, run, tmp_path):
    replies = ds.Result.load(run).replies
    keys = [(name, replies.systems[place]) for name, place in zip(replies.ids, replies.system, strict=True)]
    said, scored = tmp_path / "ratings.csv", tmp_path / "scores.csv"
    with said.open("w", newline="") as file:
        rows = [(*key, "charm", place * 7 % 11) for place, key in enumerate(keys[5:])]
        csv.writer(file).writerows([("id", "system", "aspect", "rating"), *rows, ("none", "x", "charm", 1)])
    with scored.open("w", newline="") as file:
        rows = [(*key, place * 7 % 11 + place % 3) for place, key in enumerate(keys[5:])]
        csv.writer(file).writerows([("id", "system", "theirs"), *rows])
    code, out, err = cli("correlate", run, "--ratings", said, "--scores", scored, *QUICK)
    assert (code, err) == (0, "")
    assert out.splitlines()[3].startswith("theirs ")
    assert f"5 of {len(keys)} replies have no rating of charm." in out
    assert f"1 of {len(keys) - 4} ratings are of no reply in the run and were left out: 'none' by" in out
    assert "coherence" not in out
    rows = json.loads(cli("correlate", run, "--ratings", said, "--scores", scored, *QUICK, "--json")[1])
    assert {row["signature"] for row in rows if row["metric"] == "theirs"} == {""}


def test_two_metrics_against_each_other(cli, run):
    fluency = ("--draws", 100, "--aspect", "fluency", "--notes")
    code, out, err = cli("correlate", run, "--better", "rouge-l", "words", *fluency)
    assert (code, err) == (0, "")
    assert out.splitlines()[2].split()[:3] == ["fluency", "rouge-l", "words"]
    assert "Interval and p are from random halves of the contexts" in out
    tests = json.loads(cli("correlate", run, "--better", "rouge-l", "words", *QUICK, "--json")[1])
    assert {"williams_p", "steiger_p"} < tests[0].keys()
    rows = json.loads(cli("correlate", run, "--every-pair", *QUICK, "--json", "--coefficient", "pearson")[1])
    assert len(rows) == 3 * 3, "of three metrics with values for replies, over three aspects"
    assert {row["coefficient"] for row in rows} == {"pearson"}
    assert "| aspect | first | second |" in cli("correlate", run, "--every-pair", *QUICK, "--markdown")[1]


@pytest.mark.parametrize("kind", ["scatter", "intervals", "heatmap"])
def test_figures_are_drawn(cli, run, tmp_path, kind):
    pytest.importorskip("matplotlib")
    place = tmp_path / "figure.svg"
    code, _, err = cli("correlate", run, *QUICK, "--plot", place, "--figure", kind)
    assert (code, err) == (0, f"Drawn in {place}\n")
    drawn = place.read_text(encoding="utf-8")
    assert "repetition-1" in drawn
    assert "fluency" in drawn
    cli("correlate", run, *QUICK, "--plot", place, "--figure", kind)
    assert place.read_text(encoding="utf-8") == drawn


def test_dots_of_replies_bear_no_coefficient_of_systems(cli, run, tmp_path):
    pytest.importorskip("matplotlib")
    place = tmp_path / "figure.svg"
    assert cli("correlate", run, *QUICK, "--level", "system", "--plot", place)[0] == 0
    assert "Spearman" not in place.read_text(encoding="utf-8")
    whole = ds.correlate(ds.Result.load(run), levels=["reply"], draws=100, permutations=100)
    with pytest.raises(
        DialoscopeError, match=r"No metric has a value for a reply, so that there are no dots"
    ):
        draw_correlations(replace(whole, cells=()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--aspect", "flu"], "Nobody rated 'flu'"),
        (["--level", "turn"], "There is no level 'turn'. Choose from: reply, system."),
        (["--coefficient", "\x1b[2J"], "There is no coefficient '\\x1b[2J'."),
        (["--system-value", "x"], "system_value is 'x'; it must be one of: own, mean."),
        (["--figure", "pie"], "There is no figure 'pie'. Choose from: scatter, intervals, heatmap."),
        (["--plot", "x.gif"], "the name of a figure ends in .svg, .png or .pdf."),
        (["--better", "rouge-l", "bleu-1"], "This run has no bleu-1; it has: rouge-l"),
        (["--better", "rouge-l", "self-bleu-2"], "self-bleu-2 has no value for a reply"),
        (["--better", "rouge-l", "words", "--every-pair"], "--better and --every-pair exclude each other"),
        (["--every-pair", "--level", "system"], "Metrics are compared over all replies by one coefficient"),
        (["--ratings", "nowhere.csv"], "nowhere.csv"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "says",
)
def test_what_cannot_be_done_is_told_without_a_traceback(cli, run, options, message):
    code, out, err = cli("correlate", run, *QUICK, *options)
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert message in err


def test_a_run_without_ratings_says_how_to_give_some(cli, tmp_path):
    ds.evaluate([ds.Example("1", "a", "Hello.", ("Hi.",))], ["words"]).save(tmp_path / "bare")
    code, _, err = cli("correlate", tmp_path / "bare")
    assert code == 2
    assert err == "Error: The run has no ratings; give a file of them with --ratings (ratings=).\n"


@pytest.mark.processor
def test_what_the_page_shows_is_what_the_commands_print(cli):
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    assert not differences(text, documents.renewed(text), DOUBLE_ERROR, last=0), (
        "run: python scripts/documents.py"
    )
    offered = cli("correlate", "--help")[1]
    for option in set(re.findall(r"`(--[a-z-]+)", text)) - {"--suite"}:
        assert option in offered


def test_the_python_of_the_page_runs(run, tmp_path):
    (code,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / PAGE).read_text(encoding="utf-8"), re.M | re.S)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/monday").symlink_to(run)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
