"""How a text names a system."""

import pytest

import dialoscope as ds
from dialoscope.core.errors import BackendError
from dialoscope.core.signature import signature


@pytest.mark.parametrize(
    ("text", "system"),
    [
        ("smollm2", ds.ModelSystem("smollm2")),
        (" smollm2 , temperature=0.7, top_k=5 ", ds.ModelSystem("smollm2", temperature=0.7, top_k=5)),
        ("smollm2:temperature=0.7,top_k=5", ds.ModelSystem("smollm2", temperature=0.7, top_k=5)),
        ("model:./folder,form=lines", ds.ModelSystem("./folder", form="lines")),
        ("org/name,beams=3", ds.ModelSystem("org/name", beams=3)),
        ("bots.greeter:reply", ds.FunctionSystem("bots.greeter:reply")),
        ("python:command:reply", ds.FunctionSystem("command:reply")),
        ("dir/file.py:Bot.reply", ds.FunctionSystem("dir/file.py:Bot.reply")),
        ("command:./bot --flag a,b", ds.CommandSystem("./bot --flag a,b")),
        ("command:./bot x=1,y=2", ds.CommandSystem("./bot x=1,y=2")),
        ("http://host:8000/v1#m", ds.HttpSystem("http://host:8000/v1", "m")),
        ("http://host:8000/v1#m:temperature=0", ds.HttpSystem("http://host:8000/v1", "m", temperature=0.0)),
        (
            "https://host/v1#org/m:8b,temperature=0,instructions=Be brief, and kind.,send_seed=no",
            ds.HttpSystem(
                "https://host/v1",
                "org/m:8b",
                temperature=0.0,
                instructions="Be brief, and kind.",
                send_seed=False,
            ),
        ),
        ("retrieval:chitchat,turns=2,same=yes", ds.RetrievalSystem("chitchat", turns=2, same=True)),
        ("retrieval:a,b.jsonl", ds.RetrievalSystem("a,b.jsonl")),
        ("file:replies.jsonl,system=bot", ds.RecordedSystem("replies.jsonl", system="bot")),
    ],
)
def test_a_text_is_a_system_with_its_settings(text, system):
    assert ds.system(text) == system
    assert signature(ds.system(text)) == signature(system)
    assert hash(ds.system(text)) == hash(system)


def test_settings_that_change_no_reply_are_set_too_and_do_not_show():
    system = ds.system("command:./bot,timeout=3,retries=0")
    assert (system.timeout, system.retries) == (3.0, 0)
    assert signature(system) == "command|command:./bot|v:1"
    assert ds.system("http://h/v1#m,key_variable=K").key_variable == "K"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"There is no system ''\. Name one: module:function"),
        ("comand:./bot", r"There is no system 'comand:\./bot'\. Did you mean 'command:'\?"),
        ("zzz:./\x1bbot", r"There is no system 'zzz:\./\\x1bbot'\. Name one: "),
        (
            "smollm2,temprature=1",
            "of the kind model has no setting 'temprature'. Did you mean 'temperature'?",
        ),
        (
            "smollm2:temprature=1",
            "of the kind model has no setting 'temprature'. Did you mean 'temperature'?",
        ),
        ("smollm2,zzz=1", "of the kind model has no setting 'zzz'. It has: revision, dtype, form"),
        ("bot.py:reply,foo=1", r"of the kind function has no setting 'foo'\. It has: none\.$"),
        ("smollm2,top_k=a", "model: top_k must be a whole number, not 'a'"),
        ("smollm2,temperature=hot", "model: temperature must be a number, not 'hot'"),
        ("smollm2,beams=1,beams=2", "model: beams is named twice"),
        ("http://h/v1", "'http://h/v1' names no model; add the server's name for it after a #"),
        ("http://h/v1#m,send_seed=maybe", "http: send_seed must be yes or no, not 'maybe'"),
        ("smollm2,form=prose", "form is 'prose'; it must be one of: auto, names, lines"),
        ("smollm2,dtype=int8", "dtype is 'int8'; it must be one of"),
        ("smollm2,temperature=-1", "temperature must be 0"),
        ("model:", "A model needs a name"),
        ("retrieval:", "Retrieval needs a corpus"),
        ("retrieval:x,turns=-1", "turns must be 0"),
        ("file:-", "Recorded replies must be in a file"),
    ],
)
def test_what_names_none_is_refused(text, message):
    with pytest.raises(BackendError, match=message.replace("?", r"\?").replace(r"\\?", r"\?")):
        ds.system(text)


def test_what_is_no_system_is_refused():
    with pytest.raises(BackendError, match="There is no system 7"):
        ds.system(7)
    with pytest.raises(BackendError, match="samples is 0; it must be 1 or more"):
        ds.system(lambda context: "").reply([("a",)], samples=0)


def test_the_first_error_is_raised_where_replies_are_asked_for_directly():
    def failing(context):
        raise ValueError("no")

    with pytest.raises(BackendError, match="ValueError: no"):
        ds.system(failing).reply([("a",)])
