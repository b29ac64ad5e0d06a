"""What a model must be able to do for the metrics: text in, numpy out, and nothing of torch across this line.

An implementation is a frozen dataclass, a description: cheap to make, copy, compare, pickle and sign. Its
weights load when it is first asked something, once for each process. Settings that cannot change a number
(device, batch size) are fields with `compare=False` and stay out of the signature.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.errors import BackendError
from dialoscope.core.records import Example

Vectors = NDArray[np.float32]


class Backend(Protocol):
    """What every backend has."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    name: ClassVar[str]
    version: ClassVar[int]

    @property
    def fingerprint(self) -> str:
        """A hash of the weights or data behind the description, for the record of a run."""


class Continuation(NamedTuple):
    """A text, and what stands before it; the two are tokenized apart, so spaces between belong to `text`."""

    prefix: str
    text: str


@dataclass(frozen=True)
class Generation:
    """How texts are generated: greedy without beams and sampling, which are chosen by their settings."""

    name: ClassVar[str] = "generation"
    version: ClassVar[int] = 1

    max_tokens: int = 40
    samples: int = 1
    """Texts for each prompt; with beams, the best so many beams."""
    beams: int = 1
    sample: bool = False
    temperature: float = 1.0
    top_k: int = 0
    """Sample among the so many likeliest tokens; 0: among all."""
    top_p: float = 1.0
    """Sample among the likeliest tokens that have this probability together."""
    seed: int = 0
    stop: tuple[str, ...] = ("\n",)
    """A text ends before the first of these."""

    def __post_init__(self) -> None:
        if min(self.max_tokens, self.samples, self.beams) < 1:
            raise BackendError("Generation: max_tokens, samples and beams must be 1 or more.")
        if self.sample and self.beams > 1:
            raise BackendError("Generation: choose beams or sampling, not both.")
        if not self.sample and self.samples > self.beams:
            raise BackendError(
                f"Generation: {self.samples} different texts need as many beams, or sample=True."
            )
        if "" in self.stop:
            raise BackendError("Generation: an empty word to stop at would end every text at once.")
        if not (self.temperature > 0 and self.top_k >= 0 and 0 < self.top_p <= 1):
            raise BackendError(
                "Generation: temperature must be above 0, top_p above 0 and at most 1, top_k 0 or more."
            )

    def ended(self, text: str) -> str:
        """The text up to the first of the words that end it."""
        return text[: min((text.index(stop) for stop in self.stop if stop in text), default=len(text))]


@runtime_checkable
class LanguageModel(Backend, Protocol):
    """Says how likely texts are, and writes some."""

    def log_probabilities(self, texts: Sequence[Continuation]) -> list[Floats]:
        """The natural logarithm of each token's probability, for each text given its prefix."""

    def generate(self, prompts: Sequence[str], how: Generation) -> list[list[str]]:
        """`how.samples` texts for each prompt, without the prompt; the same for a seed in any batch."""


class TokenVectors(NamedTuple):
    """The tokens of one text, special ones included, with a vector each."""

    ids: Ints
    vectors: Vectors  # (tokens, dims)


class Pair(NamedTuple):
    """Two texts that a model reads together."""

    first: str
    second: str


@runtime_checkable
class Encoder(Backend, Protocol):
    """Turns texts, or pairs of texts, into vectors that are near when the texts are."""

    def encode(self, texts: Sequence[str | Pair]) -> Vectors:
        """One row for each text."""

    def encode_tokens(self, texts: Sequence[str | Pair]) -> list[TokenVectors]:
        """One vector for each token of each text."""


@runtime_checkable
class Classifier(Backend, Protocol):
    """Judges pairs of texts: whether one follows from the other, or suits it."""

    @property
    def labels(self) -> tuple[str, ...]:
        """What the columns stand for, in lower case; an NLI model has entailment, neutral, contradiction."""

    def classify(self, pairs: Sequence[Pair]) -> Floats:
        """A row of probabilities for each pair, a column for each label."""


@runtime_checkable
class Regressor(Backend, Protocol):
    """Foretells how people would rate replies."""

    def rate(self, replies: Sequence[Example]) -> Floats:
        """A row for each: the rating, from 1 to 5 or beyond, and how strange the reply is to the model.

        A strangeness above 1 is that of 1 in 100 replies of the kind that the model knows. NaN where a reply,
        or what it is judged by, says nothing.
        """


@runtime_checkable
class WordVectors(Backend, Protocol):
    """Static vectors of words."""

    @property
    def dims(self) -> int:
        """The length of each vector."""

    @property
    def mean(self) -> Vectors:
        """The mean of all vectors there are, which some let stand for words that have none."""

    def vectors(self, words: Sequence[str]) -> Vectors:
        """One row for each word, NaN for a word that has none."""


class Word(NamedTuple):
    """A word of a text as a tagger sees it."""

    text: str
    start: int
    """Where it begins in the text, in characters."""
    lemma: str
    tag: str
    """Penn Treebank part of speech: VBD, NNS, …"""
    entity: str
    """What kind of name it is part of: PERSON, GPE, …; empty where it is of none."""


@runtime_checkable
class Tagger(Backend, Protocol):
    """Finds words, parts of speech and names."""

    def tag(self, texts: Sequence[str]) -> list[list[Word]]:
        """The words of each text."""


@runtime_checkable
class Corpus(Backend, Protocol):
    """What people say in dialogues, for metrics that compare a system with it."""

    def examples(self) -> Iterator[Example]:
        """What people said, as responses, each with its context; read anew each time."""


@runtime_checkable
class Lexicon(Backend, Protocol):
    """Knows which words mean the same."""

    def __hash__(self) -> int: ...

    def synsets(self, word: str, part: str = "") -> tuple[str, ...]:
        """The meanings of a word in any of its forms, the commonest first; `part` is n, v, a or r, or any."""

    def listed(self, word: str, part: str = "") -> tuple[str, ...]:
        """The meanings that stand under this very form of a word."""

    def members(self, synset: str) -> tuple[str, ...]:
        """The words that have this meaning."""

    def count(self, word: str, synset: str) -> int:
        """How often a word, as it is listed, had this meaning in texts in which people noted the meanings."""

    def irregular(self, word: str) -> tuple[str, ...]:
        """The base forms of a word whose form follows no rule: went → go."""

    def base_forms(self, word: str, part: str) -> tuple[str, ...]:
        """The forms under which a lexicon lists the word: ran → run."""
