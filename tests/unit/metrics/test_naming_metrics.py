import json
import os
import subprocess
import sys

import pytest

import dialoscope as ds
from dialoscope.metrics import metrics
from tests.conftest import ROOT


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bleu", ds.Bleu()),
        ("bleu-2", ds.Bleu(order=2)),
        ("bleu:order=2", ds.Bleu(order=2)),
        ("self-bleu", ds.SelfBleu()),
        ("self-bleu-3", ds.SelfBleu(order=3)),
        ("rouge-L", ds.Rouge(order="l")),
        (" rouge : order=w".replace(" ", ""), ds.Rouge(order="w")),
        ("rouge-1:part=recall,stem=yes", ds.Rouge("1", "recall", stem=True)),
        ("distinct:n=3,level=reply", ds.Distinct(3, level="reply")),
        ("bleu:variant=nltk,order=1", ds.Bleu(1, "treebank", True, "nltk", "never", 1)),
        ("rouge:weight=2", ds.Rouge(weight=2.0)),
        ("rouge:weight=2", ds.Rouge(weight=2)),
        ("BLEU", ds.Bleu()),
        ("rougeL", ds.Rouge("l")),
        ("ROUGE-1", ds.Rouge(1)),
        ("bleu2", ds.Bleu(2)),
        ("self_bleu-2", ds.SelfBleu(2)),
        ("bleu: order = 2", ds.Bleu(2)),
    ],
)
def test_a_text_names_a_metric(text, expected):
    assert ds.metric(text) == expected


def test_a_text_may_name_several():
    assert metrics("rouge:order=1/l,part=f/recall") == [
        ds.Rouge("1", "f"),
        ds.Rouge("1", "recall"),
        ds.Rouge("l", "f"),
        ds.Rouge("l", "recall"),
    ]
    assert metrics("bleu-1/2") == [ds.Bleu(1), ds.Bleu(2)]
    with pytest.raises(ds.MetricError, match="names 2 metrics; one is wanted"):
        ds.metric("bleu-1/2")


@pytest.mark.parametrize(
    ("metric", "text"),
    [
        (ds.Bleu(), "bleu-4"),
        (ds.Bleu(2, scale=1), "bleu-2:scale=1"),
        (ds.Rouge("w", weighting="rouge-1.5.5"), "rouge-w:weighting=rouge-1.5.5"),
        (ds.Rouge("1", stem=True), "rouge-1:stem=true"),
        (ds.Words(), "words"),
    ],
)
def test_a_metric_writes_the_shortest_text_that_names_it(metric, text):
    assert str(metric) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("blue", r"There is no metric 'blue'. Did you mean 'bleu'\?"),
        ("xyzzy", r"There is no metric 'xyzzy'. There are: bleu, rouge"),
        ("bleu:ordr=2", r"bleu has no setting 'ordr'. Did you mean 'order'\?"),
        ("words:zzz=2", r"words has no setting 'zzz'. It has: tokenizer\."),
        ("bleu:2", "'2' is no setting; write it as name=value"),
        ("bleu:order=two", "order must be a whole number, not 'two'"),
        ("bleu:order=0", "order must be between 1 and 9, not 0"),
        ("bleu:smoothing=exq", "bleu has no smoothing 'exq'. Choose one of: exp, floor"),
        ("bleu:variant=moses", "bleu has no variant 'moses'. Choose one of: nlg-eval, nltk"),
        ("words:variant=x", "words has no setting 'variant'"),
        ("bleu:lowercase=maybe", "lowercase must be yes or no, not 'maybe'"),
        ("bleu:scale=10", "scale must be 1 or 100"),
        ("rouge-9", "rouge has no order '9'. Choose one of: 1, 2, 3, 4, l, w"),
        ("rouge:beta=-1", "beta must be above 0"),
        ("rouge:beta=nan", "beta must be above 0"),
        ("rouge:weight=inf", "weight between 1 and 10"),
        ("rouge:beta=1e200", "at most 1000"),
        ("repetition:n=9223372036854775807", "n must be between 1 and 100"),
        ("bleu,rouge", "Name one metric at a time"),
        ("bleu-2:order=3", "bleu: order is named twice"),
        ("bleu:order=2,order=3", "bleu: order is named twice"),
        ("rouge:order=", "'order=' is no setting"),
        ("distinct-0", "distinct: n must be between 1 and 100, not 0"),
        ("self-bleu-0", "order must be between 1 and 9"),
        ("words:tokenizer=none", "no tokenizer 'none'"),
    ],
)
def test_a_text_that_names_no_metric_is_answered_with_what_would(text, message):
    with pytest.raises(ds.MetricError, match=message):
        ds.metric(text)


