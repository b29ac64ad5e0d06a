"""A user's day at the command line, with real processes where it matters."""

import csv
import errno
import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import dialoscope as ds
from dialoscope.cli import app
from dialoscope.models.registry import asset_table as catalogue


def dialoscope(*arguments, **options):
    """The command as users start it."""
    return subprocess.run(
        [sys.executable, "-m", "dialoscope", *map(str, arguments)], capture_output=True, text=True, **options
    )


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_score_save_show_verify(sample, tmp_path):
    run = tmp_path / "runs" / "monday"
    scored = dialoscope("score", sample, "-m", "bleu", "-m", "rouge:order=2", "-m", "distinct:n=2", "-o", run)
    assert scored.returncode == 0, scored.stderr
    lines = scored.stdout.splitlines()
    assert lines[0].split() == ["bleu-4", "rouge-2", "distinct-2"]
    assert [line.split()[0] for line in lines[2:6]] == ["attentive", "generic", "parrot", "rambler"]
    assert f"Saved to {run}" in scored.stderr
    assert dialoscope("show", run).stdout == scored.stdout
    verified = dialoscope("verify", run)
    assert verified.returncode == 0, verified.stderr
    assert "holds: 2124 numbers made again, all equal" in verified.stdout
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["provenance"]["command"].endswith(f"-o {run}")


def test_the_command_line_gives_the_numbers_of_python(sample, cli):
    code, out, _ = cli("score", sample, "--suite", "lexical", "--json")
    assert code == 0
    table = ds.evaluate(ds.read(sample), ds.suite("lexical")).table()
    assert json.loads(out) == json.loads(table.json())


def test_the_lexical_suite_is_what_is_scored_when_nothing_is_named(sample, cli):
    assert cli("score", sample)[1] == cli("score", sample, "--suite", "lexical")[1]


def test_every_form_of_the_table_can_be_read_by_its_reader(sample, cli):
    _, out, _ = cli("score", sample, "-m", "bleu", "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["system"] for row in rows] == ["attentive", "generic", "parrot", "rambler"]
    assert float(rows[0]["low"]) < float(rows[0]["value"]) < float(rows[0]["high"])
    _, out, _ = cli("score", sample, "-m", "bleu", "-m", "words", "--markdown", "--signatures")
    assert out.startswith("|  | bleu-4 | words |\n|---|---|---|\n| attentive | **27.1 [")
    assert "- bleu-4: bleu|order:4|" in out
    code, _, err = cli("score", sample, "--csv", "--json")
    assert (code, err) == (2, "Error: --json and --csv exclude each other; choose one.\n")


def test_significance_is_tested_on_request(sample, cli):
    _, out, _ = cli("score", sample, "-m", "rouge-l", "--significance", "--json")
    assert [row["p"] is None for row in json.loads(out)] == [True, False, False, False]
    _, out, _ = cli("score", sample, "-m", "rouge-l", "--significance")
    assert "p: paired test against the best system, not corrected" in out


def test_workers_change_nothing(sample, cli):
    assert cli("score", sample, "--workers", 2)[1] == cli("score", sample)[1]


def test_standard_input_and_gzip_and_renamed_columns(tmp_path):
    rows = [{"output": "hello there", "history": "hi ||| hello", "gold": "hello you"}] * 2
    packed = gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode())
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "dialoscope",
            "score",
            "-",
            "-m",
            "bleu-1",
            "-m",
            "copying-1",
            "--csv",
            "--map",
            "response=output,context=history",
            "--map",
            "references=gold",
            "--separator",
            "|||",
        ],
        input=packed,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    rows = {row["metric"]: row for row in csv.DictReader(io.StringIO(done.stdout.decode()))}
    assert float(rows["bleu-1"]["value"]) == pytest.approx(50)
    assert float(rows["copying-1"]["value"]) == 0.5


def test_joined_files(tmp_path, cli):
    items = write(
        tmp_path / "items.jsonl", [{"id": i, "context": ["hi"], "references": ["hello you"]} for i in "ab"]
    )
    (tmp_path / "one.txt").write_text("hello you\nhello\n")
    write(tmp_path / "two.jsonl", [{"id": i, "response": "no"} for i in "ba"])
    code, out, _ = cli(
        "score",
        items,
        "--replies",
        f"one={tmp_path / 'one.txt'}",
        "--replies",
        f"two={tmp_path / 'two.jsonl'}",
        "-m",
        "words",
        "--csv",
    )
    assert code == 0
    assert [(row["system"], row["value"]) for row in csv.DictReader(io.StringIO(out))] == [
        ("one", "1.5"),
        ("two", "1.0"),
    ]


