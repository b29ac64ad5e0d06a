"""The text that says how a number was made: `bleu|order:4|tokenizer:13a|…|v:1`."""

import dataclasses
from typing import Any, ClassVar, Protocol


class Signed(Protocol):
    """A frozen dataclass with a name and a version; its fields are its settings."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    name: ClassVar[str]
    version: ClassVar[int]


def signature(thing: Signed) -> str:
    """Name, every setting that can change a number, version."""
    settings = [
        f"{field.name}:{_written(getattr(thing, field.name))}"
        for field in dataclasses.fields(thing)
        if field.compare
    ]
    return "|".join([thing.name, *settings, f"v:{thing.version}"])


def _written(value: object) -> str:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return f"[{signature(value)}]"  # type: ignore[arg-type]
    if isinstance(value, bool):
        return "yes" if value else "no"
    return repr(value) if isinstance(value, float) else str(value)
