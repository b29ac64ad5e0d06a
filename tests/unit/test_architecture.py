"""The rules of the house, made executable."""

import ast
import re
import subprocess
import sys
from collections import defaultdict
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import dialoscope

PACKAGE = Path(dialoscope.__file__).parent
ROOT = Path(__file__).parents[2]

PICTURE = (ROOT / "docs" / "design" / "architecture.md").read_text(encoding="utf-8").split("```")[1]
ROWS = [re.findall(r"[a-z]+", line[:25]) for line in reversed(PICTURE.strip().splitlines())]
"""The rooms of the package, the lowest row first, as the picture in the design notes has them."""
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


def row(room: str) -> int:
    return next(number for number, rooms in enumerate(ROWS) if room in rooms)


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


def test_the_picture_shows_all_rooms():
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert sorted(room for rooms_of_row in ROWS for room in rooms_of_row) == sorted(rooms)
    modules_at_the_root = {path.stem for path in PACKAGE.iterdir() if path.is_file()} - {"py"}
    assert modules_at_the_root == {"__init__", "__main__"}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_rooms_import_only_downwards(path):
    own = path.relative_to(PACKAGE).parts[0]
    for name in imports(path):
        if own == "__main__.py" or name == "dialoscope":
            assert own in ("cli", "__main__.py"), "rooms name each other, not the whole"
        elif name.startswith("dialoscope."):
            other = name.split(".")[1]
            assert other == own or row(other) < row(own), f"{own} imports {other}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_engines_import_torch(path):
    """Others may look for it when they are asked to, as `doctor` does."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    names = {name.name for node in body if isinstance(node, ast.Import) for name in node.names}
    names |= {str(node.module) for node in body if isinstance(node, ast.ImportFrom)}
    if "engines" not in path.parts:
        assert not {name.split(".")[0] for name in names} & {"torch", "transformers", "peft", "triton"}


def test_analysis_knows_arrays_and_results_alone():
    for path in (PACKAGE / "analysis").rglob("*.py"):
        if "audit" not in path.parts:  # which makes replies worse, and scores them
            rooms = {name.split(".")[1] for name in imports(path) if name.startswith("dialoscope.")}
            assert rooms <= {"core", "runs", "analysis"}, path


def test_every_package_says_what_lives_there():
    for path in PACKAGE.rglob("__init__.py"):
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path


PARALLEL = {"cli", "engines"}
"""Packages whose modules have the names of what they belong to: a verb's function, a model's description."""


def test_no_two_modules_share_a_name():
    """Outside parallel packages; a package may have a module of its own name."""
    homes = defaultdict(set)
    for path in modules():
        module = path.parent if path.name == "__init__.py" else path
        if not PARALLEL & set(module.relative_to(PACKAGE).parts):
            homes[module.stem].add(str(module.relative_to(PACKAGE).parent / module.stem))
    assert not {name: sorted(found) for name, found in homes.items() if not nested(found)}


def test_no_two_public_classes_share_a_name():
    homes = defaultdict(list)
    for path in modules():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(path.relative_to(PACKAGE)))
    assert not {name: places for name, places in homes.items() if len(places) > 1}


def nested(homes) -> bool:
    shortest = min(homes, key=len)
    return all(home.startswith(shortest) for home in homes)


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


def test_the_public_names_are_sorted_by_module_and_all_there():
    lines = (PACKAGE / "__init__.pyi").read_text(encoding="utf-8").splitlines()
    names = [line for line in lines if line.startswith("from ")]
    assert names == sorted(names)
    assert len(names) == len(dialoscope.__all__)
    assert dir(dialoscope) == dialoscope.__all__ == sorted(dialoscope.__all__)
    assert all(getattr(dialoscope, name) is not None for name in dialoscope.__all__)
    with pytest.raises(AttributeError, match="Blue"):
        dialoscope.Blue  # noqa: B018


def functions():
    for path in [*modules(), PACKAGE / "__init__.py"]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                yield pytest.param(node, id=f"{path.relative_to(PACKAGE)}:{node.name}")


def test_functions_are_short():
    """No function is longer than 60 lines."""
    too_long = [node.id for node in functions() if node.values[0].end_lineno - node.values[0].lineno >= 60]
    allowed = ["cli/score.py:score", "cli/audit.py:audit"]  # one line for each option, no branch
    assert [name for name in too_long if name not in allowed] == []


def test_models_load_nothing_that_lexical_metrics_need():
    """They run where nothing but torch and what belongs to it is installed."""
    pytest.importorskip("torch")
    code = (
        "from dialoscope.models import encoder, classifier, http_language_model, vectors; "
        "from dialoscope.models.engines import language_model, encoder"
    )
    assert not loaded_by(code) & {"rapidfuzz", "nltk", "regex", "pyarrow", "scipy", "spacy"}


PROGRAMS = sorted(path for folder in ("benchmarks", "scripts") for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_benchmarks_and_scripts_use_is_there(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("dialoscope"):
            home = import_module(str(node.module))
            for name in node.names:
                assert hasattr(home, name.name) or find_spec(f"{node.module}.{name.name}"), name.name
