"""The rules of the house, made executable."""

import ast
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import dialoscope

PACKAGE = Path(dialoscope.__file__).parent
ROOT = Path(__file__).parents[2]

# A module may import from its own layer and from those before it; docs/design/architecture.md says why.
LAYERS = [
    "printable",
    "errors",
    "surrogates",
    "redaction",
    "progress",
    "files",
    "aspects",
    "records",
    "tally",
    "coefficients",
    "text",
    "signature",
    "data",
    "perturbation",
    "assets",
    "backends",
    "systems",
    "augmentation",
    "learn",
    "metrics",
    "results",
    "meta",
    "figures",
    "scoring",
    "auditing",
    "checkup",
    "cli",
    "__main__",
]
HEAVY = {
    "torch",
    "transformers",
    "lemminflect",
    "matplotlib",
    "peft",
    "ray",
    "starlette",
    "fastapi",
    "flask",
    "uvicorn",
    "nltk",
    "pandas",
    "polars",
    "sklearn",
    "spacy",
    "tensorflow",
}


def modules():
    return [path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py"]


def layer(parts) -> str:
    return Path(parts[0]).stem


def imports(path: Path):
    """The modules of ours that a file imports, those under TYPE_CHECKING left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_layers_import_only_downwards(path):
    own = layer(path.relative_to(PACKAGE).parts)
    assert own in LAYERS, f"{own} has no place among the layers"
    for name in imports(path):
        assert name != "dialoscope" or own in ("cli", "__main__"), "layers name each other, not the whole"
        if name.startswith("dialoscope."):
            other = name.split(".")[1]
            assert LAYERS.index(other) <= LAYERS.index(own), f"{own} imports {other}"


def test_judging_the_judges_knows_arrays_and_results_alone():
    known = {
        "errors",
        "printable",
        "progress",
        "aspects",
        "records",
        "tally",
        "coefficients",
        "results",
        "meta",
    }
    for path in (PACKAGE / "meta").rglob("*.py"):
        ours = {name.split(".")[1] for name in imports(path) if name.startswith("dialoscope.")}
        assert ours <= known, f"{path.name} imports {ours - known}"


def loaded_by(code: str) -> set[str]:
    program = f"import sys; {code}; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.splitlines()}


def test_importing_dialoscope_loads_nothing_heavy():
    loaded = loaded_by("import dialoscope")
    assert not loaded & (HEAVY | {"numpy", "scipy", "pyarrow", "rich", "typer", "rapidfuzz"})


def test_the_command_line_answers_without_loading_what_it_does_not_use():
    code = (
        "import dialoscope.cli as cli; from typer.testing import CliRunner; "
        "assert CliRunner().invoke(cli.app, ['--help']).exit_code == 0"
    )
    assert not loaded_by(code) & (HEAVY | {"numpy", "scipy", "pyarrow"})


def test_scoring_loads_nothing_heavy(sample):
    code = f"import dialoscope as ds; ds.evaluate(ds.read({str(sample)!r}), ds.suite('lexical'))"
    assert not loaded_by(code) & HEAVY


def test_the_public_names_are_sorted_and_all_there():
    public = [name for name in dialoscope.__all__ if name != "__version__"]
    assert public == sorted(public)
    assert set(public) == set(dialoscope._HOMES)
    assert all(getattr(dialoscope, name) is not None for name in public)
    assert dir(dialoscope) == sorted(dialoscope.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Blue'"):
        dialoscope.Blue  # noqa: B018


def functions():
    for path in [*modules(), PACKAGE / "__init__.py"]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                yield pytest.param(node, id=f"{path.relative_to(PACKAGE)}:{node.name}")


def test_functions_are_short():
    """No function is longer than 60 lines, and half of them are no longer than 8."""
    lengths = sorted(node.values[0].end_lineno - node.values[0].lineno + 1 for node in functions())
    too_long = [node.id for node in functions() if node.values[0].end_lineno - node.values[0].lineno >= 60]
    allowed = ["cli/score.py:score", "cli/audit.py:audit"]  # one line for each option, no branch
    assert [name for name in too_long if name not in allowed] == []
    assert lengths[len(lengths) // 2] <= 8


def test_models_load_nothing_that_lexical_metrics_need():
    """They run where nothing but torch and what belongs to it is installed."""
    pytest.importorskip("torch")
    code = "from dialoscope.backends import _torch_lm, _torch_encoder, encoder, classifier, http, vectors"
    assert not loaded_by(code) & {"rapidfuzz", "nltk", "regex", "pyarrow", "scipy", "spacy"}


PROGRAMS = sorted(path for folder in ("benchmarks", "scripts") for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_benchmarks_and_scripts_use_is_there(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("dialoscope"):
            home = import_module(str(node.module))
            for name in node.names:
                assert hasattr(home, name.name) or find_spec(f"{node.module}.{name.name}"), name.name
