"""Small models and small corpora to learn with."""

import json
from pathlib import Path

import pytest

from dialoscope.core.errors import AssetError
from dialoscope.models.registry import locate
from tests.unit.models.conftest import no_scores, one_thread, tiny  # noqa: F401 - fixtures
from tests.unit.models.tiny import SENTENCES


@pytest.fixture
def rows(tmp_path):
    """Write rows to a file of JSON lines."""

    def written(found, name="rows.jsonl"):
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
        return path

    return written


def talks(count=24, turns=3):
    """Dialogues that are all different."""
    return [
        [f"{SENTENCES[(place * (turn + 1) + turn) % 6]} {place}" for turn in range(turns)]
        for place in range(count)
    ]


@pytest.fixture
def dialogues(rows):
    """A file of dialogues."""
    return rows([{"id": str(place), "turns": turns} for place, turns in enumerate(talks())], "talks.jsonl")


@pytest.fixture
def pairs(rows):
    """A file of labelled pairs."""
    labels = ("entailment", "neutral", "contradiction")
    return rows(
        [
            {"premise": f"{first} {place}", "hypothesis": second, "label": labels[(place + at) % 3]}
            for place, first in enumerate(SENTENCES * 2)
            for at, second in enumerate(SENTENCES)
        ],
        "pairs.jsonl",
    )


@pytest.fixture(scope="session")
def snli():
    """Where the asset of pairs is; fetched once."""
    try:
        return locate("snli")
    except AssetError as lacking:
        pytest.skip(str(lacking))


@pytest.fixture(scope="session")
def encoders(tmp_path_factory):
    """The folder of a small encoder by its name."""
    from tests.unit.models.tiny_encoders import save_encoder

    made: dict[str, Path] = {}

    def folder(name):
        if name not in made:
            made[name] = save_encoder(name, tmp_path_factory.mktemp("encoders") / name)
        return made[name]

    return folder
