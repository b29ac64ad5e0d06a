"""Notes about replies that a model could not read as a whole."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from dialoscope.models.protocols import Backend
from dialoscope.models.truncation import find_cuts
from dialoscope.text.batch import Batch

_CHUNK = 8192
"""The number of texts that are checked at a time."""
_LOST = ("the oldest part of what comes before them", "the end of them or of a reference")


def note_cutting(
    batch: Batch, model: Backend, texts: Iterable[tuple[int, Any]], *, contexts: bool = False
) -> list[str]:
    """Notes on replies that a model read without a part: their number, and which end is missing.

    Each text comes with the position of its reply. Of texts that are contexts it is the beginning that is
    left out, where others lose their end.
    """
    lost: tuple[set[int], set[int]] = (set(), set())
    limit, rest = 0, iter(texts)
    while chunk := list(islice(rest, _CHUNK)):
        cut = find_cuts(model, [text for _, text in chunk])
        limit = cut.limit
        lost[0].update(row for (row, _), is_cut in zip(chunk, cut.beginning, strict=True) if is_cut)
        lost[not contexts].update(row for (row, _), is_cut in zip(chunk, cut.end, strict=True) if is_cut)
    head, of_all = f"{model} reads at most {limit:,} tokens", f"of {len(batch):,} replies were read without"
    return [f"{head}: {len(rows):,} {of_all} {part}." for part, rows in zip(_LOST, lost, strict=True) if rows]


def note_cut_references(batch: Batch, model: Backend, read_as: Callable[[str], str]) -> list[str]:
    """Notes on replies that are compared with their references."""
    return note_cutting(batch, model, ((row, read_as(text)) for row, text in _with_references(batch)))


def _with_references(batch: Batch) -> Iterator[tuple[int, str]]:
    for row, example in enumerate(batch):
        yield row, example.response
        yield from ((row, text) for text in example.references)
