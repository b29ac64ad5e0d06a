"""Tokenization of texts and pairs into rows of tokens, truncated to the limit of a model."""

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

_DEFAULT_LIMIT = 512
"""Number of tokens that a model reads if neither its configuration nor its tokenizer defines it."""

_POSITIONS_AFTER_PADDING = frozenset({"roberta", "xlm-roberta", "camembert", "mpnet"})
"""Architectures whose positions begin after the number of the padding token."""

_MOST_SPECIAL = 8
"""Maximum number of special tokens of a text or pair."""

_SPACE = re.compile(r"\s+")
_LONGEST_WORD = 64


class TokenRow(NamedTuple):
    """The tokens of a text or pair, special tokens included."""

    text_index: int
    """Index of the text."""
    ids: Ints
    kinds: Ints
    """Token type ids: the text of the pair that each token belongs to."""


class Reader:
    """A tokenizer that truncates texts to the limit of its model."""

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
        """Return the rows of texts, longest first."""
        readable = [_readable(text) for text in texts]
        encoded = zip(places, readable, self._tokenizer.encode_batch_fast(readable), strict=True)
        rows = [self._row(index, text, encoding) for index, text, encoding in encoded]
        return sorted(rows, key=lambda row: -len(row.ids))

    def cut(self, texts: Sequence[str | Pair]) -> Cut:
        """Return which texts lose their end, and which pairs lose the beginning or the end."""
        beginning, end = np.zeros((2, len(texts)), bool)
        room = self.limit - self._tokenizer.num_special_tokens_to_add(True)
        long = [
            index for index, text in enumerate(texts) if may_exceed("".join(text), self.limit - _MOST_SPECIAL)
        ]
        readable = [_readable(texts[index]) for index in long]
        for index, encoding in zip(long, self._tokenizer.encode_batch_fast(readable), strict=True):
            text = texts[index]
            if len(encoding) > self.limit:
                beginning[index] = not isinstance(text, str)
                end[index] = (
                    isinstance(text, str) or len(self._encode_plain(without_surrogates(text.second))) > room
                )
        return Cut(self.limit, beginning, end)

    def latest(self, text: str) -> str:
        """Return the longest end of a text that the model can read."""
        room = self.limit - self._tokenizer.num_special_tokens_to_add(False)
        if not may_exceed(text, room):
            return text
        readable = without_surrogates(text)
        while len(encoding := self._encode_plain(readable)) > room:
            begin = encoding.offsets[len(encoding) - room][0] or 1
            # Whole words are removed, so that the tokens of the rest do not change.
            space = _SPACE.search(readable, begin - 1, begin + _LONGEST_WORD)
            readable = readable[space.end() if space and space.end() < len(readable) else begin :]
        return readable

    def _row(self, index: int, text: str | tuple[str, str], encoding: Encoding) -> TokenRow:
        if len(encoding) > self.limit:
            encoding = self._truncate(text)
        return TokenRow(index, np.array(encoding.ids, np.int64), np.array(encoding.type_ids, np.int64))

    def _truncate(self, text: str | tuple[str, str]) -> Encoding:
        """Remove the end of a text, or the beginning of a pair and, if needed, its end."""
        if isinstance(text, str):
            encoding = self._encode_plain(text)
            encoding.truncate(self.limit - self._tokenizer.num_special_tokens_to_add(False))
            return self._tokenizer.post_process(encoding)
        room = self.limit - self._tokenizer.num_special_tokens_to_add(True)
        first, second = map(self._encode_plain, text)
        second.truncate(room)
        first.truncate(room - len(second), direction="left")
        return self._tokenizer.post_process(first, second)

    def _encode_plain(self, text: str) -> Encoding:
        return self._tokenizer.encode(text, add_special_tokens=False)


def _readable(text: str | Pair) -> str | tuple[str, str]:
    """Replace surrogates, which the tokenizer cannot read."""
    if isinstance(text, str):
        return without_surrogates(text)
    first, second = map(without_surrogates, text)
    return first, second


def own_limit(folder: Path, config: Mapping[str, Any]) -> int:
    """Return the number of tokens that a model can read, by its configuration and its tokenizer."""
    positions = config.get("max_position_embeddings") or 0
    if config.get("model_type") in _POSITIONS_AFTER_PADDING:
        positions -= padding(config) + 1
    tokenizer_limit = _read_settings(folder / "tokenizer_config.json").get("model_max_length")
    limits = [int(limit) for limit in (positions, tokenizer_limit) if limit and 0 < limit < 1e6]
    return min(limits, default=_DEFAULT_LIMIT)


def _read_settings(file: Path) -> dict[str, Any]:
    """Read the settings of a tokenizer; empty if there are none."""
    try:
        settings = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    except (OSError, ValueError, RecursionError) as damaged:
        raise BackendError(f"{file} cannot be read: {damaged}") from damaged
    return settings if isinstance(settings, dict) else {}


def padding(config: Mapping[str, Any]) -> int:
    """Return the number of the padding token."""
    token = config.get("pad_token_id")
    return 1 if token is None else int(token)