def test_settings_of_the_wrong_kind_are_refused_in_python_too():
    with pytest.raises(ds.MetricError, match="order must be a whole number, not '2'"):
        ds.Bleu(order="2")
    with pytest.raises(ds.MetricError, match="n must be a whole number, not 'True'"):
        ds.Distinct(n=True)


def test_an_unknown_suite_is_answered_with_the_known_ones():
    with pytest.raises(ds.MetricError, match=r"no suite 'everything'. Choose one of: lexical"):
        ds.suite("everything")


def test_metrics_of_other_packages_are_found_through_their_entry_point(tmp_path, monkeypatch):
    """A real package on the path, as pip would lay it out."""
    (tmp_path / "shouting.py").write_text(
        "from dataclasses import dataclass\n"
        "from dialoscope.metrics import Bounds, MeanMetric\n\n"
        "@dataclass(frozen=True)\nclass Shouting(MeanMetric):\n"
        '    """The share of capital letters."""\n\n'
        '    name = "shouting"\n    version = 1\n    paper = "https://example.org"\n'
        "    higher_is_better = False\n\n"
        "    @property\n    def bounds(self):\n        return Bounds(0, 1)\n\n"
        "    def grade(self, batch):\n"
        "        return [sum(map(str.isupper, ex.response)) / max(1, len(ex.response)) for ex in batch]\n"
    )
    info = tmp_path / "shouting-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shouting\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[dialoscope.metrics]\nshouting = shouting:Shouting\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    from dialoscope import metrics as module

    module._plugins.cache_clear()
    try:
        result = ds.evaluate([ds.Example("1", "s", "HEllo")], ["shouting"])
        assert result.score("shouting", "s") == 0.4
    finally:
        module._plugins.cache_clear()


CORRECT = """\
from dataclasses import dataclass
from dialoscope.metrics import Bounds, MeanMetric

@dataclass(frozen=True)
class Shouting(MeanMetric):
    name = "shouting"
    version = 1
    paper = "https://example.org"
    higher_is_better = False
    @property
    def bounds(self):
        return Bounds(0, 1)
    def grade(self, batch):
        return [0.5 for _ in batch]
"""


def plugin(folder, module, value):
    """A package on a path, as pip would lay it out."""
    (folder / "shouting.py").write_text(module)
    package = folder / "loud_metrics-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: loud-metrics\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(f"[dialoscope.metrics]\nshouting = {value}\n")


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    """A folder on the path of imports, and no memory of what was found before or is found there."""
    from dialoscope import metrics as module

    monkeypatch.syspath_prepend(str(tmp_path))
    module._plugins.cache_clear()
    sys.modules.pop("shouting", None)
    yield tmp_path
    module._plugins.cache_clear()
    sys.modules.pop("shouting", None)


SHOUTING = "shouting:Shouting"


@pytest.mark.parametrize(
    ("module", "value", "message"),
    [
        ("import no_such_package\n", SHOUTING, "loaded: ModuleNotFoundError: No module named 'no_such_p"),
        ("raise OSError('no\x1b[2J\\nlicence')\n", SHOUTING, "loaded: OSError: no\\x1b[2J licence."),
        ("raise SystemExit(3)\n", SHOUTING, "loaded: SystemExit: 3."),
        ("def (:\n", SHOUTING, "loaded: SyntaxError: invalid syntax (shouting.py, line 1)."),
        (CORRECT, "shouting:Shout", "loaded: AttributeError: module 'shouting' has no attribute 'Shout'."),
        (CORRECT, "not_there:Shouting", "loaded: ModuleNotFoundError: No module named 'not_there'."),
        (CORRECT, "shouting", "used: shouting is no Metric."),
        ("class Shouting:\n    pass\n", SHOUTING, "used: shouting:Shouting is no Metric."),
        ("def Shouting():\n    pass\n", SHOUTING, "used: shouting:Shouting is no Metric."),
        (CORRECT.replace("def grade", "def grad"), SHOUTING, "used: shouting:Shouting lacks grade."),
        (CORRECT.replace("paper =", "article ="), SHOUTING, "used: shouting:Shouting lacks paper."),
        (CORRECT.replace("higher_is", "is"), SHOUTING, "used: shouting:Shouting lacks higher_is_better."),
        (CORRECT, "not an entry point at all", "loaded: "),
    ],
)  # fmt: skip
def test_a_broken_plug_in_is_named_and_harms_no_other_metric(plugins, module, value, message):
    plugin(plugins, module, value)
    with pytest.raises(ds.MetricError) as error:
        ds.metric("shouting")
    said = str(error.value)
    assert said.startswith(f"The metric 'shouting' of the package loud-metrics cannot be {message}")
    assert said.endswith(" Repair or remove that package; other metrics are not affected.")
    assert ds.metric("bleu-2") == ds.Bleu(2)
    with pytest.raises(ds.MetricError, match="Did you mean 'shouting'"):
        ds.metric("shoutin")


