"""The run: order, samples, journal, what is asked again and what is refused."""

import json
import os
import threading
import time
from pathlib import Path

import pytest

import dialoscope as ds
from dialoscope.core.errors import BackendError, RunError
from dialoscope.systems import dispatch as asking
from dialoscope.systems.journal import Journal, Progress, open_journal, read_journal
from dialoscope.systems.protocol import NoAnswer


class Bot:
    """A function that remembers what it was asked, and fails where it is told to."""

    def __init__(self, *failing):
        self.failing, self.asked = set(failing), []

    def __call__(self, context, seed):
        self.asked.append(context[-1])
        if context[-1] in self.failing:
            raise ValueError("no idea")
        return f"{context[-1]} {seed}"

    @property
    def system(self):
        return ds.FunctionSystem("tests:bot", self)


@pytest.fixture
def contexts(rows):
    return rows(
        [
            {"id": "a", "context": ["1"], "references": ["r"], "variant": "verbs", "group": "g"},
            {"id": "b", "context": ["2"], "response": "other", "system": "x"},
            {"id": "c", "context": ["0", "3"], "id2": "ü\ud800"},
        ]
    )


def read(path):
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def test_rows_come_out_as_they_went_in_with_a_reply(contexts, tmp_path):
    out = tmp_path / "out.jsonl"
    found = ds.respond(contexts, Bot("2").system, out, name="bot")
    assert read(out) == [
        {
            "id": "a",
            "group": "g",
            "system": "bot",
            "context": ["1"],
            "response": "1 0",
            "references": ["r"],
            "variant": "verbs",
        },
        {"id": "b", "system": "bot", "context": ["2"], "error": "ValueError: no idea"},
        {"id": "c", "system": "bot", "context": ["0", "3"], "response": "3 0", "id2": "ü\ufffd"},
    ]
    assert list(read(out)[0])[:5] == ["id", "group", "system", "context", "response"]
    assert found.errors == {"b": "ValueError: no idea"}
    assert found.examples == [
        ds.Example("a", "bot", "1 0", ("1",), ("r",), "g"),
        ds.Example("c", "bot", "3 0", ("0", "3")),
    ]
    assert found.lines()[0] == out.read_text(encoding="utf-8").splitlines()[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "contexts.jsonl",
        "out.jsonl",
        "out.jsonl.run.json",
    ]


def test_numbers_that_json_cannot_write_are_null(rows, tmp_path):
    contexts = tmp_path / "contexts.jsonl"
    contexts.write_text('{"context": ["Hi"], "score": {"mean": NaN, "all": [1.5, -Infinity]}}')
    ds.respond(contexts, Bot().system, tmp_path / "out.jsonl")
    assert read(tmp_path / "out.jsonl")[0]["score"] == {"mean": None, "all": [1.5, None]}


def test_what_comes_out_can_be_scored(contexts, tmp_path):
    ds.respond(contexts, Bot().system, tmp_path / "out.jsonl")
    result = ds.evaluate(ds.read(tmp_path / "out.jsonl"), ["words"])
    assert result.score("words", result.systems[0]) == 2


def test_samples_are_rows_of_a_group_with_seeds_of_their_own(contexts):
    found = ds.respond(contexts, Bot().system, samples=2, seed=5)
    assert [(row["id"], row["group"], row["response"]) for row in found.rows] == [
        ("a#1", "g", "1 5"),
        ("a#2", "g", "1 6"),
        ("b#1", "b", "2 5"),
        ("b#2", "b", "2 6"),
        ("c#1", "c", "3 5"),
        ("c#2", "c", "3 6"),
    ]


