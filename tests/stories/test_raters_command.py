"""Somebody has replies rated, and wants to know what the ratings are worth."""

import csv
import inspect
import io
import json
import re
import subprocess
import sys

import pytest

import dialoscope as ds
from dialoscope.cli.raters import raters as command
from scripts import documents
from tests.conftest import ROOT

PAGE = "docs/raters.md"


@pytest.fixture(scope="module")
def run(sample, tmp_path_factory):
    """The run of the sample, which has three raters and three aspects."""
    folder = tmp_path_factory.mktemp("runs") / "sample"
    ds.evaluate(ds.read(sample), ["words"]).save(folder)
    return folder


def test_the_command_shows_what_the_function_says(cli, run):
    code, out, err = cli("raters", run)
    assert (code, err) == (0, "")
    assert out == str(ds.raters(ds.Result.load(run))) + "\n"
    assert "ICC(2,k)" in out
    assert cli("raters", run) == (code, out, err), "the same again, to the last digit"


def test_every_form_can_be_had(cli, run):
    rows = json.loads(cli("raters", run, "--json", "--aspect", "fluency")[1])
    assert {row["aspect"] for row in rows} == {"fluency"}
    lines = list(csv.DictReader(io.StringIO(cli("raters", run, "--csv")[1])))
    assert {"pearson mean", "alpha ordinal", "ICC(1,1)", "ceiling of systems"} <= {
        row["statistic"] for row in lines
    }
    assert cli("raters", run, "--markdown")[1].startswith("|  | coherence | engagement | fluency |")
    code, _, err = cli("raters", run, "--json", "--csv")
    assert code == 2
    assert err.startswith("Error: --json and --csv exclude each other")


def test_ratings_may_come_from_files_of_their_own(cli, run, sample, tmp_path):
    """A row for each rating, with other names of columns; what fits no reply is told."""
    rows = [json.loads(line) for line in sample.read_text(encoding="utf-8").splitlines()]
    told = [
        [row["id"], row["system"], "coherence", f"person {place}", value]
        for row in rows
        for place, value in enumerate(row["ratings"]["coherence"])
    ]
    table = tmp_path / "ratings.csv"
    with table.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["item", "system", "aspect", "worker", "stars"], *told])
    columns = "id=item,rater=worker,rating=stars"
    found = json.loads(cli("raters", run, "--ratings", table, "--map", columns, "--json")[1])
    alike = ds.raters(ds.Result.load(run), aspect="coherence")["coherence"].numbers["alpha interval"]
    (alpha,) = [row for row in found if row["statistic"] == "alpha interval"]
    assert alpha["value"] == pytest.approx(alike.value)
    assert {row["rater"] for row in found} == {None, "person 0", "person 1", "person 2"}

    more = tmp_path / "more.jsonl"
    more.write_text(
        '{"id": "nowhere", "system": "generic", "ratings": {"charm": [1, 2]}}\n', encoding="utf-8"
    )
    out = cli("raters", run, "--ratings", sample, "--ratings", more)[1]
    assert "2 of " in out
    assert "ratings are of no reply in the run and were left out: 'nowhere' by system 'generic'." in out


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--aspect", "charm"], "Nobody rated 'charm'"),
        (["--system", "nobody"], "There is no system 'nobody'"),
        (["--ratings", "nowhere.csv"], "nowhere.csv: there is no such file"),
        (["--scale", "fluency=1-2"], "off its scale of 1 to 2"),
        (["--scale", "fluency"], "--scale fluency is not understood"),
        (["--normalise", "mood"], "by scale or by rater, not by 'mood'"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_what_is_wrong_is_told_in_a_line(cli, run, options, complaint):
    code, out, err = cli("raters", run, *options)
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert complaint in err
    assert "Traceback" not in err


def test_ratings_on_0_to_1(cli, run):
    plain, scaled = (
        json.loads(cli("raters", run, "--json", "--aspect", "fluency", *how)[1])
        for how in ([], ["--scale", "fluency=1-5"])
    )
    first, second = (
        next(row["value"] for row in rows if row["statistic"] == "mean" and row["rater"] is None)
        for rows in (plain, scaled)
    )
    assert second == pytest.approx((first - 1) / 4)


def test_the_defaults_are_those_of_python():
    ours, theirs = (inspect.signature(one).parameters for one in (command, ds.raters))
    for name in ("system", "normalise", "confidence", "draws", "seed"):
        assert ours[name].default == theirs[name].default


def test_what_the_page_shows_is_what_its_commands_print():
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    assert documents.renewed(text) == text, f"make the outputs in {PAGE} again"
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (ROOT / "docs" / target).exists(), target


def test_the_python_of_the_page_runs(tmp_path):
    code = re.findall(r"^```python\n(.*?)^```$", (ROOT / PAGE).read_text(encoding="utf-8"), re.M | re.S)[-1]
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "ICC(2,k)" in done.stdout


@pytest.mark.corpora
@pytest.mark.parametrize(
    ("file", "system", "wanted"),
    [
        ("coherence", None, (0.607, 0.909, 0.57, 0.87)),
        ("fluency", None, (0.697, 0.877, 0.70, 0.85)),
        ("self_consistency", "none", (0.612, 0.754, 0.62, 0.74)),
        ("self_consistency", "WS", (0.641, 0.796, 0.64, 0.79)),
        ("self_consistency", "CTG", (0.654, 0.752, 0.66, 0.76)),
    ],
)
def test_people_agree_as_in_the_tables_of_pang_et_al(cli, corpora, tmp_path, file, system, wanted):
    """Pearson's as the notes beside the corpora have them, Spearman's as tables 3, 4 and 9 print them."""
    data, columns = corpora / "rated" / "pang2020" / f"{file}.jsonl", ["--map", "system=augmentation"]
    cli("score", data, "-m", "words", "-o", tmp_path / "run", *(columns if system else []))
    rows = json.loads(cli("raters", tmp_path / "run", "--json", *(["--system", system] if system else []))[1])
    found = {row["statistic"]: row["value"] for row in rows if row["rater"] is None}
    assert (found["pearson mean"], found["pearson max"]) == pytest.approx(wanted[:2], abs=0.002)
    assert (found["spearman mean"], found["spearman max"]) == pytest.approx(wanted[2:], abs=0.0051)


@pytest.mark.corpora
def test_the_raters_who_stand_out_on_pang_et_al_are_found(corpora):
    """Rater 0 and 6 of the notes beside the corpus are 1 and 7 here, who count from 1."""
    data = ds.read(corpora / "rated" / "pang2020" / "coherence.jsonl")
    found = ds.raters(ds.evaluate(data, ["words"]))["coherence"]
    assert {one.rater: round(one.number, 2) for one in found.outliers} == {
        "1": -0.08,
        "7": 0.16,
        "8": 0.36,
        "10": 0.36,
    }
    assert found.without is not None
    assert found.without.numbers["pearson mean"].value > 0.85


@pytest.mark.corpora
def test_raters_of_grade_are_places_in_lists(corpora):
    data = ds.read(corpora / "rated" / "grade" / "grade_dailydialog.jsonl")
    found = ds.raters(ds.evaluate(data, ["words"]))["coherence"]
    assert found.are_places
    assert (found.fewest, found.most, found.outliers) == (9, 11, ())
    assert 0 < found.numbers["ceiling of replies"].value < 0.8
