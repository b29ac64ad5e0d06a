"""The corpora people have rated, as they are."""

import os
from pathlib import Path

import pytest

from dialoscope.data.lint import Lint
from dialoscope.data.problems import ReadLog
from dialoscope.data.replies import read

pytestmark = pytest.mark.corpora


@pytest.fixture
def corpora() -> Path:
    folder = os.environ.get("DIALOSCOPE_CORPORA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("DIALOSCOPE_CORPORA does not name the folder of the corpora")
    return Path(folder)


def test_every_rated_corpus_is_read_without_a_problem(corpora):
    files = [
        path for path in sorted(corpora.glob("rated/**/*.jsonl")) if path.name != "diversity_groups.jsonl"
    ]
    assert files
    for path in files:
        log, lint = ReadLog(), Lint()
        rated = 0
        for row in read(path).rows(log):
            rated += len(row.ratings)
            lint.add(row)
        assert rated >= log.rows > 0, path
        assert log.problem_count == 0, path
        assert not any("outside" in warning for warning in lint.warnings(log)), path
