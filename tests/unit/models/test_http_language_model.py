"""A language model behind a server: a real one, in a process of its own, with faults to order."""

import http.client
import json
import math
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from email.utils import formatdate
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialoscope.core.errors import BackendError
from dialoscope.core.signature import signature
from dialoscope.models import http_client
from dialoscope.models import http_language_model as backend
from dialoscope.models.http_language_model import HttpLanguageModel
from dialoscope.models.protocols import Continuation, Generation
from tests.unit.models import openai_server as model

SERVER = Path(model.__file__)
KEY = "sk-secret-7f3a"


def started(*arguments):
    process = subprocess.Popen([sys.executable, str(SERVER), *arguments], stdout=subprocess.PIPE, text=True)
    return process, int(process.stdout.readline())


def ended(process):
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.fixture(scope="module")
def server():
    process, port = started()
    yield f"http://127.0.0.1:{port}/v1"
    ended(process)


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """No key, no proxy and no cache of whoever runs the tests."""
    for name in ("OPENAI_API_KEY", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DIALOSCOPE_CACHE", str(tmp_path))


NAMES = iter(range(10**6))


@pytest.fixture
def lm(server):
    """Makes a description of the server's model; each has a name, and so faults, of its own."""

    def make(settings="", **more):
        name = f"tiny;id={next(NAMES)}" + (f";{settings}" if settings else "")
        return HttpLanguageModel(server, name, **{"pause": 0.01, "timeout": 20, **more})

    return make


def seen(url, name=None):
    """What the server was asked."""
    host = url.removeprefix("http://").split("/")[0]
    connection = http.client.HTTPConnection(host)
    connection.request("GET", "/log")
    content = json.loads(connection.getresponse().read())
    connection.close()
    return [entry for entry in content["log"] if name in (None, entry["request"]["model"])]


def asked(description):
    return seen(description.url, description.model)


def right(prefix, text, settings=""):
    """The log-probabilities by the model itself: those of the tokens that hold something of the text."""
    values = model.scores(prefix + text)[len(prefix) // 3 :] if text else []
    if "bos" in settings and text and len(prefix) < 3:
        return [-1.5, *values[1:]]  # a mark at the beginning gives the first token something to follow
    return [value for value in values if value is not None]


TEXTS = [
    Continuation("hello ", "world"),
    Continuation("hello", " world and all"),
    Continuation("abc", "def"),
    Continuation("abc", "d"),
    Continuation("abcd", "e"),
    Continuation("", "no prefix here"),
    Continuation("", "abc"),
    Continuation("prefix", ""),
    Continuation("", ""),
    Continuation("two\nlines", " \n more"),
    Continuation("hello ", "world"),
]
WAYS = [
    "",
    "tokens=bos",
    "tokens=marked",
    "zero=no",
    "zero=no;usage=no",
    "zero=no;tokens=bos",
    "echo=no;prompt=yes",
    "offsets=no",
    "keep=no",
    "zero=breaks",
]


@pytest.mark.parametrize("settings", WAYS)
def test_log_probabilities_are_those_of_the_model(lm, settings):
    found = lm(settings).log_probabilities(TEXTS)
    for (prefix, text), values in zip(TEXTS, found, strict=True):
        np.testing.assert_allclose(values, right(prefix, text, settings))
        assert values.dtype == float


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=9), st.text(max_size=9)), max_size=4), st.sampled_from(WAYS[:3]))
def test_any_text_can_be_scored(server, texts, way):
    found = HttpLanguageModel(server, f"tiny;{way}" if way else "tiny").log_probabilities(
        [Continuation(*text) for text in texts]
    )
    for (prefix, text), values in zip(texts, found, strict=True):
        np.testing.assert_allclose(values, right(prefix, text, way))


def test_lone_surrogates_are_sent_as_something_readable(lm):
    description = lm()
    description.log_probabilities([Continuation("a\ud800", "b\udc00c")])
    assert asked(description)[0]["request"]["prompt"] == "a\ufffdb\ufffdc"


def test_characters_that_are_cut_into_bytes_on_one_side_do_not_matter(lm):
    texts = [Continuation("\U0001f600 ab", "cde f"), Continuation("abc", "de\U0001f600")]
    description = lm("tokens=bytes")
    first, second = description.log_probabilities(texts)
    np.testing.assert_allclose(first, right(*texts[0])[-len(first) :])
    assert len(first) == 2
    assert len(second) == 2  # the halves of one character
    assert second.sum() == pytest.approx(sum(right(*texts[1])))


