"""Synonyms of a word, ordered by the likelihood that they mean the same."""

from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

from dialoscope.models.protocols import Lexicon
from dialoscope.text.stemmer import stem

_UNSEEN = 0.5
"""The pseudo-count of each meaning."""
_USUAL = 4
"""The count at which a word is half as usual in a meaning as it can be."""
_NEVER_MET = 0.01
"""The usualness of a word with no counts."""
_SPELLING = 0.8
"""Words with a higher ratio of common characters are spellings of one word."""
_MEANINGS = 4
"""The maximum number of meanings; later ones are rare."""


class Synonym(NamedTuple):
    """A synonym in its base form."""

    word: str
    likelihood: float
    """The likelihood that both mean the same, from 0 to 1."""


@lru_cache(maxsize=1 << 16)
def synonyms(lexicon: Lexicon, version: str, word: str, part: str) -> tuple[Synonym, ...]:
    """Single words that share a meaning, the likeliest first; `version` is the lexicon's fingerprint.

    The likelihood of a synonym is the share of the common meaning in the word, times its share in the
    synonym, times how usual the synonym is in it. *Necessitate* means nothing but *need*, but is rare;
    *take* is common, but mostly means something else.
    """
    likelihoods: dict[str, float] = {}
    for meaning in lexicon.listed(word, part)[:_MEANINGS]:
        for other in lexicon.members(meaning):
            if _is_another(other, word):
                meant = _estimate_share(lexicon, word, part, meaning) * _estimate_share(
                    lexicon, other, part, meaning
                )
                usual = _estimate_usualness(lexicon, other, part, meaning)
                likelihoods[other] = likelihoods.get(other, 0) + meant * usual
    ordered = sorted(likelihoods, key=lambda other: -likelihoods[other])
    return tuple(Synonym(other, likelihoods[other]) for other in ordered)


def same_word(word: str, other: str) -> bool:
    """Whether two words are the same but for their form or spelling: grey and gray, kick and kicking."""
    return stem(word) == stem(other) or SequenceMatcher(None, word, other).ratio() >= _SPELLING


def _is_another(other: str, word: str) -> bool:
    """Whether this is a single word in lower case, and another one."""
    plain = other.isascii() and other.isalpha() and other.islower()
    return plain and len(other) > 2 and not same_word(other, word)


def _estimate_usualness(lexicon: Lexicon, word: str, part: str, meaning: str) -> float:
    """The usualness of a word in a meaning, from 0 to 1; dictionaries list words that nobody says."""
    if not any(lexicon.count(word, other) for other in lexicon.listed(word, part)):
        return _NEVER_MET
    count = lexicon.count(word, meaning)
    return (count + _UNSEEN) / (count + _USUAL)


def _estimate_share(lexicon: Lexicon, word: str, part: str, meaning: str) -> float:
    """The share of a meaning among all meanings of a word."""
    total = sum(lexicon.count(word, other) + _UNSEEN for other in lexicon.listed(word, part))
    return (lexicon.count(word, meaning) + _UNSEEN) / total if total else 0.0
