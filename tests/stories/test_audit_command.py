"""Judging metrics at the command line."""

import csv
import inspect
import io
import json
import re
import subprocess
import sys

import pytest

import dialoscope as ds
from dialoscope.cli.audit import audit as command
from scripts import documents
from scripts.documents import differences
from tests.arithmetic import DOUBLE_ERROR
from tests.conftest import ROOT

PAGE = "docs/audit.md"


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def dialogues(tmp_path):
    """Eight dialogues between two people, as a file of turns."""
    turns = [
        ["Hi!", "Hello, how are you?", "Not bad, and you?", f"Busy with {n} cakes today."] for n in range(8)
    ]
    return write(tmp_path / "people.jsonl", [{"turns": one} for one in turns])


def test_a_table_and_a_line_for_each_metric(sample, cli):
    code, out, err = cli("audit", sample, "-m", "bleu-2", "-m", "words")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    head = "metric perturbation 0 0.2 0.4 0.6 0.8 1 shape worse Spearman change verdict"
    assert " ".join(lines[0].split()) == head
    assert [line.split()[:2] for line in lines[2:10]] == [
        [metric, perturbation]
        for metric in ("bleu-2", "words")
        for perturbation in ("noise", "swap", "shuffle", "generic")
    ]
    assert "bleu-2: sees noise, shuffle, generic; unsure of swap" in lines
    assert (
        "44 real replies: the first reference of each context, compared with the other references." in lines
    )


def test_the_command_line_gives_the_numbers_of_python(sample, cli):
    code, out, _ = cli("audit", sample, "--json")
    assert code == 0
    assert json.loads(out) == json.loads(ds.audit(ds.read(sample)).json())


def test_the_defaults_are_those_of_python():
    ours, theirs = (inspect.signature(one).parameters for one in (command, ds.audit))
    for name in ("against", "missing", "seed", "confidence", "draws"):
        assert ours[name].default == theirs[name].default


def test_data_for_a_plot(sample, cli):
    chosen = (
        "audit",
        sample,
        "-m",
        "rouge-l",
        "-p",
        "swap",
        "-p",
        "generic",
        "--ratios",
        "0,.5,1",
        "--against",
        "itself",
    )
    _, out, _ = cli(*chosen, "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["perturbation"], float(row["ratio"])) for row in rows] == [
        (name, ratio) for name in ("swap", "generic") for ratio in (0, 0.5, 1)
    ]
    assert [row["perturbed"] for row in rows] == ["0", "22", "44"] * 2
    changed = [row for row in rows if float(row["ratio"])]
    assert all(float(row["low"]) <= float(row["value"]) <= float(row["high"]) for row in changed)
    assert {row["verdict"] for row in rows} == {"sees"}
    _, out, _ = cli(*chosen, "--json")
    as_json = json.loads(out)
    assert [row["value"] for row in as_json] == [float(row["value"]) for row in rows]
    assert as_json[0].keys() == rows[0].keys()
    _, out, _ = cli(*chosen, "--markdown", "--signatures")
    assert out.startswith("| metric | perturbation | 0 | 0.5 | 1 | shape |")
    assert "\n- rouge-l: sees swap, generic\n" in out
    assert out.endswith(f"\n- rouge-l: {ds.metric('rouge-l').signature}\n")


def test_undefined_is_null_for_programs(dialogues, cli):
    _, out, _ = cli("audit", dialogues, "-m", "words", "--json")
    assert {(row["spearman"], row["p"], row["worse"]) for row in json.loads(out)} == {(None, None, None)}
    _, out, _ = cli("audit", dialogues, "-m", "words", "--csv")
    assert next(csv.DictReader(io.StringIO(out)))["spearman"] == ""


def test_dialogues_between_people_are_real_replies(dialogues, cli):
    code, out, err = cli("audit", dialogues, "-m", "rouge-1", "-m", "words", "--speaker", "B")
    assert (code, err) == (0, "")
    assert "16 real replies: the responses of the data, compared with themselves unperturbed." in out
    assert "rouge-1: sees" in out


def test_a_suite_and_metrics_together(sample, cli):
    _, out, _ = cli("audit", sample, "--suite", "lexical", "-m", "rouge-l:part=recall", "-p", "swap", "--csv")
    assert len({row["metric"] for row in csv.DictReader(io.StringIO(out))}) == len(ds.suite("lexical")) + 1


def test_the_seed_decides_what_is_perturbed(sample, cli):
    chosen = ("audit", sample, "-m", "bleu-2", "-p", "noise", "--csv")
    assert cli(*chosen) == cli(*chosen, "--seed", 0)
    assert cli(*chosen) != cli(*chosen, "--seed", 1)


