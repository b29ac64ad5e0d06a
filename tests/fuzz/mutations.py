"""What is done to sound input: tables of functions of a source of randomness and rows, or bytes."""

import copy
import gzip
import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

from tests.fuzz.seeds import Rows

CONTROLS = [chr(code) for code in (*range(32), *range(127, 160))]
BIDI = [chr(code) for code in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))]
INVISIBLE = [
    "\ufeff",
    "\u200b",
    "\u200d",
    "\u2028",
    "\u2029",
    "\u00a0",
    "\u00ad",
    "\U000e0001",
    "\ufffe",
    "\uffff",
]
HOSTILE = [
    "=1+1",
    "@SUM(A1)",
    "-cmd|' /C calc'!A0",
    "**a**",
    "[a](http://b)",
    "<script>",
    "|",
    "\\",
    "%s{}",
    "../../etc/passwd",
    "a" * 300,
    "\x1b[2J\x1b]0;a\x07",
    "\ud800",
    "مرحبا",
    "你好",
    "e\u0301" * 50,
    "👩‍👩‍👧",
    " ",
    "",
    "nan",
    "null",
    "-",
]
NUMBERS = [
    0,
    -0.0,
    -1,
    2**31,
    2**63,
    2**64,
    10**50,
    10**400,
    1e308,
    -1e308,
    5e-324,
    float("nan"),
    float("inf"),
]
VALUES = [None, True, False, [], {}, [[]], [None], {"": None}, {"text": 1}, [{}], *NUMBERS, *HOSTILE]
DEPTHS = (10, 300, 2_000)
MEGABYTE = 1_000_000

RowMutation = Callable[[Random, Rows], None]
ByteMutation = Callable[[Random, bytes], bytes]


def _places(rows: Any) -> list[tuple[Any, Any]]:
    """Every container with each of its keys."""
    pairs, rest = [], [rows]
    while rest and len(pairs) < 10_000:
        container = rest.pop()
        for key in container if isinstance(container, dict) else range(len(container)):
            pairs.append((container, key))
            if isinstance(container[key], (dict, list)):
                rest.append(container[key])
    return pairs


def _set(rng: Random, rows: Rows, value: Any) -> None:
    if places := _places(rows):
        container, key = rng.choice(places)
        container[key] = copy.deepcopy(value)


def wrong_value(rng: Random, rows: Rows) -> None:
    _set(rng, rows, rng.choice(VALUES))


def huge_number(rng: Random, rows: Rows) -> None:
    _set(rng, rows, rng.choice(NUMBERS))


def hostile_text(rng: Random, rows: Rows) -> None:
    _set(rng, rows, rng.choice(HOSTILE))


def invisible_text(rng: Random, rows: Rows) -> None:
    """A control, bidirectional or invisible character in some text, at its start, middle or end."""
    texts = [(container, key) for container, key in _places(rows) if isinstance(container[key], str)]
    if texts:
        container, key = rng.choice(texts)
        text, mark = container[key], rng.choice(rng.choice((CONTROLS, BIDI, INVISIBLE)))
        at = rng.randint(0, len(text))
        container[key] = text[:at] + mark * rng.choice((1, 1, 3)) + text[at:]


def invisible_everywhere(rng: Random, rows: Rows) -> None:
    """The same in the name of a system, an aspect or a column, in every row."""
    old, new = (
        rng.choice(["bot", "coherence", "tone", "response", "theirs", "q1"]),
        rng.choice([*CONTROLS, *BIDI]),
    )
    text = json.dumps(rows).replace(json.dumps(old), json.dumps(rng.choice((old + new, new + old, new))))
    rows[:] = json.loads(text)


def deep_value(rng: Random, rows: Rows) -> None:
    value: Any = "deep"
    for _ in range(rng.choice(DEPTHS[:2])):
        value = [value] if rng.random() < 0.5 else {"a": value}
    if places := _places(rows):
        container, key = rng.choice(places)
        container[key] = value


