"""Lines of bounded length, and the problems of lines that are not text."""

from collections.abc import Iterator
from functools import partial
from typing import BinaryIO

from dialoscope.data.problems import BadRow

LIMIT = 8 * 1024 * 1024
"""Maximum number of bytes in a line; longer lines are no replies, and must not fill the memory."""

MOST_BLANK = 1_000_000
"""Maximum number of blank lines, besides ten for each other line. A few bytes of gzip can hold any number."""


class EndlessBlankLines(Exception):
    """A file has more blank lines than any file of replies; the message begins with the line."""

    def __init__(self, line: int, blank: int) -> None:
        super().__init__(
            f"{line}: {blank:,} of the lines up to here are blank; is the file damaged? Remove blank lines."
        )


def read_lines(stream: BinaryIO) -> Iterator[bytes | BadRow]:
    """Yield each line with its end, or the reason why it is left out."""
    blank = 0
    for number, line in enumerate(iter(partial(stream.readline, LIMIT + 1), b""), 1):
        blank += line.isspace()
        if blank > MOST_BLANK + 10 * (number - blank):
            raise EndlessBlankLines(number, blank)
        if len(line) > LIMIT and not line.endswith(b"\n"):
            yield _too_long(len(line) + _skip_line(stream))
        else:
            yield line


def not_utf8(line: bytes, error: UnicodeDecodeError) -> BadRow:
    """Return the problem that a line stops being UTF-8, with the command that converts the file."""
    guess = "utf-16" if line.count(0) > len(line) // 4 else "latin1"
    return BadRow(
        f"not UTF-8: byte 0x{line[error.start]:02x} at offset {error.start} of the line; "
        f"convert the file: iconv -f {guess} -t utf-8"
    )


def _skip_line(stream: BinaryIO) -> int:
    """Read to the end of the line, and return the number of bytes skipped."""
    skipped = 0
    for piece in iter(partial(stream.readline, LIMIT), b""):
        skipped += len(piece)
        if piece.endswith(b"\n"):
            break
    return skipped


def _too_long(size: int) -> BadRow:
    return BadRow(
        f"the line is {size / 1e6:.1f} MB long, more than the {LIMIT // 1024**2} MiB allowed; "
        "is there a line break missing?"
    )
