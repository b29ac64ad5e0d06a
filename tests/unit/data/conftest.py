"""What most tests of reading do: write a file, read it, look at the outcome."""

import json
from pathlib import Path

import pytest

from dialoscope.core.errors import DataError
from dialoscope.data.problems import ReadLog
from dialoscope.data.replies import read


@pytest.fixture
def write(tmp_path):
    """Writes a file and returns its path; objects become lines of JSON."""

    def write_file(name: str, *content) -> Path:
        path = tmp_path / name
        pieces = [
            piece
            if isinstance(piece, bytes)
            else (piece if isinstance(piece, str) else json.dumps(piece)).encode() + b"\n"
            for piece in content
        ]
        path.write_bytes(b"".join(pieces))
        return path

    return write_file


@pytest.fixture
def rows():
    """Reads all rows at once."""
    return lambda *paths, **settings: list(read(*paths, **settings).rows(ReadLog()))


@pytest.fixture
def examples():
    """Reads all examples at once."""
    return lambda *paths, **settings: list(read(*paths, **settings))


@pytest.fixture
def complaint():
    """The text of the error that reading ends with."""

    def complain(*paths, **settings) -> str:
        with pytest.raises(DataError) as caught:
            list(read(*paths, **settings))
        return str(caught.value)

    return complain
