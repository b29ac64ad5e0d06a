"""A Python function as a system: `module:function`, or `path/file.py:function`."""

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module, util
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from dialoscope.core.errors import BackendError
from dialoscope.core.safe_text import printable
from dialoscope.data.cells import describe_type
from dialoscope.systems.checked_text import as_reply, shorten
from dialoscope.systems.protocol import NoAnswer, Question, System

_SEVERAL = "contexts"
"""The name of the first argument of functions that take several contexts at once."""
_SEED = "seed"


@dataclass(frozen=True)
class FunctionSystem(System):
    """A function that takes a context, a list of turns, and returns the reply.

    A function whose first argument is called `contexts` takes a list of contexts, and returns as many
    replies. A function with an argument `seed` is given a number, or a list of numbers for several contexts,
    another one for each sample.
    """

    name: ClassVar[str] = "function"
    at_once: ClassVar[int] = 32

    function: str
    """`module:function`, or `path/file.py:function`."""
    call: Callable[..., Any] | None = field(default=None, compare=False, repr=False)
    """The function itself, if it need not be imported."""

    @classmethod
    def of(cls, call: Callable[..., Any]) -> "FunctionSystem":
        """The system of a function object."""
        module = getattr(call, "__module__", None) or type(call).__module__
        return cls(f"{module}:{getattr(call, '__qualname__', type(call).__qualname__)}", call)

    def __post_init__(self) -> None:
        module, colon, function = self.function.rpartition(":")
        if not (module and colon and function):
            raise BackendError(
                f"'{printable(self.function)}' names no function; write module:function or "
                "path/file.py:function."
            )

    def __str__(self) -> str:
        return self.function

    @property
    def label(self) -> str:
        """The name of the module; that of the function if it is given as an object."""
        module, _, function = self.function.rpartition(":")
        if self.call:
            return function.rpartition(".")[2]
        return Path(module).stem if module.endswith(".py") else module.rpartition(".")[2]

    @contextmanager
    def opened(self) -> Iterator["_FunctionSession"]:
        """Import the function."""
        call = self.call or _import_function(self.function)
        if inspect.iscoroutinefunction(call):
            raise BackendError(f"{self} is async; name a plain function, which may call asyncio.run.")
        yield _FunctionSession(call, self._arguments(call))

    def _arguments(self, call: Callable[..., Any]) -> tuple[str, ...]:
        """The names of its arguments; a function that takes no context is refused."""
        try:
            signature = inspect.signature(call)
        except (TypeError, ValueError):  # some written in C have no signature
            return ()
        arguments = tuple(signature.parameters)
        try:
            signature.bind([], **({_SEED: 0} if _SEED in arguments[1:] else {}))
        except TypeError as wrong:
            raise BackendError(
                f"{self} cannot be called with a context alone: {printable(str(wrong))}. A function takes "
                f"one argument, and optionally {_SEED}."
            ) from None
        return arguments


def _import_function(text: str) -> Callable[..., Any]:
    module, _, name = text.rpartition(":")
    try:
        value: Any = _import_module(module)
    except BackendError:
        raise
    except BaseException as failed:  # a user's module may raise anything
        if isinstance(failed, KeyboardInterrupt):
            raise
        reason = f"{type(failed).__name__}: {shorten(str(failed))}"
        raise BackendError(f"{printable(module)} cannot be imported: {reason}") from failed
    for part in name.split("."):
        if not hasattr(value, part):
            raise BackendError(f"There is no '{printable(name)}' in {printable(module)}.")
        value = getattr(value, part)
    if not callable(value):
        raise BackendError(f"{printable(text)} is {describe_type(value)}, not a function.")
    call: Callable[..., Any] = value
    return call


def _import_module(name: str) -> ModuleType:
    """Import a file or a module; its imports are searched in its folder, or the current one, first."""
    path = Path(name).expanduser()
    if not name.endswith(".py"):
        _search_in(Path.cwd())
        return import_module(name)
    if not path.is_file():
        raise BackendError(f"There is no file {printable(name)}.")
    _search_in(path.resolve().parent)
    spec = util.spec_from_file_location(f"dialoscope_system_{path.stem}", path)  # hides no other module
    if spec is None or spec.loader is None:
        raise BackendError(f"{printable(name)} cannot be imported.")  # pragma: no cover - a .py file can
    module = util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


def _search_in(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


class _FunctionSession:
    """A session that calls the function."""

    def __init__(self, call: Callable[..., Any], arguments: Sequence[str]) -> None:
        self._call = call
        self._takes_several = tuple(arguments[:1]) == (_SEVERAL,)
        self._takes_seed = _SEED in arguments[1:]

    def answers(self, questions: Sequence[Question]) -> Iterator[str | NoAnswer]:
        """Call the function for each question, or once for all of them."""
        if self._takes_several:
            yield from self._answer_together(questions)
            return
        for question in questions:
            reply = self._call_safely(list(question.context), question.seed)
            yield reply if isinstance(reply, NoAnswer) else as_reply(reply)

    def _answer_together(self, questions: Sequence[Question]) -> list[str | NoAnswer]:
        contexts = [list(question.context) for question in questions]
        replies = self._call_safely(contexts, [question.seed for question in questions])
        if isinstance(replies, NoAnswer) and len(questions) > 1:  # one by one, to find which one fails
            return [answer for question in questions for answer in self._answer_together([question])]
        if not isinstance(replies, (NoAnswer, list, tuple)):
            replies = NoAnswer(
                f"the function returned {describe_type(replies)} where a list of replies is due"
            )
        elif not isinstance(replies, NoAnswer) and len(replies) != len(questions):
            replies = NoAnswer(f"the function returned {len(replies)} replies to {len(questions)} contexts")
        if isinstance(replies, NoAnswer):
            return [replies] * len(questions)
        return [as_reply(reply) for reply in replies]

    def _call_safely(self, argument: object, seed: object) -> Any:  # noqa: ANN401 - whatever a function returns
        try:
            return self._call(argument, seed=seed) if self._takes_seed else self._call(argument)
        except (Exception, SystemExit) as error:  # the function is under test too
            return NoAnswer(shorten(f"{type(error).__name__}: {error}"))