def test_where_tokens_do_not_tell_the_border_the_number_is_undefined_and_that_is_told(lm, capsys):
    description = lm("tokens=hidden;offsets=no")
    found = description.log_probabilities([Continuation("abc", "def"), Continuation("", "abcdef")])
    assert np.isnan(found[0]).tolist() == [True]
    np.testing.assert_allclose(found[1], right("", "abcdef"))  # all of it is text
    assert capsys.readouterr().err == (
        f"{description.url}: the server's tokens of 1 of 2 texts cannot be matched with the text; "
        "their log-probabilities are undefined.\n"
    )


def token(text, value=-1.0, offset=None):
    return backend._Token(text, value, offset)


@pytest.mark.parametrize(
    ("tokens", "prefix", "text", "expected"),
    [
        ([token("ab"), token("cd")], "ab", "cd", 1),
        ([token("ab"), token("cd")], "a", "bcd", 0),
        ([token("ab"), token("cd")], "abc", "d", 1),
        ([token("ab"), token(""), token(""), token("é")], "ab", "é", 1),  # the parts of a character
        ([token(""), token("é"), token("b")], "é", "b", 2),
        ([token("<s>"), token("ab"), token("cd")], "ab", "cd", 2),
        ([token("Ġab"), token("Ġcd")], " ab", " cd", 1),
        ([token("\ufffd"), token("\ufffd"), token("b")], "é", "b", 2),
        ([token("a"), token("\ufffd"), token("\ufffd")], "a", "é", 1),
        ([token("\ufffd", offset=0), token("\ufffd", offset=0), token("\ufffd", offset=1)], "é", "è", 2),
        ([token("\ufffd", offset=0), token("a", offset=1), token("\ufffd", offset=2)], "éa", "è", 2),
        ([token("\ufffd", offset=0), token("b", offset=1), token("\ufffd", offset=2)], "é", "aè", None),
        ([token("\ufffd", offset=1), token("\ufffd", offset=0)], "é", "è", None),
        ([token("\ufffd"), token("\ufffd")], "é", "è", None),
        ([], "ab", "cd", None),
        ([token(""), token("")], "ab", "cd", None),
        ([token("ab"), token("c")], "ab", "cd", None),  # the end is missing
        ([token("ab"), token("c")], "ab", "cé", 1),  # bytes may be, and are not shown
        ([token("ab"), token("cd"), token("e")], "ab", "cd", None),
        ([token("ab"), token("cd"), token(" ")], "ab", "cd", 1),
        ([token("ab"), token("xy")], "ab", "cd", None),
        ([token("ab"), token("CD")], "ab", "cd", 1),
        ([token("ab"), token("<0x0A>")], "ab", "\n", 1),
        ([token("d"), token("e")], "ab", "cde", None),  # the beginning is missing
        ([token(""), token("e")], "ab", "cde", 0),  # nobody says what the first is
        ([token("\ufffd", offset=0), token("\ufffd", offset=9)], "é", "è", None),
    ],
)
def test_the_border_between_prefix_and_text_is_found(tokens, prefix, text, expected):
    assert backend._find_first_token(tokens, Continuation(prefix, text)) == expected


def test_order_and_repetition_do_not_show_and_equal_texts_are_asked_once(lm):
    description = lm(parallel=3)
    forward = description.log_probabilities(TEXTS)
    assert len(asked(description)) == len({text for text in TEXTS if text.text})
    backward = description.log_probabilities(TEXTS[::-1])
    for one, other in zip(forward, backward[::-1], strict=True):
        np.testing.assert_array_equal(one, other)


def test_nothing_to_score_is_nothing_to_ask(lm):
    description = lm()
    assert description.log_probabilities([]) == []
    assert [len(values) for values in description.log_probabilities([Continuation("a", "")])] == [0]
    assert description.generate([], Generation()) == []
    assert asked(description) == []


def test_scores_are_kept_only_where_it_is_said_what_is_behind_the_name(lm, own_scores):
    without, dated = lm(), lm(revision="2026-11-16")
    for description in (without, dated):
        first = description.log_probabilities(TEXTS[:3])
        second = description.log_probabilities(TEXTS[:3])
        np.testing.assert_array_equal(first[0], second[0])
    assert len(asked(without)) == 6
    assert len(asked(dated)) == 3


