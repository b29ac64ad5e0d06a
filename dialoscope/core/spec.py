"""The grammar of texts that name a metric, a model or a system: `name:key=value,key=value`.

`bleu-2:variant=nltk`, `smollm2:window=512`, `http://host/v1#model:temperature=0.7,seed=3`. A comma may be
written for the colon. A colon or comma that no setting follows belongs to what is before it, so that
addresses, paths and commands can hold both.
"""

import re
from collections.abc import Callable, Iterable
from types import MappingProxyType, UnionType
from typing import NamedTuple, get_args

from dialoscope.core.errors import DialoscopeError
from dialoscope.core.redaction import without_secrets
from dialoscope.core.safe_text import printable
from dialoscope.core.suggestions import did_you_mean

SWITCHES = MappingProxyType({"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False})
_SETTING = re.compile(r"([:,])\s*([A-Za-z_][\w.]*)\s*=")


class Spec(NamedTuple):
    """A name and its settings, as texts, in the order in which they are written."""

    name: str
    settings: tuple[tuple[str, str], ...]


def split_spec(text: str, is_setting: Callable[[str], bool], *, is_strict: bool = True) -> Spec:
    """Split a text into a name and settings.

    A colon begins the settings only where `is_setting` knows the key that follows. A comma does so for any
    key, since a misspelt setting should be refused and not be read as part of a name; where `is_strict` is
    false, as for the arguments of a command, it does so for known keys.
    """
    starts: list[re.Match[str]] = []
    for match in _SETTING.finditer(text):
        separator, key = match.groups()
        if (is_setting(key) and not starts) or (separator == "," and (is_strict or is_setting(key))):
            starts.append(match)
    bounds = [*(match.start() for match in starts), len(text)]
    values = [text[match.end() : end].strip() for match, end in zip(starts, bounds[1:], strict=True)]
    return Spec(text[: bounds[0]].strip(), tuple(zip((match[2] for match in starts), values, strict=True)))


def collect_settings(
    spec: Spec,
    owner: str,
    names: Iterable[str],
    error: type[DialoscopeError],
    is_setting: Callable[[str], bool] | None = None,
) -> dict[str, str]:
    """Return the settings by name; raise the error for one that does not exist or is named twice.

    `names` are for the message; where keys such as `lm.window` exist besides, `is_setting` decides.
    """
    choices = list(names)
    settings: dict[str, str] = {}
    for key, value in spec.settings:
        if not (is_setting(key) if is_setting else key in choices):
            hint = did_you_mean(key, choices, f"It has: {', '.join(choices) or 'none'}.")
            raise error(f"{owner} has no setting '{key}'. {hint}")
        if key in settings:
            raise error(f"{owner}: {key} is named twice.")
        settings[key] = value
    return settings


def read_value(text: str, hint: object, setting: str, error: type[DialoscopeError]) -> object:
    """Read the value of a setting of a declared type, or raise the error with what was expected.

    Types other than numbers and booleans are left as text.
    """
    types = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    for kind, read, expected in _READERS:
        if kind in types:
            try:
                return read(text)
            except (ValueError, KeyError):
                shown = printable(without_secrets(text))
                raise error(f"{setting} must be {expected}, not '{shown}'.") from None
    return text


_READERS: tuple[tuple[type, Callable[[str], object], str], ...] = (
    (bool, lambda text: SWITCHES[text.lower()], "yes or no"),
    (int, int, "a whole number"),
    (float, float, "a number"),
)
