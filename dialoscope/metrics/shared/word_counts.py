"""The number of texts in which each word occurs: a shipped table, or counts from any file."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, NamedTuple

import dialoscope.models.registry as assets
from dialoscope.core.errors import MetricError
from dialoscope.core.safe_text import printable
from dialoscope.metrics.shared.frequencies import Sentences
from dialoscope.models.asset_kinds import check_kind, matching_assets
from dialoscope.models.corpus import hash_path
from dialoscope.text.tokenizer import Tokenizer

TABLE = "words.tsv"
"""The file of an asset that has a word and its count on each line."""
TABLE_TOKENIZER = "words"
"""The tokenizer of the texts that the shipped table was counted in."""


class CorpusCounts(NamedTuple):
    """The number of texts in which each word occurs, and the number for the commonest word."""

    words: Mapping[str, int]
    most: int

    def rarity(self, word: str) -> float:
        """The rarity of a word, from 0 for the commonest to 1 for a word in a single text, or in none.

        It is the inverse document frequency, scaled from its lowest to its highest value; the number of
        texts cancels out.
        """
        return 1 - math.log(self.words.get(word, 1)) / math.log(self.most)


@dataclass(frozen=True)
class WordCounts:
    """The source of word counts: an asset that holds counts, or a file of texts."""

    name: ClassVar[str] = "word-counts"
    version: ClassVar[int] = 1

    corpus: str

    @property
    def fingerprint(self) -> str:
        """A hash of the content of the table or file."""
        return hash_path(Path(self.corpus)) if self._is_file else assets.fingerprint(self._asset)

    @property
    def asset_names(self) -> tuple[str, ...]:
        """The assets behind it, for their licences."""
        return matching_assets(self.corpus)

    def counts(self, tokenizer: Tokenizer) -> CorpusCounts:
        """The counts of words as a tokenizer cuts them; read once for each content of the file."""
        if not self._is_file and tokenizer.name != TABLE_TOKENIZER:
            raise MetricError(
                f"The counts of '{self.corpus}' are of words as the tokenizer '{TABLE_TOKENIZER}' cuts them, "
                f"not '{tokenizer.name}'. Name a file of texts to count them in: corpus=FILE."
            )
        return _counts(self, tokenizer, self.fingerprint)

    @property
    def _is_file(self) -> bool:
        if Path(self.corpus).is_file():
            return True
        if self.corpus not in assets.ASSETS:
            raise MetricError(
                f"There is no file of texts '{printable(self.corpus)}' to count words in, nor an asset of "
                "that name."
            )
        return False

    @property
    def _asset(self) -> str:
        return check_kind(self.corpus, "table of words", "word counts")


@lru_cache(maxsize=4)
def _counts(of: WordCounts, tokenizer: Tokenizer, fingerprint: str) -> CorpusCounts:
    if of._is_file:
        counts: Mapping[str, int] = count_texts_with(Sentences(of.corpus).texts(), tokenizer)
    else:
        counts = _read_table(assets.locate(of._asset) / TABLE)
    most = max(counts.values(), default=0)
    if most < 2:
        raise MetricError(
            f"No word stands in two texts of {printable(of.corpus)}, so that none is rarer than another. "
            "Name a larger file."
        )
    return CorpusCounts(counts, most)


def count_texts_with(texts: Iterable[str], tokenizer: Tokenizer) -> Counter[str]:
    """Return for each word the number of texts in which it occurs."""
    counts: Counter[str] = Counter()
    for words in tokenizer(list(texts)):
        counts.update(set(words))
    return counts


def _read_table(path: Path) -> dict[str, int]:
    lines = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return {word: int(count) for word, count in lines}
