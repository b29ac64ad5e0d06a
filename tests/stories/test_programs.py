"""Benchmarks and scripts are code, too: each has a parser, and each benchmark runs on a small input."""

import os
import re
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest

from dialoscope.models.encoder import TransformerEncoder
from dialoscope.models.protocols import Pair
from dialoscope.models.registry import cache_folder
from scripts import documents, fit_composite
from tests.conftest import ROOT

MAIN = 'if __name__ == "__main__":'
PROGRAMS = [
    path
    for folder in ("benchmarks", "scripts")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if MAIN in path.read_text(encoding="utf-8")
]
CHECKS = sorted((ROOT / "scripts").glob("check-*"))
BENCHMARKS = [
    pytest.param(path, marks=pytest.mark.corpora if path.parent.name == "papers" else ())
    for path in PROGRAMS
    if path.parent.name != "scripts"
]
OF_CORPORA = [path for path in PROGRAMS if "corpora_folder()" in path.read_text(encoding="utf-8")]
ASSETS = {
    "adem": ("minilm",),
    "augmentation": ("wordnet", "minilm"),
    "distribution": ("minilm",),
    "empirical_study": ("minilm", "glove", "wordnet"),
    "encoder": ("minilm",),
    "fbd": ("minilm",),
    "language_model": ("smollm2",),
    "meteor": ("wordnet",),
    "ruber": ("minilm",),
    "start": ("smollm2",),
}
"""Fixtures of the assets that quick runs use, by the name of the benchmark."""


def name(path):
    return str(path.relative_to(ROOT))


def run(path, *arguments, cwd, **changes):
    """Run the program in a process and a cache of its own; a variable that is None is removed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "DIALOSCOPE_CACHE": str(cwd / "cache"), **changes}
    return subprocess.run(
        [sys.executable, path, *map(str, arguments)],
        cwd=cwd,
        env={key: value for key, value in environment.items() if value is not None},
        capture_output=True,
        text=True,
        timeout=300,
    )


def files():
    """Every file that is part of the repository, with the time of its last change."""
    return {
        path: path.stat().st_mtime_ns
        for folder in ("benchmarks", "dialoscope", "docs", "examples", "scripts")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.mark.parametrize("path", PROGRAMS, ids=name)
def test_help_does_nothing_but_help(path, tmp_path):
    before = files()
    done = run(path, "--help", cwd=tmp_path, DIALOSCOPE_OFFLINE="1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: {path.name}")
    assert len(done.stdout.splitlines()) > 4, "the help says what the program is for"
    assert list(tmp_path.iterdir()) == []
    assert files() == before


@pytest.mark.skipif(sys.platform == "win32", reason="bash")
@pytest.mark.parametrize("path", CHECKS, ids=name)
def test_checks_do_nothing_when_asked_for_help_or_for_what_they_do_not_know(path, tmp_path):
    for argument, code in (("--help", 0), ("-h", 0), ("--quick", 2)):
        done = subprocess.run([path, argument], cwd=tmp_path, capture_output=True, text=True, timeout=20)
        assert (done.returncode, done.stderr) == (code, "")
        usage, about, *_ = done.stdout.splitlines()
        assert usage == f"usage: {path.name} (no arguments)"
        assert about in path.read_text(encoding="utf-8").replace("\n#", "\n ")


def test_a_page_that_is_not_there_is_named(tmp_path):
    done = check(tmp_path / "nosuch.md")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(f"error: there is no page {tmp_path}/nosuch.md\n")


@pytest.mark.parametrize("path", OF_CORPORA, ids=name)
def test_missing_corpora_are_answered_with_a_sentence(path, tmp_path):
    before = files()
    done = run(path, cwd=tmp_path, DIALOSCOPE_CORPORA=None, DIALOSCOPE_OFFLINE="1")
    message = "Set DIALOSCOPE_CORPORA to the folder of the rated corpora (it holds a folder 'rated').\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)
    assert files() == before


def test_a_folder_without_corpora_is_named(tmp_path):
    done = run(ROOT / "scripts" / "fit_composite.py", cwd=tmp_path, DIALOSCOPE_CORPORA=str(tmp_path))
    assert done.returncode == 2
    assert done.stderr == f"DIALOSCOPE_CORPORA is '{tmp_path}', which holds no folder 'rated'.\n"


@pytest.mark.parametrize("path", PROGRAMS, ids=name)
def test_the_corpora_are_found_in_one_way(path):
    """A program that would read the variable by itself would end with a KeyError without it."""
    assert 'environ["DIALOSCOPE_CORPORA"]' not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", BENCHMARKS, ids=name)
def test_benchmarks_run_on_a_small_input(path, tmp_path, request):
    """Nothing is timed; results that must be equal are, or the exit code is another."""
    is_paper = path.parent.name == "papers"
    for asset in ASSETS.get(path.stem, ()):
        request.getfixturevalue(asset)
    done = run(
        path,
        "--quick",
        cwd=tmp_path,
        DIALOSCOPE_CORPORA=os.environ.get("DIALOSCOPE_CORPORA") if is_paper else None,
        DIALOSCOPE_ASSETS=os.environ.get("DIALOSCOPE_ASSETS") or str(cache_folder() / "assets"),
        OMP_NUM_THREADS="1",  # other tests have the other cores
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    *_, last = done.stdout.splitlines()
    if last.startswith("skipped: "):
        pytest.skip(last.removeprefix("skipped: "))
    assert re.search(r"\d.*\bbars?\b", last), "the last line has the figure and the bar"


def test_a_quick_run_without_the_corpora_is_skipped(tmp_path):
    path = ROOT / "benchmarks" / "papers" / "correlations.py"
    done = run(path, "--quick", cwd=tmp_path, DIALOSCOPE_CORPORA=None)
    reason = "Set DIALOSCOPE_CORPORA to the folder of the rated corpora (it holds a folder 'rated')."
    assert (done.returncode, done.stdout, done.stderr) == (0, f"skipped: {reason}\n", "")


def test_the_composite_is_shipped_where_the_script_puts_it():
    """Its files are those that the registry and the page of the metric name."""
    registry = fit_composite.REGISTRY.read_text(encoding="utf-8")
    assert fit_composite.update_registry(registry) == registry
    page = fit_composite.METRIC_PAGE.read_text(encoding="utf-8")
    assert fit_composite.update_page(page) == page


@pytest.mark.processor
def test_each_layer_of_the_grid_is_that_of_the_encoder(minilm, monkeypatch):
    monkeypatch.setenv("DIALOSCOPE_SCORES", "off")
    layers = import_module("benchmarks.papers.layers")
    pairs = [
        Pair("Is it far?", "Not by bus."),
        Pair("", "Yes."),
        Pair("One. Two. Three.", "Four, and on."),
    ]
    for layer, pooling in ((0, "mean"), (3, "max"), (layers.layers_of("minilm"), "first")):
        found = layers.LayerEncoder("minilm", layer, pooling).encode(pairs)
        expected = TransformerEncoder("minilm", layer=layer, pooling=pooling).encode(pairs)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


PAGE = """\
# A page

