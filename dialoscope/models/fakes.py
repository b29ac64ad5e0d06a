"""A small, instant, deterministic stand-in for each kind of backend, for tests and for trying metrics out.

None of them knows anything of language, but each obeys the laws of its kind: the same text gives the same
numbers, alone or among others, and texts that are more alike have nearer vectors.
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


def _number(*texts: str) -> float:
    """Between 0 and 1, the same for the same texts everywhere."""
    digest = blake2b("\0".join(texts).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


class _Fake:
    """What all of them have."""

    fingerprint: ClassVar[str] = "fake"

    def __str__(self) -> str:
        return "fake"


@dataclass(frozen=True)
class FakeLanguageModel(_Fake):
    """A token is a word; one that stands in the prefix is likelier."""

    name: ClassVar[str] = "fake-lm"
    version: ClassVar[int] = 1

    def log_probabilities(self, texts: Sequence[Continuation]) -> list[Floats]:
        """Between -10 and -2, and 1 more for a word of the prefix."""
        return [
            np.array([-2 - 8 * _number(word) + (word in before) for word in text.split()])
            for before, text in ((set(prefix.split()), text) for prefix, text in texts)
        ]

    def generate(self, prompts: Sequence[str], how: Generation) -> list[list[str]]:
        """Words of the prompt in an order drawn from the seed."""
        return [[self._text(prompt, how, sample) for sample in range(how.samples)] for prompt in prompts]

    def _text(self, prompt: str, how: Generation, sample: int) -> str:
        chance = random.Random(_number(f"{how.seed}/{sample}", prompt))  # noqa: S311 - not for secrets
        words = prompt.split() or ["yes"]
        return how.ended(" ".join(chance.choices(words, k=min(how.max_tokens, 8))))


@dataclass(frozen=True)
class FakeEncoder(_Fake):
    """A token is a word, its vector the counts of its letters; a text has the mean of its words."""

    name: ClassVar[str] = "fake-encoder"
    version: ClassVar[int] = 1

    def encode(self, texts: Sequence[str | Pair]) -> Vectors:
        """Zeros for a text without words."""
        rows = [
            found.vectors.mean(axis=0) if len(found.ids) else np.zeros(26)
            for found in self.encode_tokens(texts)
        ]
        return np.array(rows, np.float32).reshape(-1, 26)

    def encode_tokens(self, texts: Sequence[str | Pair]) -> list[TokenVectors]:
        """One vector for each word."""
        return [
            self._tokens((text if isinstance(text, str) else " ".join(text)).lower().split())
            for text in texts
        ]

    def _tokens(self, words: list[str]) -> TokenVectors:
        vectors = np.array([[word.count(letter) for letter in ascii_lowercase] for word in words], np.float32)
        return TokenVectors(
            np.array([int(2**31 * _number(word)) for word in words], int), vectors.reshape(-1, 26)
        )


@dataclass(frozen=True)
class FakeClassifier(_Fake):
    """Common words are half entailed and half right, a `not` on one side alone contradicts."""

    name: ClassVar[str] = "fake-classifier"
    version: ClassVar[int] = 2
    labels: ClassVar[tuple[str, ...]] = ("entailment", "neutral", "contradiction", "right")

    def classify(self, pairs: Sequence[Pair]) -> Floats:
        """Rows add up to 1."""
        return np.array([self._row(*pair) for pair in pairs], float).reshape(-1, len(self.labels))

    def _row(self, first: str, second: str) -> tuple[float, float, float, float]:
        one, other = set(first.lower().split()), set(second.lower().split())
        against = 0.5 * (("not" in one) != ("not" in other))
        shared = (1 - against) * len(one & other) / max(len(one | other), 1)
        return shared / 2, 1 - against - shared, against, shared / 2


@dataclass(frozen=True)
class FakeRegressor(_Fake):
    """A reply is rated by the share of its words in context and references, and strange if it has none."""

    name: ClassVar[str] = "fake-regressor"
    version: ClassVar[int] = 1

    def rate(self, replies: Sequence[Example]) -> Floats:
        """From 0.5, for none, to 5.5, for all: a bit beyond the scale, as models go."""
        return np.array([self._row(reply) for reply in replies], float).reshape(-1, 2)

    def _row(self, reply: Example) -> tuple[float, float]:
        words = reply.response.lower().split()
        said, references = (" ".join(texts).lower().split() for texts in (reply.context, reply.references))
        if not (words and said and references):
            return math.nan, math.nan
        known = {*said, *references}
        share = sum(word in known for word in words) / len(words)
        return 0.5 + 5 * share, 0.5 if share else 2.0


@dataclass(frozen=True)
class FakeWordVectors(_Fake):
    """Letter counts, and one more for each letter; words without a letter are unknown."""

    name: ClassVar[str] = "fake-vectors"
    version: ClassVar[int] = 2
    dims: ClassVar[int] = 26

    @property
    def mean(self) -> Vectors:
        """As if each letter were a word, and there were no others."""
        return np.full(26, 1 + 1 / 26, np.float32)

    def vectors(self, words: Sequence[str]) -> Vectors:
        """NaN for a word without a letter of the alphabet."""
        rows = [[word.lower().count(letter) for letter in ascii_lowercase] for word in words]
        found = np.array(rows, np.float32).reshape(-1, 26)
        found[~found.any(axis=1)] = math.nan
        return found + 1


@dataclass(frozen=True)
class FakeTagger(_Fake):
    """Words are between spaces; one in -ed is a verb, a capitalised one a name, any other a noun."""

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
    """Some small talk."""

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
    """A few words."""

    name: ClassVar[str] = "fake-lexicon"
    version: ClassVar[int] = 1

    _MEANINGS: ClassVar[dict[str, tuple[str, ...]]] = {
        "n:car": ("car", "auto"),
        "n:film": ("film", "movie"),
        "v:buy": ("buy", "purchase"),
        "a:happy": ("happy", "glad"),
    }

    def synsets(self, word: str, part: str = "") -> tuple[str, ...]:
        """Those whose members hold the word or a base form of it."""
        return tuple(
            meaning
            for meaning, words in self._MEANINGS.items()
            if meaning.startswith(part) and set(words) & set(self.base_forms(word, meaning[0]))
        )

    def listed(self, word: str, part: str = "") -> tuple[str, ...]:
        """Those whose members hold the word."""
        return tuple(
            meaning for meaning, words in self._MEANINGS.items() if meaning.startswith(part) and word in words
        )

    def members(self, synset: str) -> tuple[str, ...]:
        """The words with this meaning."""
        return self._MEANINGS[synset]

    def count(self, word: str, synset: str) -> int:
        """The first word of a meaning is the commonest."""
        members = self.members(synset)
        return len(members) - members.index(word) if word in members else 0

    def irregular(self, word: str) -> tuple[str, ...]:
        """One word only."""
        return ("buy",) if word == "bought" else ()

    def base_forms(self, word: str, part: str) -> tuple[str, ...]:
        """The word, and without its s."""
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