def great_text(rng: Random, rows: Rows) -> None:
    unit = rng.choice(["a", "a ", "é", "你", "\n", " ", "a.", "w v "])
    _set(rng, rows, unit * (MEGABYTE // rng.choice((10, 10, 10, 1)) // len(unit)))


def missing_key(rng: Random, rows: Rows) -> None:
    places = [(container, key) for container, key in _places(rows) if isinstance(container, dict)]
    if places:
        container, key = rng.choice(places)
        del container[key]


def renamed_key(rng: Random, rows: Rows) -> None:
    if rows and rows[0] and isinstance(rows[0], dict):
        old, new = (
            rng.choice(list(rows[0])),
            rng.choice([*HOSTILE, "text", "reply", "error", "ratings.tone", "id"]),
        )
        for row in rows:
            if isinstance(row, dict) and old in row:
                row[new] = row.pop(old)


def many_keys(rng: Random, rows: Rows) -> None:
    if rows and isinstance(rows[0], dict):
        rows[0].update(
            {f"{rng.choice(HOSTILE[:4])}{number}": number for number in range(rng.choice((40, 3000)))}
        )


def repeated_row(rng: Random, rows: Rows) -> None:
    if rows:
        rows.insert(rng.randint(0, len(rows)), copy.copy(rng.choice(rows)))


def swapped_rows(rng: Random, rows: Rows) -> None:
    rng.shuffle(rows)


def few_rows(rng: Random, rows: Rows) -> None:
    del rows[rng.randint(0, len(rows)) :]


def many_rows(rng: Random, rows: Rows) -> None:
    rows *= rng.choice((2, 30))


def all_alike(rng: Random, rows: Rows) -> None:
    """One value in a whole column, of which statistics must make something."""
    if rows and isinstance(rows[0], dict) and rows[0]:
        key, value = rng.choice(list(rows[0])), rng.choice(VALUES)
        for row in rows:
            if isinstance(row, dict):
                row[key] = copy.deepcopy(value)


def odd_row(rng: Random, rows: Rows) -> None:
    rows.insert(rng.randint(0, len(rows)), rng.choice([{}, {"": ""}, {"response": None}, {"id": 1}]))


ROWS: dict[str, RowMutation] = {
    function.__name__: function
    for function in (
        wrong_value,
        huge_number,
        hostile_text,
        invisible_text,
        invisible_everywhere,
        deep_value,
        great_text,
        missing_key,
        renamed_key,
        many_keys,
        repeated_row,
        swapped_rows,
        few_rows,
        many_rows,
        all_alike,
        odd_row,
    )
}


def truncated(rng: Random, data: bytes) -> bytes:
    return data[: rng.randint(0, len(data))]


def flipped_bits(rng: Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 4, 64))):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def repeated_piece(rng: Random, data: bytes) -> bytes:
    start, end = sorted(rng.randint(0, len(data)) for _ in range(2))
    return data[:end] + data[start:end] * rng.choice((1, 2, 20)) + data[end:]


def removed_piece(rng: Random, data: bytes) -> bytes:
    start, end = sorted(rng.randint(0, len(data)) for _ in range(2))
    return data[:start] + data[end:]


def inserted_bytes(rng: Random, data: bytes) -> bytes:
    """Control characters, NULs, bytes that are no UTF-8, quotes and separators anywhere."""
    at = rng.randint(0, len(data))
    pieces = (
        b"\x00",
        b"\xff",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b'"',
        b"\\",
        b",",
        b"\t",
        b"{",
        b"]",
        b"\n",
    )
    controls = tuple(mark.encode() for mark in (*CONTROLS, *BIDI, *INVISIBLE))
    return data[:at] + rng.choice(rng.choice((pieces, controls))) * rng.choice((1, 1, 7)) + data[at:]


def mixed_line_ends(rng: Random, data: bytes) -> bytes:
    ends = (b"\n", b"\r\n", b"\r", b"\n\n", b"\x0b", b"\x0c", b"\x85", "\u2028".encode())
    return b"".join(line + rng.choice(ends) for line in data.split(b"\n"))


