"""A program that answers line by line: a real process, which hangs, dies and talks nonsense when told to."""

import os
import sys
import time

import pytest

import dialoscope as ds
from dialoscope.core.errors import BackendError
from dialoscope.core.signature import signature
from dialoscope.systems.command import _Process
from dialoscope.systems.protocol import NoAnswer, Question


def asked(system, *texts):
    with system.opened() as session:
        return list(session.answers([Question(str(n), (text,)) for n, text in enumerate(texts)]))


def made(command, **settings):
    return ds.CommandSystem(command, **{"pause": 0.01, "timeout": 20, **settings})


def test_one_process_answers_one_line_after_the_other(program):
    found = made(program()).reply([("Hi", "Hello"), ("Yo",)], samples=2, seed=7)
    assert found == [
        ["Hello! sample 0, seed 7", "Hello! sample 1, seed 8"],
        ["Yo! sample 0, seed 7", "Yo! sample 1, seed 8"],
    ]
    assert len({one["pid"] for one in program.seen()}) == 1
    assert program.seen()[0]["context"] == ["Hi", "Hello"]


LONG_KEY = "sk-secret-7f3a"
TELLS = """
import json, sys
for line in sys.stdin:
    text = json.loads(line)["context"][-1]
    told = " ".join(sys.argv[1:])
    if text == "fail":
        print(json.dumps({"error": "wrong " + told}), flush=True)
    elif text == "babble":
        print("no json " + told, flush=True)
    elif text == "die":
        sys.exit("usage: " + told)
    else:
        print(json.dumps(told), flush=True)
"""


def test_a_secret_reaches_the_program_and_is_shown_nowhere(tmp_path):
    (tmp_path / "tells.py").write_text(TELLS)
    system = made(f"{sys.executable} {tmp_path / 'tells.py'} --api-key {LONG_KEY} --fast", retries=0)
    reply, *failed = asked(system, "Hi", "fail", "babble", "die")
    assert reply == f"--api-key {LONG_KEY} --fast"  # a reply is data
    assert [answer.reason.partition("--api-key")[2] for answer in failed] == [" … --fast"] * 3
    for text in (str(system), repr(system), signature(system)):
        assert LONG_KEY not in text
        assert "--api-key … --fast" in text
    assert system != made(system.command.replace(LONG_KEY, "another"))


def test_the_signature_of_a_command_without_secrets_is_the_command():
    assert signature(made("./bot --fast 'a  b'")) == "command|command:./bot --fast 'a  b'|v:1"


def test_errors_about_a_command_do_not_show_its_secrets():
    for command, message in (
        (f"./bot --token={LONG_KEY} 'open", "is no command"),
        (f"MY_KEY={LONG_KEY} ./bot", "cannot be started"),
    ):
        with pytest.raises(BackendError, match=message) as error:
            asked(made(command), "Hi")
        assert LONG_KEY not in str(error.value)
    assert made(f"MY_KEY={LONG_KEY} ./bot").label == "MY_KEY=…"
    for text in (f"comand:./bot --token {LONG_KEY}", f"command:./bot,timeout=5 --token {LONG_KEY}"):
        with pytest.raises(BackendError) as error:
            ds.system(text)
        assert LONG_KEY not in str(error.value)


@pytest.mark.parametrize(("text", "reply"), [("plain", "just text"), ("empty", ""), ("half", "\ufffd")])
def test_a_reply_may_be_a_text_or_empty(program, text, reply):
    assert asked(made(program()), text, "Hi") == [reply, "Hi! sample 0, seed 0"]
    assert len({one["pid"] for one in program.seen()}) == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("long", "the reply has 200,000 characters, more than the 100,000 allowed"),
        ("number", "the reply is a number where text is due"),
        ("other", "its answer has no `response`, but text"),
        ("void", "its answer has no `response`, but nothing"),
        ("sorry", "not \\x1btoday"),
    ],
)
def test_an_answer_that_is_none_is_an_error_and_the_process_stays(program, text, reason):
    failed, answered = asked(made(program()), text, "Hi")
    assert failed == NoAnswer(reason)
    assert answered == "Hi! sample 0, seed 0"
    assert len({one["pid"] for one in program.seen()}) == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("words", "it wrote a line that is not JSON: I do not speak JSON"),
        ("bytes", 'it wrote a line that is not UTF-8: "\\xff\\xfe"'),
        ("endless", "its answer is longer than 1,048,576 bytes"),
        ("wrong", "it answered 'someone' when asked '0'"),
    ],
)
def test_a_process_that_is_out_of_step_is_replaced(program, text, reason):
    failed, answered = asked(made(program()), text, "Hi")
    assert failed.reason == reason
    assert answered == "Hi! sample 0, seed 0"
    pids = [one["pid"] for one in program.seen()]
    assert len(pids) == len(set(pids)) == 2  # and the failed one was asked once


def test_a_process_that_dies_is_started_again_and_asked_once_more(program):
    first, failed, last = asked(made(program()), "Hi", "crash now", "Bye")
    assert (first, last) == ("Hi! sample 0, seed 0", "Bye! sample 0, seed 0")
    assert failed.reason.startswith("the process ended with status 9; it wrote: first words / \\x1b[2Jseg")
    assert [one["context"][0] for one in program.seen()] == ["Hi", "crash now", "crash now", "Bye"]


