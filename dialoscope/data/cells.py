"""Texts out of the cells of a row, or the reason why there is none."""

from collections.abc import Sequence

from dialoscope.data.problems import BadRow

Cells = dict[str, object]
"""One row as its file holds it, by the names of its columns."""


def read_text(value: object, label: str) -> str:
    """This cell as text."""
    if not isinstance(value, str):
        raise BadRow(f"{label} is {kind(value)} where text is due")
    if not value.isascii():
        _check_whole(value, label)
    return value


def read_name(value: object, label: str) -> str:
    """This cell as an id or the name of a system, for which integers are usual too."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    name = read_text(value, label)
    if not name:
        raise BadRow(f"{label} is empty; give every row one, or leave the column out")
    return name


def read_texts(value: object, label: str, separator: str | None) -> tuple[str, ...]:
    """This cell as several texts; nothing in it means none."""
    if isinstance(value, list):
        return _read_list(value, label)
    if value is None or value == "":
        return ()
    text = read_text(value, label)
    return split(text, separator) if separator else (text,)


def read_said(value: object, label: str, separator: str | None) -> tuple[str, ...]:
    """This cell as turns, of which each may be an object that says who spoke."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = [said(turn, f"item {place} of {label}") for place, turn in enumerate(value, 1)]
    return read_texts(value, label, separator)


def said(turn: object, label: str) -> object:
    """What was said in a turn, be it a text or an object of the usual shapes."""
    if not isinstance(turn, dict):
        return turn
    for key in ("text", "content"):
        if key in turn:
            return turn[key]
    raise BadRow(f"{label} is an object without `text` or `content`")


def split(text: str, separator: str) -> tuple[str, ...]:
    """The parts of a text; blank ones come of separators at its ends, and are nobody's turn."""
    return tuple(part for part in map(str.strip, text.split(separator)) if part)


def kind(value: object) -> str:
    """What a value is, in words for somebody who looks at the file."""
    if value is None:
        return "null"
    names = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list"}
    return names.get(type(value), "an object" if isinstance(value, dict) else f"a {type(value).__name__}")


def _read_list(values: Sequence[object], label: str) -> tuple[str, ...]:
    # One join finds anything wrong at the speed of C; what and where is looked for only then.
    try:
        "".join(values).encode()  # type: ignore[arg-type]
    except (TypeError, UnicodeEncodeError):
        return tuple(read_text(item, f"item {place} of {label}") for place, item in enumerate(values, 1))
    return tuple(values)  # type: ignore[arg-type]


def _check_whole(text: str, label: str) -> None:
    """Refuse half a surrogate pair: JSON can write one, but no file of text can hold it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(text[error.start]):04x}"
        raise BadRow(
            f"{label} holds a lone surrogate ({half} at character {error.start + 1}), half of a character; "
            "remove it, or write the character whole"
        ) from error