```
$ dialoscope --version
{}
```
"""


@pytest.fixture
def page(tmp_path):
    def write(text):
        path = tmp_path / "page.md"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def check(path, **changes):
    return run(ROOT / "scripts" / "documents.py", "--check", path, cwd=path.parent, **changes)


def test_a_stale_page_is_shown_and_left_alone(page):
    stale = PAGE.format("dialoscope 0.0.0")
    path = page(stale)
    done = check(path)
    assert done.returncode == 1
    assert "-dialoscope 0.0.0\n+dialoscope " in done.stdout
    assert done.stderr.startswith("Some pages differ from what their commands print. Run:")
    assert path.read_text(encoding="utf-8") == stale
    right = page(documents.renewed(stale))
    assert "dialoscope 0.0.0" not in right.read_text(encoding="utf-8")
    done = check(right)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.assets
def test_what_is_fetched_gets_into_no_page(page, wordnet, monkeypatch, tmp_path):
    """With a cold cache, where the command says on standard error what it fetches."""
    monkeypatch.setenv("DIALOSCOPE_CACHE", str(tmp_path / "cold"))
    monkeypatch.delenv("DIALOSCOPE_ASSETS", raising=False)
    row = '{"response": "a dog", "references": ["a dog"]}'
    command = f"echo '{row}' | dialoscope score - -m meteor --csv"
    cold = documents.renewed(f"```\n$ {command}\n```\n")
    assert (tmp_path / "cold" / "assets" / "wordnet").is_dir()
    assert "Fetching" not in cold
    assert cold == documents.renewed(cold)
    assert "meteor" in cold