def test_bad_rows_stop_the_run_with_file_line_and_reason(tmp_path, cli):
    path = tmp_path / "replies.jsonl"
    path.write_text('{"response": "fine"}\n{"response": null}\nnot json\n')
    code, out, err = cli("score", path, "-m", "words")
    assert (code, out) == (2, "")
    assert f"{path}:2: " in err
    assert "null" in err
    assert f"{path}:3: " in err
    assert "--on-error skip" in err
    assert "Traceback" not in err
    run = tmp_path / "run"
    code, out, err = cli("score", path, "-m", "words", "--on-error", "skip", "--csv", "-o", run)
    assert code == 0
    (left_out,) = [line for line in err.splitlines() if "left out" in line]
    assert left_out.startswith(f"Warning: 2 malformed rows were left out: {path}:2: ")
    assert f"; {path}:3: " in left_out
    assert next(csv.DictReader(io.StringIO(out)))["replies"] == "1"
    assert left_out in cli("show", run)[2].splitlines()
    (warning,) = ds.Result.load(run).provenance.warnings
    assert left_out == f"Warning: {warning}"


def test_lint_says_what_was_left_out(tmp_path, cli):
    path = tmp_path / "replies.jsonl"
    path.write_text('{"id": 1, "response": "fine"}\n' + '{"id": 2, "response": "a", "response": "b"}\n' * 5)
    code, out, err = cli("lint", path, "--on-error", "skip")
    assert (code, out) == (0, "")
    assert err.startswith(f"Warning: 5 malformed rows were left out: {path}:2: ")
    assert err.endswith("; and 2 more.\n")


def test_hostile_text_cannot_reach_the_terminal(tmp_path, cli):
    path = write(tmp_path / "r.jsonl", [{"id": "\x1b[2J", "system": "\x1b]0;owned\x07", "response": "x"}] * 2)
    _, out, err = cli("score", path, "-m", "words")
    assert "\x1b" not in out + err
    path = write(tmp_path / "s.jsonl", [{"id": "1", "system": "\x1b]0;owned\x07", "response": "x y"}])
    _, out, err = cli("score", path, "-m", "words")
    assert "\x1b" not in out + err
    assert "\\x1b]0;owned\\x07" in out


