"""The words of English text as METEOR 1.5 tokenizes them with its option -norm, in lower case."""

import re
from collections.abc import Sequence

# Punctuation marks are words, runs of full stops are one word, hyphens between words are removed,
# contractions are split before the apostrophe ("don 't"), and an abbreviation keeps its full stop. The rules
# are successive substitutions, and where marks are adjacent, the order in which these consume characters
# matters.
_LETTERS = (
    "A-Za-z\u0160\u017d\u0161\u017e\u0178\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u017e\u0400-\u0527"
    "\ua640-\ua66e\ua67e-\ua697\u1d00-\u1d7f"
)
_RULES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (rf"([^0-9{_LETTERS} \t\n\x0b\f\r.'`,\-‘’])", r" \1 "),
        (r"(\.{2,})", r" \1 "),
        (r"([^0-9]),([^0-9])", r"\1 , \2"),
        (r"([0-9]),([^0-9])", r"\1 , \2"),
        (r"([^0-9]),([0-9])", r"\1 , \2"),
        ("[`‘’]", "'"),
        ("[“”]|''", ' " '),
        ("–", "-"),
        ("--", "-"),
        (rf"([0-9{_LETTERS}.])-([0-9{_LETTERS}])", r"\1 \2"),
        (rf"([^{_LETTERS}])'([^{_LETTERS}])", r"\1 ' \2"),
        (rf"([^0-9{_LETTERS}])'([{_LETTERS}])", r"\1 ' \2"),
        (rf"([{_LETTERS}])'([^{_LETTERS}])", r"\1 ' \2"),
        (rf"([{_LETTERS}])'([{_LETTERS}])", r"\1 '\2"),
        (r"([0-9])'s", r"\1 's"),
    )
)
_WIDE_GAPS = re.compile("[ \u2000-\u200a\u202f\u205f\u3000\u00a0]+")
_HAS_LETTER = re.compile(f"[{_LETTERS}]")

# A full stop after these does not end a sentence; after the second kind it does not before a number.
_TITLES = (
    "A B C D E F G H I J K L M N O P Q R S T U V W X Y Z Adj Adm Adv Asst Bart Bldg Brig Bros Capt Cmdr Col "
    "Comdr Con Corp Cpl DR Dr Drs Ens Gen Gov Hon Hr Hosp Insp Lt MM MR MRS MS Maj Messrs Mlle Mme Mr Mrs "
    "Ms Msgr Op Ord Pfc Ph Prof Pvt Rep Reps Res Rev Rt Sen Sens Sfc Sgt Sr St Supt Surg v vs rev Nos Nr"
)
_ABBREVIATIONS = frozenset(_TITLES.split())
_BEFORE_NUMBERS = frozenset(("No", "Art", "pp"))

# The words that make up more than a thousandth of a large corpus of news (Denkowski & Lavie, 2011): the list
# that METEOR 1.5 uses, without which its scores cannot be reproduced.
_FREQUENT = (
    "the , . to of and a in that for \" is on 's it with was as said at he by be from have has are his "
    "but an this not i will ’ they ) -rrb- ( -lrb- who their had we which were been more or s its would "
    "about new one after you : also up when there than $ all out her people she year two - can if last "
    "first “ over other ” into some what so -- no time years could ? 't — '"
)
FUNCTION_WORDS = frozenset(_FREQUENT.split())


def meteor_words(texts: Sequence[str]) -> list[list[str]]:
    """Return the words of each text."""
    if not texts:
        return []
    # One text a line; the spaces prevent rules from matching across its end.
    text = " \n ".join([text.replace("\n", " ") for text in texts])
    for blank in "\t\f\r":
        text = text.replace(blank, " ")
    text = f" {text} "
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    lines = [" ".join(_separate_full_stops(_split(line))) for line in text.split("\n")]
    text = _WIDE_GAPS.sub(" ", "\n".join(lines))
    return [_split(line) for line in text.lower().split("\n")]


def _split(line: str) -> list[str]:
    return [word for word in line.split(" ") if word]


def _separate_full_stops(words: list[str]) -> list[str]:
    return [
        _separate_full_stop(word, following) if word.endswith(".") else word
        for word, following in zip(words, [*words[1:], ""], strict=False)
    ]


def _separate_full_stop(word: str, following: str) -> str:
    """Return a word that ends in a full stop with the stop separated, attached or removed."""
    before = word[:-1]
    if not before.strip("."):
        return word
    if "." in before and _HAS_LETTER.search(before):
        return word.replace(".", "")
    continues = "a" <= following[:1] <= "z"
    is_before_number = before in _BEFORE_NUMBERS and "0" <= following[:1] <= "9"
    return word if before in _ABBREVIATIONS or continues or is_before_number else f"{before} ."
