"""Variants by substitution: words make room for synonyms in the same form."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from statistics import fmean
from typing import ClassVar, NamedTuple

from dialoscope.augmentation.draft import Change, Drafts
from dialoscope.augmentation.queries import Query
from dialoscope.augmentation.similarity import nearness
from dialoscope.augmentation.slots import KINDS, Option, Slot, slots
from dialoscope.core.progress import bar
from dialoscope.core.random import seeded_random
from dialoscope.models.protocols import Encoder, Lexicon, Pair, Tagger, Word
from dialoscope.models.tagger import SpacyTagger
from dialoscope.models.wordnet import WordNet
from dialoscope.text.inflection import takes_an

SURE = -1.7
"""Replacements that rate higher can stand together in a variant; others alone, where there is no better."""
WORST = -3.0
"""Those that rate lower are none; docs/augment.md says how both were chosen."""

_SHIFT = 0.5
"""What a rating loses for each word's worth of difference between a sentence with and without it."""
_CHANCE = 0.1
"""How much of a rating is chance: enough to decide between synonyms that are about as good."""
_AT_ONCE = 256
"""Texts tagged before a waiting person is told."""
_MIXED = 64
"""Mixtures that are tried once every plain way is."""


@dataclass(frozen=True)
class Substitution:
    """Verbs, nouns, modifiers (adjectives and adverbs), or all of these are replaced by synonyms."""

    name: ClassVar[str] = "substitution"
    version: ClassVar[int] = 1
    usual_nearest: ClassVar[float] = 0.7

    tagger: Tagger = SpacyTagger()
    lexicon: Lexicon = WordNet()

    def drafts(self, queries: Sequence[Query], encoder: Encoder, count: int, seed: int) -> list[Drafts]:
        """For each query, first all kinds of words at once, then each alone, then with the next synonyms."""
        version = self.lexicon.fingerprint
        texts = list(dict.fromkeys(query.text for query in queries))
        tagged = self._tagged(texts)
        found = {
            text: slots(text, words, self.lexicon, version) for text, words in zip(texts, tagged, strict=True)
        }
        rated = _rated(found, dict(zip(texts, tagged, strict=True)), encoder, seed)
        return [_drafts(query.text, rated[query.text]) for query in queries]

    def _tagged(self, texts: Sequence[str]) -> list[list[Word]]:
        with bar("Tagging", len(texts), unit="queries") as advance:
            found = []
            for start in range(0, len(texts), _AT_ONCE):
                found += self.tagger.tag(texts[start : start + _AT_ONCE])
                advance(min(_AT_ONCE, len(texts) - start))
        return found


class Swap(NamedTuple):
    """A word, what takes its place, and how well."""

    slot: Slot
    text: str
    rating: float
    """The logarithm (base 10) of how likely it means the same, less the shift of the sentence's meaning."""


class Substituted(NamedTuple):
    """A query with some words replaced."""

    query: str
    swaps: tuple[Swap, ...]

    @property
    def text(self) -> str:
        """The query with its new words, and articles that go with them."""
        parts, place = [], 0
        for start, change in sorted(self._places().items()):
            parts += [self.query[place:start], change.new]
            place = start + len(change.old)
        return "".join(parts) + self.query[place:]

    @property
    def variant(self) -> str:
        """The kind of words replaced, or all."""
        kinds = {swap.slot.kind for swap in self.swaps}
        return "all" if len(kinds) > 1 else kinds.pop()

    @property
    def changes(self) -> tuple[Change, ...]:
        """Which words became which, articles too."""
        return tuple(change for _, change in sorted(self._places().items()))

    def nearer(self) -> "Substituted | None":
        """Without the worst replacement."""
        if len(self.swaps) == 1:
            return None
        worst = min(self.swaps, key=lambda swap: swap.rating)
        return self._replace(swaps=tuple(swap for swap in self.swaps if swap is not worst))

    def _places(self) -> Mapping[int, Change]:
        found = {}
        for slot, new, _ in self.swaps:
            found[slot.word.start] = Change(slot.word.text, new)
            if slot.article is not None and takes_an(new) != takes_an(slot.word.text):
                found[slot.article.start] = Change(slot.article.text, _other_article(slot.article, new))
        return found


def _other_article(article: Word, word: str) -> str:
    """The article that goes with a word; one capital letter says nothing of a second."""
    form = "an" if takes_an(word) else "a"
    return form.capitalize() if article.text[0].isupper() else form


