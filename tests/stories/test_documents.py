"""What the documents say is true."""

import re
import subprocess
import sys
from dataclasses import fields
from importlib import import_module

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import dialoscope as ds
from benchmarks.calibration import QUICK_TRIALS, TOPICS
from dialoscope.cli import app
from dialoscope.metrics import METRICS, Metric, metric_class
from scripts import documents, fit_composite
from scripts.documents import differences
from tests.arithmetic import DOUBLE_ERROR, log_probability_error
from tests.conftest import ROOT

DOCS = ROOT / "docs"
PAGES = [*(f"docs/metrics/{name}.md" for name in METRICS), "docs/metrics/tokenizers.md"]

_ASSETS = {
    "meteor": ("wordnet",),
    **dict.fromkeys(("coherence", "fluency", "perplexity", "pmi"), ("smollm2",)),
    **dict.fromkeys(("average", "extrema", "greedy"), ("glove",)),
    **dict.fromkeys(("self-consistency", "relatedness", "ruber-unreferenced"), ("mpnet",)),
    **dict.fromkeys(("bertscore", "fbd", "prd", "normality", "ruber-referenced"), ("minilm",)),
    "ruber": ("mpnet", "minilm"),
    "composite": ("mpnet", "smollm2"),
}
LENGTH = 100
"""What the default language model reads on these pages has fewer tokens.

No model of a page has more layers, so that its error is the largest.
"""
_HOLISTIC = ("coherence", "self-consistency")


def blocks(path: str, language: str) -> list[str]:
    text = (ROOT / path).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def assets(path: str) -> list[str]:
    """The assets from which the figures of a page come."""
    text = (ROOT / path).read_text(encoding="utf-8")
    return [
        asset
        for metric, needed in _ASSETS.items()
        if f"-m {metric}" in text or (metric in _HOLISTIC and "--suite holistic" in text)
        for asset in needed
    ]


@pytest.mark.processor
@pytest.mark.parametrize("path", ["README.md", "docs/tutorial.md", "docs/metrics/README.md", *PAGES])
def test_what_a_document_shows_is_what_its_commands_print(path, request):
    text = (ROOT / path).read_text(encoding="utf-8")
    asked = assets(path)
    for asset in asked:  # so that fetching it is not among what the command prints
        request.getfixturevalue(asset)
    found = documents.renewed(text)
    error = log_probability_error(request.getfixturevalue("smollm2"), LENGTH) if asked else DOUBLE_ERROR
    assert not differences(text, found, error, last=int(bool(asked))), "run: python scripts/documents.py"
    assert "```\n$ " in text or documents.TABLE in text


@pytest.mark.parametrize(
    "name", [name for name in METRICS if metric_class(name).warnings is not Metric.warnings]
)
def test_each_page_says_what_becomes_of_texts_that_are_too_long(name):
    assert "- **Longer than " in (ROOT / f"docs/metrics/{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "other", "differ"),
    [
        ("parrot 2385.1 [1323.1, 4443.8]", "parrot 2385.0 [1323.0, 4443.4]", 0),
        ("parrot 2385.1", "parrot 2386.1", 1),
        ("0.604 [0.523, 0.679]", "0.603 [0.523, 0.681]", 1),
        ("0.604 *", "0.604", 1),
        ("0.604\nn=44", "0.604\nn=45", 1),
        ("-0.1", "0.1", 1),
        ("one\n0.5", "two\n0.7", 1),
        ("one", "one\ntwo", 1),
    ],
)
def test_figures_of_models_may_differ_in_what_a_processor_rounds(text, other, differ):
    assert len(differences(text, other, 1.4e-4, last=1)) == differ


@pytest.mark.parametrize(
    ("text", "other", "differ"),
    [
        ("0.6104365191052498,0.26706722689075", "0.6104365191052497,0.26706722689076", 0),
        ("0.610436519105", "0.610436519106", 1),
        ("0.604", "0.603", 1),
    ],
)
def test_other_figures_may_differ_in_the_last_bits_alone(text, other, differ):
    assert len(differences(text, other, DOUBLE_ERROR, last=0)) == differ


def test_the_weights_of_the_composite_are_those_that_are_shipped():
    page = (ROOT / "docs/metrics/composite.md").read_text(encoding="utf-8")
    assert fit_composite.update_page(page) == page, "run: python scripts/fit_composite.py"


def test_whatever_shows_a_command_is_renewed():
    shown = [path for path in (ROOT / "docs").rglob("*.md") if "```\n$ " in path.read_text(encoding="utf-8")]
    assert set(shown) <= set(documents.pages())
    assert all(path.exists() for path in documents.pages())