def test_what_the_first_answer_shows_is_not_found_out_again(lm):
    description = lm("echo=no;prompt=yes", parallel=1)
    description.log_probabilities([Continuation("abc", str(number)) for number in range(4)])
    ways = [
        ("echo" in entry["request"], "prompt_logprobs" in entry["request"]) for entry in asked(description)
    ]
    assert ways == [(True, False)] * 2 + [(False, True)] * 4


@pytest.mark.parametrize("odd", ["no-logprobs", "short", "words", "nan", "prompt-odd", "prompt-list", "null"])
def test_a_server_without_log_probabilities_is_named(lm, odd):
    description = lm(f"says={odd}")
    with pytest.raises(
        BackendError, match=r"the server gives no log-probabilities of a text for 'tiny;.*asked in 3"
    ):
        description.log_probabilities([Continuation("ab", "c")])
    assert len(asked(description)) == 3


def test_why_a_server_has_no_log_probabilities_is_told(lm):
    with pytest.raises(
        BackendError, match=r"its first answer: .*/completions: 400 Bad Request: echo is not known"
    ):
        lm("echo=no").log_probabilities([Continuation("ab", "c")])


def test_a_chat_has_no_log_probabilities(lm):
    with pytest.raises(
        BackendError, match="a chat gives no log-probabilities of a text that is there already"
    ):
        lm(api="chat").log_probabilities([Continuation("ab", "c")])


@pytest.mark.parametrize("api", ["completions", "chat"])
def test_texts_are_those_that_the_model_writes(lm, api):
    description, how = lm(api=api), Generation(max_tokens=4)
    request = {"max_tokens": 4, "temperature": 0, "stop": ["\n"]}
    found = description.generate(["hello", "how are you?", "hello"], how)
    expected = [[model.written(prompt, request, 0)] for prompt in ("hello", "how are you?", "hello")]
    assert found == expected
    assert all(text for (text,) in found)
    assert len(asked(description)) == 2
    found[0].clear()
    assert found[2]


@pytest.mark.parametrize("api", ["completions", "chat"])
def test_the_request_says_what_is_wanted_and_no_more(lm, api):
    description = lm(api=api)
    how = Generation(max_tokens=5, samples=3, sample=True, temperature=0.7, top_p=0.9, top_k=20, seed=4)
    description.generate(["hello"], how)
    description.generate(["hello"], Generation(max_tokens=5, stop=()))
    sampled, greedy = (entry["request"] for entry in asked(description))
    said = {"messages": [{"role": "user", "content": "hello"}]} if api == "chat" else {"prompt": "hello"}
    assert sampled == {
        "model": description.model,
        **said,
        "max_tokens": 5,
        "temperature": 0.7,
        "top_p": 0.9,
        "top_k": 20,
        "n": 3,
        "seed": 4,
        "stop": ["\n"],
    }
    assert greedy == {"model": description.model, **said, "max_tokens": 5, "temperature": 0, "seed": 0}
    path = "/v1/chat/completions" if api == "chat" else "/v1/completions"
    assert asked(description)[0]["path"] == path


def test_samples_differ_and_a_seed_repeats_them(lm):
    how = Generation(samples=4, sample=True, seed=11, max_tokens=5)
    first, second = (lm().generate(["hello", "bye"], how) for _ in range(2))
    assert first == second
    assert len(set(first[0])) == 4
    assert lm().generate(["hello"], Generation(samples=4, sample=True, seed=12, max_tokens=5))[0] != first[0]


def test_a_server_that_gives_one_text_at_a_time_is_asked_until_there_are_enough(lm):
    description = lm("one=yes")
    found = description.generate(["hello"], Generation(samples=3, sample=True, seed=5, max_tokens=5))
    assert len(set(found[0])) == 3
    assert [entry["request"]["seed"] for entry in asked(description)] == [5, 6, 7]


@pytest.mark.parametrize("api", ["completions", "chat"])
def test_samples_stand_in_the_order_of_their_indices(lm, api):
    description = lm("says=index-swapped", api=api)
    assert description.generate(["hello"], Generation(samples=2, sample=True)) == [["a", "b"]]


