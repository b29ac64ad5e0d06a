"""Records as text are read back as they were, whatever names hold."""

import csv
import io
import json
import math

import pytest

from dialoscope.results.written import as_csv, as_json

NASTY = ["a\rb", "a\nb", "a\r\nb", 'a"b', "a,b", " a ", "", "=1+1", "\x1b[2J", "漢字", "a\x00b"]


@pytest.mark.parametrize("text", NASTY, ids=map(ascii, NASTY))
def test_a_text_comes_back_from_csv_and_json(text):
    rows = [{"name": text, "value": 1.5}, {"name": "plain", "value": math.nan}]
    written = as_csv(rows, ["name", "value"])
    assert list(csv.reader(io.StringIO(written, newline=""))) == [
        ["name", "value"],
        [text, "1.5"],
        ["plain", ""],
    ]
    assert json.loads(as_json(rows)) == [{"name": text, "value": 1.5}, {"name": "plain", "value": None}]


def test_lines_end_as_everywhere():
    assert as_csv([{"a": 1, "b": None, "c": math.inf}], ["a", "b"]) == "a,b\n1,"
    assert as_csv([], ["a", "b"]) == "a,b"
