"""Systems from texts: `smollm2,temperature=0.7`, `command:./bot --fast`, `http://host/v1#model`."""

import dataclasses
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType, UnionType
from typing import Any, get_args, get_type_hints

from dialoscope.core.errors import BackendError
from dialoscope.core.redaction import without_secrets
from dialoscope.core.safe_text import printable
from dialoscope.core.suggestions import closest_names, did_you_mean
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
_SETTING = re.compile(r"\s*([A-Za-z_]\w*)\s*=(.*)", re.DOTALL)


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
    head, words = _split_settings(chosen, rest, is_strict=kind != "command")
    settings = {key: _read(chosen, key, word) for key, word in words.items()}
    if kind in ("http", "https"):
        return chosen(*_address(head), **settings)  # type: ignore[no-any-return]
    return chosen(head, **settings)  # type: ignore[no-any-return]


def _split_kind(text: str) -> tuple[str, str]:
    """The kind of a system, and the rest of the text."""
    kind, colon, rest = text.partition(":")
    if kind in ("http", "https") and rest.startswith("//"):
        return kind, text
    if colon and kind in _KINDS and kind not in ("http", "https"):
        return kind, rest.strip()
    function = text.partition(",")[0].rpartition(":")[2]
    if not colon:
        return "model", text
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


def _listed(names: list[str]) -> str:
    return f"these: {', '.join(names)}" if names else "none"


def _split_settings(chosen: Any, text: str, *, is_strict: bool) -> tuple[str, dict[str, str]]:  # noqa: ANN401
    """The name and the settings; a comma that is not followed by a setting is part of the value before it."""
    names = _setting_names(chosen)
    head, *parts = text.split(",")
    settings: dict[str, str] = {}
    for part in parts:
        match = _SETTING.fullmatch(part)
        if match and match[1] in names:
            if match[1] in settings:
                raise BackendError(f"{chosen.name}: {match[1]} is named twice.")
            settings[match[1]] = match[2].strip()
        elif match and is_strict:
            hint = did_you_mean(match[1], names, f"It has {_listed(names)}.")
            raise BackendError(f"A system of the kind {chosen.name} has no setting '{match[1]}'. {hint}")
        elif settings:
            last = next(reversed(settings))
            settings[last] += f",{part}"
        else:
            head += f",{part}"
    return head.strip(), settings


def _address(text: str) -> tuple[str, str]:
    address, _, model = text.partition("#")
    if not model:
        shown = printable(re.sub(r"//[^/]*@", "//", address))
        raise BackendError(f"'{shown}' names no model; add the server's name for it after a #: {shown}#NAME.")
    return address, model


def _read(chosen: Any, key: str, word: str) -> object:  # noqa: ANN401
    """The value of a setting from its text."""
    hint = get_type_hints(chosen)[key]
    kinds = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    if bool in kinds:
        if word.lower() not in _YES_NO:
            raise BackendError(
                f"{chosen.name}: {key} must be yes or no, not '{printable(without_secrets(word))}'."
            )
        return _YES_NO[word.lower()]
    for number in (int, float):
        if number in kinds:
            try:
                return number(word)
            except ValueError:
                what = "a whole number" if number is int else "a number"
                raise BackendError(
                    f"{chosen.name}: {key} must be {what}, not '{printable(without_secrets(word))}'."
                ) from None
    return word


_YES_NO = MappingProxyType({"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False})
