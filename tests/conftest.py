"""What all tests share."""

import os
import signal
from importlib import metadata
from pathlib import Path

import pytest

from dialoscope.assets import locate
from dialoscope.errors import AssetError

ROOT = Path(__file__).resolve().parents[1]


def pytest_configure() -> None:
    """Programs started in the background of a script ignore Ctrl-C, and so would all that tests start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


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


def pytest_make_parametrize_id(config, val, argname):
    """Bytes are named by their number: an archive holds the time at which it was made, and names must not."""
    return f"{argname} of {len(val)} bytes" if isinstance(val, bytes) else None
