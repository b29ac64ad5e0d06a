"""Tokenization of texts into the token ids of a model."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tokenizers import Tokenizer

from dialoscope.core.errors import BackendError
from dialoscope.core.safe_text import without_surrogates


class TokenIds(NamedTuple):
    """The token ids of a text and its prefix."""

    prefix: tuple[int, ...]
    text: tuple[int, ...]


class Vocabulary:
    """The vocabulary of a model, which encodes and decodes texts without special tokens."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    def encode_pairs(self, prefixes: Sequence[str], texts: Sequence[str]) -> Iterator[TokenIds]:
        """Return the token ids of prefixes and texts; each unique text is encoded once."""
        unique = list(dict.fromkeys([*prefixes, *texts]))
        tokens = dict(zip(unique, self.encode(unique), strict=True))
        return (TokenIds(tokens[prefix], tokens[text]) for prefix, text in zip(prefixes, texts, strict=True))

    def encode(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the token ids of each text."""
        readable = [without_surrogates(text) for text in texts]
        encodings = self.tokenizer.encode_batch_fast(readable, add_special_tokens=False)
        return [tuple(encoding.ids) for encoding in encodings]

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of token ids."""
        text: str = self.tokenizer.decode(list(tokens), skip_special_tokens=True)
        return text


def load_tokenizer(folder: Path) -> Tokenizer:
    """Load the tokenizer of a model.

    The names of special tokens in a text are encoded as ordinary text, so that no reply can end a turn.
    """
    tokenizer = _from_json(folder) if (folder / "tokenizer.json").is_file() else _from_transformers(folder)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer


def _from_json(folder: Path) -> Tokenizer:
    try:
        return Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as damaged:  # the library raises plain exceptions
        raise BackendError(f"{folder / 'tokenizer.json'} cannot be read: {damaged}") from damaged


def _from_transformers(folder: Path) -> Tokenizer:
    """Convert the tokenizer files of an older model, such as vocab.json and merges.txt."""
    from transformers import AutoTokenizer

    from dialoscope.models.engines.causal import quiet

    try:
        with quiet():
            slow = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        tokenizer: Tokenizer = slow.backend_tokenizer
    except Exception as error:  # transformers raises errors of many types
        raise BackendError(f"{folder} has no tokenizer that can be read: {error}") from error
    if not tokenizer.encode("a").ids:  # transformers creates an empty vocabulary if its files are missing
        raise BackendError(f"{folder} has no tokenizer that can be read: the vocabulary is missing.")
    return tokenizer