@pytest.mark.parametrize("api", ["completions", "chat"])
@pytest.mark.parametrize(
    ("odd", "message"),
    [
        ("index-repeated", "its answer holds several choices with the same index."),
        ("index-beyond", "its answer holds a choice whose index is 2 where one of 0 to 1 is due."),
        ("index-missing", "its answer holds a choice whose index is missing where one of 0 to 1 is due."),
        ("index-text", "its answer holds a choice whose index is text where one of 0 to 1 is due."),
        ("index-more", "its answer holds 3 choices, more than the 2 asked for."),
    ],
)
def test_a_wrong_index_is_refused_and_not_taken_by_position(lm, odd, message, api):
    description = lm(f"says={odd}", api=api)
    with pytest.raises(BackendError) as error:
        description.generate(["hello"], Generation(samples=2, sample=True))
    assert str(error.value) == f"{description.url}: {message}"


def test_stops_that_the_server_does_not_know_still_end_a_text(lm):
    description = lm()
    whole = description.generate(["hello"], Generation(max_tokens=4, stop=()))[0][0]
    stops = ("§1", "§2", "§3", "§4", whole[3])
    assert (
        description.generate(["hello"], Generation(max_tokens=4, stop=stops))[0][0]
        == whole[:3].split(whole[3])[0]
    )
    assert asked(description)[1]["request"]["stop"] == ["§1", "§2", "§3", "§4"]


def test_a_model_that_declines_has_said_nothing(lm):
    assert lm("says=null", api="chat").generate(["hello"], Generation()) == [[""]]


def test_beams_are_not_to_be_had(lm):
    with pytest.raises(
        BackendError, match=r"servers have no beam search. Sample, or take the likeliest token"
    ):
        lm().generate(["hello"], Generation(beams=4))


@pytest.mark.parametrize("faults", ["429", "500,502,503,504", "close,close", "cut", "408,425"])
def test_a_busy_server_is_asked_again(lm, faults):
    description = lm(f"fail={faults}")
    assert description.generate(["hello"], Generation(max_tokens=2))[0][0]
    assert len(asked(description)) == len(faults.split(",")) + 1


@pytest.mark.parametrize("after", ["1", "date"])
def test_the_server_says_how_long_to_wait(lm, after):
    text = formatdate(time.time() + 2, usegmt=True) if after == "date" else after
    description = lm(f"fail=429;after={text}")
    description.generate(["hello"], Generation(max_tokens=2))
    first, second = (entry["time"] for entry in asked(description))
    assert 0.95 <= second - first < 10


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", 0),
        ("soon", 0),
        ("-5", 0),
        ("7", 7),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
        ("Wed, 21 Oct 2015 07:28:00", 0),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", 0),
        ("Mon, 01 Jan 2001 00:00:00 +99999999999999999999", 0),
    ],
)
def test_what_retry_after_says_is_understood_or_left(text, seconds):
    assert http_client._parse_retry_after(text) == seconds


def test_pauses_grow_and_are_never_endless(lm, monkeypatch):
    pauses = []
    client = http_client.Client(http_client.Server("http://localhost", "", 1, 9, 0.5), 1)
    monkeypatch.setattr(client._stopped, "wait", lambda seconds: pauses.append(seconds))
    for number in range(12):
        client._wait(0.5 * 2**number, 0)
    client._wait(1, 10**9)
    assert all(0.25 * 2**n <= pause <= 0.75 * 2**n for n, pause in enumerate(pauses[:8]))
    assert max(pauses) <= 300
    assert pauses[-1] == 300


def test_whoever_waits_long_is_told(monkeypatch, capsys):
    client = http_client.Client(http_client.Server("http://localhost/v1", "", 1, 9, 0.5), 1)
    monkeypatch.setattr(client._stopped, "wait", lambda seconds: None)
    client._wait(0.5, 10)
    assert capsys.readouterr().err == ""
    client._wait(0.5, 11)
    client._wait(0.5, 10**9)
    assert capsys.readouterr().err == (
        "http://localhost/v1 is busy or out of reach; asking again in 11 seconds.\n"
        "http://localhost/v1 is busy or out of reach; asking again in 300 seconds.\n"
    )


def test_a_server_that_stays_busy_is_an_error_that_says_so(lm):
    description = lm("fail=503,always;message=all engines busy", retries=2)
    message = rf"{description.url}/completions: 503 Service Unavailable: all engines busy \(tried 3 times\)"
    with pytest.raises(BackendError, match=message):
        description.generate(["hello"], Generation())
    assert len(asked(description)) == 3


