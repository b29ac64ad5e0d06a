"""A metric of another package does all that a metric of this one does, whatever its base class."""

import dataclasses
import json

import numpy as np
import pytest

import dialoscope as ds
import dialoscope.metrics
from dialoscope.runs import explanations
from tests.contract.outside_metrics import LengthSpread, Letters, VowelShare

NAMES = ("length-spread", "vowel-share")
ENTRIES = """[dialoscope.metrics]
length-spread = tests.contract.outside_metrics:LengthSpread
vowel-share = tests.contract.outside_metrics:VowelShare
"""


@pytest.fixture(autouse=True)
def installed(tmp_path_factory, monkeypatch):
    """The package `outside`, whose metrics are found through entry points."""
    folder = tmp_path_factory.mktemp("packages")
    info = folder / "outside-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.syspath_prepend(str(folder))
    dialoscope.metrics._plugins.cache_clear()
    yield
    dialoscope.metrics._plugins.cache_clear()


@pytest.fixture
def data(tmp_path):
    """Replies of two systems to 20 contexts, some of them answered twice, one of them empty."""
    path = tmp_path / "data.jsonl"
    rows = [
        {
            "id": f"{system}{number}.{part}",
            "system": system,
            "context": [f"say {number}"],
            "response": " ".join((["tea", "x", "go", "aye"] * 9)[: length - part]),
        }
        for number in range(20)
        for system, length in (("brief", 2 + number % 3), ("wordy", 2 + 3 * (number % 7)))
        for part in range(1 + (number % 3 == 0))
    ]
    path.write_text("\n".join(map(json.dumps, [*rows, {**rows[0], "id": "empty", "response": ""}])))
    return path


@pytest.fixture
def result(data):
    return ds.evaluate(ds.read(data), [*NAMES, "words"], seed=3)


def test_it_has_a_cell_with_an_interval_and_notes(result):
    table = result.table(significance=True)
    assert "length-spread" in str(result)
    for name in NAMES:
        for cell in (table.cell(system, name) for system in result.systems):
            assert cell.low <= cell.value <= cell.high or np.isnan(cell.low)
    assert not np.isnan(table.cell("wordy", "length-spread").low)
    assert table.cell("brief", "vowel-share").beside["n"] > 50
    assert table.cell("brief", "length-spread").undefined == 1
    contexts = result.table(mean="contexts")
    for name, is_equal in (("length-spread", True), ("words", False)):
        assert (contexts.cell("wordy", name).value == table.cell("wordy", name).value) == is_equal
    assert "vowel-share" in table.markdown() + table.csv() + table.json()


def test_a_warning_is_shown_below_the_table():
    found = ds.evaluate([ds.Example("1", "s", "tea")], "vowel-share")
    assert "vowel-share is made from 3 letters, which are few." in found.table().notes()


def test_it_is_saved_loaded_and_verified(result, data, tmp_path):
    result.save(tmp_path / "run")
    back = ds.Result.load(tmp_path / "run")
    assert back == result
    assert back.table().json() == result.table().json()
    ours, theirs = (one.tallies[VowelShare()] for one in (result, back))
    assert isinstance(theirs, Letters)
    for name, column in ours.columns().items():
        assert np.array_equal(column, theirs.columns()[name], equal_nan=True)
        assert column.dtype == theirs.columns()[name].dtype
    assert ds.verify(tmp_path / "run").holds
    data.write_text(data.read_text().replace("aye", "nay"))
    assert not ds.verify(tmp_path / "run").holds


def test_two_systems_are_compared_by_it(result):
    assert result.significance("length-spread", "brief", "wordy") < 0.05
    compared = ds.compare(result, "brief", "wordy", metrics=list(NAMES))
    (spread, _) = compared.contrasts
    assert spread.metric == "length-spread"
    assert spread.p < 0.05
    assert "length-spread" in str(compared)


def test_its_values_are_explained(result):
    lowest = result.explanations("vowel-share")[0]
    assert lowest.parts == {"vowels": lowest.value}
    examples = explanations.read_examples(result, [lowest])
    assert "vowels +" in explanations.as_text([lowest], examples)
    with pytest.raises(ds.DialoscopeError, match="length-spread cannot explain its values"):
        result.explanations("length-spread")


def test_leaving_out_blocks_is_scoring_the_others():
    metric, values = LengthSpread(), np.array([1.0, 9, 3, 7, 5])
    blocks = np.array([0, 1, 0, 2, 1])
    found = metric.scores_without(metric.tally(values), blocks)
    assert found.tolist() == [np.std(values[blocks != block]) for block in range(3)]


def test_statistics_of_another_kind_are_refused():
    letters = VowelShare().tally.joined([])
    assert len(letters) == 0
    columns = letters.columns()
    with pytest.raises(ValueError, match="statistics of the kind Letters have other columns"):
        Letters.from_columns({"letters": columns["letters"]}, {})
    assert dataclasses.fields(letters)[0].name in columns
