"""Porter's stemmer (1980, https://tartarus.org/martin/PorterStemmer) with the changes that NLTK made to it.

NLTK's own was tried: it gives the same stems (its default mode) and takes four times as long.
"""

from functools import lru_cache
from types import MappingProxyType

_IRREGULAR = MappingProxyType(
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

# Suffixes in the order in which they are tried, with their replacements. Before them a vowel followed by a
# consonant must occur once in steps 2 and 3, twice in step 4.
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
    """Return the stem of a word in lower case."""
    if word in _IRREGULAR or len(word) < 3:
        return _IRREGULAR.get(word, word)
    word = _remove_past_ending(_remove_plural(word))
    if word.endswith("y") and len(word) > 2 and _kinds(word)[-2] == "c":
        word = word[:-1] + "i"
    word = _apply_step_2(word)
    if word.endswith(_ANY_OF_STEP_3):
        word = _replace_suffix(word, _STEP_3, 1)
    if word.endswith(_ANY_OF_STEP_4) and (not word.endswith("ion") or word.endswith(("sion", "tion"))):
        word = _replace_suffix(word, _STEP_4, 2)
    return _remove_last_e_or_l(word)


def _kinds(word: str) -> str:
    """Return v or c for each letter, vowel or consonant; y is a consonant after a vowel and at the start."""
    kinds, last = [], "v"
    for letter in word:
        last = "v" if letter in "aeiou" or (letter == "y" and last == "c") else "c"
        kinds.append(last)
    return "".join(kinds)


def _measure(word: str) -> int:
    """Return the number of vowels that are followed by a consonant."""
    return _kinds(word).count("vc")


def _is_short(word: str) -> bool:
    """Whether a word ends in a short syllable."""
    kinds = _kinds(word)
    return (kinds.endswith("cvc") and word[-1] not in "wxy") or kinds == "vc"


def _remove_plural(word: str) -> str:
    if not word.endswith("s") or word.endswith("ss"):
        return word
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    return word[:-2] if word.endswith("sses") else word[:-1]


def _remove_past_ending(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix) and "v" in _kinds(word[: -len(suffix)]):
            return _repair(word[: -len(suffix)])
    return word


def _repair(word: str) -> str:
    """Return the stem of a verb without its ending, with the e that it lost or without the doubled letter."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if word[-2:-1] == word[-1] and _kinds(word)[-1] == "c":
        return word if word[-1] in "lsz" else word[:-1]
    return word + "e" if _measure(word) == 1 and _is_short(word) else word


def _apply_step_2(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]):
        return _apply_step_2(word[:-2])
    if word.endswith(_ANY_OF_STEP_2):
        return _replace_suffix(word, _STEP_2, 1)
    return word[:-1] if word.endswith("logi") and _measure(word[:-3]) else word


def _replace_suffix(word: str, step: tuple[tuple[str, str], ...], min_measure: int) -> str:
    suffix, other = next(rule for rule in step if word.endswith(rule[0]))
    base = word[: -len(suffix)]
    return base + other if _measure(base) >= min_measure else word


def _remove_last_e_or_l(word: str) -> str:
    if word.endswith("e"):
        measure = _measure(word[:-1])
        word = word[:-1] if measure > 1 or (measure == 1 and not _is_short(word[:-1])) else word
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
