"""The English stemmer of Snowball (Porter2, https://snowballstem.org/algorithms/english/stemmer.html).

This is the version of METEOR 1.5. PyStemmer and snowballstemmer were tried: they have a later version of the
algorithm, which stems 82 of 48,315 words differently ("evening", "paste"). NLTK's version loses track of
where a suffix may begin, and gives "realization" and "realize" different stems.
"""

import re
from functools import lru_cache
from types import MappingProxyType

_IRREGULAR = MappingProxyType(
    {
        "skis": "ski",
        "skies": "sky",
        "dying": "die",
        "lying": "lie",
        "tying": "tie",
        "idly": "idl",
        "gently": "gentl",
        "ugly": "ugli",
        "early": "earli",
        "only": "onli",
        "singly": "singl",
        **{word: word for word in ("sky", "news", "howe", "atlas", "cosmos", "bias", "andes")},
    }
)
_DONE_WITHOUT_PLURAL = frozenset(
    ("inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed")
)
_DOUBLES = ("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt")

# Each step finds the longest of its suffixes and replaces it if it is in the step's region: after the first
# consonant that follows a vowel (R1), or after the second such position (R2). The third member holds the
# letters that may precede the suffix; empty means any.
_STEP_2 = (
    ("ization", "ize", ""),
    ("ational", "ate", ""),
    ("fulness", "ful", ""),
    ("ousness", "ous", ""),
    ("iveness", "ive", ""),
    ("tional", "tion", ""),
    ("biliti", "ble", ""),
    ("lessli", "less", ""),
    ("entli", "ent", ""),
    ("ation", "ate", ""),
    ("alism", "al", ""),
    ("aliti", "al", ""),
    ("ousli", "ous", ""),
    ("iviti", "ive", ""),
    ("fulli", "ful", ""),
    ("enci", "ence", ""),
    ("anci", "ance", ""),
    ("abli", "able", ""),
    ("izer", "ize", ""),
    ("ator", "ate", ""),
    ("alli", "al", ""),
    ("bli", "ble", ""),
    ("ogi", "og", "l"),
    ("li", "", "cdeghkmnrt"),
)
_STEP_3 = (
    ("ational", "ate", ""),
    ("tional", "tion", ""),
    ("alize", "al", ""),
    ("icate", "ic", ""),
    ("iciti", "ic", ""),
    ("ical", "ic", ""),
    ("ful", "", ""),
    ("ness", "", ""),
)
_STEP_4 = (
    ("ement", "", ""),
    ("ance", "", ""),
    ("ence", "", ""),
    ("able", "", ""),
    ("ible", "", ""),
    ("ment", "", ""),
    *((suffix, "", "") for suffix in ("ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize")),
    ("ion", "", "st"),
    *((suffix, "", "") for suffix in ("al", "er", "ic")),
)

_REGION = re.compile("[aeiouy][^aeiouy]")
_VOWEL = re.compile("[aeiouy]")
_Y_AS_CONSONANT = re.compile("(?:^|(?<=[aeiouy]))y")
_SHORT_END = re.compile("(?:[^aeiouy][aeiouy][^aeiouywxY]|^[aeiouy][^aeiouy])$")


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return the stem of a word in lower case."""
    if len(word) < 3:
        return word
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    word = _Y_AS_CONSONANT.sub("Y", word.removeprefix("'"))
    r1, r2 = _regions(word)
    word = _remove_plural(_remove_genitive(word))
    if word in _DONE_WITHOUT_PLURAL:
        return word
    word = _remove_past_ending(word, r1)
    if word[-1:] in ("y", "Y") and len(word) > 2 and word[-2] not in "aeiouy":
        word = word[:-1] + "i"
    word = _replace_suffix(word, _STEP_2, r1)
    if word.endswith("ative"):
        word = word[:-5] if len(word) - 5 >= r2 else word
    else:
        word = _replace_suffix(word, _STEP_3, r1)
    return _remove_last_e_or_l(_replace_suffix(word, _STEP_4, r2), r1, r2).replace("Y", "y")


def _regions(word: str) -> tuple[int, int]:
    """Return the positions at which R1 and R2 begin."""
    prefix = next((start for start in ("gener", "commun", "arsen") if word.startswith(start)), "")
    r1 = len(prefix) or _region_start(word, 0)
    return r1, _region_start(word, r1)


def _region_start(word: str, start: int) -> int:
    match = _REGION.search(word, start)
    return match.end() if match else len(word)


def _remove_genitive(word: str) -> str:
    for ending in ("'s'", "'s", "'"):
        if word.endswith(ending):
            return word.removesuffix(ending)
    return word


def _remove_plural(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith("s") and not word.endswith(("us", "ss")) and _VOWEL.search(word, 0, len(word) - 2):
        return word[:-1]
    return word


def _remove_past_ending(word: str, r1: int) -> str:
    for suffix in ("eedly", "eed"):
        if word.endswith(suffix):
            return word[: -len(suffix)] + "ee" if len(word) - len(suffix) >= r1 else word
    for suffix in ("ingly", "edly", "ing", "ed"):
        if word.endswith(suffix):
            base = word[: -len(suffix)]
            return _repair(base, r1) if _VOWEL.search(base) else word
    return word


def _repair(word: str, r1: int) -> str:
    """Return the stem of a verb without its ending, with the e that it lost or without the doubled letter."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if word.endswith(_DOUBLES):
        return word[:-1]
    return word + "e" if r1 >= len(word) and _SHORT_END.search(word) else word


def _replace_suffix(word: str, step: tuple[tuple[str, str, str], ...], region: int) -> str:
    for suffix, other, before in step:
        if word.endswith(suffix):
            base = word[: -len(suffix)]
            fits = len(base) >= region and (not before or base[-1:] in tuple(before))
            return base + other if fits else word
    return word


def _remove_last_e_or_l(word: str, r1: int, r2: int) -> str:
    end = len(word) - 1
    if word.endswith("e") and (end >= r2 or (end >= r1 and not _SHORT_END.search(word[:-1]))):
        return word[:-1]
    return word[:-1] if word.endswith("ll") and end >= r2 else word