def test_a_second_run_asks_only_for_what_failed(contexts, tmp_path):
    out, bot = tmp_path / "out.jsonl", Bot("2")
    assert ds.respond(contexts, bot.system, out).asked == 3
    bot.failing.clear()
    found = ds.respond(contexts, bot.system, out)
    assert (found.asked, found.errors) == (1, {})
    assert bot.asked == ["1", "2", "3", "2"]
    assert [row["response"] for row in read(out)] == ["1 0", "2 0", "3 0"]
    before = out.stat().st_mtime_ns
    assert ds.respond(contexts, bot.system, out).asked == 0
    assert bot.asked == ["1", "2", "3", "2"]
    assert out.stat().st_mtime_ns == before
    record = json.loads((tmp_path / "out.jsonl.run.json").read_text())
    assert [one["asked"] for one in record["sessions"]] == [3, 1]
    assert (record["replies"], record["errors"]) == (3, 0)


def test_what_else_a_row_holds_is_written_anew_without_asking(contexts, tmp_path):
    out, bot = tmp_path / "out.jsonl", Bot()
    ds.respond(contexts, bot.system, out, name="ann")
    found = ds.respond(contexts, bot.system, out, name="bob")
    assert (found.asked, len(bot.asked)) == (0, 3)
    assert [row["system"] for row in read(out)] == ["bob"] * 3
    assert json.loads((tmp_path / "out.jsonl.run.json").read_text())["name"] == "bob"
    contexts.write_text(contexts.read_text().replace('["r"]', '["s"]').replace('"g"', '"h"'))
    ds.respond(contexts, bot.system, out, name="bob")
    assert (read(out)[0]["references"], read(out)[0]["group"]) == (["s"], "h")
    assert [row["response"] for row in read(out)] == ["1 0", "2 0", "3 0"]
    assert len(bot.asked) == 3
    assert not (tmp_path / "out.jsonl.journal").exists()


def test_the_record_says_how_the_replies_came_about(contexts, tmp_path):
    out = tmp_path / "out.jsonl"
    ds.respond(contexts, Bot().system, out, seed=4)
    record = json.loads((tmp_path / "out.jsonl.run.json").read_text())
    assert record["identity"]["system"] == "function|function:tests:bot|v:1"
    assert (record["identity"]["seed"], record["identity"]["samples"]) == (4, 1)
    assert record["identity"]["contexts"].startswith("sha256:")
    assert record["source"]["paths"] == [str(contexts)]
    (session,) = record["sessions"]
    assert session["versions"]["dialoscope"] == ds.__version__
    assert session["licences"] == {}
    assert session["command"]
    assert session["started"]


def test_the_record_lists_the_licences_of_what_made_the_replies(contexts, tmp_path):
    class OnAssets(ds.FunctionSystem):
        asset_names = ("smollm2-chat",)

    out = tmp_path / "out.jsonl"
    ds.respond(contexts, OnAssets("tests:bot", Bot()), out)
    (session,) = json.loads((tmp_path / "out.jsonl.run.json").read_text())["sessions"]
    assert session["licences"]["smollm2"] == {"licence": "Apache-2.0", "terms": "permissive"}
    assert session["licences"]["smollm2-chat"]["terms"] == "not stated"


class Killed(BaseException):
    """What happens to a run, as far as it can notice."""


def interrupted(contexts, out, after, **more):
    """A run that is ended after so many answers, as by a signal."""
    bot = Bot("2")
    call = bot.__call__

    def limited(context, seed):
        if len(bot.asked) == after:
            raise Killed
        return call(context, seed)

    with pytest.raises(Killed):
        ds.respond(contexts, ds.FunctionSystem("tests:bot", limited), out, **more)
    return bot


@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_run_that_was_stopped_goes_on_and_asks_nothing_twice(contexts, tmp_path, after):
    out = tmp_path / "out.jsonl"
    first = interrupted(contexts, out, after)
    assert not out.exists()
    second = Bot()
    found = ds.respond(contexts, second.system, out)
    assert first.asked + second.asked == ["1", "2", "3"]
    assert found.asked == 3 - after
    assert ("b" in found.errors) == (after == 2)  # it failed before, and is asked again by the next run
    assert not (tmp_path / "out.jsonl.journal").exists()
    sessions = json.loads((tmp_path / "out.jsonl.run.json").read_text())["sessions"]
    assert [one["asked"] for one in sessions] == [3, 3 - after]


