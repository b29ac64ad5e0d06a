"""One grammar for the texts that name a metric, a model or a system."""

import pytest

from dialoscope.core.errors import BackendError
from dialoscope.core.spec import read_value, split_spec

KNOWN = {"order", "temperature", "seed", "lm.window"}


@pytest.mark.parametrize(
    ("text", "name", "settings"),
    [
        ("bleu", "bleu", ()),
        (" bleu-2 : order = 4 ", "bleu-2", (("order", "4"),)),
        ("smollm2,temperature=0.7", "smollm2", (("temperature", "0.7"),)),
        ("smollm2:temperature=0.7,seed=3", "smollm2", (("temperature", "0.7"), ("seed", "3"))),
        ("coherence:lm.window=512", "coherence", (("lm.window", "512"),)),
        ("http://host:80/v1?a=b#m:temperature=1", "http://host:80/v1?a=b#m", (("temperature", "1"),)),
        ("https://user:key=x@host/v1#m", "https://user:key=x@host/v1#m", ()),
        ("file:a,b.jsonl", "file:a,b.jsonl", ()),
        ("file:a,b.jsonl,seed=1,2", "file:a,b.jsonl", (("seed", "1,2"),)),
        ("smollm2,tempreature=1", "smollm2", (("tempreature", "1"),)),
        ("smollm2:seed=1:temperature=2", "smollm2", (("seed", "1:temperature=2"),)),
    ],
)
def test_a_name_and_its_settings(text, name, settings):
    assert split_spec(text, KNOWN.__contains__) == (name, settings)


def test_arguments_of_a_command_are_not_settings():
    text = "./bot --set a=1,b=2,seed=3"
    assert split_spec(text, KNOWN.__contains__, is_strict=False) == ("./bot --set a=1,b=2", (("seed", "3"),))
    assert split_spec(text, KNOWN.__contains__).settings == (("b", "2"), ("seed", "3"))


@pytest.mark.parametrize(
    ("text", "hint", "value"),
    [
        ("3", int, 3),
        ("0.5", float, 0.5),
        ("3", int | None, 3),
        ("Yes", bool, True),
        ("0", bool, False),
        ("x", str, "x"),
    ],
)
def test_values_have_the_declared_type(text, hint, value):
    assert read_value(text, hint, "model: seed", BackendError) == value


@pytest.mark.parametrize(
    ("text", "hint", "expected"),
    [("3.5", int, "a whole number"), ("x", float | None, "a number"), ("maybe", bool, "yes or no")],
)
def test_other_values_are_refused(text, hint, expected):
    with pytest.raises(BackendError, match=f"^model: seed must be {expected}, not '{text}'.$"):
        read_value(text, hint, "model: seed", BackendError)
