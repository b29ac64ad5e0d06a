"""A model behind a server: a real one, in a process of its own, with faults to order."""

import socket
import threading
import time

import pytest

import dialoscope as ds
from dialoscope.core.errors import BackendError
from dialoscope.core.signature import signature
from dialoscope.systems.protocol import NoAnswer, Question

KEY = "sk-secret-7f3a"


def asked(system, *texts):
    """What the server makes of each text, the errors as they are."""
    with system.opened() as session:
        return list(session.answers([Question(str(n), (text,)) for n, text in enumerate(texts)]))


def made(chat, **settings):
    return ds.HttpSystem(chat.url, "tiny", **{"pause": 0.01, "timeout": 10, **settings})


def test_the_last_turn_is_the_users_and_roles_alternate(chat):
    (replies,) = made(chat).reply([("Hi!", "Hello.", "How are you?")], seed=3)
    assert replies == ["about How are you?, seed 3"]
    (seen,) = chat.seen()["log"]
    assert seen["request"] == {
        "model": "tiny",
        "seed": 3,
        "messages": [
            {"role": "user", "content": "Hi!"},
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "How are you?"},
        ],
    }
    made(chat).reply([("Hello.", "How are you?")])
    assert [one["role"] for one in chat.seen()["log"][1]["request"]["messages"]] == ["assistant", "user"]


def test_settings_are_sent_where_they_are_set(chat):
    system = made(chat, instructions="Be brief.", max_tokens=9, temperature=0.0, top_p=0.9, send_seed=False)
    system.reply([("Hi!",)])
    (seen,) = chat.seen()["log"]
    assert seen["request"]["messages"][0] == {"role": "system", "content": "Be brief."}
    assert {name: seen["request"].get(name) for name in ("max_tokens", "temperature", "top_p", "seed")} == {
        "max_tokens": 9,
        "temperature": 0.0,
        "top_p": 0.9,
        "seed": None,
    }


def test_each_sample_has_a_seed_of_its_own(chat):
    assert made(chat).reply([("Hi!",), ("Yo",)], samples=2, seed=5) == [
        ["about Hi!, seed 5", "about Hi!, seed 6"],
        ["about Yo, seed 5", "about Yo, seed 6"],
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("html", "its answer is not JSON; is this the address of a model?"),
        ("cut", "its answer is not JSON"),
        ("list", "its answer is no JSON object"),
        ("nothing", "the server's answer holds no message; is this a server for chat completions?"),
        ("choiceless", "the server's answer holds no message"),
        ("flat", "the server's answer holds no message"),
        ("null", "the model said nothing: content_filter"),
        ("mute", "the model said nothing"),
        ("number", "the reply is a number where text is due"),
        ("huge", "the reply has 200,000 characters, more than the 100,000 allowed"),
        ("broken", r"500 Internal Server Error: out of \x1b[2J order (tried 2 times)"),
    ],
)
def test_an_answer_that_is_none_is_an_error_of_that_reply_alone(chat, text, reason):
    first, failed, last = asked(made(chat, retries=1), "Hi!", text, "Bye!")
    assert (first, last) == ("about Hi!, seed 0", "about Bye!, seed 0")
    assert isinstance(failed, NoAnswer)
    assert reason in failed.reason


@pytest.mark.parametrize(
    ("text", "reply"),
    [("empty", ""), ("half", "a \ufffd half"), ("zero", "a\0b"), ("terminal", "\x1b[2J gone\nnext")],
)
def test_what_can_be_kept_is_kept(chat, text, reply):
    assert asked(made(chat), text) == [reply]


def test_a_busy_server_is_asked_again_after_the_time_it_wants(chat):
    assert asked(made(chat), "later on") == ["about later on, seed 0"]
    times = [one["time"] for one in chat.seen()["log"]]
    assert len(times) == 2
    assert times[1] - times[0] >= 1


def test_tries_are_bounded_and_the_pause_grows(chat):
    (failed,) = asked(made(chat, retries=2, pause=0.2), "broken")
    assert "(tried 3 times)" in failed.reason
    times = [one["time"] for one in chat.seen()["log"]]
    assert len(times) == 3
    assert times[1] - times[0] >= 0.1
    assert times[2] - times[1] >= 0.2


