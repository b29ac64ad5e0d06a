"""Human dialogues from a file, or from an asset in the format of its authors."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import dialoscope.models.registry as assets
from dialoscope.core.records import Example
from dialoscope.models.asset_kinds import check_kind
from dialoscope.models.corpus import FileCorpus

_KIND = "dialogues"


def read_dialogues(corpus: str) -> Iterator[Example]:
    """Yield every turn that has a preceding turn, with all preceding turns as context."""
    if not is_asset(corpus):
        yield from FileCorpus(corpus).examples()
        return
    folder = assets.locate(check_kind(corpus, "set of dialogues", _KIND))
    yield from {"chitchat": _chitchat, "movie-dialogues": _films}[corpus](folder)


def hash_corpus(corpus: str) -> str:
    """Return the hash of the dialogues."""
    if is_asset(corpus):
        return assets.fingerprint(check_kind(corpus, "set of dialogues", _KIND))
    return FileCorpus(corpus).fingerprint


def is_asset(corpus: str) -> bool:
    """Whether a name refers to an asset; files have precedence."""
    return corpus in assets.ASSETS and not Path(corpus).exists()


def _chitchat(folder: Path) -> Iterator[Example]:
    talks = json.loads((folder / "dataset.json").read_text(encoding="utf-8"))
    for name, talk in talks.items():
        turns = tuple(" ".join(part["text"] for part in turn) for turn in talk["messages"])
        for index in range(1, len(turns)):
            yield Example(f"{name}#{index + 1}", "people", turns[index], turns[:index])


def _films(folder: Path) -> Iterator[Example]:
    with (folder / "moviedialog.csv").open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file)):
            yield Example(str(number), "people", row["reply"], (row["statement"],))
