"""METEOR 1.5 (Denkowski & Lavie, 2014, https://aclanthology.org/W14-3348) and NLTK's.

NLTK has an early METEOR only, which the tests compare with; METEOR 1.5 itself is a program in Java.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np

from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.errors import MetricError
from dialoscope.core.tally import Sums
from dialoscope.metrics.shared.base import Bounds, SumMetric, ratio
from dialoscope.models.paraphrases import Paraphrases
from dialoscope.models.protocols import Backend, Lexicon
from dialoscope.models.wordnet import WordNet
from dialoscope.text.alignment import (
    EXACT,
    FEW_WORDS,
    MOST_STEPS,
    PARAPHRASE,
    STEM,
    SYNONYM,
    Match,
    align_greedily,
    align_with_beam,
    count_chunks,
)
from dialoscope.text.batch import Batch
from dialoscope.text.meteor_words import FUNCTION_WORDS, meteor_words
from dialoscope.text.porter import porter_stem
from dialoscope.text.stemmer import stem
from dialoscope.text.tokenizer import Tokenizer

_OWN_TOKENIZER = "meteor"

# The columns of a pair: the numbers of words and of function words of each text, then for each kind of match
# the numbers of content words and of function words that it covers, then chunks and the pair's own score.
# In each pair of columns the first is of the reply, the second of the reference.
_LENGTHS, _FUNCTION_WORDS = slice(0, 2), slice(2, 4)
_MATCH_COLUMNS = 16
_MATCHES = slice(4, 4 + _MATCH_COLUMNS)
_CHUNKS, _SCORE = 20, 21


@dataclass(frozen=True)
class Meteor(SumMetric):
    """The alignment of a reply with a reference by exact words, stems, synonyms and paraphrases."""

    name = "meteor"
    version = 1
    paper = "https://aclanthology.org/W14-3348"
    needs = frozenset({"references"})
    higher_is_better = True
    paths = frozenset({"paraphrases"})
    variants = MappingProxyType(
        {
            "1.5": MappingProxyType({}),
            "nltk": MappingProxyType(
                {
                    "definition": "nltk",
                    "tokenizer": "treebank",
                    "alpha": 0.9,
                    "beta": 3.0,
                    "gamma": 0.5,
                    "delta": 0.5,
                    "stem_weight": 1.0,
                    "synonym_weight": 1.0,
                }
            ),
        }
    )

    definition: Literal["1.5", "nltk"] = "1.5"
    """The implementation whose stems, synonyms, alignment and aggregation are used."""
    tokenizer: str = _OWN_TOKENIZER
    """The tokenizer; words are compared in lower case; meteor: that of METEOR 1.5."""
    alpha: float = 0.85
    """The weight of recall; that of precision is the rest."""
    beta: float = 0.2
    """The exponent of the penalty for chunks."""
    gamma: float = 0.6
    """The highest penalty for chunks."""
    delta: float = 0.75
    """The weight of a content word; that of a function word is the rest."""
    stem_weight: float = 0.6
    synonym_weight: float = 0.8
    paraphrase_weight: float = 0.6
    beam: int = 40
    """The number of alignments that the beam search of 1.5 retains."""
    lexicon: Lexicon = WordNet()
    """The source of synonyms: the name of an asset, or a folder with WordNet's files."""
    paraphrases: str = ""
    """A table of paraphrases in METEOR's form; without one, there are none."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tokenizer != _OWN_TOKENIZER:
            Tokenizer(self.tokenizer)
        shares = (self.alpha, self.gamma, self.stem_weight, self.synonym_weight, self.paraphrase_weight)
        if not (all(0 <= share <= 1 for share in shares) and 0 < self.delta < 1 and 0 < self.beta <= 100):
            raise MetricError(
                "meteor: alpha, gamma and the weights must be between 0 and 1, delta above 0 and below 1, "
                "and beta above 0 and at most 100."
            )
        if not 1 <= self.beam <= 10_000:
            raise MetricError("meteor: beam must be between 1 and 10000.")
        if self.paraphrases and self.definition != "1.5":
            raise MetricError("meteor: paraphrases are used by definition 1.5 only.")

    @property
    def bounds(self) -> Bounds:
        """From 0, if nothing matches, to 1, for the same words."""
        return Bounds(0, 1)

    @property
    def backends(self) -> tuple[Backend, ...]:
        """The lexicon, and the table of paraphrases if there is one."""
        table = (Paraphrases(self.paraphrases),) if self.paraphrases else ()
        return self.lexicon, *table

    def measure(self, batch: Batch) -> Sums:
        """The counts of each reply with the reference that gives it the highest score, and that score."""
        pairs, rows = self._pairs(batch)
        scored = np.concatenate([rows, self.of_many(rows)[:, None]], axis=1)
        unaligned = np.asarray(np.isnan(rows).any(axis=1))
        scored[unaligned] = math.nan
        best = np.full((len(batch), _SCORE + 1), math.nan)
        # Written from the worst to the best, of which the last stays; of equals the first reference. NaN
        # comes last: a reply that cannot be aligned with one of its references is undefined.
        order = np.lexsort((-np.arange(len(pairs.owner)), scored[pairs.row, _SCORE]))
        best[pairs.owner[order]] = scored[pairs.row[order]]
        if unaligned.any():
            most = f"at most {MOST_STEPS // self.beam:,} pairs of like words of a reply and a reference"
            fewer = f"(fewer for replies of more than {FEW_WORDS:,} words)"
            replies = pairs.owner[unaligned[pairs.row]]
            batch.report_undefined(f"{self}, which compares {most} {fewer}", replies.tolist())
        return Sums(best)

    def of_one(self, counts: Floats) -> Floats:
        """The score of the reply alone, which is one of its counts."""
        return np.asarray(counts[:, _SCORE])

    def of_many(self, counts: Floats) -> Floats:
        """The weighted harmonic mean of precision and recall, less a penalty; 0 where nothing matches."""
        # Step by step as METEOR 1.5 computes, since the last bit decides which of two references is better.
        precision, recall = (self._weigh_matches(counts) / self._weigh_lengths(counts)).T
        is_defined = (precision > 0) & (recall > 0)
        precision, recall = np.where(is_defined, precision, 1), np.where(is_defined, recall, 1)
        mean = 1 / ((1 - self.alpha) / precision + self.alpha / recall)
        matched = counts[:, _MATCHES].sum(axis=1) / 2
        fragments = counts[:, _CHUNKS] / np.maximum(matched, 1)
        return np.where(is_defined, mean * (1 - self.gamma * fragments**self.beta), 0.0)

    def _weigh_matches(self, counts: Floats) -> Floats:
        """Return the weighted number of matches of the reply, and of the reference."""
        kinds = (1.0, self.stem_weight, self.synonym_weight, self.paraphrase_weight)
        weights = (*((kind, self.delta) for kind in kinds), *((kind, 1 - self.delta) for kind in kinds))
        columns = np.split(counts[:, _MATCHES], len(weights), axis=1)
        terms = (column * kind * share for column, (kind, share) in zip(columns, weights, strict=True))
        return np.asarray(sum(terms))

    def _weigh_lengths(self, counts: Floats) -> Floats:
        """Return the weighted lengths of reply and reference; 1 instead of 0, as they are divisors."""
        words, function_words = counts[:, _LENGTHS], counts[:, _FUNCTION_WORDS]
        lengths = self.delta * (words - function_words) + (1 - self.delta) * function_words
        return np.where(lengths > 0, lengths, 1)

    def finish(self, sums: Floats) -> Floats:
        """The score from the sums of all counts (METEOR 1.5), or the mean, since NLTK scores no systems."""
        return ratio(sums[:, _SCORE], sums[:, -1]) if self.definition == "nltk" else super().finish(sums)

    def _pairs(self, batch: Batch) -> tuple["_Pairs", Floats]:
        """Return the pairs of replies and references, and the counts of each different pair of texts."""
        rows: dict[tuple[str, str], int] = {}
        owner, row = [], []
        for index, example in enumerate(batch):
            for reference in example.references:
                owner.append(index)
                row.append(rows.setdefault((example.response, reference), len(rows)))
        texts = self._texts({text for pair in rows for text in pair})
        align = self._aligner([text.words for text in texts.values()])
        counts = [self._counts(texts[reply], texts[reference], align) for reply, reference in rows]
        table = np.array(counts, float).reshape(-1, _SCORE)
        return _Pairs(np.array(owner, np.int64), np.array(row, np.int64)), table

    def _texts(self, texts: Iterable[str]) -> dict[str, "_Text"]:
        texts = list(texts)
        if self.tokenizer == _OWN_TOKENIZER:
            lines = meteor_words(texts)
        else:
            lines = [[word.lower() for word in line] for line in Tokenizer(self.tokenizer)(texts)]
        return {text: _Text.of(words) for text, words in zip(texts, lines, strict=True)}

    def _aligner(self, texts: Sequence[Sequence[str]]) -> "_Aligner":
        lexicon = self.lexicon
        words = {word for text in texts for word in text}
        if self.definition == "nltk":
            stems = {word: porter_stem(word) for word in words}
            synonyms = _synonyms(set(stems.values()), lexicon)
            return lambda reply, reference: align_greedily(reply, reference, stems, synonyms)
        alike = _Alike.among(words, lexicon)
        phrases = _Phrases.among(texts, Paraphrases(self.paraphrases)) if self.paraphrases else None
        return lambda reply, reference: _align(reply, reference, alike, phrases, self.beam)

    def _counts(self, reply: "_Text", reference: "_Text", align: "_Aligner") -> list[float]:
        matches = align(reply.words, reference.words)
        if matches is None:
            return [math.nan] * _SCORE
        counts = [len(reply.words), len(reference.words), reply.functions, reference.functions]
        covered = [0] * _MATCH_COLUMNS
        for start, length, reference_start, reference_length, kind in matches:
            for function in reply.function[start : start + length]:
                covered[8 * function + 2 * kind] += 1
            for function in reference.function[reference_start : reference_start + reference_length]:
                covered[8 * function + 2 * kind + 1] += 1
        runs = count_chunks(matches)
        if self.definition == "1.5" and runs == 1 and sum(covered) == counts[0] + counts[1]:
            runs = 0  # a reply that says all that its reference says, in its order, has no penalty
        return [*counts, *covered, runs]


class _Text(NamedTuple):
    """A text, and which of its words are function words."""

    words: list[str]
    function: list[bool]
    functions: int
    """The number of function words."""

    @classmethod
    def of(cls, words: list[str]) -> "_Text":
        function = [word in FUNCTION_WORDS for word in words]
        return cls(words, function, sum(function))


class _Pairs(NamedTuple):
    """Replies with one of their references each."""

    owner: Ints
    """The index of the reply."""
    row: Ints
    """The row of the counts of these two texts."""


_Aligner = Callable[[Sequence[str], Sequence[str]], list[Match] | None]
"""A function that aligns a reply with a reference; it returns None if that takes too long."""


class _Alike(NamedTuple):
    """The words that have the same stem as each word, and those with a common meaning; itself among them."""

    stems: Mapping[str, frozenset[str]]
    meanings: Mapping[str, frozenset[str]]

    @classmethod
    def among(cls, words: Iterable[str], lexicon: Lexicon) -> "_Alike":
        words, now = sorted(words), lexicon.fingerprint
        same_stem, same_meaning = defaultdict(set), defaultdict(set)
        for word in words:
            same_stem[stem(word)].add(word)
            for meaning in _meanings(lexicon, now, word):
                same_meaning[meaning].add(word)
        empty: set[str] = set()
        return cls(
            {word: frozenset(same_stem[stem(word)]) for word in words},
            {
                word: frozenset(
                    empty.union(*(same_meaning[meaning] for meaning in _meanings(lexicon, now, word)))
                )
                for word in words
            },
        )


class _Phrases(NamedTuple):
    """The phrases of texts that have paraphrases, with these paraphrases."""

    paraphrases: Mapping[str, Sequence[str]]
    longest: int

    @classmethod
    def among(cls, texts: Iterable[Sequence[str]], table: Paraphrases) -> "_Phrases":
        phrases = sorted({phrase for text in texts for phrase in _places_of_phrases(text, table.longest)})
        entries = zip(phrases, table.paraphrases(phrases), strict=True)
        return cls({phrase: others for phrase, others in entries if others}, table.longest)


def _align(
    reply: Sequence[str], reference: Sequence[str], alike: _Alike, phrases: _Phrases | None, beam: int
) -> list[Match] | None:
    """Align the texts as METEOR 1.5 does; None if that takes too long."""
    if reply == reference:
        return [Match(start, 1, start, 1, EXACT) for start in range(len(reply))]
    groups = _word_matches(reply, reference, alike)
    if phrases:
        groups = chain(groups, ([match] for match in _phrase_matches(reply, reference, phrases)))
    candidates: dict[int, list[Match]] = {}
    pairs = 0
    for matches in groups:
        pairs += len(matches)
        if pairs * beam > MOST_STEPS:
            return None
        candidates.setdefault(matches[0].reference, []).extend(matches)
    return align_with_beam(candidates, len(reference), beam)


def _word_matches(reply: Sequence[str], reference: Sequence[str], alike: _Alike) -> Iterator[list[Match]]:
    """Yield all pairs of words that may match, by position in the reference; equal words only exactly."""
    places: dict[str, list[int]] = defaultdict(list)
    for position, word in enumerate(reply):
        places[word].append(position)
    reply_words = frozenset(places)
    for position, word in enumerate(reference):
        matches = [Match(start, 1, position, 1, EXACT) for start in places.get(word, ())]
        for kind, others in ((STEM, alike.stems[word]), (SYNONYM, alike.meanings[word])):
            if common := (reply_words & others) - {word}:
                starts = sorted(start for other in common for start in places[other])
                matches += [Match(start, 1, position, 1, kind) for start in starts]
        if matches:
            yield matches


def _phrase_matches(reply: Sequence[str], reference: Sequence[str], phrases: _Phrases) -> Iterable[Match]:
    """Yield matches of paraphrases: first by phrases of the reference, then by phrases of the reply."""
    of_reply, of_reference = (_places_of_phrases(text, phrases.longest) for text in (reply, reference))
    for start, other_start, length, other_length in _in_both(of_reference, of_reply, phrases.paraphrases):
        yield Match(other_start, other_length, start, length, PARAPHRASE)
    for start, other_start, length, other_length in _in_both(of_reply, of_reference, phrases.paraphrases):
        yield Match(start, length, other_start, other_length, PARAPHRASE)


class _PhraseMatch(NamedTuple):
    """A phrase of a text, and a paraphrase of it in the other text."""

    start: int
    other_start: int
    length: int
    other_length: int


def _in_both(
    phrases: Mapping[str, Sequence[int]],
    others: Mapping[str, Sequence[int]],
    table: Mapping[str, Sequence[str]],
) -> Iterator[_PhraseMatch]:
    """Yield the paraphrases by position, then length, then in the order of the table."""
    phrases_in_table = phrases.keys() & table.keys()
    by_place = sorted(
        (start, _length(phrase), phrase) for phrase in phrases_in_table for start in phrases[phrase]
    )
    for start, length, phrase in by_place:
        for other in table[phrase]:
            for other_start in others.get(other, ()):
                yield _PhraseMatch(start, other_start, length, _length(other))


def _places_of_phrases(text: Sequence[str], longest: int) -> dict[str, list[int]]:
    places: dict[str, list[int]] = defaultdict(list)
    for length in range(1, longest + 1):
        for start in range(len(text) - length + 1):
            places[" ".join(text[start : start + length])].append(start)
    return places


def _length(phrase: str) -> int:
    return phrase.count(" ") + 1


# METEOR 1.5 does not look a form up as WordNet does: it takes the first of these endings that leads to a
# listed word of any part of speech, and meanings as numbers without their part of speech, some of which
# are shared by two meanings.
_ENDINGS = (
    ("s", ""),
    ("ses", "s"),
    ("xes", "x"),
    ("zes", "z"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("men", "man"),
    ("ies", "y"),
    ("es", "e"),
    ("es", ""),
    ("ed", "e"),
    ("ed", ""),
    ("ing", "e"),
    ("ing", ""),
    ("er", ""),
    ("est", ""),
    ("er", "e"),
    ("est", "e"),
)


@lru_cache(maxsize=1 << 16)
def _meanings(lexicon: Lexicon, version: str, word: str) -> frozenset[str]:
    """Return the meanings of a word as METEOR 1.5 finds them in this version of the lexicon."""
    bases = lexicon.irregular(word) or _regular(lexicon, word)
    return frozenset(synset[1:] for form in (word, *bases) for synset in lexicon.listed(form))


def _regular(lexicon: Lexicon, word: str) -> tuple[str, ...]:
    if len(word) < 3 or word.endswith("ss"):
        return ()
    bases = (word.removesuffix(old) + new for old, new in _ENDINGS if word.endswith(old))
    return tuple(base for base in bases if lexicon.listed(base))[:1]


def _synonyms(words: Iterable[str], lexicon: Lexicon) -> Mapping[str, Sequence[str]]:
    """Return synonyms as NLTK finds them: the words that are members, as written, of a word's synsets."""
    version = lexicon.fingerprint
    listed = {word: lexicon.listed(word) for word in words if "_" not in word}
    together: dict[str, list[str]] = defaultdict(list)
    for word, synsets in listed.items():
        for synset in synsets:
            together[synset].append(word)
    synonyms: dict[str, list[str]] = defaultdict(list)
    for word in words:
        for synset in _synsets(lexicon, version, word):
            others = together.get(synset, ())
            if len(others) > 1 or (others and others[0] != word):
                members = lexicon.members(synset)
                synonyms[word] += [other for other in others if other != word and other in members]
    return synonyms


@lru_cache(maxsize=1 << 16)
def _synsets(lexicon: Lexicon, version: str, word: str) -> tuple[str, ...]:
    return lexicon.synsets(word)
