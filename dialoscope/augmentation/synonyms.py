"""Synonyms of a word, the likeliest to mean the same first."""

from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

from dialoscope.models.protocols import Lexicon
from dialoscope.text.stemmer import stem

_UNSEEN = 0.5
"""What a meaning counts that was never met: little, but not nothing."""
_USUAL = 4
"""A word met so often in a meaning is half as usual there as it can be."""
_NEVER_MET = 0.01
"""How usual a word is that was never met, in any meaning."""
_SPELLING = 0.8
"""Words more alike than this are one word in two spellings."""
_MEANINGS = 4
"""Meanings that are looked at; those further down are rare."""


class Synonym(NamedTuple):
    """A base form that can stand for another."""

    word: str
    likelihood: float
    """That both mean the same, from 0 to 1."""


@lru_cache(maxsize=1 << 16)
def synonyms(lexicon: Lexicon, version: str, word: str, part: str) -> tuple[Synonym, ...]:
    """Single words that share a meaning, the likeliest first; `version` is the lexicon's fingerprint.

    How likely a synonym is: that the word has the meaning they share, times that the synonym is understood in
    it, times how usual the synonym is there. *Necessitate* means nothing but *need*, but is rare; *take* is
    common, but mostly means something else.
    """
    found: dict[str, float] = {}
    for meaning in lexicon.listed(word, part)[:_MEANINGS]:
        for other in lexicon.members(meaning):
            if _is_another(other, word):
                meant = _share(lexicon, word, part, meaning) * _share(lexicon, other, part, meaning)
                usual = _usual(lexicon, other, part, meaning)
                found[other] = found.get(other, 0) + meant * usual
    return tuple(Synonym(other, found[other]) for other in sorted(found, key=lambda one: -found[one]))


def same_word(one: str, other: str) -> bool:
    """Whether two words are the same but for their form or spelling: grey and gray, kick and kicking."""
    return stem(one) == stem(other) or SequenceMatcher(None, one, other).ratio() >= _SPELLING


def _is_another(other: str, word: str) -> bool:
    """Whether this is a single word, no name, and not the same."""
    plain = other.isascii() and other.isalpha() and other.islower()
    return plain and len(other) > 2 and not same_word(other, word)


def _usual(lexicon: Lexicon, word: str, part: str, meaning: str) -> float:
    """How usual a word is in a meaning, from 0 to 1; dictionaries hold words that nobody says."""
    if not any(lexicon.count(word, one) for one in lexicon.listed(word, part)):
        return _NEVER_MET
    count = lexicon.count(word, meaning)
    return (count + _UNSEEN) / (count + _USUAL)


def _share(lexicon: Lexicon, word: str, part: str, meaning: str) -> float:
    """How often a word has this meaning, among all of its meanings."""
    total = sum(lexicon.count(word, one) + _UNSEEN for one in lexicon.listed(word, part))
    return (lexicon.count(word, meaning) + _UNSEEN) / total if total else 0.0
