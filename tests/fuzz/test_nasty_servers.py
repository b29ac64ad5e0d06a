"""What a server may do wrong, row by row: a sentence or a right answer comes of it, and in time."""

import json
import re
import select
import shutil
import subprocess
import sys

import numpy as np
import pytest

import dialoscope as ds
from dialoscope.core.errors import BackendError
from dialoscope.models.http_client import Client
from dialoscope.models.http_language_model import HttpLanguageModel
from dialoscope.models.protocols import Continuation
from dialoscope.systems.protocol import NoAnswer, Question
from tests.fuzz.nasty_server import (
    BEHAVIOURS,
    KEY,
    LONG_KEY,
    RIGHT,
    UNDEFINED,
    Fails,
    Gives,
    NastyServer,
    Scores,
    right_reply,
    right_values,
)

MOST_SENT = 2**26 + 2**25
"""Bytes that a flood may get rid of: the largest answer that is read, and what waits in buffers."""
LONGEST_SENTENCE = 1000


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Certificates with their keys, by what is wrong with them."""
    folder = tmp_path_factory.mktemp("tls")
    for name, host in (("signed-by-itself", "IP:127.0.0.1"), ("of-another-host", "DNS:elsewhere.example")):
        path = folder / f"{name}.pem"
        command = f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={name}".split()
        more = ["-addext", f"subjectAltName={host}", "-keyout", str(path), "-out", f"{path}.crt"]
        if shutil.which("openssl"):
            subprocess.run(command + more, check=True, capture_output=True)
            path.write_text(path.read_text() + (folder / f"{name}.pem.crt").read_text())
    return folder


@pytest.fixture(scope="module")
def server(certificates):
    with NastyServer(str(certificates)) as running:
        yield running


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """No proxy and no cache of whoever runs the tests."""
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DIALOSCOPE_CACHE", str(tmp_path))


@pytest.fixture
def settings(server, certificates, monkeypatch):
    """What the client of a row is made with."""

    def of(row):
        if row.tls in ("signed-by-itself", "of-another-host") and not shutil.which("openssl"):
            pytest.skip("openssl is not installed; it makes a certificate for the server")
        if row.tls == "of-another-host":
            monkeypatch.setenv("SSL_CERT_FILE", str(certificates / "of-another-host.pem.crt"))
        monkeypatch.setenv("OPENAI_API_KEY", row.key)
        url = server.url(row)
        return {"url": url, "model": "m", "timeout": row.timeout, "retries": row.retries, "pause": 0.01}

    return of


def rows(what):
    return pytest.mark.parametrize(
        "row", [row for row in BEHAVIOURS if getattr(row, what)], ids=lambda row: row.name
    )


def check_flood(server, row):
    """A server gets rid of no more than is ever read."""
    sent = [size for path, size in server.sent.items() if path.split("/")[1] == row.name]
    assert max(sent, default=0) <= MOST_SENT


def check_sentence(text, pattern):
    """An error is one line that says what is meant, without control characters and key, and is no book."""
    assert re.search(pattern, text), text
    assert text.isprintable()
    assert len(text) <= LONGEST_SENTENCE
    assert LONG_KEY not in text


@rows("reply")
def test_a_reply_is_right_or_an_error_that_says_why(row, server, settings):
    with ds.HttpSystem(**settings(row)).opened() as session:
        questions = [Question("1", ("nasty",)), Question("2", ("a sound one",))]
        found, following = session.answers(questions)
    if isinstance(row.reply, Fails):
        assert isinstance(found, NoAnswer), found
        check_sentence(found.reason, row.reply.pattern)
    else:
        assert found == (row.reply.text if isinstance(row.reply, Gives) else right_reply("nasty"))
    if not row.tls:
        assert following == right_reply("a sound one")
    check_flood(server, row)


TEXTS = [Continuation("abc", "sound"), Continuation("abc", "defghijkl")]


@rows("log_probabilities")
def test_log_probabilities_are_right_undefined_or_an_error_that_says_why(row, server, settings, capsys):
    description, outcome = HttpLanguageModel(**settings(row), parallel=1), row.log_probabilities
    if isinstance(outcome, Fails):
        texts = TEXTS if "request 2 of 2" in outcome.pattern else TEXTS[1:]
        with pytest.raises(BackendError) as error:
            description.log_probabilities(texts)
        check_sentence(str(error.value), outcome.pattern)
    else:
        first, found = description.log_probabilities(TEXTS)
        np.testing.assert_allclose(first, right_values("abcsound")[1:])
        expected = outcome.values if isinstance(outcome, Scores) else right_values("abcdefghijkl")[1:]
        np.testing.assert_allclose(found, [np.nan] if outcome is UNDEFINED else expected)
        assert ("cannot be matched" in capsys.readouterr().err) == (outcome is UNDEFINED)
    check_flood(server, row)


def test_what_comes_before_it_was_asked_for_answers_nothing(server, settings):
    """A second answer to the same question is no answer to the next."""
    row = next(row for row in BEHAVIOURS if row.name == "twice")
    with Client(ds.HttpSystem(**settings(row)).server, 1) as client:
        nasty, sound = (
            {"model": "m", "messages": [{"role": "user", "content": text}]}
            for text in ("later", "a sound one")
        )
        client.post("/chat/completions", nasty)
        assert select.select([client._local.connection.sock], [], [], 30)[0]
        answer = client.post("/chat/completions", sound)
    assert answer["choices"][0]["message"]["content"] == right_reply("a sound one")


def dialoscope_command(*arguments):
    program = [sys.executable, "-m", "dialoscope", *map(str, arguments)]
    return subprocess.run(program, capture_output=True, text=True, timeout=120)


def test_the_command_line_tells_all_of_it_without_a_traceback(server, tmp_path, monkeypatch):
    """All rows at once: each context is the name of a row."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    contexts, replies = tmp_path / "contexts.jsonl", tmp_path / "replies.jsonl"
    names = [row.name for row in BEHAVIOURS if row.reply and not row.tls and row.key == KEY]
    contexts.write_text("".join(json.dumps({"id": name, "context": [name]}) + "\n" for name in names))
    system = f"{server.any_url}#m,timeout=2,retries=0"
    done = dialoscope_command("respond", contexts, "-s", system, "-o", replies)
    assert "Traceback" not in done.stderr + done.stdout
    assert (done.returncode, "questions have no reply" in done.stderr) == (1, True)
    rows = [json.loads(line) for line in replies.read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in rows] == names
    assert all(("response" in row) != ("error" in row) for row in rows)
    assert all(check_reply(row) for row in rows if "response" in row)


