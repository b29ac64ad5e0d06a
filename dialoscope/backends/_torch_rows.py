"""Texts and pairs of texts as rows of tokens, cut to what a model can read, and rows in batches."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from tokenizers import Encoding

from dialoscope.backends._tokens import vocabulary
from dialoscope.backends._torch_device import halving
from dialoscope.backends.base import Pair
from dialoscope.errors import BackendError
from dialoscope.surrogates import without_surrogates
from dialoscope.tally import Ints

Found = TypeVar("Found")

TEXTS_AT_ONCE = 2048
"""Texts made into tokens together, while those before them are computed."""

LEAST_BUDGET = 64

_UNSAID_LIMIT = 512
"""Tokens a model reads when neither its configuration nor its tokenizer says how many it can."""

_POSITIONS_AFTER_PADDING = frozenset({"roberta", "xlm-roberta", "camembert", "mpnet"})
"""Architectures that number positions from the padding token's own number on."""


class Row(NamedTuple):
    """The tokens of a text or pair, special ones included."""

    place: int
    """Of the text among those asked for."""
    ids: Ints
    kinds: Ints
    """Which text of a pair each token is of, as the tokenizer numbers them."""


class Reader:
    """A tokenizer that knows how much its model can read."""

    def __init__(self, folder: Path, config: Mapping[str, Any], max_tokens: int) -> None:
        self._tokenizer = vocabulary(folder)
        own = own_limit(folder, config)
        special = self._tokenizer.num_special_tokens_to_add(True)
        if max_tokens and not special < max_tokens <= own:
            raise BackendError(
                f"max_tokens is {max_tokens}; it must be above {special} and at most {own} for {folder.name}."
            )
        self.limit = max_tokens or own

    def rows(self, texts: Sequence[str | Pair], places: Sequence[int]) -> list[Row]:
        """The row of each text, the longest first."""
        readable = [_readable(text) for text in texts]
        found = zip(places, readable, self._tokenizer.encode_batch_fast(readable), strict=True)
        rows = [self._row(place, text, encoding) for place, text, encoding in found]
        return sorted(rows, key=lambda row: -len(row.ids))

    def _row(self, place: int, text: str | tuple[str, str], encoding: Encoding) -> Row:
        if len(encoding) > self.limit:
            encoding = self._shortened(text)
        return Row(place, np.array(encoding.ids, np.int64), np.array(encoding.type_ids, np.int64))

    def _shortened(self, text: str | tuple[str, str]) -> Encoding:
        """The end of a text goes; of a pair the beginning of the first, and of the second only what must."""
        if isinstance(text, str):
            only = self._bare(text)
            only.truncate(self.limit - self._tokenizer.num_special_tokens_to_add(False))
            return self._tokenizer.post_process(only)
        room = self.limit - self._tokenizer.num_special_tokens_to_add(True)
        first, second = map(self._bare, text)
        second.truncate(room)
        first.truncate(room - len(second), direction="left")
        return self._tokenizer.post_process(first, second)

    def _bare(self, text: str) -> Encoding:
        return self._tokenizer.encode(text, add_special_tokens=False)


def _readable(text: str | Pair) -> str | tuple[str, str]:
    """As the tokenizer takes it."""
    if isinstance(text, str):
        return without_surrogates(text)
    first, second = map(without_surrogates, text)
    return first, second


def own_limit(folder: Path, config: Mapping[str, Any]) -> int:
    """The most tokens a model can read, by its positions and by what its tokenizer says."""
    positions = config.get("max_position_embeddings") or 0
    if config.get("model_type") in _POSITIONS_AFTER_PADDING:
        positions -= padding(config) + 1
    told = _told(folder / "tokenizer_config.json").get("model_max_length")
    limits = [int(limit) for limit in (positions, told) if limit and 0 < limit < 1e6]
    return min(limits, default=_UNSAID_LIMIT)


def _told(file: Path) -> dict[str, Any]:
    """What a tokenizer says of itself, if it does."""
    try:
        found = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    except (OSError, ValueError) as damaged:
        raise BackendError(f"{file} cannot be read: {damaged}") from damaged
    return found if isinstance(found, dict) else {}


def padding(config: Mapping[str, Any]) -> int:
    """The number of the padding token."""
    found = config.get("pad_token_id")
    return 1 if found is None else int(found)


class Run(NamedTuple):
    """Rows of one length that follow each other in a batch."""

    begin: int
    end: int
    rows: int
    length: int

    def of(self, tokens: torch.Tensor) -> torch.Tensor:
        """Their part of what there is for each token of the batch, (rows, tokens, …)."""
        return tokens[self.begin : self.end].view(self.rows, self.length, *tokens.shape[1:])


def runs(rows: Sequence[Row]) -> list[Run]:
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
    compute: Callable[[list[Row]], list[Found]],
    budget: int,
) -> Iterator[tuple[int, Found]]:
    """What is computed for each row, with its place; long texts first, rows of a batch of like length."""
    order = sorted(places, key=lambda place: -_size(texts[place]))
    waiting: list[Row] = []
    windows = _ahead(reader, texts, order)

    def work(budget: int) -> Iterator[tuple[int, Found]]:
        while waiting or (more := next(windows, [])):
            waiting.extend([] if waiting else more)
            batch = waiting[: max(1, budget // max(len(waiting[0].ids), 1))]
            found = compute(batch)
            del waiting[: len(batch)]
            yield from zip((row.place for row in batch), found, strict=True)

    return halving(work, budget, LEAST_BUDGET)


def _ahead(reader: Reader, texts: Sequence[str | Pair], order: Sequence[int]) -> Iterator[list[Row]]:
    """The rows of so many texts at a time; those of the next are made by another thread meanwhile."""
    parts = [order[begin : begin + TEXTS_AT_ONCE] for begin in range(0, len(order), TEXTS_AT_ONCE)]
    with ThreadPoolExecutor(1) as other:
        made = [other.submit(_rows, reader, texts, part) for part in parts[:1]]
        for _, following in pairwise([*parts, []]):
            rows = made.pop().result()
            if following:
                made.append(other.submit(_rows, reader, texts, following))
            yield rows


def _rows(reader: Reader, texts: Sequence[str | Pair], places: Sequence[int]) -> list[Row]:
    return reader.rows([texts[place] for place in places], places)


def _size(text: str | Pair) -> int:
    return len(text) if isinstance(text, str) else len(text.first) + len(text.second)