def test_the_run_behind_it_is_kept_with_how_it_was_made(sample, tmp_path, cli):
    run = tmp_path / "run"
    code, _, err = cli("audit", sample, "-m", "words", "-p", "swap", "--seed", 4, "-o", run)
    assert (code, err) == (0, f"Saved to {run}\n")
    made = json.loads((run / "manifest.json").read_text())
    assert made["systems"] == ["real", "swap 0.2", "swap 0.4", "swap 0.6", "swap 0.8", "swap 1"]
    assert made["provenance"]["seed"] == 4
    assert made["provenance"]["source"]["paths"] == [str(sample)]
    assert made["provenance"]["source"]["perturbed"] == {
        "perturbations": ["swap"],
        "ratios": [0.0, 0.2, 0.4, 0.6, 0.8, 1.0],
        "seed": 4,
        "against": None,
    }
    _, out, _ = cli("show", run, "--csv")
    assert [row["system"] for row in csv.DictReader(io.StringIO(out))] == made["systems"]
    code, _, err = cli("audit", sample, "-m", "words", "-o", run)
    assert (code, "exists already" in err) == (2, True)
    assert cli("audit", sample, "-m", "words", "-p", "noise", "-o", run, "--overwrite")[0] == 0


def test_an_audit_is_verified_by_perturbing_again(sample, tmp_path, cli):
    data, run = tmp_path / "replies.jsonl", tmp_path / "run"
    data.write_bytes(sample.read_bytes())
    chosen = ("-m", "bleu-2", "-m", "distinct-1", "--seed", 3, "--against", "itself")
    assert cli("audit", data, *chosen, "-o", run)[0] == 0
    code, out, err = cli("verify", run)
    assert (code, err) == (0, "")
    assert "holds: 1890 numbers made again, all equal." in out
    data.rename(tmp_path / "moved.jsonl")
    assert cli("verify", run, "--data", tmp_path / "moved.jsonl")[0] == 0
    changed = (tmp_path / "moved.jsonl").read_text().replace("heat is probably", "heat is never")
    (tmp_path / "moved.jsonl").write_text(changed)
    code, _, err = cli("verify", run, "--data", tmp_path / "moved.jsonl")
    assert (code, "the data is not the same" in err) == (1, True)


def test_an_audit_of_replies_in_memory_is_verified_with_their_file(sample, tmp_path, cli):
    ds.audit(list(ds.read(sample)), "words").save(tmp_path / "run")
    code, _, err = cli("verify", tmp_path / "run")
    assert (code, "was not scored from files that can be read again" in err) == (2, True)
    assert cli("verify", tmp_path / "run", "--data", sample)[0] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ratios", "0,x"], "--ratios 0,x is not understood; write --ratios 0,0.5,1."),
        (["--ratios", ""], "--ratios  is not understood; write --ratios 0,0.5,1."),
        (["--ratios", "1,0"], "The ratios are 1, 0; give two or more in increasing order between 0 and 1"),
        (
            ["-p", "\x1b[2J"],
            "There is no perturbation '\\x1b[2J'. Choose from: noise, swap, shuffle, generic.",
        ),
        (["--against", "x"], "against is 'x'; it must be one of: others, itself."),
        (["-m", "blue"], "There is no metric 'blue'. Did you mean 'bleu'?"),
        (["--json", "--csv"], "--json and --csv exclude each other; choose one."),
    ],
)
def test_what_cannot_be_done_is_said_without_a_traceback(sample, cli, options, message):
    code, out, err = cli("audit", sample, *options)
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert message in err


def test_hostile_ids_are_escaped(tmp_path, cli):
    data = write(tmp_path / "r.jsonl", [{"id": f"\x1b[2J{n}", "response": f"hello {n}"} for n in range(3)])
    code, _, err = cli("audit", data, "-m", "copying")
    assert code == 2
    assert "\x1b" not in err
    assert "copying-2 needs context" in err
    code, _, err = cli("audit", data, "-m", "copying", "-m", "words", "--missing", "undefined")
    assert code == 0
    one = write(tmp_path / "one.jsonl", [{"response": "hello"}])
    code, _, err = cli("audit", one)
    assert (code, err.startswith("Error: There is one real reply to perturb; at least two are needed")) == (
        2,
        True,
    )


def test_standard_input_is_read_once():
    rows = "".join(
        json.dumps({"response": f"hello there {n}", "context": [f"hi {n}"]}) + "\n" for n in range(7)
    )
    done = subprocess.run(
        [sys.executable, "-m", "dialoscope", "audit", "-", "-m", "words", "--csv"],
        input=rows,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 1 + 4 * 6


@pytest.mark.processor
def test_what_the_page_shows_is_what_its_commands_print():
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    assert not differences(text, documents.renewed(text), DOUBLE_ERROR, last=0), (
        f"make the outputs in {PAGE} again"
    )
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert (ROOT / "docs" / target).exists()


def test_the_python_of_the_page_runs(tmp_path):
    code = re.findall(r"^```python\n(.*?)^```$", (ROOT / PAGE).read_text(encoding="utf-8"), re.M | re.S)[-1]
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "unsure"
