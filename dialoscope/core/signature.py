"""The text that says how a number was made: `bleu|order:4|tokenizer:13a|…|v:1`."""

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
    """Name, every setting that can change a number, version.

    `versions` are those of the values of a setting that once meant something else: `tokenizer:spaces@2`. A
    field may say in its metadata how it is `written`, where its value is not to be read by everybody.
    """
    settings = [
        f"{field.name}:{_written(_shown(thing, field), versions.get(field.name, {}))}"
        for field in dataclasses.fields(thing)
        if field.compare
    ]
    return "|".join([thing.name, *settings, f"v:{thing.version}"])


def _shown(thing: Signed, field: dataclasses.Field[Any]) -> object:
    value = getattr(thing, field.name)
    return field.metadata["written"](value) if "written" in field.metadata else value


def _written(value: object, versions: Mapping[str, int]) -> str:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return f"[{signature(value)}]"  # type: ignore[arg-type]
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = repr(value) if isinstance(value, float) else str(value)
    return f"{text}@{versions[text]}" if text in versions else text
