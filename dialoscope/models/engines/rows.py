"""Rows of tokens in batches."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby, pairwise
from typing import NamedTuple, TypeVar

import torch

from dialoscope.models.engines.device import halving
from dialoscope.models.engines.reader import Reader, TokenRow
from dialoscope.models.protocols import Pair

Found = TypeVar("Found")

TEXTS_AT_ONCE = 2048
"""Texts made into tokens together, while those before them are computed."""

LEAST_BUDGET = 64


class Run(NamedTuple):
    """Rows of one length that follow each other in a batch."""

    begin: int
    end: int
    rows: int
    length: int

    def of(self, tokens: torch.Tensor) -> torch.Tensor:
        """Their part of what there is for each token of the batch, (rows, tokens, …)."""
        return tokens[self.begin : self.end].view(self.rows, self.length, *tokens.shape[1:])


def runs(rows: Sequence[TokenRow]) -> list[Run]:
    """The runs of equally long rows in a batch."""
    found, begin = [], 0
    for length, equal in groupby(len(row.ids) for row in rows):
        count = sum(1 for _ in equal)
        found.append(Run(begin, begin + count * length, count, length))
        begin += count * length
    return found


def in_batches(
    reader: Reader,
    texts: Sequence[str | Pair],
    places: Sequence[int],
    compute: Callable[[list[TokenRow]], list[Found]],
    budget: int,
) -> Iterator[tuple[int, Found]]:
    """What is computed for each row, with its place; long texts first, rows of a batch of like length."""
    order = sorted(places, key=lambda place: -_size(texts[place]))
    waiting: list[TokenRow] = []
    windows = _ahead(reader, texts, order)

    def work(budget: int) -> Iterator[tuple[int, Found]]:
        while waiting or (more := next(windows, [])):
            waiting.extend([] if waiting else more)
            batch = waiting[: max(1, budget // max(len(waiting[0].ids), 1))]
            found = compute(batch)
            del waiting[: len(batch)]
            yield from zip((row.place for row in batch), found, strict=True)

    return halving(work, budget, LEAST_BUDGET)


def _ahead(reader: Reader, texts: Sequence[str | Pair], order: Sequence[int]) -> Iterator[list[TokenRow]]:
    """The rows of so many texts at a time; those of the next are made by another thread meanwhile."""
    parts = [order[begin : begin + TEXTS_AT_ONCE] for begin in range(0, len(order), TEXTS_AT_ONCE)]
    with ThreadPoolExecutor(1) as other:
        made = [other.submit(_rows, reader, texts, part) for part in parts[:1]]
        for _, following in pairwise([*parts, []]):
            rows = made.pop().result()
            if following:
                made.append(other.submit(_rows, reader, texts, following))
            yield rows


def _rows(reader: Reader, texts: Sequence[str | Pair], places: Sequence[int]) -> list[TokenRow]:
    return reader.rows([texts[place] for place in places], places)


def _size(text: str | Pair) -> int:
    return len(text) if isinstance(text, str) else len(text.first) + len(text.second)