@pytest.mark.parametrize("status", [400, 403, 404, 422, 501])
def test_a_server_that_says_no_is_asked_once(lm, status):
    description = lm(f"fail={status},always;message=no\x1b[2J" + "x" * 1000)
    with pytest.raises(BackendError, match=rf"/completions: {status} .*: no\\x1b\[2Jx+$") as error:
        description.generate(["hello"], Generation())
    assert len(str(error.value)) < 500
    assert len(asked(description)) == 1


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("fields", "422 Unprocessable .*: field is wrong$"),
        ("strange", "400 Bad Request$"),
        ("text", r"400 Bad Request: plain \\x1b\[2J words$"),
    ],
)
def test_errors_of_other_shapes_show_no_more_than_a_message(lm, fault, message):
    with pytest.raises(BackendError, match=message):
        lm(f"fail={fault},always").generate(["hello"], Generation())


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        ("html", "its answer is not JSON; is this the address of a model?"),
        ("list", "its answer is no JSON object; is this the address of a model?"),
        ("empty", "its answer holds no choices; is this the address of a model?"),
        ("no-choices", "its answer holds no choices; is this the address of a model?"),
        ("no-text", "its answer holds no text."),
    ],
)
@pytest.mark.parametrize("api", ["completions", "chat"])
def test_an_odd_answer_is_an_error(lm, odd, message, api):
    description = lm(f"says={odd}", api=api)
    with pytest.raises(BackendError) as error:
        description.generate(["hello"], Generation())
    assert str(error.value).endswith(message)
    assert len(asked(description)) == 1


def test_an_answer_without_end_is_not_read_to_the_end(lm, monkeypatch):
    monkeypatch.setattr(http_client, "_LARGEST_ANSWER", 100_000)
    with pytest.raises(BackendError, match=r"its answer is larger than 100,000 bytes\."):
        lm("fail=huge,always;size=3000000").generate(["hello"], Generation())


def test_a_slow_server_is_an_error_that_says_how_long_it_was_waited_for(lm):
    with pytest.raises(BackendError, match=r"no answer within 0.2 seconds \(tried 2 times\)"):
        lm("fail=slow,always", timeout=0.2, retries=1).generate(["hello"], Generation())


def test_a_server_that_is_not_there_is_an_error():
    description = HttpLanguageModel("http://127.0.0.1:9/v1", "any", retries=0)
    with pytest.raises(
        BackendError, match=r"http://127.0.0.1:9/v1/completions: cannot be reached: .* \(tried once\)"
    ):
        description.generate(["hello"], Generation())


def test_a_host_that_cannot_be_is_an_error():
    description = HttpLanguageModel(f"http://{'a' * 70}.example/v1", "any", retries=0)
    with pytest.raises(BackendError, match="cannot be reached: "):
        description.generate(["hello"], Generation())


