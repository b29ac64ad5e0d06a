"""Variants by substitution: words are replaced by synonyms in the same form."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from statistics import fmean
from typing import ClassVar, NamedTuple

from dialoscope.augmentation.draft import Drafts, WordChange
from dialoscope.augmentation.queries import Query
from dialoscope.augmentation.similarity import cosine_similarities
from dialoscope.augmentation.slots import KINDS, Option, Slot, slots
from dialoscope.core.progress import progress_bar
from dialoscope.core.random import seeded_random
from dialoscope.models.protocols import Encoder, Lexicon, Pair, Tagger, Word
from dialoscope.models.tagger import SpacyTagger
from dialoscope.models.wordnet import WordNet
from dialoscope.text.inflection import takes_an

SURE = -1.7
"""Replacements with a higher rating can be combined; others are tried alone, if there is none better."""
WORST = -3.0
"""Replacements with a lower rating are not used; docs/augment.md says how both were chosen."""

_SHIFT = 0.5
"""The weight of the dissimilarity of the sentence, by word, in a rating."""
_NOISE = 0.1
"""The scale of the random part of a rating, which decides between synonyms that are about as good."""
_AT_ONCE = 256
"""The number of texts between two updates of the progress bar."""
_MIXED = 64
"""The maximum number of mixtures of replaced and unreplaced words."""


@dataclass(frozen=True)
class Substitution:
    """Verbs, nouns, modifiers (adjectives and adverbs), or all of these are replaced by synonyms."""

    name: ClassVar[str] = "substitution"
    version: ClassVar[int] = 1
    default_min_similarity: ClassVar[float] = 0.7

    tagger: Tagger = SpacyTagger()
    lexicon: Lexicon = WordNet()

    def drafts(self, queries: Sequence[Query], encoder: Encoder, count: int, seed: int) -> list[Drafts]:
        """For each query, first all kinds of words at once, then each alone, then with the next synonyms."""
        version = self.lexicon.fingerprint
        texts = list(dict.fromkeys(query.text for query in queries))
        words = dict(zip(texts, self._tag(texts), strict=True))
        slots_of = {text: slots(text, words[text], self.lexicon, version) for text in texts}
        swaps = _rate_swaps(slots_of, words, encoder, seed)
        return [_make_drafts(query.text, swaps[query.text]) for query in queries]

    def _tag(self, texts: Sequence[str]) -> list[list[Word]]:
        with progress_bar("Tagging", len(texts), unit="queries") as advance:
            words = []
            for start in range(0, len(texts), _AT_ONCE):
                words += self.tagger.tag(texts[start : start + _AT_ONCE])
                advance(min(_AT_ONCE, len(texts) - start))
        return words


class Swap(NamedTuple):
    """A word, its replacement, and a rating."""

    slot: Slot
    text: str
    rating: float
    """The logarithm (base 10) of the likelihood that it means the same, less the shift of the sentence."""


class SubstitutedDraft(NamedTuple):
    """A query with some words replaced."""

    query: str
    swaps: tuple[Swap, ...]

    @property
    def text(self) -> str:
        """The query with its new words, and the articles that agree with them."""
        parts, end = [], 0
        for start, change in sorted(self._changes_by_start().items()):
            parts += [self.query[end:start], change.new]
            end = start + len(change.old)
        return "".join(parts) + self.query[end:]

    @property
    def variant(self) -> str:
        """The kind of words replaced, or all."""
        kinds = {swap.slot.kind for swap in self.swaps}
        return "all" if len(kinds) > 1 else kinds.pop()

    @property
    def changes(self) -> tuple[WordChange, ...]:
        """The words that were replaced, articles included."""
        return tuple(change for _, change in sorted(self._changes_by_start().items()))

    def reduce(self) -> "SubstitutedDraft | None":
        """The draft without the worst replacement."""
        if len(self.swaps) == 1:
            return None
        worst = min(self.swaps, key=lambda swap: swap.rating)
        return self._replace(swaps=tuple(swap for swap in self.swaps if swap is not worst))

    def _changes_by_start(self) -> Mapping[int, WordChange]:
        changes = {}
        for slot, new, _ in self.swaps:
            changes[slot.word.start] = WordChange(slot.word.text, new)
            if slot.article is not None and takes_an(new) != takes_an(slot.word.text):
                changes[slot.article.start] = WordChange(slot.article.text, _swap_article(slot.article, new))
        return changes


def _swap_article(article: Word, word: str) -> str:
    """The article of a word; after `A`, the second letter of `An` is lower case."""
    form = "an" if takes_an(word) else "a"
    return form.capitalize() if article.text[0].isupper() else form


def _rate_swaps(
    slots_of: Mapping[str, Sequence[Slot]], words: Mapping[str, Sequence[Word]], encoder: Encoder, seed: int
) -> dict[str, list[Swap]]:
    """All swaps of each text, the best first; all sentences are encoded together."""
    candidates = [
        _Candidate(text, slot, option)
        for text, own in slots_of.items()
        for slot in own
        for option in slot.options
    ]
    similarities = cosine_similarities(encoder, [_make_sentences(*candidate) for candidate in candidates])
    ratings: dict[tuple[str, ...], list[float]] = {}
    for candidate, similarity in zip(candidates, similarities, strict=True):
        shift = (1 - similarity) * _count_words(words[candidate.text], candidate.slot)
        rating = math.log10(candidate.option.likelihood) - _SHIFT * shift
        ratings.setdefault(candidate.word, []).append(rating)
    swaps: dict[str, list[Swap]] = {text: [] for text in slots_of}
    for candidate in candidates:
        rating = fmean(ratings[candidate.word]) + _sample_noise(seed, *candidate.word)
        if rating >= WORST:  # false for NaN
            rating = min(rating, SURE) if candidate.slot.light else rating
            swaps[candidate.text].append(Swap(candidate.slot, candidate.option.text, rating))
    return {text: sorted(own, key=lambda swap: -swap.rating) for text, own in swaps.items()}


class _Candidate(NamedTuple):
    """A word of a text, and a possible replacement."""

    text: str
    slot: Slot
    option: Option

    @property
    def word(self) -> tuple[str, ...]:
        """What is rated: a word that occurs several times is replaced by the same word each time."""
        return self.text, self.slot.base, self.slot.kind, self.option.base


def _sample_noise(seed: int, *word: str) -> float:
    """Gumbel noise, with which the probability of a synonym would be proportional to its likelihood."""
    return -_NOISE * math.log10(-math.log(seeded_random(seed, "\0".join(word)).random() or 0.5))


def _make_sentences(text: str, slot: Slot, option: Option) -> Pair:
    """The sentence around a word as it is, and with the replacement."""
    start, end = slot.sentence
    return Pair(text[start:end], text[start : slot.word.start] + option.text + text[slot.end : end])


def _count_words(words: Sequence[Word], slot: Slot) -> int:
    """The number of words in the sentence of a slot."""
    start, end = slot.sentence
    return sum(start <= word.start < end and word.text.isalnum() for word in words)


def _make_drafts(text: str, swaps: Sequence[Swap]) -> Drafts:
    missing = tuple(kind for kind in KINDS if not any(swap.slot.kind == kind for swap in swaps))
    return Drafts((SubstitutedDraft(text, combination) for combination in _combine(swaps)), missing)


def _combine(swaps: Sequence[Swap]) -> Iterator[tuple[Swap, ...]]:
    """The combinations of swaps: whole kinds of words first, single words and doubtful ones last."""
    sure = [swap for swap in swaps if swap.rating > SURE]
    doubtful = [swap for swap in swaps if swap.rating <= SURE]
    of_kind = {kind: [swap for swap in sure if swap.slot.kind == kind] for kind in KINDS}
    yield from filter(None, [_select_rank(sure, 0)])
    for kind in KINDS:
        alone = [swap for swap in doubtful if swap.slot.kind == kind][:1]
        yield from filter(None, [_select_rank(of_kind[kind], 0) or tuple(alone)])
    for rank in range(1, max(map(len, _group_by_slot(sure)), default=0)):
        yield from filter(None, (_select_rank(group, rank) for group in (sure, *of_kind.values())))
    yield from ((swap,) for swap in sure)
    yield from islice(_combine_subsets(sure), _MIXED)
    yield from ((swap,) for swap in doubtful)


def _group_by_slot(swaps: Sequence[Swap]) -> list[list[Swap]]:
    """The swaps of each word, the best first."""
    groups: dict[int, list[Swap]] = {}
    for swap in swaps:
        groups.setdefault(swap.slot.word.start, []).append(swap)
    return list(groups.values())


def _select_rank(swaps: Sequence[Swap], rank: int) -> tuple[Swap, ...]:
    """The swap of this rank of each word that has so many."""
    return tuple(group[rank] for group in _group_by_slot(swaps) if rank < len(group))


def _combine_subsets(swaps: Sequence[Swap]) -> Iterator[tuple[Swap, ...]]:
    """All combinations of replaced and unreplaced words."""
    for mixture in product(*([*group, None] for group in _group_by_slot(swaps))):
        chosen = tuple(filter(None, mixture))
        if chosen:
            yield chosen
