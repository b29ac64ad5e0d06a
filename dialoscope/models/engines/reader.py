"""Texts and pairs of texts as rows of tokens, cut to what a model can read."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tokenizers import Encoding

from dialoscope.core.arrays import Ints
from dialoscope.core.errors import BackendError
from dialoscope.core.safe_text import without_surrogates
from dialoscope.models.engines.token_ids import load_tokenizer
from dialoscope.models.protocols import Pair
from dialoscope.models.truncation import Cut, may_exceed

_UNSAID_LIMIT = 512
"""Tokens a model reads when neither its configuration nor its tokenizer says how many it can."""

_POSITIONS_AFTER_PADDING = frozenset({"roberta", "xlm-roberta", "camembert", "mpnet"})
"""Architectures that number positions from the padding token's own number on."""

_MOST_SPECIAL = 8
"""Special tokens around a text or pair, at the most."""

_SPACE = re.compile(r"\s+")
_LONGEST_WORD = 64


class TokenRow(NamedTuple):
    """The tokens of a text or pair, special ones included."""

    place: int
    """Of the text among those asked for."""
    ids: Ints
    kinds: Ints
    """Which text of a pair each token is of, as the tokenizer numbers them."""


class Reader:
    """A tokenizer that knows how much its model can read."""

    def __init__(self, folder: Path, config: Mapping[str, Any], max_tokens: int) -> None:
        self._tokenizer = load_tokenizer(folder)
        own = own_limit(folder, config)
        special = self._tokenizer.num_special_tokens_to_add(True)
        if max_tokens and not special < max_tokens <= own:
            raise BackendError(
                f"max_tokens is {max_tokens}; it must be above {special} and at most {own} for {folder.name}."
            )
        self.limit = max_tokens or own

    def rows(self, texts: Sequence[str | Pair], places: Sequence[int]) -> list[TokenRow]:
        """The row of each text, the longest first."""
        readable = [_readable(text) for text in texts]
        found = zip(places, readable, self._tokenizer.encode_batch_fast(readable), strict=True)
        rows = [self._row(place, text, encoding) for place, text, encoding in found]
        return sorted(rows, key=lambda row: -len(row.ids))

    def cut(self, texts: Sequence[str | Pair]) -> Cut:
        """Which texts lose an end, and which pairs the beginning of the first or the end of the second."""
        beginning, end = np.zeros((2, len(texts)), bool)
        room = self.limit - self._tokenizer.num_special_tokens_to_add(True)
        long = [
            place for place, text in enumerate(texts) if may_exceed("".join(text), self.limit - _MOST_SPECIAL)
        ]
        readable = [_readable(texts[place]) for place in long]
        for place, encoding in zip(long, self._tokenizer.encode_batch_fast(readable), strict=True):
            text = texts[place]
            if len(encoding) > self.limit:
                beginning[place] = not isinstance(text, str)
                end[place] = isinstance(text, str) or len(self._bare(without_surrogates(text.second))) > room
        return Cut(self.limit, beginning, end)

    def latest(self, text: str) -> str:
        """The text without as much of its beginning as must go for the rest to be read."""
        room = self.limit - self._tokenizer.num_special_tokens_to_add(False)
        if not may_exceed(text, room):
            return text
        readable = without_surrogates(text)
        while len(found := self._bare(readable)) > room:
            begin = found.offsets[len(found) - room][0] or 1
            # A whole word goes rather than half of one, so that the rest has the tokens it had before.
            space = _SPACE.search(readable, begin - 1, begin + _LONGEST_WORD)
            readable = readable[space.end() if space and space.end() < len(readable) else begin :]
        return readable

    def _row(self, place: int, text: str | tuple[str, str], encoding: Encoding) -> TokenRow:
        if len(encoding) > self.limit:
            encoding = self._shortened(text)
        return TokenRow(place, np.array(encoding.ids, np.int64), np.array(encoding.type_ids, np.int64))

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
    except (OSError, ValueError, RecursionError) as damaged:
        raise BackendError(f"{file} cannot be read: {damaged}") from damaged
    return found if isinstance(found, dict) else {}


def padding(config: Mapping[str, Any]) -> int:
    """The number of the padding token."""
    found = config.get("pad_token_id")
    return 1 if found is None else int(found)
