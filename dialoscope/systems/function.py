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
from dialoscope.systems.checked_text import as_reply, shortened
from dialoscope.systems.protocol import NoAnswer, Question, System

_SEVERAL = "contexts"
"""The name of its first argument by which a function says that it takes several contexts at once."""
_SEED = "seed"


@dataclass(frozen=True)
class FunctionSystem(System):
    """A function that takes a context, a list of turns, and returns the reply.

    One whose first argument is called `contexts` takes a list of them, and returns as many replies. One with
    an argument `seed` is given a number, or a list of them for several contexts; each sample has another.
    """

    name: ClassVar[str] = "function"
    at_once: ClassVar[int] = 32

    function: str
    """`module:function`, or `path/file.py:function`."""
    call: Callable[..., Any] | None = field(default=None, compare=False, repr=False)
    """The function itself, where it is at hand."""

    @classmethod
    def of(cls, call: Callable[..., Any]) -> "FunctionSystem":
        """The system that a function at hand is."""
        place = getattr(call, "__module__", None) or type(call).__module__
        return cls(f"{place}:{getattr(call, '__qualname__', type(call).__qualname__)}", call)

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
        """The module's name; the function's own where it is of no module that could be named."""
        module, _, function = self.function.rpartition(":")
        place = Path(module).stem if module.endswith(".py") else module.rpartition(".")[2]
        return function.rpartition(".")[2] if self.call else place

    @contextmanager
    def opened(self) -> Iterator["_Called"]:
        """The function, imported."""
        call = self.call or _imported(self.function)
        if inspect.iscoroutinefunction(call):
            raise BackendError(f"{self} is async; name a plain function, which may call asyncio.run.")
        yield _Called(call, self._arguments(call))

    def _arguments(self, call: Callable[..., Any]) -> tuple[str, ...]:
        """What it can be given; nobody is asked with a function that takes no context."""
        try:
            signature = inspect.signature(call)
        except (TypeError, ValueError):  # some written in C do not say
            return ()
        arguments = tuple(signature.parameters)
        try:
            signature.bind([], **({_SEED: 0} if _SEED in arguments[1:] else {}))
        except TypeError as wrong:
            raise BackendError(
                f"{self} cannot be called with a context alone: {printable(str(wrong))}. A function takes "
                f"one argument, and {_SEED} if it likes."
            ) from None
        return arguments


def _imported(text: str) -> Callable[..., Any]:
    place, _, name = text.rpartition(":")
    try:
        found: Any = _module(place)
    except BackendError:
        raise
    except BaseException as failed:  # whatever a user's module does when it is imported
        if isinstance(failed, KeyboardInterrupt):
            raise
        why = f"{type(failed).__name__}: {shortened(str(failed))}"
        raise BackendError(f"{printable(place)} cannot be imported: {why}") from failed
    for part in name.split("."):
        if not hasattr(found, part):
            raise BackendError(f"There is no '{printable(name)}' in {printable(place)}.")
        found = getattr(found, part)
    if not callable(found):
        raise BackendError(f"{printable(text)} is {describe_type(found)}, not a function.")
    call: Callable[..., Any] = found
    return call


def _module(place: str) -> ModuleType:
    """A file's own folder, or else the current one, is where its imports are looked for first."""
    path = Path(place).expanduser()
    if not place.endswith(".py"):
        _look_in(Path.cwd())
        return import_module(place)
    if not path.is_file():
        raise BackendError(f"There is no file {printable(place)}.")
    _look_in(path.resolve().parent)
    spec = util.spec_from_file_location(f"dialoscope_system_{path.stem}", path)  # hides no other module
    if spec is None or spec.loader is None:
        raise BackendError(f"{printable(place)} cannot be imported.")  # pragma: no cover - a .py file can
    module = util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


def _look_in(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


class _Called:
    """The function at work."""

    def __init__(self, call: Callable[..., Any], arguments: Sequence[str]) -> None:
        self._call = call
        self._takes_several = tuple(arguments[:1]) == (_SEVERAL,)
        self._takes_seed = _SEED in arguments[1:]

    def answers(self, questions: Sequence[Question]) -> Iterator[str | NoAnswer]:
        """One call for each, or one for all of them."""
        if self._takes_several:
            yield from self._together(questions)
            return
        for question in questions:
            found = self._called(list(question.context), question.seed)
            yield found if isinstance(found, NoAnswer) else as_reply(found)

    def _together(self, questions: Sequence[Question]) -> list[str | NoAnswer]:
        contexts = [list(question.context) for question in questions]
        found = self._called(contexts, [question.seed for question in questions])
        if isinstance(found, NoAnswer) and len(questions) > 1:  # one by one, to see whose fault it is
            return [answer for question in questions for answer in self._together([question])]
        if not isinstance(found, (NoAnswer, list, tuple)):
            found = NoAnswer(f"the function returned {describe_type(found)} where a list of replies is due")
        elif not isinstance(found, NoAnswer) and len(found) != len(questions):
            found = NoAnswer(f"the function returned {len(found)} replies to {len(questions)} contexts")
        if isinstance(found, NoAnswer):
            return [found] * len(questions)
        return [as_reply(one) for one in found]

    def _called(self, given: object, seed: object) -> Any:  # noqa: ANN401 - whatever a function returns
        try:
            return self._call(given, seed=seed) if self._takes_seed else self._call(given)
        except (Exception, SystemExit) as error:  # the function is under test too
            return NoAnswer(shortened(f"{type(error).__name__}: {error}"))
