"""Which words of a text can be replaced, and by what."""

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
"""What kinds of words are replaced; modifiers are adjectives and adverbs."""

_PARTS: Mapping[str, str] = MappingProxyType({"VB": "v", "NN": "n", "JJ": "a", "RB": "r"})
_KINDS: Mapping[str, str] = MappingProxyType({"v": "verbs", "n": "nouns", "a": "modifiers", "r": "modifiers"})
_NAMES = ("NNP", "NNPS")
_ARTICLES = ("a", "an")
_BEFORE = frozenset("-_@#/&.'’\\~")
_BEHIND = frozenset("-_@#/&\\~")
"""Signs that, without a space between, make a word part of a longer one, or of an address."""

_OPTIONS = 5
"""Replacements looked at for each word."""
_CLEAR = 0.01
"""How likely a synonym must at least mean the same as a word with many meanings."""
_SLOTS = 40
"""Words looked at in one text: the first ones. A text of a thousand needs no more to be another text."""
_LONGEST = 4
"""Words in an expression that the lexicon lists as one."""
_APART = 3
"""Words between a verb and its particle: turn the music down."""


class Option(NamedTuple):
    """Something that can stand in the place of a word."""

    base: str
    text: str
    """In the form, and with the capitals, of the word in whose place it stands."""
    likelihood: float
    """That it means the same, from 0 to 1."""


class Slot(NamedTuple):
    """A word that can be replaced."""

    word: Word
    base: str
    kind: str
    options: tuple[Option, ...]
    light: bool
    """Whether it has so many meanings that likelihoods say little."""
    article: Word | None
    """The *a* or *an* before it."""
    sentence: tuple[int, int]
    """Where the sentence around it begins and ends."""

    @property
    def end(self) -> int:
        """Where it ends in the text."""
        return self.word.start + len(self.word.text)


def slots(text: str, words: Sequence[Word], lexicon: Lexicon, version: str) -> list[Slot]:
    """The words of a text that have a synonym which can stand in their place, in their order."""
    said = {stem(form) for word in words for form in (word.text.lower(), word.lemma.lower())}
    fixed = _expressions(words, lexicon)
    found = (
        slot
        for place in range(len(words))
        if place not in fixed and _is_free(text, words, place)
        for slot in _slot(words, place, lexicon, version, said)
    )
    return list(islice(found, _SLOTS))


def _slot(
    words: Sequence[Word], place: int, lexicon: Lexicon, version: str, said: Set[str]
) -> Iterator[Slot]:
    """One, or none where nothing can stand in the word's place."""
    word, part = words[place], _PARTS[words[place].tag[:2]]
    base = _base_form(word, lexicon, part)
    article = words[place - 1] if place and words[place - 1].text.lower() in _ARTICLES else None
    options = list(_options(word, synonyms(lexicon, version, base, part), said, base in LIGHT))
    if options:
        ordered = sorted(options, key=lambda one: article is not None and not _agrees(one, article))
        yield Slot(
            word,
            base,
            _KINDS[part],
            tuple(ordered[:_OPTIONS]),
            base in LIGHT,
            article,
            _sentence(words, place),
        )


def _options(word: Word, others: Sequence[Synonym], said: Set[str], light: bool) -> Iterator[Option]:
    """What can stand in a word's place: nothing the text says anyway, and nothing twice in two spellings."""
    forms: list[str] = []
    for other, likelihood in others:
        form = inflect(other, word.tag)
        if not form or {stem(other), stem(form)} & said or {other, form} & (KEPT | RUDE):
            continue
        if any(same_word(form, earlier) for earlier in forms) or (light and likelihood < _CLEAR):
            continue
        forms.append(form)
        yield Option(other, match_case(form, word.text), likelihood)


def _agrees(option: Option, article: Word) -> bool:
    """Whether the article can stay: what changes a function word too is a last resort."""
    return takes_an(option.text) == (article.text.lower() == "an")


def _base_form(word: Word, lexicon: Lexicon, part: str) -> str:
    """The form the lexicon lists the word under: the tagger's, which knows the sentence, if it can be."""
    lemma = word.lemma.lower()
    return lemma if lexicon.listed(lemma, part) else next(iter(lexicon.base_forms(word.text, part)), lemma)


def _is_free(text: str, words: Sequence[Word], place: int) -> bool:
    """Whether the word carries meaning of its own, stands alone, and is no name."""
    word = words[place]
    if word.tag[:2] not in _PARTS or word.tag in _NAMES or word.entity:
        return False
    if not (word.text.isascii() and word.text.isalpha()) or {word.text.lower(), word.lemma.lower()} & KEPT:
        return False
    if _is_glued(text, word.start, word.start + len(word.text)):
        return False
    follows_to = place + 1 < len(words) and words[place + 1].tag == "TO"
    return not (follows_to and word.lemma.lower() in BEFORE_TO)


def _is_glued(text: str, start: int, end: int) -> bool:
    behind = text[end : end + 2]
    return (
        text[start - 1 : start] in _BEFORE
        or behind[:1] in _BEHIND
        or (behind[:1] in {".", "'", "’"} and behind[1:].isalnum())
        or text[start - 1 : start].isalnum()
    )


def _sentence(words: Sequence[Word], place: int) -> tuple[int, int]:
    """From behind the stop before a word to the stop after it."""
    first = next((one + 1 for one in range(place - 1, -1, -1) if words[one].tag == "."), 0)
    last = next((one for one in range(place, len(words)) if words[one].tag == "."), len(words) - 1)
    return words[first].start, words[last].start + len(words[last].text)


def _expressions(words: Sequence[Word], lexicon: Lexicon) -> set[int]:
    """The places of words that mean something only together: *ice cream*, *hold on*, *turn it down*."""
    found: set[int] = set()
    for start in range(len(words)):
        for end in range(start + 2, min(start + _LONGEST, len(words)) + 1):
            if _is_listed(words[start:end], lexicon):
                found.update(range(start, end))
        if words[start].tag.startswith("VB"):
            for place in range(start + 2, min(start + 2 + _APART, len(words))):
                if words[place].tag == "RP" and _is_listed((words[start], words[place]), lexicon):
                    found.update((start, place))
    return found


def _is_listed(words: Sequence[Word], lexicon: Lexicon) -> bool:
    """Whether the lexicon has them as one entry, the first or the last in its base form perhaps."""
    texts = [word.text.lower() for word in words]
    if not all(map(str.isalpha, texts)):
        return False
    forms = (texts, [words[0].lemma.lower(), *texts[1:]], [*texts[:-1], words[-1].lemma.lower()])
    return any(lexicon.listed("_".join(form)) for form in forms)
