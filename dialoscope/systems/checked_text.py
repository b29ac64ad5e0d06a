"""Checks of what systems return, which may be no text, too long, or hold any characters."""

from dialoscope.core.safe_text import printable, without_surrogates
from dialoscope.data.cells import describe_type
from dialoscope.systems.protocol import NoAnswer

LONGEST_REPLY = 100_000
"""Maximum number of characters of a reply, so that its row can be read again."""

_LONGEST_REASON = 500


def as_reply(value: object) -> str | NoAnswer:
    """The value that a system returned as a reply; lone surrogates, which no file can hold, are replaced."""
    if not isinstance(value, str):
        return NoAnswer(f"the reply is {describe_type(value)} where text is due")
    if len(value) > LONGEST_REPLY:
        return NoAnswer(f"the reply has {len(value):,} characters, more than the {LONGEST_REPLY:,} allowed")
    return without_surrogates(value)


def shorten(text: str, limit: int = _LONGEST_REASON) -> str:
    """A text on one line, printable and at most `limit` characters long."""
    line = printable(" ".join(text[: 4 * limit].split()))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