def test_missing_input_is_named_and_can_be_counted(tmp_path, cli):
    path = write(tmp_path / "r.jsonl", [{"response": "a b", "references": ["a b"]}, {"response": "c d"}])
    code, _, err = cli("score", path, "-m", "bleu-1", "-m", "rouge-1", "-m", "words")
    assert code == 2
    assert "bleu-1, rouge-1 need references, but 1 of 2 replies have none (the first is '2')" in err
    assert "leave these metrics out, or count such replies as undefined with --missing undefined" in err
    code, out, _ = cli("score", path, "-m", "bleu-1", "-m", "words", "--missing", "undefined", "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [float(row["value"]) for row in rows] == pytest.approx([100, 2])
    assert [row["undefined"] for row in rows] == ["1", "0"]
    code, _, err = cli("score", path, "-m", "copying")
    assert "copying-2 needs context, but 2 of 2 replies have no context" in err
    assert cli("score", path, "-m", "words", "--missing", "ignore")[2].startswith(
        "Error: missing is 'ignore'"
    )


def test_without_a_choice_what_can_be_scored_is_scored(tmp_path, cli):
    path = write(tmp_path / "r.jsonl", [{"response": "a b"}, {"response": "c d e"}])
    code, out, err = cli("score", path, "--csv", "-o", tmp_path / "run")
    assert code == 0
    assert "No reply has references, so these were left out: bleu-1, bleu-2" in err
    assert "No reply has context, so these were left out: copying-2." in err
    scored = [row["metric"] for row in csv.DictReader(io.StringIO(out))]
    expected = "distinct-1 distinct-2 entropy-1 entropy-2 self-bleu-4 words repetition-1"
    assert scored == expected.split()
    assert cli("verify", tmp_path / "run")[0] == 0
    code, _, err = cli("score", path, "-m", "bleu", "--missing", "leave-out")
    assert (code, err) == (2, "Error: No metric is left: not one reply has references.\n")
    assert cli("score", path, "--suite", "lexical")[0] == 0
    assert cli("score", path, "--suite", "lexical", "-m", "bleu")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-m", "blue"], "Did you mean 'bleu'?"),
        (["--suite", "all"], "There is no suite 'all'"),
        (["--map", "response"], "--map response is not understood; write --map response=output."),
        (
            ["--scale", "coherence=high"],
            "--scale coherence=high is not understood; write --scale coherence=1-5.",
        ),
        (
            ["--scale", "coherence=5-1"],
            "--scale coherence=5-1 is not understood; write --scale coherence=1-5.",
        ),
        (["--replies", "x.txt"], "--replies x.txt is not understood; write --replies bot=replies.txt."),
        (["--replies", "a=x", "--replies", "a=y"], "--replies names 'a' twice."),
        (["--on-error", "ignore"], "on_error is 'ignore'; it must be 'stop' or 'skip'."),
        (["--format", "xml"], "format is 'xml'"),
    ],
)
def test_wrong_options_are_answered_in_words(sample, cli, arguments, message):
    code, out, err = cli("score", sample, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


def test_a_missing_file_is_named(tmp_path, cli):
    (tmp_path / "replies.jsonl").write_text("")
    code, _, err = cli("score", tmp_path / "replis.jsonl")
    assert code == 2
    assert "there is no such file; did you mean" in err


def test_a_taken_name_is_refused_before_anything_is_scored(sample, tmp_path, cli):
    (tmp_path / "run").mkdir()
    code, out, err = cli("score", sample, "-o", tmp_path / "run")
    assert (code, out) == (2, "")
    assert "exists already" in err


def test_verify_finds_other_data_and_moved_data(sample, tmp_path, cli):
    data = tmp_path / "replies.jsonl"
    data.write_bytes(sample.read_bytes())
    run = tmp_path / "run"
    assert cli("score", data, "-m", "bleu", "-o", run)[0] == 0
    data.rename(tmp_path / "moved.jsonl")
    code, _, err = cli("verify", run)
    assert code == 2
    assert "there is no such file" in err
    assert cli("verify", run, "--data", tmp_path / "moved.jsonl")[0] == 0
    text = (tmp_path / "moved.jsonl").read_text(encoding="utf-8")
    data.write_text(text.replace("a", "o", 1), encoding="utf-8")
    code, _, err = cli("verify", run)
    assert code == 1
    assert "the data is not the same: the run was made from 176 replies with the hash sha256:" in err


def test_verify_says_which_numbers_no_longer_hold(sample, tmp_path, cli, monkeypatch):
    run = tmp_path / "run"
    assert cli("score", sample, "-m", "rouge-l", "-m", "bleu", "-o", run)[0] == 0
    monkeypatch.setattr(ds.Rouge, "_f", lambda self, shares: shares.precision)
    code, _, err = cli("verify", run)
    assert code == 1
    assert "rouge-l of attentive was 0.5" in err
    assert "rouge-l differs for" in err
    assert "bleu" not in err.replace(str(run), "")


def test_a_run_from_standard_input_asks_for_its_data(sample, tmp_path):
    run = tmp_path / "run"
    done = dialoscope("score", "-", "-m", "words", "-o", run, input=sample.read_text(encoding="utf-8"))
    assert done.returncode == 0, done.stderr
    asked = dialoscope("verify", run)
    assert asked.returncode == 2
    assert (
        "was not scored from files that can be read again. Name its data with --data FILE and" in asked.stderr
    )
    assert dialoscope("verify", run, "--data", sample).returncode == 0


def test_lint_warns_and_does_not_fail(tmp_path, cli, sample):
    rows = [{"id": i, "response": "well , that is n't it .", "references": ["no"]} for i in range(10)]
    code, out, err = cli("lint", write(tmp_path / "bot.jsonl", rows))
    assert (code, out) == (0, "")
    assert "Warning: Replies look tokenised" in err
    assert cli("lint", sample)[1] == "Nothing odd.\n"
    code, _, err = cli("score", tmp_path / "bot.jsonl", "-m", "words")
    assert code == 0
    assert "Warning: Replies look tokenised" in err


def test_scales_can_be_declared(tmp_path, cli):
    rows = [{"id": i, "response": "hi", "ratings": {"coherence": [4, 9]}} for i in range(5)]
    path = write(tmp_path / "bot.jsonl", rows)
    assert "outside its scale 1–5" in cli("lint", path, "--scale", "coherence=1-5")[2]


def test_metrics_are_listed(cli):
    _, out, _ = cli("metrics")
    assert "self-bleu" in out
    assert "lower is better; 0 – 100; needs nothing" in out
    _, out, _ = cli("metrics", "--json")
    assert {entry["name"] for entry in json.loads(out)} >= {"bleu", "rouge", "copying"}


def test_help_groups_the_verbs_with_whole_summaries():
    text = CliRunner().invoke(app, ["--help"]).output
    headings = re.findall(r"^(\w.*):$", text, re.MULTILINE)
    assert headings == ["Options", "Score and compare", "People", "Systems", "Models and data"]
    summaries = dict(re.findall(r"^  ([a-z]+) +(.+)$", text.partition("Score and compare:")[2], re.MULTILINE))
    assert summaries.keys() == get_command(app).commands.keys()
    assert all(len(summary) <= 60 and summary.endswith((".", "?")) for summary in summaries.values())
    assert "..." not in "".join(summaries.values())


def commands(group, path=()):
    """Every command, by the words that call it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name)


@pytest.mark.parametrize("path", [path for path in commands(get_command(app)) if path[0] != "train"])
def test_help_shows_metavars_in_place_of_types(path):
    text = CliRunner().invoke(app, [*path, "--help"]).output
    assert not re.findall(r"<\w|x[<>]=|[{}]|\.{4}", text)


def test_the_version_is_printed():
    assert dialoscope("--version").stdout == f"dialoscope {ds.__version__}\n"


@pytest.mark.parametrize("verb", ["agree", "compare", "correlate", "raters"])
def test_the_columns_that_can_be_mapped_are_those_of_the_files_read(verb):
    text = CliRunner().invoke(app, [verb, "--help"]).output
    assert "rating=stars" in text
    assert "response=output" not in text


def test_a_closed_pipe_is_no_error(sample):
    command = [sys.executable, "-m", "dialoscope", "metrics", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()  # nobody reads what is to come
        assert process.stderr.read() == b""


def test_an_interrupted_run_leaves_nothing_behind(tmp_path):
    """Ctrl-C while a pipe keeps the reader waiting."""
    command = [sys.executable, "-m", "dialoscope", "score", "-", "-m", "words", "-o", tmp_path / "run"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(b'{"response": "hello"}\n')
        process.stdin.flush()
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 130
        assert b"Traceback" not in process.stderr.read()
    assert list(tmp_path.iterdir()) == []


def test_messages_do_not_depend_on_the_order_of_sets(tmp_path):
    path = write(tmp_path / "r.jsonl", [{"response": "hello"}])
    messages = {
        dialoscope(
            "score", path, "-m", "bleu", "-m", "copying", env={**os.environ, "PYTHONHASHSEED": seed}
        ).stderr
        for seed in "0123"
    }
    assert len(messages) == 1
    (message,) = messages
    assert "copying-2 needs context" in message
    assert "bleu-4 needs references" in message


def test_changed_ratings_do_not_hold(sample, tmp_path, cli):
    data = tmp_path / "replies.jsonl"
    data.write_bytes(sample.read_bytes())
    assert cli("score", data, "-m", "words", "-o", tmp_path / "run")[0] == 0
    data.write_text(
        data.read_text(encoding="utf-8").replace('"coherence": [5', '"coherence": [1', 1), encoding="utf-8"
    )
    code, _, err = cli("verify", tmp_path / "run")
    assert code == 1
    assert "the ratings in the data are not those of the run" in err


def test_data_under_another_name_is_the_same_data(tmp_path, cli):
    data = write(tmp_path / "bot.jsonl", [{"response": "hello there"}])
    assert cli("score", data, "-m", "words", "-o", tmp_path / "run")[0] == 0
    data.rename(tmp_path / "renamed.jsonl")
    assert cli("verify", tmp_path / "run", "--data", tmp_path / "renamed.jsonl")[0] == 0


def test_numbers_changed_by_somebody_who_seals_again_do_not_hold(sample, tmp_path, cli):
    import pyarrow as pa
    import pyarrow.parquet as pq

    from dialoscope.runs import store

    run = tmp_path / "run"
    assert cli("score", sample, "-m", "bleu", "-o", run)[0] == 0
    replies = pq.read_table(run / "replies.parquet")
    column = replies.column_names.index("bleu-4")
    pq.write_table(replies.set_column(column, "bleu-4", pa.array([77.0] * 176)), run / "replies.parquet")
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["files"]["replies.parquet"] = store._hash(run / "replies.parquet")
    manifest["table"]["cells"][0]["value"] = 99.9
    manifest["seal"] = store._seal({key: value for key, value in manifest.items() if key != "seal"})
    (run / "manifest.json").write_text(json.dumps(manifest))
    code, _, err = cli("verify", run)
    assert code == 1
    assert "the values of bleu-4 in replies.parquet are not those of its replies" in err
    assert "the manifest says bleu-4 of attentive is 99.9" in err


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("score - -m words <&-", "Standard input is closed; name a file instead of -."),
        ("score SAMPLE -m words >/dev/full", "The output cannot be written: No space left on device."),
        ("score SAMPLE -m words --system $'\\xff'", "holds bytes that are no text"),
    ],
)
def test_odd_streams_are_answered_in_words(sample, command, message):
    line = f"{sys.executable} -m dialoscope {command.replace('SAMPLE', str(sample))}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.EIO, "Input/output error"), "The output cannot be written: Input/output error."),
        (OSError(errno.EACCES, "Permission denied", "a\x1b.npy"), "a\\x1b.npy: Permission denied."),
        (OSError(errno.ENOSPC, "No space left on device", b"a.npy"), "a.npy: No space left on device."),
        (OSError(errno.EBADF, "Bad file descriptor", 7), "7: Bad file descriptor."),
        (OSError(errno.EMFILE, "Too many open files"), "Too many open files."),
        (OSError("the card is gone"), "the card is gone."),
        (TimeoutError(), "TimeoutError."),
    ],
)
def test_errors_of_the_system_are_described(cli, monkeypatch, error, message):
    def refuse(*_):
        raise error

    monkeypatch.setattr(catalogue, "as_text", refuse)
    assert cli("assets") == (2, "", f"Error: {message}\n")


def test_a_terminal_that_knows_only_ascii_gets_a_table_too(sample, tmp_path):
    plain = dialoscope("score", sample, "-m", "bleu", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert plain.returncode == 0, plain.stderr
    assert "attentive" in plain.stdout


def test_paths_that_are_no_text_do_no_harm(sample, tmp_path):
    run = os.fsencode(tmp_path) + b"/run\xff"
    data = os.fsencode(tmp_path) + b"/b\xff.jsonl"
    Path(os.fsdecode(data)).write_bytes(b'{"response": "hello"}\n')
    command = [os.fsencode(sys.executable), b"-m", b"dialoscope"]
    done = subprocess.run([*command, b"score", data, b"-m", b"words", b"-o", run], capture_output=True)
    assert done.returncode == 0, done.stderr
    assert subprocess.run([*command, b"verify", run], capture_output=True).returncode == 0


def test_workers_end_with_the_run_that_was_terminated():
    rows = "".join(json.dumps({"response": f"hello {i}"}) + "\n" for i in range(5000))
    command = [sys.executable, "-m", "dialoscope", "score", "-", "-m", "words", "--workers", "2"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as process:
        process.stdin.write(rows.encode())
        process.stdin.flush()
        time.sleep(2.5)  # the workers have started, and the reader waits for more
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 143
        # Every worker holds the same standard error: this ends only when all are gone.
        assert b"Traceback" not in process.stderr.read()


def test_joined_files_can_be_verified_where_they_are_now(tmp_path, cli):
    items = write(tmp_path / "items.jsonl", [{"id": "1", "references": ["hello you"]}])
    (tmp_path / "bot.txt").write_text("hello\n")
    assert (
        cli("score", items, "--replies", f"bot={tmp_path / 'bot.txt'}", "-m", "bleu", "-o", tmp_path / "run")[
            0
        ]
        == 0
    )
    (tmp_path / "bot.txt").rename(tmp_path / "moved.txt")
    assert cli("verify", tmp_path / "run")[0] == 2
    assert cli("verify", tmp_path / "run", "--replies", f"bot={tmp_path / 'moved.txt'}")[0] == 0


def test_a_progress_bar_is_shown_only_to_people(sample, monkeypatch, capsys):
    from dialoscope.core import progress

    with progress.progress_bar("Scoring", 100) as advance:
        advance(50)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with progress.progress_bar("Scoring", 100) as advance:
        advance(50)
    assert "Scoring" in capsys.readouterr().err