def byte_order_mark(rng: Random, data: bytes) -> bytes:
    return (
        rng.choice((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\x00\x00", b"\xef\xbb\xbf" * 2))
        + data
    )


def other_encoding(rng: Random, data: bytes) -> bytes:
    code = rng.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "utf-7", "cp037"))
    return data.decode("utf-8", "replace").encode(code, "replace")


def repeated_key(rng: Random, data: bytes) -> bytes:
    """An object names a key twice, or a header a column."""
    keys = list(re.finditer(rb'"[^"\\]{1,20}" ?: ?', data))
    if keys:
        key = rng.choice(keys)
        return data[: key.start()] + key[0] + rng.choice((b"null,", b"1,", b'"x" ,')) + data[key.start() :]
    head, separator, rest = data.partition(b"\n")
    return head + rng.choice((b",", b"\t")) + rng.choice(re.split(rb"[,\t]", head)) + separator + rest


def deep_brackets(rng: Random, data: bytes) -> bytes:
    at = rng.choice([0, *(match.end() for match in re.finditer(rb": ?", data[:2000]))])
    return data[:at] + rng.choice((b"[", b'{"a":', b"[{")) * rng.choice((*DEPTHS, 100_000)) + data[at:]


def long_number(rng: Random, data: bytes) -> bytes:
    number = rng.choice(
        (b"9" * 5000, b"9" * 100_000, b"1e999999999", b"-" + b"1" * 400, b"0x10", b"NaN", b"-Infinity")
    )
    found = list(re.finditer(rb"\d+", data))
    if not found:
        return number
    match = rng.choice(found)
    return data[: match.start()] + number + data[match.end() :]


def long_line(rng: Random, data: bytes) -> bytes:
    """More than a megabyte without a line end, now and then more than a line may have."""
    size = rng.choice((MEGABYTE,) * 9 + (9 * MEGABYTE,))
    return (
        data[: rng.randint(0, len(data))] + rng.choice((b"a", b",", b'"', b" ", b"\x00", b"[")) * size + data
    )


def wide_table(rng: Random, data: bytes) -> bytes:
    head, separator, rest = data.partition(b"\n")
    return head + b"".join(b",c%d" % number for number in range(rng.choice((100, 5000)))) + separator + rest


def packed(rng: Random, data: bytes) -> bytes:
    """As gzip, which may be cut, damaged, twice, or two in a row."""
    once = gzip.compress(data, 1, mtime=0)
    kind = rng.randrange(6)
    if kind == 0:
        return truncated(rng, once)
    if kind == 1:
        return flipped_bits(rng, once)
    if kind == 2:
        return gzip.compress(once, 1, mtime=0)
    return once + (once if kind == 3 else b"rubbish" if kind == 4 else b"")


def line_bomb(rng: Random, data: bytes) -> bytes:
    """A few kilobytes of gzip that are megabytes of lines, or of one line."""
    return gzip.compress(
        data + rng.choice((b"\n", b" ", b"{}\n")) * rng.choice((10_000, 300_000)), 1, mtime=0
    )


def nothing(rng: Random, data: bytes) -> bytes:
    return rng.choice(
        (b"", b"\n", b" ", b"\r\n\r\n", b"\x00", b"\xef\xbb\xbf", b"{}", b"[]", b'""', b"{}\n{}\n")
    )


def spliced(rng: Random, data: bytes) -> bytes:
    """The beginning of one format with the end of another."""
    ends = (
        b"PAR1",
        b"\x1f\x8b\x08",
        b"ARROW1\x00\x00",
        b'{"response": "x"}\n',
        b"id,response\n1,x\n",
        b"\x93NUMPY",
    )
    return rng.choice((rng.choice(ends) + data, data + rng.choice(ends)))


BYTES: dict[str, ByteMutation] = {
    function.__name__: function
    for function in (
        truncated,
        flipped_bits,
        repeated_piece,
        removed_piece,
        inserted_bytes,
        mixed_line_ends,
        byte_order_mark,
        other_encoding,
        repeated_key,
        deep_brackets,
        long_number,
        long_line,
        wide_table,
        packed,
        line_bomb,
        nothing,
        spliced,
    )
}
