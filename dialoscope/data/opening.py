"""Opening a source: unpacking, counting bytes, and detecting its format."""

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import BinaryIO, NamedTuple, cast

from dialoscope.core.errors import DataError
from dialoscope.data.lines import EndlessBlankLines
from dialoscope.data.problems import ReadLog
from dialoscope.data.source import Source, error_reason, standard_input

_HEAD = 64 * 1024
"""Number of bytes from which the format is detected; a header line longer than this is none."""

_BUFFER = 256 * 1024

_GZIP = b"\x1f\x8b"
_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class OpenSource(NamedTuple):
    """A source with its unpacked bytes, ready to be read."""

    source: Source
    format: str
    stream: BinaryIO
    is_packed: bool
    peeked: int
    """Number of raw bytes that detecting the format has consumed."""
    log: ReadLog


class CountedBytes(io.RawIOBase):
    """Bytes that are counted as they are read."""

    def __init__(self, stream: BinaryIO, consume: Callable[[int], None]) -> None:
        self._stream = stream
        self._consume = consume

    def readinto(self, buffer: "memoryview[int]") -> int:  # type: ignore[override]
        """Read up to as many bytes as the buffer holds, and count them."""
        block = self._stream.read(len(buffer))
        buffer[: len(block)] = block
        self._consume(len(block))
        return len(block)


class PeekedBytes(io.RawIOBase):
    """Bytes whose head can be looked at before they are read, also in streams that cannot seek."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.head = _read_head(stream)
        self._pending = self.head.removeprefix(_UTF8_MARK)

    def readable(self) -> bool:
        """Whether the bytes can be read, which is always true."""
        return True

    def readinto(self, buffer: "memoryview[int]") -> int:  # type: ignore[override]
        """Read up to as many bytes as the buffer holds, first those of the head."""
        block = self._pending[: len(buffer)] or self._stream.read(len(buffer))
        self._pending = self._pending[len(block) :]
        buffer[: len(block)] = block
        return len(block)


@contextmanager
def open_source(source: Source, log: ReadLog, is_text: bool = False) -> Iterator[OpenSource]:
    """Open a source and unpack it; errors of the disk or of the packing become a `DataError`.

    With `is_text` a file of an unknown format is plain text rather than a table.
    """
    try:
        with _open_file(source) as file:
            yield _detect(source, CountedBytes(file, log.consume), log, is_text)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(
            f"{source.name}: the gzip file is cut off or damaged ({error}). Fetch or pack it again; "
            f"`gzip -t {source.name}` tells when it is whole."
        ) from error
    except EndlessBlankLines as error:
        raise DataError(f"{source.name}:{error}") from error
    except PermissionError as error:
        raise DataError(
            f"{source.name}: permission denied. Allow reading it: chmod +r {source.name}"
        ) from error
    except OSError as error:
        raise DataError(f"{source.name}: cannot be read: {error_reason(error)}.") from error


class EmptySource(DataError):
    """A source holds nothing."""


def empty_source(source: Source, noun: str = "reply") -> EmptySource:
    """Return the error for a source that holds nothing; `noun` names what each row should hold."""
    once = " (it can be read only once)" if source.path is None else ""
    return EmptySource(f"{source.name} is empty{once}; it should hold one {noun} a row.")


def _open_file(source: Source) -> BinaryIO:
    if source.path is None:
        return cast(BinaryIO, nullcontext(standard_input()))
    return source.path.open("rb")


def _detect(source: Source, raw: CountedBytes, log: ReadLog, is_text: bool) -> OpenSource:
    """Detect whether a source is packed, and its format."""
    peeked = PeekedBytes(cast(BinaryIO, raw))
    consumed = len(peeked.head)
    is_packed = peeked.head.startswith(_GZIP)
    if is_packed:
        peeked = PeekedBytes(cast(BinaryIO, gzip.GzipFile(fileobj=io.BufferedReader(peeked, _BUFFER))))
    _check_head(source, peeked.head)
    format_ = source.format or _detect_format(peeked.head, is_text)
    if format_ == "json":
        _check_json_lines(source, peeked.head)
        format_ = "jsonl"
    return OpenSource(source, format_, io.BufferedReader(peeked, _BUFFER), is_packed, consumed, log)


def _read_head(stream: BinaryIO) -> bytes:
    """Read the first bytes; a pipe may return few at a time."""
    head = b""
    while len(head) < _HEAD and (block := stream.read(_HEAD - len(head))):
        head += block
    return head


def _check_head(source: Source, head: bytes) -> None:
    if not head and source.format != "txt":
        raise empty_source(source)
    if head.startswith(_UTF16_MARKS):
        raise DataError(
            f"{source.name} is written in UTF-16, not in UTF-8. Convert it: "
            f"iconv -f utf-16 -t utf-8 {source.name} > converted"
        )


def _detect_format(head: bytes, is_text: bool) -> str:
    start = head.removeprefix(_UTF8_MARK).lstrip()
    if start.startswith(b"{") or (start.startswith(b"[") and not is_text):
        return "json"
    if start.startswith(b"PAR1"):
        return "parquet"
    if is_text:
        return "txt"
    return "tsv" if b"\t" in start.split(b"\n", 1)[0] else "csv"


def _check_json_lines(source: Source, head: bytes) -> None:
    if head.removeprefix(_UTF8_MARK).lstrip().startswith(b"["):
        raise DataError(
            f"{source.name} holds one JSON list, which cannot be read row by row. "
            f"Put one object a line: jq -c '.[]' {source.name} > replies.jsonl"
        )
