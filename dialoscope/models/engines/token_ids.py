"""Texts as the numbers that a model knows them by."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tokenizers import Tokenizer

from dialoscope.core.errors import BackendError
from dialoscope.core.safe_text import without_surrogates


class Numbered(NamedTuple):
    """A text and what stands before it, as tokens."""

    prefix: tuple[int, ...]
    text: tuple[int, ...]


class Words:
    """A model's vocabulary at work."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    def numbered(self, prefixes: Sequence[str], texts: Sequence[str]) -> Iterator[Numbered]:
        """Pairs of texts, each different text made into tokens once."""
        every = list(dict.fromkeys([*prefixes, *texts]))
        tokens = dict(zip(every, self.of(every), strict=True))
        return (Numbered(tokens[prefix], tokens[text]) for prefix, text in zip(prefixes, texts, strict=True))

    def of(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """The tokens of each text, and no others."""
        readable = [without_surrogates(text) for text in texts]
        return [
            tuple(found.ids) for found in self.tokenizer.encode_batch_fast(readable, add_special_tokens=False)
        ]

    def text(self, tokens: Sequence[int]) -> str:
        """The text of these tokens."""
        found: str = self.tokenizer.decode(list(tokens), skip_special_tokens=True)
        return found


def vocabulary(folder: Path) -> Tokenizer:
    """The tokenizer of a model's folder.

    What looks like a special token in a text stays text: no reply can end a turn by naming its token.
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
    """Converted from the files of an older model, such as vocab.json and merges.txt."""
    from transformers import AutoTokenizer

    from dialoscope.models.engines.causal import quiet

    try:
        with quiet():
            slow = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        found: Tokenizer = slow.backend_tokenizer
    except Exception as lacking:  # transformers raises whatever the files make it stumble over
        raise BackendError(f"{folder} holds no tokenizer that can be read: {lacking}") from lacking
    if not found.encode("a").ids:  # without its files transformers makes one up that knows no word
        raise BackendError(f"{folder} holds no tokenizer that can be read: no vocabulary is there.")
    return found