def test_a_redirect_is_not_followed_and_no_key_goes_along(lm, server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    elsewhere, port = started()
    target = f"http://127.0.0.1:{port}/v1/completions"
    try:
        description = lm(f"fail=redirect,always;to={target}")
        with pytest.raises(
            BackendError, match=rf"redirects to {target}\. Name that address, if you trust it\."
        ):
            description.generate(["hello"], Generation())
        assert seen(f"http://127.0.0.1:{port}") == []
    finally:
        ended(elsewhere)


def test_the_key_comes_from_the_environment_and_is_sent_only_where_it_is_set(lm, monkeypatch):
    without, mine, none = lm(), lm(key_variable="MY_KEY"), lm(key_variable="")
    without.generate(["a"], Generation(max_tokens=1))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("MY_KEY", f" {KEY}-2\n")
    with_key = lm()
    for description in (with_key, mine, none):
        description.generate(["a"], Generation(max_tokens=1))
    sent = [asked(one)[0]["headers"].get("Authorization") for one in (without, with_key, mine, none)]
    assert sent == [None, f"Bearer {KEY}", f"Bearer {KEY}-2", None]


def test_the_key_is_never_shown(lm, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(BackendError, match="401 Unauthorized: Incorrect key: Bearer …") as error:
        lm("fail=key,always").generate(["hello"], Generation())
    assert KEY not in str(error.value)
    assert KEY not in repr(lm())
    monkeypatch.setenv("OPENAI_API_KEY", KEY + "\nHost: evil")
    with pytest.raises(BackendError, match=r"^OPENAI_API_KEY holds characters that no key has\.$"):
        lm().generate(["hello"], Generation())


def test_a_lacking_key_is_told(lm):
    with pytest.raises(BackendError, match=r"401 Unauthorized.*\. Put a key for it into OPENAI_API_KEY\."):
        lm("fail=key,always").generate(["hello"], Generation())


@pytest.mark.parametrize("host", ["models.example", "10.0.0.7", "[fe80::1]"])
def test_the_usual_key_does_not_go_through_the_open_net(host, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    message = rf"would go to http://{host.replace('[', '.').replace(']', '.')}/v1 unencrypted\. Use https; or"
    with pytest.raises(BackendError, match=message):
        HttpLanguageModel(f"http://{host}/v1", "any").generate(["hello"], Generation())
    monkeypatch.setenv("MY_KEY", "mine")
    assert http_client.Server(f"http://{host}/v1", "MY_KEY", 1, 0, 0).key() == "mine"
    for safe in (
        "https://models.example/v1",
        "http://localhost:8000/v1",
        "http://127.0.0.1/v1",
        "http://[::1]/v1",
    ):
        assert http_client.Server(safe, "OPENAI_API_KEY", 1, 0, 0).key() == KEY


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("localhost:8000", r"'localhost:8000' is no address of a server, such as http://localhost:8000/v1\."),
        ("ftp://host/v1", "is no address of a server"),
        ("http://", "is no address of a server"),
        ("http://a b/v1", "is no address of a server"),
        ("http://host/\x1b", r"'http://host/\\x1b' is no address of a server"),
        ("http://host:port/v1", "is no address of a server: Port could not be cast"),
        (
            "http://me:secret@host/v1",
            "^The address of a server must hold no password, no question mark and no #",
        ),
        ("http://host/v1?key=1", "must hold no password"),
        ("http://host/v1#x", "must hold no password"),
    ],
)
def test_an_address_that_is_none_is_an_error_at_once(url, message):
    with pytest.raises(BackendError, match=message):
        HttpLanguageModel(url, "any")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://me:s3cret@host/v1", "The address of a server must hold no password"),
        ("http://me:s3crét@host/v1", "The address of a server must hold no password"),
        ("http://me:s3cret@host:port/v1", "The address of a server must hold no password"),
        ("http://me:s3\u2100cret@host/v1", "The address of a server must hold no password"),
        ("me:s3cret@host/v1", "The address of a server must hold no password"),
        ("http://me:s3/cret@host/v1", r"^'http://host/v1' is no address of a server\.$"),
        ("ftp://host/s3cret@v1", r"^'ftp://v1' is no address of a server, such as"),
    ],
)
def test_a_password_in_an_address_is_never_shown(url, message):
    with pytest.raises(BackendError, match=message) as error:
        HttpLanguageModel(url, "any")
    assert "s3" not in str(error.value)
    assert "cr" not in str(error.value)
    assert error.value.__cause__ is None


def test_a_password_of_a_wrong_proxy_is_never_shown(monkeypatch):
    monkeypatch.setenv("https_proxy", "http://me:s3cret@proxy:port")
    monkeypatch.setenv("no_proxy", "")
    with pytest.raises(BackendError) as error:
        HttpLanguageModel("https://models.example/v1", "any").generate(["hello"], Generation())
    assert str(error.value) == "'http://proxy:port' is no address of a server."
    assert error.value.__cause__ is None


def test_a_sign_in_the_path_is_no_password():
    assert HttpLanguageModel("https://models.example/@org/v1", "any").url.endswith("/@org/v1")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": ""}, "needs the name that the server has for it"),
        ({"api": "talk"}, "api must be completions or chat, not 'talk'"),
        ({"timeout": 0}, "timeout must be above 0, parallel at least 1, retries and pause at least 0"),
        ({"timeout": math.nan}, "timeout must be above 0"),
        ({"retries": -1}, "timeout must be above 0"),
        ({"parallel": 0}, "timeout must be above 0"),
        ({"pause": -1}, "timeout must be above 0"),
    ],
)
def test_settings_that_make_no_sense_are_errors(settings, message):
    with pytest.raises(BackendError, match=message):
        HttpLanguageModel(**{"url": "http://localhost/v1", "model": "any", **settings})


def test_many_requests_run_at_once_over_few_connections(lm, server):
    description = lm(parallel=4)
    before = connections(server)
    description.log_probabilities([Continuation("abc", str(number)) for number in range(60)])
    assert connections(server) - before <= 4 + 1 + 1  # the first text, four threads, and this look


