"""A small, fast, deterministic fake of each kind of model, for tests and for trying out metrics.

The fakes know nothing about language but satisfy the contracts of their protocols: results do not depend on
the batch, and similar texts have similar vectors.
"""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import combinations
from string import ascii_lowercase
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from dialoscope.core.arrays import Floats
from dialoscope.core.records import Example
from dialoscope.models.protocols import Continuation, Generation, Pair, TokenVectors, Vectors, Word


def _hash_to_unit(*texts: str) -> float:
    """Return a hash of texts between 0 and 1, the same on every machine."""
    digest = blake2b("\0".join(texts).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


class _Fake:
    """The attributes that all fakes share."""

    fingerprint: ClassVar[str] = "fake"

    def __str__(self) -> str:
        return "fake"


@dataclass(frozen=True)
class FakeLanguageModel(_Fake):
    """A language model whose tokens are words; words in the prefix are more probable."""

    name: ClassVar[str] = "fake-lm"
    version: ClassVar[int] = 1

    def log_probabilities(self, texts: Sequence[Continuation]) -> list[Floats]:
        """Values between -10 and -2, plus 1 for words of the prefix."""
        return [
            np.array([-2 - 8 * _hash_to_unit(word) + (word in before) for word in text.split()])
            for before, text in ((set(prefix.split()), text) for prefix, text in texts)
        ]

    def generate(self, prompts: Sequence[str], how: Generation) -> list[list[str]]:
        """Words of the prompt, sampled with the seed."""
        return [[self._text(prompt, how, sample) for sample in range(how.samples)] for prompt in prompts]

    def _text(self, prompt: str, how: Generation, sample: int) -> str:
        rng = random.Random(_hash_to_unit(f"{how.seed}/{sample}", prompt))  # noqa: S311 - not for secrets
        words = prompt.split() or ["yes"]
        return how.cut_at_stop(" ".join(rng.choices(words, k=min(how.max_tokens, 8))))


@dataclass(frozen=True)
class FakeEncoder(_Fake):
    """An encoder whose tokens are words with letter counts as vectors; a text has the mean of its words."""

    name: ClassVar[str] = "fake-encoder"
    version: ClassVar[int] = 1

    def encode(self, texts: Sequence[str | Pair]) -> Vectors:
        """An array with one row per text, zeros for a text without words."""
        rows = [
            tokens.vectors.mean(axis=0) if len(tokens.ids) else np.zeros(26)
            for tokens in self.encode_tokens(texts)
        ]
        return np.array(rows, np.float32).reshape(-1, 26)

    def encode_tokens(self, texts: Sequence[str | Pair]) -> list[TokenVectors]:
        """The vectors of the words of each text."""
        return [
            self._tokens((text if isinstance(text, str) else " ".join(text)).lower().split())
            for text in texts
        ]

    def _tokens(self, words: list[str]) -> TokenVectors:
        vectors = np.array([[word.count(letter) for letter in ascii_lowercase] for word in words], np.float32)
        return TokenVectors(
            np.array([int(2**31 * _hash_to_unit(word)) for word in words], int), vectors.reshape(-1, 26)
        )


@dataclass(frozen=True)
class FakeClassifier(_Fake):
    """A classifier: shared words entail and are right, and `not` in only one text contradicts."""

    name: ClassVar[str] = "fake-classifier"
    version: ClassVar[int] = 2
    labels: ClassVar[tuple[str, ...]] = ("entailment", "neutral", "contradiction", "right")

    def classify(self, pairs: Sequence[Pair]) -> Floats:
        """Probabilities, which add up to 1 in each row."""
        return np.array([self._row(*pair) for pair in pairs], float).reshape(-1, len(self.labels))

    def _row(self, first: str, second: str) -> tuple[float, float, float, float]:
        words, other_words = set(first.lower().split()), set(second.lower().split())
        contradiction = 0.5 * (("not" in words) != ("not" in other_words))
        shared = (1 - contradiction) * len(words & other_words) / max(len(words | other_words), 1)
        return shared / 2, 1 - contradiction - shared, contradiction, shared / 2


@dataclass(frozen=True)
class FakeRegressor(_Fake):
    """A regressor: the rating is the share of words in context and references; without any it is strange."""

    name: ClassVar[str] = "fake-regressor"
    version: ClassVar[int] = 1

    def rate(self, replies: Sequence[Example]) -> Floats:
        """Ratings from 0.5 (no shared words) to 5.5 (all), slightly outside the scale, and strangeness."""
        return np.array([self._row(reply) for reply in replies], float).reshape(-1, 2)

    def _row(self, reply: Example) -> tuple[float, float]:
        words = reply.response.lower().split()
        context, references = (" ".join(texts).lower().split() for texts in (reply.context, reply.references))
        if not (words and context and references):
            return math.nan, math.nan
        given_words = {*context, *references}
        share = sum(word in given_words for word in words) / len(words)
        return 0.5 + 5 * share, 0.5 if share else 2.0


@dataclass(frozen=True)
class FakeWordVectors(_Fake):
    """Word vectors of letter counts plus 1; words without letters are unknown."""

    name: ClassVar[str] = "fake-vectors"
    version: ClassVar[int] = 2
    dims: ClassVar[int] = 26

    @property
    def mean(self) -> Vectors:
        """The mean over a vocabulary of the 26 letters."""
        return np.full(26, 1 + 1 / 26, np.float32)

    def vectors(self, words: Sequence[str]) -> Vectors:
        """An array with one row per word, NaN for words without letters."""
        rows = [[word.lower().count(letter) for letter in ascii_lowercase] for word in words]
        vectors = np.array(rows, np.float32).reshape(-1, 26)
        vectors[~vectors.any(axis=1)] = math.nan
        return vectors + 1


@dataclass(frozen=True)
class FakeTagger(_Fake):
    """A tagger of words between spaces: verbs end in -ed, names are capitalised, others are nouns."""

    name: ClassVar[str] = "fake-tagger"
    version: ClassVar[int] = 1

    def tag(self, texts: Sequence[str]) -> list[list[Word]]:
        """The words of each text."""
        return [self._words(text) for text in texts]

    def _words(self, text: str) -> list[Word]:
        words, start = [], 0
        for word in text.split():
            start = text.index(word, start)
            tag = "VBD" if word.endswith("ed") else "NNP" if word[0].isupper() else "NN"
            words.append(Word(word, start, word.lower(), tag, "PERSON" if tag == "NNP" else ""))
            start += len(word)
        return words


@dataclass(frozen=True)
class FakeCorpus(_Fake):
    """A short dialogue."""

    name: ClassVar[str] = "fake-corpus"
    version: ClassVar[int] = 1

    def examples(self) -> Iterator[Example]:
        """Each line answers each line before it."""
        lines = (
            "Good morning, how are you?",
            "Fine, thanks. Shall we have some tea?",
            "I would rather have a cup of coffee.",
            "There is a quiet place by the river.",
            "Let us walk there before it rains.",
            "My umbrella is big enough for both of us.",
            "What a joy to have such a friend!",
        )
        return (
            Example(f"{line}, {reply}", "people", lines[reply], (lines[line],))
            for line, reply in combinations(range(len(lines)), 2)
        )


@dataclass(frozen=True)
class FakeLexicon(_Fake):
    """A lexicon of a few words."""

    name: ClassVar[str] = "fake-lexicon"
    version: ClassVar[int] = 1

    _MEANINGS: ClassVar[dict[str, tuple[str, ...]]] = {
        "n:car": ("car", "auto"),
        "n:film": ("film", "movie"),
        "v:buy": ("buy", "purchase"),
        "a:happy": ("happy", "glad"),
    }

    def synsets(self, word: str, part: str = "") -> tuple[str, ...]:
        """The synsets with the word or one of its base forms."""
        return tuple(
            meaning
            for meaning, words in self._MEANINGS.items()
            if meaning.startswith(part) and set(words) & set(self.base_forms(word, meaning[0]))
        )

    def listed(self, word: str, part: str = "") -> tuple[str, ...]:
        """The synsets with the word."""
        return tuple(
            meaning for meaning, words in self._MEANINGS.items() if meaning.startswith(part) and word in words
        )

    def members(self, synset: str) -> tuple[str, ...]:
        """The words of a synset."""
        return self._MEANINGS[synset]

    def count(self, word: str, synset: str) -> int:
        """Decreasing numbers; the first word of a synset is the most frequent."""
        members = self.members(synset)
        return len(members) - members.index(word) if word in members else 0

    def irregular(self, word: str) -> tuple[str, ...]:
        """The base form of `bought`, the only irregular form."""
        return ("buy",) if word == "bought" else ()

    def base_forms(self, word: str, part: str) -> tuple[str, ...]:
        """The word with and without a final s."""
        return tuple(dict.fromkeys([word.lower(), word.lower().removesuffix("s")]))


_ASPECTS = ("overall", "coherence", "fluency", "engagement")


def _fake_part(name: str, metric: str, better: str = "more", cap: float | None = None) -> dict[str, Any]:
    return {
        "name": name, "metric": metric, "better": better, "cap": cap, "aspects": _ASPECTS, "excess": 0.0
    }  # fmt: skip


def _fake_scale(low: float, high: float) -> dict[str, Any]:
    return {"values": (low, high), "shares": (0.0, 1.0)}


FAKE_COMPOSITE: Mapping[str, Any] = MappingProxyType(
    {
        "parts": (
            _fake_part("pmi", "pmi:lm=fake"),
            _fake_part("fluency", "fluency:lm=fake,scale=raw"),
            _fake_part("relatedness", "relatedness:encoder=fake"),
            _fake_part("self-consistency", "self-consistency:nli=fake"),
            _fake_part("words", "words", cap=8),
            _fake_part("repetition", "repetition-1", better="less"),
        ),
        "scales": (
            _fake_scale(-1.0, 1.0),
            _fake_scale(-10.0, -2.0),
            *[_fake_scale(0.0, 1.0)] * 2,
            _fake_scale(0.0, 8.0),
            _fake_scale(0.0, 1.0),
        ),
        "weights": {
            **dict.fromkeys(_ASPECTS, (0.25, 0.125, 0.25, 0.125, 0.125, 0.125)),
            "fluency": (0.0, 0.75, 0.0, 0.0, 0.0, 0.25),
        },
        "signatures": ("",) * 6,
        "models": {},
    }
)
"""A composite of metrics with fake models, as a checkpoint records one."""