def test_a_hanging_process_is_ended(program):
    begun = time.perf_counter()
    failed, answered = asked(made(program(), timeout=1), "hang on", "Hi")
    assert failed.reason == "no answer within 1 seconds; it wrote: thinking"
    assert answered == "Hi! sample 0, seed 0"
    assert time.perf_counter() - begun < 15
    hanging = program.seen()[0]["pid"]
    with pytest.raises(ProcessLookupError):
        os.kill(hanging, 0)


def test_a_process_that_reads_nothing_is_ended_too(program):
    (failed,) = asked(made(program("deaf"), timeout=0.5), "word " * 100_000)
    assert failed.reason == "no answer within 0.5 seconds"


def test_starting_again_is_bounded(program):
    found = asked(made(program("stillborn"), restarts=2, retries=1), *"abcd")
    assert found[0].reason == "the process ended with status 3; it wrote: no weights here"
    assert found[1].reason.startswith("given up, since the process died 3 times in a row. the process ended")
    assert found[2] == found[3] == NoAnswer("given up, since the process died 3 times in a row. ")


def test_what_a_process_wrote_last_is_told_though_it_is_read_late(program, monkeypatch):
    read = _Process._read_noise
    monkeypatch.setattr(_Process, "_read_noise", lambda self: (time.sleep(0.3), read(self)))
    (failed,) = asked(made(program("stillborn"), restarts=0, retries=0), "Hi")
    assert failed.reason == "the process ended with status 3; it wrote: no weights here"


def test_a_banner_is_told_apart_from_an_answer(program):
    system = made(program("banner"), retries=0, restarts=0)
    failed = asked(system, "Hi")[0].reason
    assert "it wrote a line" in failed


def test_a_line_too_many_does_not_become_the_next_answer(program):
    with made(program()).opened() as session:
        (first,) = session.answers([Question("1", ("twice",))])
        time.sleep(0.5)  # without an id in its answers, a line that is still to come cannot be told apart
        (second,) = session.answers([Question("2", ("Hi",))])
    assert (first, second) == ("one", "Hi! sample 0, seed 0")


def test_a_program_that_ends_after_each_answer_is_good_enough(program):
    assert asked(made(program()), "close", "close", "Hi") == ["bye", "bye", "Hi! sample 0, seed 0"]


def test_a_process_that_closes_its_output_is_ended(program):
    failed, answered = asked(made(program(), retries=0), "shut", "Hi")
    assert failed.reason == "the process closed its output"
    assert answered == "Hi! sample 0, seed 0"


def test_what_a_process_has_started_ends_with_it(program):
    begun = time.perf_counter()
    failed, answered = asked(made(program(), retries=0, timeout=5), "child", "Hi")
    assert answered == "Hi! sample 0, seed 0"
    assert isinstance(failed, NoAnswer)
    assert time.perf_counter() - begun < 30


def test_what_holds_on_to_its_output_is_not_waited_for(program):
    begun = time.perf_counter()
    failed, answered = asked(made(program(), timeout=1), "ghost", "Hi")
    assert failed.reason == "no answer within 1 seconds"
    assert answered == "Hi! sample 0, seed 0"
    assert time.perf_counter() - begun < 30


def test_a_process_that_does_not_end_by_itself_is_ended(program):
    assert asked(made(program("stubborn")), "Hi") == ["Hi! sample 0, seed 0"]
    with pytest.raises(ProcessLookupError):
        os.kill(program.seen()[0]["pid"], 0)


def test_a_session_that_is_closed_starts_nothing(program):
    system = made(program())
    with system.opened() as session:
        pass
    assert list(session.answers([Question("1", ("Hi",))])) == [NoAnswer("the process was ended")]


def test_who_stops_a_run_need_not_wait_for_a_process(program):
    begun = time.perf_counter()
    with pytest.raises(KeyboardInterrupt), made(program("deaf")).opened():
        raise KeyboardInterrupt
    assert time.perf_counter() - begun < 1.5


def test_each_worker_has_a_process(program):
    found = ds.respond([f"item {place}" for place in range(12)], made(program("wait")), workers=3)
    assert [row["response"] for row in found.rows] == [
        f"item {place}! sample 0, seed 0" for place in range(12)
    ]
    assert len({one["pid"] for one in program.seen()}) == 3


def test_no_shell_reads_the_command(program, tmp_path):
    (failed, *_) = asked(made(f"{program()} ; touch {tmp_path}/hacked"), "crash") or [""]
    assert isinstance(failed, NoAnswer)
    assert not (tmp_path / "hacked").exists()


def test_what_cannot_be_is_refused():
    with pytest.raises(BackendError, match="A command must name a program"):
        ds.CommandSystem(" ")
    with pytest.raises(BackendError, match="is no command: No closing quotation"):
        ds.CommandSystem("bot 'half")
    with pytest.raises(BackendError, match="timeout must be above 0"):
        ds.CommandSystem("bot", timeout=0)
    with pytest.raises(BackendError, match=r"\./no-such-bot cannot be started: No such file or directory\."):
        ds.CommandSystem("./no-such-bot").reply([("Hi",)])


def test_the_label_is_the_programs_name():
    system = ds.CommandSystem("/opt/bots/greeter.sh --fast")
    assert (system.label, str(system)) == ("greeter", "/opt/bots/greeter.sh --fast")
