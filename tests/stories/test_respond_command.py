"""`dialoscope respond` as users start it, with a real server and a real program, killed in the middle."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import dialoscope as ds
from scripts import documents
from tests.conftest import ROOT
from tests.unit.systems.conftest import HERE, alone, chat, program, rows  # noqa: F401 - fixtures

KEY = "sk-secret-7f3a"


def dialoscope(*arguments, **options):
    """The command as users start it."""
    return subprocess.run(
        [sys.executable, "-m", "dialoscope", *map(str, arguments)], capture_output=True, text=True, **options
    )


def read(path):
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def killed(arguments, journal, after):
    """Start the command, and kill it for good when so many answers are in its journal."""
    process = subprocess.Popen(
        [sys.executable, "-m", "dialoscope", *map(str, arguments)], stderr=subprocess.DEVNULL
    )
    limit = time.monotonic() + 60
    while time.monotonic() < limit and process.poll() is None:
        if journal.exists() and journal.read_bytes().count(b'"response"') >= after:
            break
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return {row["id"] for row in map(_parsed, journal.read_bytes().splitlines()) if "response" in row}


def _parsed(line):
    try:
        return json.loads(line)
    except ValueError:
        return {}


@pytest.mark.parametrize("workers", [1, 4])
def test_a_run_killed_in_the_middle_goes_on_and_asks_nothing_twice(chat, rows, tmp_path, workers):  # noqa: F811
    contexts = rows([{"id": f"d{place}", "context": [f"item {place}"]} for place in range(40)])
    out, journal = tmp_path / "out.jsonl", tmp_path / "out.jsonl.journal"
    command = ("respond", contexts, "--system", f"{chat.root}/wait/0.1#tiny", "-o", out, "--workers", workers)
    noted = killed(command, journal, 10)
    assert 10 <= len(noted) < 40
    assert not out.exists()
    done = dialoscope(*command)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert f"{len(noted)} of 40 replies were there already; asked for {40 - len(noted)}." in done.stderr
    counts = Counter(chat.texts())
    assert len(counts) == 40
    assert all(counts[f"item {name[1:]}"] == 1 for name in noted)
    # Only what was on its way in that moment, one for each worker, could not be known to be answered.
    assert sum(counts.values()) <= 40 + workers
    assert [row["id"] for row in read(out)] == [f"d{place}" for place in range(40)]
    assert [row["response"] for row in read(out)] == [f"about item {place}, seed 0" for place in range(40)]
    assert not journal.exists()
    assert dialoscope(*command).returncode == 0
    assert sum(Counter(chat.texts()).values()) == sum(counts.values())


def test_a_program_killed_in_the_middle_goes_on(program, rows, tmp_path):  # noqa: F811
    contexts = rows([{"context": [f"item {place}"]} for place in range(30)])
    out, journal = tmp_path / "out.jsonl", tmp_path / "out.jsonl.journal"
    command = ("respond", contexts, "--system", f"command:{program('wait')}", "-o", out, "--name", "bot")
    noted = killed(command, journal, 5)
    assert dialoscope(*command).returncode == 0
    counts = Counter(one["id"] for one in program.seen())
    assert all(counts[name] == 1 for name in noted)
    assert sum(counts.values()) <= 31
    assert {row["system"] for row in read(out)} == {"bot"}


def test_errors_are_counted_and_asked_for_again(chat, rows, tmp_path):  # noqa: F811
    said = ["Hi", "broken", "html", "busy bee", "Bye \x1b[2J"]
    contexts = rows([{"id": f"d{place}", "context": [text]} for place, text in enumerate(said)])
    out = tmp_path / "out.jsonl"
    command = ("respond", contexts, "-s", f"{chat.url}#tiny,retries=2,pause=0.01", "-o", out)
    done = dialoscope(*command)
    assert done.returncode == 1
    where = f"{chat.url}/chat/completions"
    assert done.stderr.splitlines() == [
        "Error: 2 of 5 questions have no reply:",
        f"  d1: {where}: 500 Internal Server Error: out of \\x1b[2J order (tried 3 times)",
        f"  d2: {where}: its answer is not JSON; is this the address of a model?",
        "Repeat the command to ask only for these.",
    ]
    assert ["error" in row for row in read(out)] == [False, True, True, False, False]
    asked = len(chat.texts())
    again = dialoscope(*command)
    assert again.returncode == 1
    assert "3 of 5 replies were there already; asked for 2." in again.stderr
    assert sorted(set(chat.texts()[asked:])) == ["broken", "html"]


def test_the_key_is_in_nothing_that_is_written(chat, rows, tmp_path):  # noqa: F811
    # Nor in errors that repeat it. Of replies this says nothing: what they hold is data.
    contexts = rows([{"context": [text]} for text in ("forbidden", "Hi")])
    done = dialoscope(
        "respond",
        *(contexts, "-s", f"{chat.url}#tiny", "-o", tmp_path / "out.jsonl"),
        env={**os.environ, "OPENAI_API_KEY": KEY},
    )
    assert done.returncode == 1
    assert chat.seen()["log"][0]["headers"]["Authorization"] == f"Bearer {KEY}"
    written = done.stdout + done.stderr + "".join(path.read_text() for path in tmp_path.glob("out*"))
    assert KEY not in written
    assert "Bearer …" in written


def test_the_command_line_gives_the_replies_of_python(cli, sample, tmp_path, monkeypatch):
    (tmp_path / "parrot.py").write_text("def reply(context, seed):\n    return f'{context[-1]} {seed}'\n")
    monkeypatch.chdir(tmp_path)
    code, out, err = cli("respond", sample, "-s", "parrot.py:reply", "-o", "-", "-k", 2, "--seed", 3)
    assert code == 0
    found = ds.respond(sample, "parrot.py:reply", samples=2, seed=3)
    assert [json.loads(line) for line in out.splitlines()] == list(found.rows)
    assert err.splitlines()[-1] == "88 replies of parrot"
    code, _, err = cli("respond", sample, "-s", "parrot.py:reply", "-o", "out.jsonl")
    assert (code, err.splitlines()[-1]) == (0, "44 replies of parrot in out.jsonl")
    assert [one.id for one in ds.read("out.jsonl")] == [f"d{place:02}" for place in range(1, 45)]


def test_what_has_no_reply_is_told_and_the_rest_is_written(cli, rows, tmp_path, monkeypatch):  # noqa: F811
    (tmp_path / "picky.py").write_text("def reply(context):\n    return 'ok' if context == ['a'] else None\n")
    monkeypatch.chdir(tmp_path)
    contexts = rows([{"context": ["a"]}, {"context": ["b"]}])
    code, out, err = cli("respond", contexts, "-s", "picky.py:reply", "-o", "-")
    assert code == 1
    assert [json.loads(line).get("response") for line in out.splitlines()] == ["ok", None]
    assert err.splitlines() == [
        "Error: 1 of 2 questions have no reply:",
        "  2: the reply is null where text is due",
    ]


def test_the_way_from_dialogues_to_scores(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("parrot.py").write_text("def reply(contexts):\n    return [context[-1] for context in contexts]\n")
    Path("talk.jsonl").write_text(
        json.dumps(
            {"id": "t", "turns": [{"speaker": "human", "text": "Hi you"}, {"speaker": "bot", "text": "Yo"}]}
        )
    )
    assert cli("respond", "talk.jsonl", "-s", "parrot.py:reply", "-o", "out.jsonl")[0] == 0
    code, out, _ = cli("score", "out.jsonl", "-m", "words", "--csv")
    assert code == 0
    assert "parrot" in out


def test_what_cannot_be_is_told_without_a_traceback(cli, sample, tmp_path):
    code, _, err = cli("respond", sample, "-s", "comand:./bot", "-o", tmp_path / "out.jsonl")
    assert (code, err) == (2, "Error: There is no system 'comand:./bot'. Did you mean 'command:'?\n")
    code, _, err = cli("respond", sample, "-s", "command:./none", "-o", tmp_path / "out.jsonl")
    assert (code, err) == (2, "Error: ./none cannot be started: No such file or directory.\n")


def test_the_last_key_of_a_person_who_waits_ends_it_at_once(chat, rows, tmp_path):  # noqa: F811
    contexts = rows([{"context": [f"slow {place}"]} for place in range(20)])
    out = tmp_path / "out.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-m", "dialoscope", "respond", contexts, "-s", f"{chat.url}#tiny", "-o", out],
        stderr=subprocess.PIPE,
        text=True,
    )
    while not chat.texts():
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=10)
    assert process.returncode != 0
    assert "Traceback" not in err
    assert "Interrupted. Answers so far are saved; the same command resumes." in err
    assert (tmp_path / "out.jsonl.journal").exists()


def test_two_at_once_ask_nothing_twice(program, rows, tmp_path):  # noqa: F811
    contexts = rows([{"context": [f"item {place}"]} for place in range(10)])
    command = [
        *(sys.executable, "-m", "dialoscope", "respond", str(contexts)),
        *("-s", f"command:{program('wait')}", "-o", str(tmp_path / "out.jsonl")),
    ]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=60)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert len(program.seen()) == 10
    assert any("there already; asked for 0." in text for text in said)


def test_what_the_page_about_asking_shows_is_what_happens():
    text = (ROOT / "docs" / "respond.md").read_text(encoding="utf-8")
    assert text.count("$ dialoscope respond") == 2
    assert documents.renewed(text) == text
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("You said: I burned the rice again. What am I doing wrong? 0\n")


@pytest.mark.parametrize("kind", ["command", "http", "model", "retrieval", "recorded", "function"])
def test_the_page_names_every_setting(kind):
    from dialoscope.systems import named_systems as naming

    text = (ROOT / "docs" / "respond.md").read_text(encoding="utf-8")
    homes = {home.partition(":")[0]: name for name, home in naming._KINDS.items()}
    for setting in naming._setting_names(naming._class(homes[kind])):
        assert f"`{setting}" in text, setting