@pytest.mark.parametrize("how", ["slow", "drip", "ooze"])
def test_a_slow_server_is_not_waited_for(chat, how):
    begun = time.perf_counter()
    failed, answered = asked(made(chat, timeout=0.3, retries=0), f"{how} one", "quick one")
    assert "no answer within 0.3 seconds (tried once)" in failed.reason
    assert answered == "about quick one, seed 0"
    assert time.perf_counter() - begun < 2


def test_a_server_that_nobody_answers_at_is_not_waited_for_again_and_again():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        system = ds.HttpSystem(f"http://127.0.0.1:{taken.getsockname()[1]}/v1", "tiny", retries=1, pause=0.01)
        found = [answer.reason for answer in asked(system, *"abcd")]
    assert all("cannot be reached" in reason for reason in found)
    assert [reason.split("(")[-1] for reason in found] == ["tried 2 times)"] * 2 + ["tried once)"] * 2


def test_the_key_is_sent_and_never_shown(chat, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    system = made(chat, key_variable="MY_KEY", retries=0)
    echoed, forbidden = asked(system, "echo", "forbidden")
    assert chat.seen()["log"][0]["headers"]["Authorization"] == f"Bearer {KEY}"
    assert echoed == f"Bearer {KEY}"  # a reply is data and stays as it is, whatever it holds
    assert "401 Unauthorized: Bearer …" in forbidden.reason
    for text in (forbidden.reason, signature(system), str(system), repr(system)):
        assert KEY not in text
    assert "MY_KEY" not in signature(system)


@pytest.mark.parametrize("key", ["none", "EMPTY", "sk-secret-7f3a"])
def test_a_reply_that_holds_the_key_is_not_changed(chat, monkeypatch, key):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    assert asked(made(chat), f"have, {key} or test?") == [f"about have, {key} or test?, seed 0"]


def test_a_password_in_the_address_is_refused_and_not_shown():
    with pytest.raises(BackendError, match="must hold no password") as refused:
        ds.system("http://me:s3cret@127.0.0.1/v1#tiny")
    assert "s3cret" not in str(refused.value)
    with pytest.raises(BackendError, match="names no model") as refused:
        ds.system("http://me:s3cret@127.0.0.1/v1")
    assert "s3cret" not in str(refused.value)


def test_what_cannot_be_is_refused():
    with pytest.raises(BackendError, match="needs the name that the server has for it"):
        ds.HttpSystem("http://localhost/v1", "")
    with pytest.raises(BackendError, match="timeout must be above 0, retries and pause at least 0"):
        ds.HttpSystem("http://localhost/v1", "tiny", timeout=0)
    assert ds.HttpSystem("http://localhost/v1/chat/completions", "tiny").url == "http://localhost/v1"


def test_who_stops_a_run_need_not_wait_for_the_rest_of_an_answer():
    """Of a server that begins to answer and never goes on."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        system = ds.HttpSystem(f"http://127.0.0.1:{listening.getsockname()[1]}/v1", "tiny")
        with system.opened() as session:
            found = []
            asking = threading.Thread(target=lambda: found.extend(session.answers([Question("1", ("Hi",))])))
            asking.start()
            call, _ = listening.accept()
            call.recv(2**16)
            call.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
            time.sleep(0.3)
            begun = time.perf_counter()
        asking.join(10)
        call.close()
    assert time.perf_counter() - begun < 5
    assert isinstance(found[0], NoAnswer)


@pytest.mark.parametrize(("workers", "bound"), [(1, 1), (3, 3), (None, 8)])
def test_no_more_are_asked_at_once_than_allowed(chat, workers, bound):
    system = ds.HttpSystem(f"{chat.root}/wait/0.1", "tiny")
    found = ds.respond([f"item {place}" for place in range(24)], system, workers=workers)
    assert [row["response"] for row in found.rows] == [f"about item {place}, seed 0" for place in range(24)]
    assert min(bound, 2) <= chat.seen()["most"] <= bound
    assert len(chat.texts()) == 24
