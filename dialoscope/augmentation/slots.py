"""The words of a text that can be replaced, and their replacements."""

from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from dialoscope.augmentation.function_words import BEFORE_TO, KEPT, LIGHT, RUDE
from dialoscope.augmentation.synonyms import Synonym, same_word, synonyms
from dialoscope.models.protocols import Lexicon, Word
from dialoscope.text.inflection import inflect, match_case, takes_an
from dialoscope.text.stemmer import stem

KINDS = ("verbs", "nouns", "modifiers")
"""The kinds of words that are replaced; modifiers are adjectives and adverbs."""

_PARTS: Mapping[str, str] = MappingProxyType({"VB": "v", "NN": "n", "JJ": "a", "RB": "r"})
_KINDS: Mapping[str, str] = MappingProxyType({"v": "verbs", "n": "nouns", "a": "modifiers", "r": "modifiers"})
_NAMES = ("NNP", "NNPS")
_ARTICLES = ("a", "an")
_BEFORE = frozenset("-_@#/&.'’\\~")
_BEHIND = frozenset("-_@#/&\\~")
"""Characters that join a word to a longer one, or to an address."""

_OPTIONS = 5
"""The maximum number of replacements for each word."""
_CLEAR = 0.01
"""The minimum likelihood of a synonym for a word with many meanings."""
_SLOTS = 40
"""The maximum number of replaceable words in a text, which are the first ones."""
_LONGEST = 4
"""The maximum number of words in a multi-word entry of the lexicon."""
_APART = 3
"""The maximum distance of a verb and its particle: turn the music down."""


class Option(NamedTuple):
    """A replacement for a word."""

    base: str
    text: str
    """The replacement, with the inflection and the capitals of the word that it replaces."""
    likelihood: float
    """The likelihood that it means the same, from 0 to 1."""


class Slot(NamedTuple):
    """A word that can be replaced."""

    word: Word
    base: str
    kind: str
    options: tuple[Option, ...]
    light: bool
    """Whether it has so many meanings that likelihoods are unreliable."""
    article: Word | None
    """The *a* or *an* before it."""
    sentence: tuple[int, int]
    """The start and end of its sentence."""

    @property
    def end(self) -> int:
        """The index of its end in the text."""
        return self.word.start + len(self.word.text)


def slots(text: str, words: Sequence[Word], lexicon: Lexicon, version: str) -> list[Slot]:
    """The words of a text with a suitable synonym, in their order."""
    stems = {stem(form) for word in words for form in (word.text.lower(), word.lemma.lower())}
    fixed = _find_expressions(words, lexicon)
    candidates = (
        slot
        for index in range(len(words))
        if index not in fixed and _is_free(text, words, index)
        for slot in _make_slot(words, index, lexicon, version, stems)
    )
    return list(islice(candidates, _SLOTS))


def _make_slot(
    words: Sequence[Word], index: int, lexicon: Lexicon, version: str, stems: Set[str]
) -> Iterator[Slot]:
    """The slot of a word; none if it has no suitable synonym."""
    word, part = words[index], _PARTS[words[index].tag[:2]]
    base = _find_base_form(word, lexicon, part)
    article = words[index - 1] if index and words[index - 1].text.lower() in _ARTICLES else None
    options = list(_find_options(word, synonyms(lexicon, version, base, part), stems, base in LIGHT))
    if options:
        ordered = sorted(options, key=lambda option: article is not None and not _agrees(option, article))
        yield Slot(
            word,
            base,
            _KINDS[part],
            tuple(ordered[:_OPTIONS]),
            base in LIGHT,
            article,
            _find_sentence(words, index),
        )


def _find_options(word: Word, others: Sequence[Synonym], stems: Set[str], light: bool) -> Iterator[Option]:
    """The replacements for a word that are not in the text already, without spelling variants."""
    forms: list[str] = []
    for other, likelihood in others:
        form = inflect(other, word.tag)
        if not form or {stem(other), stem(form)} & stems or {other, form} & (KEPT | RUDE):
            continue
        if any(same_word(form, earlier) for earlier in forms) or (light and likelihood < _CLEAR):
            continue
        forms.append(form)
        yield Option(other, match_case(form, word.text), likelihood)


def _agrees(option: Option, article: Word) -> bool:
    """Whether the article before the word stays the same."""
    return takes_an(option.text) == (article.text.lower() == "an")


def _find_base_form(word: Word, lexicon: Lexicon, part: str) -> str:
    """The base form in the lexicon: the tagger's lemma if the lexicon has it."""
    lemma = word.lemma.lower()
    return lemma if lexicon.listed(lemma, part) else next(iter(lexicon.base_forms(word.text, part)), lemma)


def _is_free(text: str, words: Sequence[Word], index: int) -> bool:
    """Whether the word is a content word, not joined to others, and no name."""
    word = words[index]
    if word.tag[:2] not in _PARTS or word.tag in _NAMES or word.entity:
        return False
    if not (word.text.isascii() and word.text.isalpha()) or {word.text.lower(), word.lemma.lower()} & KEPT:
        return False
    if _is_joined(text, word.start, word.start + len(word.text)):
        return False
    precedes_to = index + 1 < len(words) and words[index + 1].tag == "TO"
    return not (precedes_to and word.lemma.lower() in BEFORE_TO)


def _is_joined(text: str, start: int, end: int) -> bool:
    behind = text[end : end + 2]
    return (
        text[start - 1 : start] in _BEFORE
        or behind[:1] in _BEHIND
        or (behind[:1] in {".", "'", "’"} and behind[1:].isalnum())
        or text[start - 1 : start].isalnum()
    )


def _find_sentence(words: Sequence[Word], index: int) -> tuple[int, int]:
    """The start and end of the sentence of a word."""
    first = next((stop + 1 for stop in range(index - 1, -1, -1) if words[stop].tag == "."), 0)
    last = next((stop for stop in range(index, len(words)) if words[stop].tag == "."), len(words) - 1)
    return words[first].start, words[last].start + len(words[last].text)


def _find_expressions(words: Sequence[Word], lexicon: Lexicon) -> set[int]:
    """The indices of words in multi-word entries: *ice cream*, *hold on*, *turn it down*."""
    fixed: set[int] = set()
    for start in range(len(words)):
        for end in range(start + 2, min(start + _LONGEST, len(words)) + 1):
            if _is_listed(words[start:end], lexicon):
                fixed.update(range(start, end))
        if words[start].tag.startswith("VB"):
            for index in range(start + 2, min(start + 2 + _APART, len(words))):
                if words[index].tag == "RP" and _is_listed((words[start], words[index]), lexicon):
                    fixed.update((start, index))
    return fixed


def _is_listed(words: Sequence[Word], lexicon: Lexicon) -> bool:
    """Whether the words are an entry of the lexicon, perhaps with the first or the last in its base form."""
    texts = [word.text.lower() for word in words]
    if not all(map(str.isalpha, texts)):
        return False
    forms = (texts, [words[0].lemma.lower(), *texts[1:]], [*texts[:-1], words[-1].lemma.lower()])
    return any(lexicon.listed("_".join(form)) for form in forms)
