"""Records as text are read back, whatever names hold."""

import csv
import io
import json
import math

import pytest

from dialoscope.core.render.serialization import as_csv, as_json
from dialoscope.core.safe_text import plain_in_csv

NASTY = ["a\rb", "a\nb", "a\r\nb", 'a"b', "a,b", " a ", "", "=1+1", "\x1b[2J", "漢字", "a\x00b"]


@pytest.mark.parametrize("text", NASTY, ids=map(ascii, NASTY))
def test_a_text_comes_back_from_json_and_from_csv_as_it_is_shown(text):
    rows = [{"name": text, "value": 1.5}, {"name": "plain", "value": math.nan}]
    written = as_csv(rows, ["name", "value"])
    assert list(csv.reader(io.StringIO(written, newline=""))) == [
        ["name", "value"],
        [plain_in_csv(text), "1.5"],
        ["plain", ""],
    ]
    assert json.loads(as_json(rows)) == [{"name": text, "value": 1.5}, {"name": "plain", "value": None}]


def test_lines_end_as_everywhere():
    assert as_csv([{"a": 1, "b": None, "c": math.inf}], ["a", "b"]) == "a,b\n1,"
    assert as_csv([], ["a", "b"]) == "a,b"


def test_formulas_are_texts_in_every_column_and_numbers_stay_numbers():
    rows = [{"=name": "=1+1", "low": -0.5, "n": -3, "rater": "-1"}]
    assert as_csv(rows, list(rows[0])) == "'=name,low,n,rater\n'=1+1,-0.5,-3,-1"


def test_what_is_not_visible_is_a_code_in_json():
    text = "a\x1b\x7f\x9b\u202e\u2028\U000e0001漢"
    written = as_json([{"name": text}])
    assert written == '[\n {\n  "name": "a\\u001b\\u007f\\u009b\\u202e\\u2028\\udb40\\udc01漢"\n }\n]'
    assert json.loads(written) == [{"name": text}]