def _rated(
    found: Mapping[str, Sequence[Slot]], tagged: Mapping[str, Sequence[Word]], encoder: Encoder, seed: int
) -> dict[str, list[Swap]]:
    """All swaps that can be made in each text, the best first; all sentences are encoded together."""
    each = [
        _Place(text, slot, option)
        for text, those in found.items()
        for slot in those
        for option in slot.options
    ]
    near = nearness(encoder, [_in_sentence(*place) for place in each])
    ratings: dict[tuple[str, ...], list[float]] = {}
    for place, similarity in zip(each, near, strict=True):
        shift = (1 - similarity) * _length(tagged[place.text], place.slot)
        ratings.setdefault(place.word, []).append(math.log10(place.option.likelihood) - _SHIFT * shift)
    swaps: dict[str, list[Swap]] = {text: [] for text in found}
    for place in each:
        rating = fmean(ratings[place.word]) + _luck(seed, *place.word)
        if rating >= WORST:  # which an undefined one is not
            rating = min(rating, SURE) if place.slot.light else rating
            swaps[place.text].append(Swap(place.slot, place.option.text, rating))
    return {text: sorted(those, key=lambda swap: -swap.rating) for text, those in swaps.items()}


class _Place(NamedTuple):
    """What could stand where."""

    text: str
    slot: Slot
    option: Option

    @property
    def word(self) -> tuple[str, ...]:
        """What is rated: a word that occurs several times is replaced by the same word each time."""
        return self.text, self.slot.base, self.slot.kind, self.option.base


def _luck(seed: int, *what: str) -> float:
    """Such (Gumbel's) that the likelier of two words wins in proportion, if it were all of the rating."""
    return -_CHANCE * math.log10(-math.log(seeded_random(seed, "\0".join(what)).random() or 0.5))


def _in_sentence(text: str, slot: Slot, option: Option) -> Pair:
    """The sentence around a word as it is, and with another word."""
    start, end = slot.sentence
    return Pair(text[start:end], text[start : slot.word.start] + option.text + text[slot.end : end])


def _length(words: Sequence[Word], slot: Slot) -> int:
    start, end = slot.sentence
    return sum(start <= word.start < end and word.text.isalnum() for word in words)


def _drafts(text: str, swaps: Sequence[Swap]) -> Drafts:
    lacking = tuple(kind for kind in KINDS if not any(swap.slot.kind == kind for swap in swaps))
    return Drafts((Substituted(text, made) for made in _combined(swaps)), lacking)


def _combined(swaps: Sequence[Swap]) -> Iterator[tuple[Swap, ...]]:
    """What to replace together: whole kinds of words first, single words and doubtful ones last."""
    sure = [swap for swap in swaps if swap.rating > SURE]
    doubtful = [swap for swap in swaps if swap.rating <= SURE]
    of_kind = {kind: [swap for swap in sure if swap.slot.kind == kind] for kind in KINDS}
    yield from filter(None, [_ranked(sure, 0)])
    for kind in KINDS:
        alone = [swap for swap in doubtful if swap.slot.kind == kind][:1]
        yield from filter(None, [_ranked(of_kind[kind], 0) or tuple(alone)])
    for rank in range(1, max(map(len, _by_slot(sure)), default=0)):
        yield from filter(None, (_ranked(some, rank) for some in (sure, *of_kind.values())))
    yield from ((swap,) for swap in sure)
    yield from islice(_mixtures(sure), _MIXED)
    yield from ((swap,) for swap in doubtful)


def _by_slot(swaps: Sequence[Swap]) -> list[list[Swap]]:
    """The swaps of each word, the best first."""
    found: dict[int, list[Swap]] = {}
    for swap in swaps:
        found.setdefault(swap.slot.word.start, []).append(swap)
    return list(found.values())


def _ranked(swaps: Sequence[Swap], rank: int) -> tuple[Swap, ...]:
    """Each word's swap of this rank, where it has so many."""
    return tuple(those[rank] for those in _by_slot(swaps) if rank < len(those))


def _mixtures(swaps: Sequence[Swap]) -> Iterator[tuple[Swap, ...]]:
    """Every word as it is or replaced, in every way."""
    for mixture in product(*([*those, None] for those in _by_slot(swaps))):
        chosen = tuple(filter(None, mixture))
        if chosen:
            yield chosen