def test_a_run_for_what_failed_can_be_stopped_too(contexts, tmp_path):
    out, bot = tmp_path / "out.jsonl", Bot("1", "3")
    ds.respond(contexts, bot.system, out)
    before = out.read_bytes()
    interrupted(contexts, out, 1)
    assert out.read_bytes() == before  # until all is there
    last = Bot()
    ds.respond(contexts, last.system, out)
    assert last.asked == ["3"]
    assert [row["response"] for row in read(out)] == ["1 0", "2 0", "3 0"]


def test_a_run_that_was_stopped_before_the_last_step_has_nothing_left_to_ask(contexts, tmp_path):
    out, bot = tmp_path / "out.jsonl", Bot()
    ds.respond(contexts, bot.system, out)
    record = json.loads((tmp_path / "out.jsonl.run.json").read_text())
    answers = {row["id"]: row["response"] for row in read(out)}
    with open_journal(tmp_path / "out.jsonl.journal", record["identity"], Progress(answers)):
        out.unlink()
    assert ds.respond(contexts, bot.system, out).asked == 0
    assert [row["response"] for row in read(out)] == ["1 0", "2 0", "3 0"]
    assert bot.asked == ["1", "2", "3"]


def test_a_line_that_was_cut_off_is_asked_again(contexts, tmp_path):
    out, journal = tmp_path / "out.jsonl", tmp_path / "out.jsonl.journal"
    interrupted(contexts, out, 2)
    whole = journal.read_bytes()
    for torn in (b'{"id": "c", "resp', b'{"id": "c", "response": "torn"}', b"x" * 10_000):
        journal.write_bytes(whole + torn)
        with pytest.raises(Killed):
            ds.respond(contexts, ds.FunctionSystem("tests:bot", killing), out)
        assert journal.read_bytes().startswith(whole)
        assert b"torn" not in journal.read_bytes()
        assert b"xxx" not in journal.read_bytes()
    journal.write_bytes(whole.replace(b'{"id": "a"', b'\0\0"id": "a"'))
    last = Bot()
    ds.respond(contexts, last.system, out)
    assert sorted(last.asked) == ["1", "3"]


def test_a_journal_is_read_as_far_as_it_can_be(tmp_path):
    path = tmp_path / "j"
    with open_journal(path, {"seed": 1}, Progress({"a": "x"})) as journal:
        journal.note("b", NoAnswer("y"))
    with path.open("a") as file:
        file.write('{"of": "another version"}\n[1]\n')
    assert read_journal(path, {"seed": 1}).answers == {"a": "x", "b": NoAnswer("y")}
    path.write_bytes(b"x" * 9000)
    with open_journal(path, {}, Progress()):
        assert path.read_bytes() == b""


def test_whoever_stops_a_run_is_told_how_it_goes_on(contexts, tmp_path, capsys):
    def stopped(context):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ds.respond(contexts, stopped, tmp_path / "out.jsonl")
    assert capsys.readouterr().err == ("Interrupted. Answers so far are saved; the same command resumes.\n")


def killing(context):
    raise Killed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 1}, r"out\.jsonl\S* belongs to another run: its seed is 0, not 1\. Choose another name"),
        ({"samples": 2}, "its samples is 1, not 2"),
        (
            {"system": "tests:other"},
            r"its system is function\|function:tests:bot\|v:1, not function\|function:tests:other\|v:1",
        ),
        ({"contexts": [["another"]]}, "its contexts is sha256:.*, not sha256:"),
    ],
)
@pytest.mark.parametrize("stopped", [True, False])
def test_what_belongs_to_another_run_is_refused(contexts, tmp_path, change, message, stopped):
    out = tmp_path / "out.jsonl"
    if stopped:
        interrupted(contexts, out, 1)
    else:
        ds.respond(contexts, Bot().system, out)
    bot = Bot()
    change = {"contexts": contexts, "system": "tests:bot", **change}
    change["system"] = ds.FunctionSystem(change["system"], bot)
    with pytest.raises(RunError, match=message):
        ds.respond(output=out, **change)
    assert bot.asked == []
    found = ds.respond(output=out, overwrite=True, **change)
    assert found.asked == len(found.rows) == len(read(out))


