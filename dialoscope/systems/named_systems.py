"""Systems from texts: `smollm2:temperature=0.7`, `command:./bot --fast`, `http://host/v1#model`."""

import dataclasses
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, get_type_hints

from dialoscope.core.errors import BackendError
from dialoscope.core.redaction import without_secrets
from dialoscope.core.safe_text import printable
from dialoscope.core.spec import Spec, collect_settings, read_value, split_spec
from dialoscope.core.suggestions import closest_names
from dialoscope.systems.protocol import System

_KINDS: Mapping[str, str] = MappingProxyType(
    {
        "python": "function:FunctionSystem",
        "command": "command:CommandSystem",
        "http": "http:HttpSystem",
        "https": "http:HttpSystem",
        "model": "model:ModelSystem",
        "retrieval": "retrieval:RetrievalSystem",
        "file": "recorded:RecordedSystem",
    }
)
_FORMS = (
    "module:function, path/file.py:function, command:PROGRAM, http://HOST/v1#MODEL, a model (smollm2), "
    "retrieval:CORPUS, file:REPLIES"
)
_OWNER = "A system of the kind {}"


def system(text: str | System | Callable[..., Any]) -> System:
    """The system that a text names; functions are systems too."""
    if isinstance(text, System):
        return text
    if callable(text) and not isinstance(text, str):
        return _class("python").of(text)  # type: ignore[no-any-return]
    if not isinstance(text, str) or not text.strip():
        raise BackendError(f"There is no system {text!r:.60}. Name one: {_FORMS}.")
    kind, rest = _split_kind(text.strip())
    chosen = _class(kind)
    names = _setting_names(chosen)
    spec = split_spec(rest, names.__contains__, is_strict=kind != "command")
    words = collect_settings(spec, _OWNER.format(chosen.name), names, BackendError)
    hints = get_type_hints(chosen)
    settings = {
        key: read_value(word, hints[key], f"{chosen.name}: {key}", BackendError)
        for key, word in words.items()
    }
    if kind in ("http", "https"):
        return chosen(*_address(spec.name), **settings)  # type: ignore[no-any-return]
    return chosen(spec.name, **settings)  # type: ignore[no-any-return]


def _split_kind(text: str) -> tuple[str, str]:
    """The kind of a system, and the rest of the text."""
    kind, colon, rest = text.partition(":")
    if kind in ("http", "https") and rest.startswith("//"):
        return kind, text
    if colon and kind in _KINDS and kind not in ("http", "https"):
        return kind, rest.strip()
    names = _setting_names(_class("model"))
    name = split_spec(text, names.__contains__).name
    if ":" not in name:
        return "model", text
    function = name.rpartition(":")[2]
    key, equals, value = function.partition("=")
    if equals and key.strip().isidentifier():  # a misspelt setting, since no function is called that
        collect_settings(Spec(name, ((key.strip(), value),)), _OWNER.format("model"), names, BackendError)
    if not all(part.isidentifier() for part in function.split(".")):
        closest = closest_names(kind, _KINDS)
        hint = f"Did you mean '{closest[0]}:'?" if closest else f"Name one: {_FORMS}."
        raise BackendError(f"There is no system '{printable(without_secrets(text))}'. {hint}")
    return "python", text


def _class(kind: str) -> Any:  # noqa: ANN401 - a class of systems
    module, _, name = _KINDS[kind].partition(":")
    return getattr(import_module(f"dialoscope.systems.{module}"), name)


def _setting_names(chosen: Any) -> list[str]:  # noqa: ANN401
    """The settings that a text may have: those with a default."""
    return [
        field.name
        for field in dataclasses.fields(chosen)
        if field.default is not dataclasses.MISSING and field.name != "call"
    ]


def _address(text: str) -> tuple[str, str]:
    address, _, model = text.partition("#")
    if not model:
        shown = printable(re.sub(r"//[^/]*@", "//", address))
        raise BackendError(f"'{shown}' names no model; add the server's name for it after a #: {shown}#NAME.")
    return address, model
