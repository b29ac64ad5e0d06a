"""Texts in the cells of a row, or the reason why a cell holds none."""

from collections.abc import Sequence

from dialoscope.data.problems import BadRow

Cells = dict[str, object]
"""One row as its file holds it, by the names of its columns."""


def read_text(value: object, label: str) -> str:
    """Return a cell as text."""
    if not isinstance(value, str):
        raise BadRow(f"{label} is {describe_type(value)} where text is expected")
    if not value.isascii():
        _check_surrogates(value, label)
    return value


def read_name(value: object, label: str) -> str:
    """Return a cell as an id or the name of a system; integers are usual for both, too."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    name = read_text(value, label)
    if not name:
        raise BadRow(f"{label} is empty; give every row one, or leave the column out")
    return name


def read_texts(value: object, label: str, separator: str | None) -> tuple[str, ...]:
    """Return a cell as several texts; an empty cell holds none."""
    if isinstance(value, list):
        return _read_list(value, label)
    if value is None or value == "":
        return ()
    text = read_text(value, label)
    return split_text(text, separator) if separator else (text,)


def read_turns(value: object, label: str, separator: str | None) -> tuple[str, ...]:
    """Return a cell as the texts of turns, each of which may be an object that names its speaker."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = [turn_text(turn, f"item {number} of {label}") for number, turn in enumerate(value, 1)]
    return read_texts(value, label, separator)


def turn_text(turn: object, label: str) -> object:
    """Return the text of a turn: the turn itself, or a value of an object of the usual shapes."""
    if not isinstance(turn, dict):
        return turn
    for key in ("text", "content"):
        if key in turn:
            return turn[key]
    raise BadRow(f"{label} is an object without `text` or `content`")


def split_text(text: str, separator: str) -> tuple[str, ...]:
    """Return the parts of a text that are not blank; blank parts come from separators at its ends."""
    return tuple(part for part in map(str.strip, text.split(separator)) if part)


def describe_type(value: object) -> str:
    """Return the type of a value in words for somebody who looks at the file."""
    if value is None:
        return "null"
    names = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list"}
    return names.get(type(value), "an object" if isinstance(value, dict) else f"a {type(value).__name__}")


def _read_list(values: Sequence[object], label: str) -> tuple[str, ...]:
    # One join finds any problem at the speed of C; only then is it located.
    try:
        "".join(values).encode()  # type: ignore[arg-type]
    except (TypeError, UnicodeEncodeError):
        return tuple(read_text(item, f"item {number} of {label}") for number, item in enumerate(values, 1))
    return tuple(values)  # type: ignore[arg-type]


def _check_surrogates(text: str, label: str) -> None:
    """Refuse half a surrogate pair: JSON can write one, but no text file can hold it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(text[error.start]):04x}"
        raise BadRow(
            f"{label} holds a lone surrogate ({half} at character {error.start + 1}), half of a character; "
            "remove it, or write the character whole"
        ) from error
