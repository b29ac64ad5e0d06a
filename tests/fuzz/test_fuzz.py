"""Damaged and hostile files through every reader and verb; `--long` for a million of them."""

import time

import pytest

from dialoscope.core.errors import DataError
from tests.fuzz.mutations import BYTES, ROWS
from tests.fuzz.seeds import FORMATS, REPLIES
from tests.fuzz.targets import TARGETS, Target
from tests.fuzz.trial import random_of, try_files

FILES, MANY_FILES, PARTS = 2_016, 1_000_000, 4
GIGABYTE = 10**9


@pytest.mark.parametrize("part", range(PARTS))
def test_every_file_is_read_or_refused_with_a_printable_sentence(part, request):
    count = (MANY_FILES if request.config.getoption("--long") else FILES) // PARTS
    *_, figures = try_files(range(part * count, (part + 1) * count), seed=17)
    assert not figures.failures, "\n\n".join(map(str, figures.failures[:10]))
    assert figures.outcomes.total() == count
    assert figures.growth < GIGABYTE
    reached = {target.name for target in TARGETS if figures.by_target[target.name, "read"]}
    assert len(reached) >= len(TARGETS) - 2, "what is damaged so that it is never read tries little"


def _raises(path, rng):
    raise KeyError("id")


def _loops(path, rng):
    while True:
        pass


def _waits(path, rng):
    time.sleep(60)


def _shows(path, rng):
    return ["a sentence", "\x1b[2J"]


def _refuses(path, rng):
    raise DataError("not \x1b so")


@pytest.mark.parametrize(
    ("read", "kind"),
    [
        (_raises, "traceback"),
        (_loops, "hang"),
        (_waits, "hang"),
        (_shows, "unprintable"),
        (_refuses, "refused"),
        (len, "traceback"),
    ],
)
def test_what_no_reader_may_do_is_told_with_the_command_to_see_it_again(read, kind):
    *_, figures = try_files([3], 5, [Target("bad", read, (REPLIES,))], seconds=0.1)
    assert figures.outcomes == {kind: 1}
    if kind != "refused":
        (failure,) = figures.failures
        assert str(failure).startswith(
            f"{kind} in bad (python -m tests.fuzz.run --seed 5 --first 3 --files 1)"
        )
    if read is _raises:
        assert "KeyError: 'id'" in figures.failures[0].text


def test_the_same_seed_and_number_are_the_same_file(monkeypatch):
    found = []
    target = Target(
        "a", lambda path, rng: found.append(path.read_bytes() if path.is_file() else 0), (REPLIES,)
    )
    for _ in range(2):
        list(try_files(range(40), 1, [target]))
    assert found[:40] == found[40:]
    assert len(set(found)) > 30


def test_every_mutation_changes_something_and_every_format_is_written():
    for mutate in ROWS.values():
        texts = set()
        for seed in range(20):
            rows = [dict(row) for row in REPLIES]
            mutate(random_of(seed), rows)
            texts.add(repr(rows))
        assert texts != {repr(REPLIES)}, mutate.__name__
    data = FORMATS["jsonl"](REPLIES)
    assert all(any(mutate(random_of(seed), data) != data for seed in range(20)) for mutate in BYTES.values())
    assert all(write(REPLIES) for write in FORMATS.values())