def test_a_corpus_or_weights_that_changed_are_another_system(rows, tmp_path, contexts):
    path, out = rows([{"context": ["1"], "response": "x"}], "corpus.jsonl"), tmp_path / "out.jsonl"
    ds.respond(contexts, f"file:{path}", out)
    rows([{"context": ["2"], "response": "y"}], "corpus.jsonl")
    with pytest.raises(RunError, match="belongs to another run: its fingerprint is"):
        ds.respond(contexts, f"file:{path}", out)


def test_a_file_of_somebody_else_is_not_touched(contexts, tmp_path):
    out, bot = tmp_path / "out.jsonl", Bot()
    out.write_text("precious")
    with pytest.raises(
        RunError, match=r"out\.jsonl exists already\. Choose another name for the output, or re"
    ):
        ds.respond(contexts, bot.system, out)
    record = tmp_path / "out.jsonl.run.json"
    for content in ("{", "[]", '{"format": "x"}'):
        record.write_text(content)
        with pytest.raises(RunError, match=r"and out\.jsonl\.run\.json beside it is no record of it"):
            ds.respond(contexts, bot.system, out)
    assert (out.read_text(), bot.asked) == ("precious", [])
    ds.respond(contexts, bot.system, out, overwrite=True)
    out.write_text(out.read_text().replace("1 0", "better"))
    with pytest.raises(RunError, match="was changed since it was written"):
        ds.respond(contexts, bot.system, out)
    (tmp_path / "new.jsonl.journal").write_text("precious")
    with pytest.raises(RunError, match=r"new\.jsonl\.journal is no journal of this version of dialoscope"):
        ds.respond(contexts, bot.system, tmp_path / "new.jsonl")


def test_an_output_that_cannot_be_is_refused_before_anything_is_asked(contexts, tmp_path):
    bot = Bot()
    with pytest.raises(RunError, match="is a folder; name a file"):
        ds.respond(contexts, bot.system, tmp_path)
    with pytest.raises(RunError, match=r"There is no folder .*nowhere; make it first"):
        ds.respond(contexts, bot.system, tmp_path / "nowhere" / "out.jsonl")
    with pytest.raises(RunError, match="is the file of contexts; choose another name for the replies"):
        ds.respond(contexts, bot.system, contexts, overwrite=True)
    assert bot.asked == []


def test_what_cannot_be_asked_is_refused(contexts):
    with pytest.raises(BackendError, match="The seed is -1; it must be 0 or above"):
        ds.respond(contexts, Bot().system, seed=-1)
    with pytest.raises(BackendError, match="samples is 0; it must be 1 or more"):
        ds.respond(contexts, Bot().system, samples=0)
    with pytest.raises(BackendError, match="workers is 0; it must be 1 or more"):
        ds.respond(contexts, Bot().system, workers=0)
    with pytest.raises(BackendError, match="The name of the system is empty"):
        ds.respond(contexts, Bot().system, name="")


def test_the_order_is_that_of_the_contexts_whoever_is_first(tmp_path):
    def slow_first(context):
        time.sleep(0.2 if context[-1] == "0" else 0.0)
        return context[-1]

    system = ds.FunctionSystem("tests:slow", slow_first)
    found = ds.respond([[str(place)] for place in range(40)], system, tmp_path / "out.jsonl", workers=4)
    assert [row["response"] for row in found.rows] == [str(place) for place in range(40)]
    assert read(tmp_path / "out.jsonl") == list(found.rows)


def test_a_bug_in_a_system_ends_the_run_and_keeps_what_there_is(contexts, tmp_path, monkeypatch):
    class Short:
        def answers(self, questions):
            return iter(["only one"])

    system = Bot().system
    monkeypatch.setattr(ds.FunctionSystem, "opened", lambda self: _Held(Short()))
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        ds.respond(contexts, system, tmp_path / "out.jsonl")
    identity = json.loads((tmp_path / "out.jsonl.journal").read_text().splitlines()[0])["identity"]
    assert read_journal(tmp_path / "out.jsonl.journal", identity).answers == {"a": "only one"}