def test_the_tutorial_and_the_readme_show_the_demo():
    demo = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\ndemo:")[2].partition("\n\n")[0]
    commands = re.findall(r"\$\(BIN\)/(dialoscope .*)", demo)
    assert commands[0] == documents.DEMO
    assert f"\n$ {documents.DEMO}\n" in (DOCS / "tutorial.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"\n$ {command} " in readme for command in commands[-2:])


SIMPLE = ["README.md", "CONTRIBUTING.md", "docs/README.md", "docs/tutorial.md", "docs/glossary.md"]
"""Pages that newcomers read first."""


@pytest.mark.parametrize("path", SIMPLE)
def test_sentences_are_short(path):
    lengths = documents.sentence_lengths((ROOT / path).read_text(encoding="utf-8"))
    assert sum(lengths) / len(lengths) < 20


def test_the_glossary_has_the_words_that_commands_and_reports_use():
    """Each word is in a verb's help, in what a page shows a command print, or in the architecture."""
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    words = re.findall(r"\*\*([^*]+)\*\*", text)
    assert len(words) == len(set(words)) >= 40
    shown = "".join(block for page in DOCS.glob("*.md") for block in blocks(f"docs/{page.name}", ""))
    runner, verbs = CliRunner(), get_command(app).commands
    shown += "".join(runner.invoke(app, [verb, "--help"]).output for verb in verbs)
    shown += (DOCS / "design/architecture.md").read_text(encoding="utf-8")
    assert [word for word in words if word not in shown] == []
    columns = {"difference", "p", "Holm", "effect", "detectable", "verdict", "ceiling", "interval", "trust"}
    assert columns <= set(words)


def test_sentences_are_counted():
    text = "# Title of words\n\nOne two three. Four `five six` seven?\n\n```\na b c\n```\n\n- [A b](c) d\n"
    assert documents.sentence_lengths(text) == [3, 3, 3]


def test_the_python_in_the_readme_runs(tmp_path):
    (code,) = blocks("README.md", "python")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "attentive" in done.stdout


def test_the_figure_in_the_readme_is_of_the_metrics_that_it_scores():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    (scored,) = re.findall(r"^\$ dialoscope score .*$", page, re.MULTILINE)
    labels = re.findall(r">([^<]+)</text>", (DOCS / "generic-attentive.svg").read_text(encoding="utf-8"))
    for name in re.findall(r"-m (\S+)", scored):
        assert any(label.startswith(name) for label in labels)
    assert "generic → attentive" in labels


def test_the_row_in_the_readme_can_be_read(tmp_path):
    path = tmp_path / "row.jsonl"
    path.write_text(blocks("README.md", "json")[0], encoding="utf-8")
    assert [example.id for example in ds.read(path)] == ["d01"]


def test_the_dialogue_in_the_data_guide_can_be_read(tmp_path):
    path = tmp_path / "row.jsonl"
    path.write_text(blocks("docs/data.md", "json")[0], encoding="utf-8")
    assert [(example.id, example.response) for example in ds.read(path)] == [("d1#2", "Hello.")]


def test_the_metric_in_the_guide_works(tmp_path, monkeypatch):
    """Both steps: the file, and the line in the table of names."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    code, *_ = blocks("CONTRIBUTING.md", "python")
    assert len(code.strip().splitlines()) <= 30
    (name, home, class_name) = re.search(r'`"([\w-]+)": "([\w.]+):(\w+)"`', page).groups()
    module = home.rpartition(".")[2]
    (tmp_path / f"{module}.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("dialoscope.metrics.METRICS", {**METRICS, name: f"{module}:{class_name}"})
    replies = [ds.Example(str(turn), "s", text) for turn, text in enumerate(["Really?", "Yes!", "No."])]
    result = ds.evaluate(replies, [name, f"{name}:mark=!"])
    assert [result.score(metric, "s") for metric in result.metrics] == pytest.approx([1 / 3, 1 / 3])
    assert result.metrics[0].signature == "questions|mark:?|v:1"
    again = ds.evaluate(replies[::-1], [name])
    assert again.score(again.metrics[0], "s") == result.score(result.metrics[0], "s")


def test_what_the_guide_names_is_there():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for path in re.findall(r"`((?:dialoscope|docs|tests|scripts)/[\w./-]+)`", page):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("name", METRICS)
def test_cards_name_every_setting_and_the_signature(name):
    card = (ROOT / f"docs/metrics/{name}.md").read_text(encoding="utf-8")
    metric = metric_class(name)()
    assert f"`{metric.signature}`" in card
    assert metric.paper in card
    for field in fields(metric):
        assert f"| {field.name} |" in card
    for variant in metric.variants:
        assert f"`{variant}`" in card


@pytest.mark.parametrize(
    "path",
    [
        "README.md",
        "CONTRIBUTING.md",
        *sorted(str(page.relative_to(ROOT)) for page in DOCS.rglob("*.md")),
    ],
)
def test_links_lead_somewhere(path):
    text = (ROOT / path).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert ((ROOT / path).parent / target).exists(), target


def test_the_sample_is_what_its_readme_says():
    examples = list(ds.read(ROOT / "examples/sample.jsonl"))
    assert len({example.id for example in examples}) >= 40
    assert len({example.system for example in examples}) == 4


def test_the_statistics_are_those_that_the_benchmark_measures():
    """All of them, and in their ranges; that they are as measured nobody can see without measuring."""
    page = (ROOT / "docs/statistics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+) \| (.+) \| (-?\d+\.\d+) \| (.+) \| (\d+) \|$", page, re.MULTILINE)
    shown = {(setting, what): (float(value), int(trials)) for setting, what, value, _, trials in rows}
    measured = {(one.setting, one.quantity): one for topic in TOPICS for one in figures_of(topic)}
    assert shown.keys() == measured.keys()
    for name, (value, trials) in shown.items():
        assert measured[name]._replace(value=value, trials=trials).fits, name


def figures_of(topic):
    return list(
        import_module(f"benchmarks.calibrations.{topic}").figures(max(2, QUICK_TRIALS), 1)
    )  # one trial leaves shapes out
