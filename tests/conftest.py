"""What all tests share."""

import inspect
import os
import re
import signal
import sys
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

from dialoscope.core.errors import AssetError
from dialoscope.models.registry import locate

ROOT = Path(__file__).resolve().parents[1]
_NEURAL = "torch|transformers|tokenizers|safetensors|huggingface_hub|peft|accelerate|gguf"
_MISSING = re.compile(rf"ModuleNotFoundError: No module named '(?:{_NEURAL})[.\w]*'")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="Run the fuzz tests at full size.")


def pytest_configure(config: pytest.Config) -> None:
    """Programs in the background of a script or after nohup ignore signals; what tests start would, too."""
    os.environ.setdefault("DIALOSCOPE_LICENCE", "any")  # else what is printed depends on what was run before
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # several processes share the cores
    if find_spec("torch") is None:
        config.pluginmanager.register(WithoutTorch())
    for name, usual in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


class WithoutTorch:
    """Skips what needs torch; no hook of this file, which would miss folders whose conftest.py fails."""

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector):
        report = (yield).get_result()
        if report.failed and _MISSING.search(str(report.longrepr)):
            self.skip(report, collector.path)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = (yield).get_result()
        if report.failed and _asked_for_torch(call.excinfo.value):
            self.skip(report, item.path, item.location[1] or 0)

    @staticmethod
    def skip(report, path, line=0):
        report.outcome = "skipped"
        report.longrepr = (str(path), line, "Skipped: torch is not installed")


def _asked_for_torch(error: BaseException | None) -> bool:
    """Whether an exception was raised from an import that failed because torch, or its kind, is missing."""
    while error is not None:
        if _MISSING.search(f"{type(error).__name__}: {error}"):
            return True
        error = error.__cause__ or error.__context__
    return False


def pytest_report_header() -> str:
    packages = ("numpy", "pyarrow", "rapidfuzz", "regex", "nltk", "sacrebleu", "rouge-score")
    return "oracles and engines: " + ", ".join(f"{name} {metadata.version(name)}" for name in packages)


@pytest.fixture(scope="session")
def corpora() -> Path:
    folder = os.environ.get("DIALOSCOPE_CORPORA")
    if not folder:
        pytest.skip("DIALOSCOPE_CORPORA is not set; it should name the folder of the rated corpora")
    return Path(folder)


@pytest.fixture(scope="session")
def sample() -> Path:
    return ROOT / "examples" / "sample.jsonl"


@pytest.fixture(scope="session")
def wordnet() -> Path:
    """Where WordNet is."""
    return _fetched("wordnet")


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """Where the default language model is."""
    return _fetched("smollm2")


@pytest.fixture(scope="session")
def minilm() -> Path:
    """Where the default encoder is."""
    return _fetched("minilm")


@pytest.fixture(scope="session")
def mpnet() -> Path:
    """Where the model is that the default classifier was trained on top of."""
    return _fetched("mpnet")


@pytest.fixture(scope="session")
def glove() -> Path:
    """Where the default word vectors are."""
    return _fetched("glove-50d")


def _fetched(name: str) -> Path:
    """Fetched once; where it is neither here nor to be had, the tests that need it are skipped."""
    try:
        return locate(name)
    except AssetError as lacking:
        pytest.skip(str(lacking))


# Tests of numbers that another processor rounds otherwise


ASSETS = {"smollm2", "minilm", "mpnet", "glove", "snli"}
"""Fixtures behind which there is a model, or vectors."""
COMPUTING = re.compile(r"\b(torch|transformers|linalg)\b")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test that computes with a model or with linear algebra as `processor`.

    These are the tests that use an asset, and those in whose module a name is imported from torch, from
    transformers, or from a module of ours that uses them or linear algebra.
    """
    for item in items:
        if ASSETS.intersection(getattr(item, "fixturenames", ())) or _imports_computing(item.module):
            item.add_marker("processor")


@cache
def _imports_computing(module: ModuleType) -> bool:
    owners = {
        value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        for value in vars(module).values()
    }
    return any(_computes(owner) for owner in owners - {module.__name__} if isinstance(owner, str))


@cache
def _computes(name: str) -> bool:
    package = name.partition(".")[0]
    if package in ("dialoscope", "tests"):
        return COMPUTING.search(inspect.getsource(sys.modules[name])) is not None
    return package in ("torch", "transformers", "peft")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item):
    """A test that computes with torch and is not marked is told so: it would not run on other processors."""
    torch = sys.modules.get("torch")
    if torch is None or item.get_closest_marker("processor"):
        return (yield)
    entered = []
    with pytest.MonkeyPatch.context() as patch:
        enter = torch.inference_mode.__enter__  # every engine computes within it
        patch.setattr(torch.inference_mode, "__enter__", lambda self: entered.append(1) or enter(self))
        outcome = yield
    assert not entered, "this test computes with torch: mark it with @pytest.mark.processor"
    return outcome


def pytest_make_parametrize_id(config, val, argname):
    """Bytes are named by their number: an archive holds the time at which it was made, and names must not."""
    return f"{argname} of {len(val)} bytes" if isinstance(val, bytes) else None