@pytest.mark.parametrize(
    ("ours", "theirs", "raised"),
    [
        ("return [0.5", "return [1 / 0", "ZeroDivisionError: division by zero"),
        ("[0.5 for _", "['?' for _", "ValueError: could not convert string to float: '?'"),
        (
            "    def grade",
            "    def __post_init__(self):\n        assert False\n    def grade",
            "AssertionError",
        ),
    ],
)
def test_an_exception_in_a_plug_in_says_whose_it_is(plugins, ours, theirs, raised):
    plugin(plugins, CORRECT.replace(ours, theirs), SHOUTING)
    with pytest.raises(ds.MetricError) as error:
        ds.evaluate([ds.Example("1", "s", "HEllo")], ["words", "shouting"])
    assert str(error.value) == (
        f"The metric 'shouting' of the package loud-metrics failed: {raised}. "
        "Repair or remove that package; other metrics are not affected."
    )
    assert error.value.__cause__ is not None, "whoever wrote it wants the traceback"


def test_an_exception_in_a_metric_that_is_no_plug_in_is_left_as_it_is(plugins):
    plugin(plugins, CORRECT, SHOUTING)

    class Whispering(type(ds.metric("shouting"))):
        __module__ = "mine"

        def grade(self, batch):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ds.evaluate([ds.Example("1", "s", "HEllo")], [Whispering()])


def test_the_list_of_metrics_is_shown_whatever_a_plug_in_holds(plugins):
    plugin(plugins, CORRECT.replace("= False", "= 'yes'"), SHOUTING)
    from dialoscope.metrics.shared.catalogue import catalogue

    listed = catalogue()
    assert "bleu" in {entry.name for entry in listed.entries}
    (said,) = listed.broken
    assert said.startswith("The metric 'shouting' of the package loud-metrics failed: KeyError: 'yes'.")


def test_a_broken_plug_in_is_a_line_at_the_command_line(tmp_path):
    plugin(tmp_path, "import no_such_package\n", SHOUTING)
    (tmp_path / "replies.jsonl").write_text('{"response": "HEllo"}\n')

    def run(*arguments):
        done = subprocess.run(
            [sys.executable, "-m", "dialoscope", *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])},
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout, done.stderr

    line = (
        "The metric 'shouting' of the package loud-metrics cannot be loaded: ModuleNotFoundError: "
        "No module named 'no_such_package'. Repair or remove that package; other metrics are not affected.\n"
    )
    assert run("score", "replies.jsonl", "-m", "shouting") == (2, "", f"Error: {line}")
    assert run("score", "replies.jsonl", "-m", "words", "--csv")[::2] == (0, "")
    code, out, err = run("metrics")
    assert (code, err) == (0, "")
    assert out.startswith("bleu\n")
    assert out.endswith(f"\n\n{line}")
    code, out, err = run("metrics", "--json")
    assert (code, err) == (0, f"Warning: {line}")
    assert "bleu" in {entry["name"] for entry in json.loads(out)}


def test_a_package_whose_entry_points_cannot_be_read_harms_none(plugins):
    plugin(plugins, CORRECT, SHOUTING)
    package = plugins / "odd-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[dialoscope.metrics]\nno equals sign\n")
    assert ds.metric("bleu-2") == ds.Bleu(2)
    assert ds.metric("shouting").name == "shouting"
