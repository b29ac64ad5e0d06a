"""A Python function as a system."""

import sys

import pytest

import dialoscope as ds
from dialoscope.core.errors import BackendError
from dialoscope.core.signature import signature
from dialoscope.systems.protocol import NoAnswer, Question

CODE = """
import sibling

def reply(context):
    assert isinstance(context, list)
    return sibling.PREFIX + context[-1]

def chance(context, seed):
    return f"{context[-1]} {seed}"

def several(contexts):
    return [context[-1].upper() for context in contexts]

def seeded(contexts, *, seed):
    return [f"{context[-1]} {number}" for context, number in zip(contexts, seed)]

class Bot:
    def __call__(self, context):
        return "from a bot"

    @staticmethod
    def loud(context):
        return context[-1] + "!!"

bot = Bot()
answer = 42

async def later(context):
    return "later"
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "sibling", raising=False)
    (tmp_path / "sibling.py").write_text("PREFIX = 'You said '")
    (tmp_path / "my_bot.py").write_text(CODE)
    return tmp_path / "my_bot.py"


@pytest.mark.parametrize(
    ("function", "replies"),
    [
        ("reply", [["You said a", "You said a"], ["You said b", "You said b"]]),
        ("chance", [["a 3", "a 4"], ["b 3", "b 4"]]),
        ("several", [["A", "A"], ["B", "B"]]),
        ("seeded", [["a 3", "a 4"], ["b 3", "b 4"]]),
        ("bot", [["from a bot"] * 2] * 2),
        ("Bot.loud", [["a!!"] * 2, ["b!!"] * 2]),
    ],
)
def test_a_function_takes_a_context_or_several_and_a_seed_if_it_likes(file, function, replies):
    system = ds.system(f"{file}:{function}")
    assert system.reply([("Hi", "a"), ("b",)], samples=2, seed=3) == replies
    assert system.label == "my_bot"


def test_a_module_is_looked_for_where_one_is(file, monkeypatch):
    monkeypatch.chdir(file.parent)
    monkeypatch.delitem(sys.modules, "my_bot", raising=False)
    system = ds.system("my_bot:several")
    assert system.reply([("a",)]) == [["A"]]
    assert (system.label, signature(system)) == ("my_bot", "function|function:my_bot:several|v:1")
    assert ds.system("python:my_bot:several") == system
    assert str(system) == "my_bot:several"


def test_a_function_at_hand_is_a_system():
    def mine(context):
        return context[0]

    system = ds.system(mine)
    assert system.reply([("a", "b")]) == [["a"]]
    assert system.label == "mine"
    assert ds.system(system) is system


def test_a_callable_without_a_signature_takes_one_context():
    assert ds.FunctionSystem.of(max).reply([("a", "b")]) == [["b"]]
    assert ds.FunctionSystem.of(type("Bot", (), {"__call__": lambda self, context: "x"})()).reply([("a",)])


def said(call, *texts):
    with ds.FunctionSystem.of(call).opened() as session:
        return list(session.answers([Question(text, (text,)) for text in texts]))


def test_what_a_function_raises_is_an_error_of_that_reply():
    def picky(context):
        if context[0] == "exit":
            sys.exit("enough")
        if context[0] == "fail":
            raise ValueError(f"not\n{context[0]} \x1b[2J")

    assert said(picky, "fail", "none", "exit") == [
        NoAnswer("ValueError: not fail \\x1b[2J"),
        NoAnswer("the reply is null where text is due"),
        NoAnswer("SystemExit: enough"),
    ]


def test_what_is_wrong_with_several_is_wrong_with_each():
    def fewer(contexts):
        return ["one"]

    def text(contexts):
        return "one"

    def failing(contexts):
        raise KeyError("x")

    assert said(fewer, "a", "b") == [NoAnswer("the function returned 1 replies to 2 contexts")] * 2
    assert said(text, "a", "b") == [NoAnswer("the function returned text where a list of replies is due")] * 2
    assert said(failing, "a", "b") == [NoAnswer("KeyError: 'x'")] * 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nobody", "There is no 'nobody' in .*my_bot.py"),
        ("answer", "my_bot.py:answer is a number, not a function"),
        ("later", "is async; name a plain function, which may call asyncio.run"),
    ],
)
def test_what_is_no_function_is_refused(file, name, message):
    with pytest.raises(BackendError, match=message):
        ds.system(f"{file}:{name}").reply([("a",)])


def test_a_function_that_takes_no_context_is_refused_before_anything_is_asked():
    def none():
        return "x"

    def two(context, user):
        return "x"

    message = r"none cannot be called with a context alone: too many positional arguments\. A function takes "
    with pytest.raises(BackendError, match=message + "one argument, and optionally seed"):
        ds.respond([["a"]], none)
    with pytest.raises(BackendError, match="context alone: missing a required argument: 'user'"):
        ds.respond([["a"]], two)
    assert ds.respond([["a"]], lambda context, *, seed, mood="": f"{seed}").rows[0]["response"] == "0"


def test_what_cannot_be_imported_is_refused(file, tmp_path):
    with pytest.raises(BackendError, match=r"There is no file .*none\.py"):
        ds.system(f"{tmp_path}/none.py:reply").reply([("a",)])
    with pytest.raises(BackendError, match="no_such_module cannot be imported: ModuleNotFoundError: No mod"):
        ds.system("no_such_module:reply").reply([("a",)])
    broken = tmp_path / "broken.py"
    broken.write_text("raise SystemExit('no \x1b')")
    with pytest.raises(BackendError, match=r"broken.py cannot be imported: SystemExit: no \\x1b"):
        ds.system(f"{broken}:reply").reply([("a",)])
    broken.write_text("raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        ds.system(f"{broken}:reply").reply([("a",)])
    with pytest.raises(BackendError, match="'nothing' names no function; write module:function or"):
        ds.FunctionSystem("nothing")


def test_a_file_may_hold_what_looks_for_its_own_module(tmp_path):
    path = tmp_path / "typed.py"
    path.write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass\n\n"
        "@dataclass\nclass Bot:\n    word: str = 'yes'\n\ndef reply(context):\n    return Bot().word\n"
    )
    with ds.system(f"{path}:reply").opened() as session:
        assert list(session.answers([Question("1", ("hi",))])) == ["yes"]


def test_of_several_contexts_only_those_fail_that_are_at_fault():
    def picky(contexts):
        if ["bad"] in contexts:
            raise ValueError("no")
        return [context[-1] for context in contexts]

    assert said(picky, "a", "bad", "b") == ["a", NoAnswer("ValueError: no"), "b"]
