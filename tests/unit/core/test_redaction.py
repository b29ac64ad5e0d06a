"""Secrets in commands: blanked where a name or a shape says that there is one; nothing else is touched."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialoscope.core.redaction import join_without_secrets, redact, secrets_in, without_secrets


@pytest.mark.parametrize(
    ("command", "shown", "secrets"),
    [
        ("./bot --api-key X1 --fast", "./bot --api-key … --fast", ["X1"]),
        ("./bot --token=X1 -v", "./bot --token=… -v", ["X1"]),
        ("./bot -token X1", "./bot -token …", ["X1"]),
        ("./bot --password 'a b' c", "./bot --password … c", ["a b"]),
        ("./bot '--password=a b' c", "./bot --password=… c", ["a b"]),
        ("./bot --hf_token X1 --openaiApiKey X2", "./bot --hf_token … --openaiApiKey …", ["X1", "X2"]),
        ("env MY_API_KEY=X1 B_TOKEN='a b' ./bot", "env MY_API_KEY=… B_TOKEN=… ./bot", ["X1", "a b"]),
        ("c -H 'Authorization: Bearer X1' u", "c -H 'Authorization: Bearer …' u", ["X1"]),
        ("c -H 'Authorization: X1' u", "c -H 'Authorization: …' u", ["X1"]),
        ("c -H 'X-Api-Key: X1'", "c -H 'X-Api-Key: …'", ["X1"]),
        ("c '-HAuthorization: Bearer X1'", "c -HAuthorization:…", ["Bearer X1"]),
        ("c --auth 'Bearer X1'", "c --auth …", ["Bearer X1"]),
        ('c -d \'{"m": "n", "api_key": "X1"}\'', 'c -d \'{"m": "n", "api_key": …\'', ["X1"]),
        ("c 'http://h/?a=1&api_key=X1'", "c 'http://h/?a=1&api_key=…'", ["X1"]),
        ("c http://me:X1@host/v1", "c http://…@host/v1", ["me:X1"]),
        ("bash -c 'B_KEY=X1 ./bot --model m'", "bash -c 'B_KEY=… ./bot --model m'", ["X1"]),
        ("./bot sk-0123456789", "./bot …", ["sk-0123456789"]),
        ("./bot a=sk-0123456789,b=1", "./bot a=…,b=1", ["sk-0123456789"]),
        ("./bot --pass X1 --db-pass=X2", "./bot --pass … --db-pass=…", ["X1", "X2"]),
        ("sshpass -p X1 ssh host ./bot", "sshpass -p … ssh host ./bot", ["X1"]),
        ("/usr/bin/mysql -u me -pX1 db", "/usr/bin/mysql -u me -p… db", ["X1"]),
        ("bash -c 'docker login -u me -p 12 && ./bot'", "bash -c 'docker login -u me -p … && ./bot'", ["12"]),
        ("c -u http://me:X1@host/", "c -u http://…@host/", ["me:X1"]),
        ("c -u me:X1 u", "c -u me:… u", ["X1"]),
        ("c --user=me:X1 --proxy-user 'me:a b'", "c --user=me:… --proxy-user me:…", ["X1", "a b"]),
        ("c --cookie 's=X1; t=X2' u", "c --cookie … u", ["s=X1; t=X2"]),
        ("c -H 'Cookie: s=X1; t=X2' u", "c -H 'Cookie: …' u", ["s=X1; t=X2"]),
        ("c '-HCookie: s=X1' u", "c '-HCookie: …' u", ["s=X1"]),
        ("./bot --signature X1", "./bot --signature …", ["X1"]),
        ("c 'http://h/?X-Amz-Signature=X1'", "c 'http://h/?X-Amz-Signature=…'", ["X1"]),
        ("./bot sk_live_0123456789ab", "./bot …", ["sk_live_0123456789ab"]),
        ("./bot --token -X1 --fast", "./bot --token … --fast", ["-X1"]),
        ("./bot --token --9 -v", "./bot --token … -v", ["--9"]),
        ('./bot "unclosed --token X1', './bot "unclosed --token …', ["X1"]),
    ],
)
def test_what_looks_like_a_secret_is_blanked(command, shown, secrets):
    assert without_secrets(command) == shown
    assert secrets_in(command) == secrets
    assert without_secrets(shown) == shown


@pytest.mark.parametrize(
    "command",
    [
        "./bot --fast",
        "./bot --max-tokens 5 --stop-token 7 --eos_token=9 --tokenizer t --tokens 3",
        "./bot --keyword k --sort-key k --key-file f --key_variable=MY_KEY --monkey banana",
        "python -u bot.py 'a  b' \"c d\" ''  ./task-0123456789 module.token:reply token:reply",
        "./bot --token --fast",
        "./bot --token -v --password --mode=fast --pass --max-tokens",
        "./server -p 8080 -p persona -u --two-pass yes --cookie-jar f --signatures",
        "docker run -u 1000:1000 -u me image -u http://host/a:b --user= -u",
        "./bot --url http://host:80/v1 --mail me@host",
        "./bot 'it is the key: to all'",
    ],
)
def test_everything_else_stays_as_it_was_typed(command):
    assert without_secrets(command) == command
    assert secrets_in(command) == []
    words = shlex.split(command)
    assert join_without_secrets(words) == shlex.join(words)


def test_a_recorded_command_is_blanked_word_by_word_and_within_words():
    words = [
        "dialoscope",
        "respond",
        "a b",
        "-s",
        "command:./bot --api-key 'X 1' --fast",
        "--password",
        "X 2",
    ]
    assert join_without_secrets(words) == (
        "dialoscope respond 'a b' -s 'command:./bot --api-key … --fast' --password …"
    )


@given(st.text("ab '\"\\=:-", max_size=30))
def test_any_command_can_be_looked_at(text):
    assert without_secrets(f"{text} ") == without_secrets(text) + " "
    assert "X1X2" not in without_secrets(f"./bot --api-key X1X2 {text}")


def test_our_own_options_are_recorded():
    words = ["dialoscope", "audit", "a.jsonl", "-p", "noise", "-s", "command:sshpass -p X1"]
    assert join_without_secrets(words) == "dialoscope audit a.jsonl -p noise -s 'command:sshpass -p …'"


def test_errors_lose_secrets_but_no_ordinary_words():
    assert redact("no sk-0123 and sk-0123-4567, none", ["none", "sk-0123-", "sk-0123-4567"]) == (
        "no sk-0123 and …, none"
    )
