"""What systems say is not to be trusted: it may be no text, be endless, or hold anything."""

from dialoscope.core.safe_text import printable, without_surrogates
from dialoscope.data.cells import describe_type
from dialoscope.systems.protocol import NoAnswer

LONGEST_REPLY = 100_000
"""Characters. More is no reply, and a line that holds it may be longer than can be read again."""

_LONGEST_REASON = 500


def as_reply(value: object) -> str | NoAnswer:
    """What a system returned, as its reply; halves of characters, which no file can hold, are replaced."""
    if not isinstance(value, str):
        return NoAnswer(f"the reply is {describe_type(value)} where text is due")
    if len(value) > LONGEST_REPLY:
        return NoAnswer(f"the reply has {len(value):,} characters, more than the {LONGEST_REPLY:,} allowed")
    return without_surrogates(value)


def shortened(text: str, most: int = _LONGEST_REASON) -> str:
    """A text on one line, safe to show, and not too much of it."""
    line = printable(" ".join(text[: 4 * most].split()))
    return line if len(line) <= most else f"{line[: most - 1]}…"
