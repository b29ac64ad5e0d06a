"""Below a table are few short notes, and all of them on request; the same numbers go into a paper."""

import json

import pytest

import dialoscope as ds
from dialoscope.core.render.document import MORE
from tests.conftest import ROOT

SAMPLE = ROOT / "examples" / "sample.jsonl"
LONGEST = 170


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of nine systems, some of which sometimes say one word only."""
    texts = {"long": "one two three four", "short": "one two", "bare": "one"}
    examples = [
        ds.Example(str(item), f"{kind}-{copy}", "one" if item < copy else text, ("hi", str(item)), (text,))
        for kind, text in texts.items()
        for copy in range(3)
        for item in range(8)
    ]
    metrics = ["distinct-2", "repetition-2", "words"]
    return ds.evaluate(examples, metrics).save(tmp_path_factory.mktemp("runs") / "run")


def test_details_of_each_system_are_shown_on_request(cli, run):
    code, short, _ = cli("show", run)
    assert code == 0
    lines = short.partition("\n\n")[2].splitlines()
    assert lines[-1] == MORE
    assert len(lines) <= 5
    assert max(map(len, lines)) <= LONGEST
    assert "distinct-2 depends on the number of words: 8 (bare-0) to 32 (long-0)." in lines
    _, whole, _ = cli("show", run, "--notes")
    assert MORE not in whole
    assert "long-0 32, long-1 29, long-2 26, " in whole
    assert "repetition-2 is undefined for " in whole


def test_json_and_csv_have_everything_without_being_asked(cli, run):
    for form in ("--json", "--csv"):
        assert cli("show", run, form) == cli("show", run, form, "--notes")
    cells = json.loads(cli("show", run, "--json")[1])
    assert sum(cell["undefined"] for cell in cells if cell["metric"] == "repetition-2") > 0


def test_python_has_the_same(run):
    table = ds.Result.load(run).table()
    assert table.notes()[-1] == MORE
    assert MORE not in table.notes(details=True)
    assert table.text(notes=True).endswith(table.notes(details=True)[-1])


@pytest.mark.parametrize(
    "verb",
    ["compare RUN a b", "correlate RUN", "correlate RUN --every-pair", "agree RUN", "raters RUN", "trust"],
)
def test_every_verb_has_short_notes_and_tables_for_papers(cli, tmp_path, verb):
    run = tmp_path / "run"
    ds.evaluate(ds.read(SAMPLE), ["bleu-2", "words", "rouge-1"]).save(run)
    systems = {"RUN": str(run), "a": "generic", "b": "parrot"}
    words = [systems.get(word, word) for word in verb.split()]
    code, short, err = cli(*words)
    assert code == 0, err
    assert MORE in short
    _, whole, _ = cli(*words, "--notes")
    assert MORE not in whole
    assert len(whole) > len(short)
    _, latex, _ = cli(*words, "--latex")
    assert latex.count(r"\begin{tabular}") == latex.count(r"\bottomrule") >= 1
    assert f"% {MORE}" in latex
    assert cli(*words, "--latex", "--markdown")[0] == 2