def connections(url):
    connection = http.client.HTTPConnection(url.removeprefix("http://").split("/")[0])
    connection.request("GET", "/log")
    count = json.loads(connection.getresponse().read())["connections"]
    connection.close()
    return count


def test_one_failure_ends_the_waiting_of_the_others(lm):
    description = lm("fail=429,400,400,400,400,429,always;after=200", parallel=2, retries=3)
    begin = time.perf_counter()
    with pytest.raises(BackendError, match=r"400 Bad Request|given up, since another request failed"):
        description.generate([str(number) for number in range(6)], Generation())
    assert time.perf_counter() - begin < 20


def test_a_connection_that_went_stale_is_replaced_without_a_try(server, lm):
    description = lm(retries=0)
    with description._client() as client:
        assert client.post("/completions", {"model": description.model, "prompt": "a"})["choices"]
        client._local.connection.sock.shutdown(2)
        assert client.post("/completions", {"model": description.model, "prompt": "a"})["choices"]


def test_the_environments_proxy_is_used(lm, server, monkeypatch):
    monkeypatch.setenv("http_proxy", server.removesuffix("/v1"))
    monkeypatch.setenv("no_proxy", "")
    name = f"tiny;id=proxy{os.getpid()}"
    HttpLanguageModel("http://models.example/v1", name).generate(["hello"], Generation(max_tokens=1))
    (entry,) = seen(server, name)
    assert entry["path"] == "http://models.example/v1/completions"
    assert entry["headers"]["Host"] == "models.example"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed; it makes a certificate for the server")
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    command += [
        "-addext",
        "subjectAltName=DNS:localhost,IP:127.0.0.1",
        "-keyout",
        str(path),
        "-out",
        str(path) + ".crt",
    ]
    subprocess.run(command, check=True, capture_output=True)
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path


def test_a_certificate_that_nobody_vouches_for_is_refused_and_a_known_one_taken(certificate, monkeypatch):
    process, port = started(str(certificate))
    try:
        description = HttpLanguageModel(f"https://127.0.0.1:{port}/v1", "tiny")
        with pytest.raises(
            BackendError, match=r"its certificate is not to be trusted: self.signed certificate"
        ):
            description.generate(["hello"], Generation(max_tokens=2))
        monkeypatch.setenv("SSL_CERT_FILE", f"{certificate}.crt")
        assert description.generate(["hello"], Generation(max_tokens=2))[0][0]
        tunnel = Tunnel(port)
        monkeypatch.setenv("https_proxy", f"127.0.0.1:{tunnel.port}")
        monkeypatch.setenv("no_proxy", "")
        assert description.generate(["hello"], Generation(max_tokens=2))[0][0]
        assert tunnel.wanted == [f"CONNECT 127.0.0.1:{port} HTTP/1.0"]
    finally:
        ended(process)


class Tunnel:
    """A proxy for one connection, which it passes on to a port of this machine."""

    def __init__(self, target):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port, self.target, self.wanted = self.listener.getsockname()[1], target, []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        inner, _ = self.listener.accept()
        self.listener.close()
        asked = inner.recv(65536).decode()
        self.wanted.append(asked.split("\r\n")[0].replace("HTTP/1.1", "HTTP/1.0"))
        with inner, socket.create_connection(("127.0.0.1", self.target)) as outer:
            inner.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=self.copy, args=(outer, inner), daemon=True)
            back.start()
            self.copy(inner, outer)
            back.join(5)

    def copy(self, source, sink):
        with suppress(OSError):  # the other side has gone
            while content := source.recv(65536):
                sink.sendall(content)
            sink.shutdown(socket.SHUT_WR)


def test_it_signs_itself_and_tells_nothing_that_cannot_change_a_number():
    one = HttpLanguageModel(
        "http://localhost:8000/v1/", "llama", timeout=5, retries=1, parallel=2, key_variable="X"
    )
    assert signature(one) == "http-lm|url:http://localhost:8000/v1|model:llama|api:completions|revision:|v:1"
    assert one == HttpLanguageModel("http://localhost:8000/v1", "llama")
    assert str(one) == "http://localhost:8000/v1#llama"
    others = [
        HttpLanguageModel("http://localhost:8000/v1", "llama", revision="7"),
        HttpLanguageModel("http://localhost:8000/v2", "llama"),
        HttpLanguageModel("http://localhost:8000/v1", "gpt"),
    ]
    assert len({one.fingerprint, *(other.fingerprint for other in others)}) == 4