def check_reply(row):
    """Whether a reply is one that the table allows."""
    (allowed,) = [behaviour.reply for behaviour in BEHAVIOURS if behaviour.name == row["id"]]
    return row["response"] == (allowed.text if isinstance(allowed, Gives) else right_reply(row["id"]))


@pytest.mark.parametrize(
    "name",
    ["value-positive", "value-whole-beyond-double", "values-minus-1e308", "retry-after-absurd-year"],
)
def test_scoring_with_such_a_server_ends_without_a_traceback(server, tmp_path, name):
    (row,) = [row for row in BEHAVIOURS if row.name == name]
    replies = tmp_path / "replies.jsonl"
    replies.write_text(
        json.dumps({"id": "1", "system": "s", "context": ["abc"], "response": "defghi"}) + "\n"
    )
    done = dialoscope_command("score", replies, "-m", f"perplexity:lm={server.url(row)}#m")
    assert "Traceback" not in done.stderr + done.stdout
    if row.log_probabilities is RIGHT:
        assert done.returncode == 0
    else:
        assert done.returncode == 2
        assert "no probability has it" in done.stderr


def test_a_perplexity_beyond_double_range_is_undefined_and_holds(server, tmp_path):
    (row,) = [row for row in BEHAVIOURS if row.name == "values-in-place-of-minus-infinite"]
    replies = tmp_path / "replies.jsonl"
    replies.write_text(
        json.dumps({"id": "1", "system": "s", "context": ["abc"], "response": "defghi"}) + "\n"
    )
    metrics = [f"{name}:lm={server.url(row)}#m" for name in ("perplexity", "coherence", "pmi")]
    run = tmp_path / "run"
    done = dialoscope_command(
        "score", replies, *(word for name in metrics for word in ("-m", name)), "-o", run
    )
    assert "RuntimeWarning" not in done.stderr
    assert done.returncode == 0, done.stderr
    assert "1 of 1 replies has no perplexity" in done.stdout + done.stderr
    verified = dialoscope_command("verify", run)
    assert verified.returncode == 0, verified.stderr + verified.stdout