class _Held:
    def __init__(self, thing):
        self.thing = thing

    def __enter__(self):
        return self.thing

    def __exit__(self, *_):
        pass


def test_nothing_is_noted_once_the_run_is_over(tmp_path):
    work = asking._Work(iter([["q1", "q2"]]), lambda question, answer: noted.append(question))
    noted: list = []

    class Endless:
        def answers(self, questions):
            yield "a"
            work.stop.set()
            yield NoAnswer("closed")

    thread = threading.Thread(target=work.run, args=(Endless(),))
    thread.start()
    thread.join(10)
    assert noted == ["q1"]
    path = tmp_path / "j"
    path.touch()
    journal = Journal(os.open(path, os.O_RDWR))
    journal.close()
    journal.close()
    journal.note("a", "late")
    assert path.read_bytes() == b""


def test_where_nothing_can_be_kept_nobody_waits(contexts, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("DIALOSCOPE_CACHE", str(tmp_path / "file"))
    assert ds.respond(contexts, Bot().system, tmp_path / "out.jsonl").asked == 3


def test_what_there_is_to_know_is_said(contexts, tmp_path, sample):
    out = tmp_path / "out.jsonl"
    found = ds.respond(sample, lambda context: "\x1b[2J", out, name="bot")
    assert found.summary() == ["132 rows repeat the id and context of another, and were asked once."]
    assert found.complaint() == ""
    many = ds.respond([[str(place)] for place in range(1000)], Bot(*map(str, range(1000))).system)
    assert many.complaint().splitlines() == [
        "1,000 of 1,000 questions have no reply:",
        "  1: ValueError: no idea",
        "  2: ValueError: no idea",
        "  3: ValueError: no idea",
        "  ... and 997 more",
    ]


LONG_KEY = "sk-secret-7f3a"


def written_in(folder):
    return "".join(path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.is_file())


def test_secrets_in_a_command_are_in_nothing_that_is_written(rows, program, tmp_path, monkeypatch):
    contexts, out = (
        rows([{"id": "a", "context": ["Hi"]}, {"id": "b", "context": ["crash"]}]),
        tmp_path / "o.jsonl",
    )
    spec = f"command:{program()} --api-key {LONG_KEY},pause=0.01"
    monkeypatch.setattr("sys.argv", ["dialoscope", "respond", str(contexts), "-s", spec, "-o", str(out)])
    found = ds.respond(contexts, spec, out)
    assert (found.asked, list(found.errors)) == (2, ["b"])
    assert LONG_KEY not in written_in(tmp_path)
    record = json.loads((tmp_path / "o.jsonl.run.json").read_text())
    assert "--api-key …" in record["identity"]["system"]
    assert "--api-key …" in record["sessions"][0]["command"]
    again = ds.respond(contexts, spec.replace(LONG_KEY, "another"), out)
    assert again.asked == 1  # a key changes no reply


def test_a_record_with_secrets_is_taken_up_and_written_without_them(rows, program, tmp_path):
    """As earlier versions wrote it."""
    contexts, out = (
        rows([{"id": "a", "context": ["Hi"]}, {"id": "b", "context": ["crash"]}]),
        tmp_path / "o.jsonl",
    )
    spec = f"command:{program()} --api-key {LONG_KEY},pause=0.01"
    ds.respond(contexts, spec, out)
    record = tmp_path / "o.jsonl.run.json"
    content = json.loads(record.read_text())
    content["identity"]["system"] = content["identity"]["system"].replace("…", LONG_KEY)
    content["sessions"][0]["command"] = f"dialoscope respond -s 'command:./bot --api-key {LONG_KEY}'"
    record.write_text(json.dumps(content))
    assert ds.respond(contexts, spec, out).asked == 1
    assert LONG_KEY not in written_in(tmp_path)
    with pytest.raises(RunError, match="its system is") as refused:
        ds.respond(contexts, spec.replace(",pause", " --fast,pause"), out)
    assert LONG_KEY not in str(refused.value)
