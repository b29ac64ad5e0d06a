"""Batches of rows of tokens."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby, pairwise
from typing import NamedTuple, TypeVar

import torch

from dialoscope.models.engines.device import halving
from dialoscope.models.engines.reader import Reader, TokenRow
from dialoscope.models.protocols import Pair

Value = TypeVar("Value")

TEXTS_AT_ONCE = 2048
"""Number of texts that are tokenized together, while the previous ones are computed."""

LEAST_BUDGET = 64


class Run(NamedTuple):
    """Consecutive rows of equal length in a batch."""

    begin: int
    end: int
    rows: int
    length: int

    def of(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the part of an array over all tokens of the batch, (rows, tokens, …)."""
        return tokens[self.begin : self.end].view(self.rows, self.length, *tokens.shape[1:])


def runs(rows: Sequence[TokenRow]) -> list[Run]:
    """Return the runs of rows of equal length in a batch."""
    result, begin = [], 0
    for length, equal in groupby(len(row.ids) for row in rows):
        count = sum(1 for _ in equal)
        result.append(Run(begin, begin + count * length, count, length))
        begin += count * length
    return result


def in_batches(
    reader: Reader,
    texts: Sequence[str | Pair],
    indices: Sequence[int],
    compute: Callable[[list[TokenRow]], list[Value]],
    budget: int,
) -> Iterator[tuple[int, Value]]:
    """Yield the index of each text and its value, in batches of similar length, longest first."""
    order = sorted(indices, key=lambda index: -_length(texts[index]))
    waiting: list[TokenRow] = []
    windows = _tokenize_ahead(reader, texts, order)

    def work(budget: int) -> Iterator[tuple[int, Value]]:
        while waiting or (more := next(windows, [])):
            waiting.extend([] if waiting else more)
            batch = waiting[: max(1, budget // max(len(waiting[0].ids), 1))]
            values = compute(batch)
            del waiting[: len(batch)]
            yield from zip((row.text_index for row in batch), values, strict=True)

    return halving(work, budget, LEAST_BUDGET)


def _tokenize_ahead(
    reader: Reader, texts: Sequence[str | Pair], order: Sequence[int]
) -> Iterator[list[TokenRow]]:
    """Yield rows of TEXTS_AT_ONCE texts; another thread tokenizes the next ones."""
    parts = [order[begin : begin + TEXTS_AT_ONCE] for begin in range(0, len(order), TEXTS_AT_ONCE)]
    with ThreadPoolExecutor(1) as other:
        made = [other.submit(_rows, reader, texts, part) for part in parts[:1]]
        for _, following in pairwise([*parts, []]):
            rows = made.pop().result()
            if following:
                made.append(other.submit(_rows, reader, texts, following))
            yield rows


def _rows(reader: Reader, texts: Sequence[str | Pair], indices: Sequence[int]) -> list[TokenRow]:
    return reader.rows([texts[index] for index in indices], indices)


def _length(text: str | Pair) -> int:
    return len(text) if isinstance(text, str) else len(text.first) + len(text.second)
