"""Which metrics agree, at the command line."""

import csv
import inspect
import io
import json
import re

import pytest

import dialoscope as ds
from dialoscope.cli.agree import agree as command
from scripts import documents
from tests.conftest import ROOT

PAGE = "docs/agree.md"


@pytest.fixture(scope="module")
def run(sample, tmp_path_factory):
    """The sample's run, with lexical metrics and three rated aspects."""
    return ds.evaluate(ds.read(sample), ds.suite("lexical")).save(tmp_path_factory.mktemp("runs") / "run")


def test_a_picture_clusters_advice_and_how_to_read_them(run, cli):
    code, out, err = cli("agree", run, "--draws", 100)
    assert (code, err) == (0, "")
    picture, _, clusters, _, new, advice, notes = re.split(r"\n\n", out.rstrip("\n"))
    assert picture.splitlines()[0].split() == ["r", "metric", "distance", "1", "-", "r,", "cut", "at", "0.5"]
    assert len(picture.splitlines()) == 2 + 17
    assert clusters.splitlines()[0].split() == ["mean", "r", "weakest", "stability", "just", "so", "cluster"]
    assert "rouge-4, rouge-3" in clusters
    assert "entropy-1" in new
    assert advice.startswith("Advice:\n- Report bleu-2 (")
    assert "Left out: self-bleu-4 (a value for a system and none for a reply)." in notes


def test_the_command_line_gives_the_numbers_of_python(run, cli):
    chosen = ("--coefficient", "spearman", "--length", "none", "--aspect", "fluency", "--draws", 100)
    code, out, _ = cli("agree", run, "--json", *chosen)
    assert code == 0
    same = ds.agree(ds.Result.load(run), coefficient="spearman", length=None, aspect="fluency", draws=100)
    assert json.loads(out) == json.loads(same.json())


def test_the_defaults_are_those_of_python():
    ours, theirs = (inspect.signature(one).parameters for one in (command, ds.agree))
    for name in ("aspect", "system", "coefficient", "length", "cut", "draws", "confidence", "seed"):
        assert ours[name].default == theirs[name].default


def test_data_for_a_heatmap(run, cli):
    _, out, _ = cli("agree", run, "--csv", "--draws", 100)
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == 17 * 16 / 2
    assert all(float(row["low"]) <= float(row["r"]) <= float(row["high"]) for row in rows)
    assert all((row["without_length_r"] == "") == ("words" in (row["first"], row["second"])) for row in rows)


def test_markdown_for_an_issue(run, cli):
    _, out, _ = cli("agree", run, "--markdown", "--draws", 100)
    assert "\n| mean r | weakest | stability | just so | cluster |\n" in out
    assert "\n- Report bleu-2 (" in out


def test_scores_of_others_are_judged_beside_our_own(run, tmp_path, cli):
    words = ds.Result.load(run).to_columns()
    rows = zip(words["id"], words["system"], words["words"], strict=True)
    lines = [
        json.dumps({"id": name, "system": system, "their-length": length}) for name, system, length in rows
    ]
    (tmp_path / "scores.jsonl").write_text("\n".join(lines) + "\n")
    _, out, _ = cli("agree", run, "--scores", tmp_path / "scores.jsonl", "--json", "--draws", 100)
    told = json.loads(out)
    first = told["merges"][0]
    assert any({*one["left"], *one["right"]} == {"their-length", "words"} for one in told["merges"])
    assert first["distance"] == 0
    ratings = [json.dumps({"id": "d01", "system": "parrot", "aspect": "flow", "rating": 3})]
    (tmp_path / "ratings.jsonl").write_text("\n".join(ratings) + "\n")
    _, out, _ = cli("agree", run, "--ratings", tmp_path / "ratings.jsonl", "--draws", 100)
    assert "flow is rated the same everywhere, or hardly at all, and says nothing." in out


def test_heatmap_and_dendrogram_in_a_file(run, tmp_path, cli):
    path = tmp_path / "agree.svg"
    code, _, err = cli("agree", run, "--plot", path, "--draws", 100)
    assert (code, err) == (0, f"Drawn in {path}\n")
    assert path.read_text(encoding="utf-8").count(">rouge-l<") == 2, "beside its row and below its column"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--coefficient", "kendall"], "The coefficient is 'kendall'; it must be one of: pearson, spearman."),
        (["--length", "\x1b[2J"], "This run has no \\x1b[2J to hold constant; it has: bleu-1, "),
        (["--aspect", "flow"], "Nobody rated 'flow'"),
        (["--plot", "x.gif"], "x.gif cannot be drawn: the name of a figure ends in .svg, .png or .pdf."),
        (["--json", "--csv"], "--json and --csv exclude each other; choose one."),
        (["--ratings", "nowhere.csv"], "nowhere.csv"),
    ],
)
def test_what_cannot_be_done_is_said_without_a_traceback(run, cli, options, message):
    code, out, err = cli("agree", run, *options)
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert message in err


def test_one_metric_has_nothing_to_agree_with(tmp_path, sample, cli):
    ds.evaluate(ds.read(sample), ["words", "self-bleu-4"]).save(tmp_path / "run")
    code, _, err = cli("agree", tmp_path / "run")
    assert code == 2
    assert "Agreement is between two metrics or more, and this run has 1 that can be compared." in err
    assert "Left out: self-bleu-4 (a value for a system and none for a reply)." in err


def test_what_the_page_shows_is_what_its_commands_print():
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    assert documents.renewed(text) == text, f"make the outputs in {PAGE} again"
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert (ROOT / "docs" / target).exists()


def test_the_python_of_the_page_runs(monkeypatch, capsys):
    (code,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / PAGE).read_text(encoding="utf-8"), re.M | re.S)
    monkeypatch.chdir(ROOT)
    exec(compile(code, PAGE, "exec"), {"__name__": "page"})  # noqa: S102 - our own document
    clusters, report, branch = capsys.readouterr().out.splitlines()
    assert "'entropy-2', 'entropy-1'" in clusters
    assert report.startswith("Report ")
    assert branch.startswith("Branch(metrics=(")
