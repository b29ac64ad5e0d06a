"""Signatures, which say how a number was computed: `bleu|order:4|tokenizer:13a|…|v:1`."""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Protocol


class Signed(Protocol):
    """A frozen dataclass with a name and a version; its fields are its settings."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    name: ClassVar[str]
    version: ClassVar[int]


def signature(thing: Signed, versions: Mapping[str, Mapping[str, int]] = MappingProxyType({})) -> str:
    """Return the name, every setting that can change a number, and the version.

    `versions` are those of values of a setting whose meaning has changed: `tokenizer:spaces@2`. The function
    `written` in the metadata of a field formats values that must not be shown to everybody.
    """
    settings = [
        f"{field.name}:{_format(_setting(thing, field), versions.get(field.name, {}))}"
        for field in dataclasses.fields(thing)
        if field.compare
    ]
    return "|".join([thing.name, *settings, f"v:{thing.version}"])


def _setting(thing: Signed, field: dataclasses.Field[Any]) -> object:
    value = getattr(thing, field.name)
    return field.metadata["written"](value) if "written" in field.metadata else value


def _format(value: object, versions: Mapping[str, int]) -> str:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return f"[{signature(value)}]"  # type: ignore[arg-type]
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = repr(value) if isinstance(value, float) else str(value)
    return f"{text}@{versions[text]}" if text in versions else text
