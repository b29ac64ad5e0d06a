"""The protocols that metrics expect of models: texts in, NumPy arrays out, no torch in the interface.

An implementation is a frozen dataclass, called a description: cheap to create, copy, compare, pickle and
sign. Its weights are loaded on first use, once per process. Settings that cannot change a number (device,
batch size) are fields with `compare=False` and are not part of the signature.
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
    """The attributes that all models have."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    name: ClassVar[str]
    version: ClassVar[int]

    @property
    def fingerprint(self) -> str:
        """The hash of the weights or data behind the description, stored with each run."""


class Continuation(NamedTuple):
    """A text and its prefix, which are tokenized separately: a space between them belongs to `text`."""

    prefix: str
    text: str


@dataclass(frozen=True)
class Generation:
    """Settings of text generation: greedy search, unless beams or sampling are chosen."""

    name: ClassVar[str] = "generation"
    version: ClassVar[int] = 1

    max_tokens: int = 40
    samples: int = 1
    """Number of texts for each prompt; with beams, the number of best beams to return."""
    beams: int = 1
    sample: bool = False
    temperature: float = 1.0
    top_k: int = 0
    """Number of most probable tokens to sample from; 0: all tokens."""
    top_p: float = 1.0
    """Total probability of the most probable tokens to sample from."""
    seed: int = 0
    stop: tuple[str, ...] = ("\n",)
    """Strings that end a text, which is cut before the first of them."""

    def __post_init__(self) -> None:
        if min(self.max_tokens, self.samples, self.beams) < 1:
            raise BackendError("Generation: max_tokens, samples and beams must be 1 or more.")
        if self.sample and self.beams > 1:
            raise BackendError("Generation: choose beams or sampling, not both.")
        if not self.sample and self.samples > self.beams:
            raise BackendError(
                f"Generation: {self.samples} different texts need {self.samples} beams or sample=True."
            )
        if "" in self.stop:
            raise BackendError(
                "Generation: stop must not contain an empty string, which would end every text at once."
            )
        if not (self.temperature > 0 and self.top_k >= 0 and 0 < self.top_p <= 1):
            raise BackendError(
                "Generation: temperature must be above 0, top_p above 0 and at most 1, top_k 0 or more."
            )

    def cut_at_stop(self, text: str) -> str:
        """The text up to the first stop string."""
        return text[: min((text.index(stop) for stop in self.stop if stop in text), default=len(text))]


@runtime_checkable
class LanguageModel(Backend, Protocol):
    """A model that computes probabilities of texts and generates texts."""

    def log_probabilities(self, texts: Sequence[Continuation]) -> list[Floats]:
        """The natural log-probability of each token of each text, given its prefix."""

    def generate(self, prompts: Sequence[str], how: Generation) -> list[list[str]]:
        """`how.samples` texts for each prompt, without the prompt; for a seed the same in any batch."""


class TokenVectors(NamedTuple):
    """The token ids of one text, special tokens included, and one vector for each token."""

    ids: Ints
    vectors: Vectors  # (tokens, dims)


class Pair(NamedTuple):
    """Two texts that a model reads together."""

    first: str
    second: str


@runtime_checkable
class Encoder(Backend, Protocol):
    """A model that maps texts, or pairs of texts, to vectors; similar texts have similar vectors."""

    def encode(self, texts: Sequence[str | Pair]) -> Vectors:
        """An array with one row per text."""

    def encode_tokens(self, texts: Sequence[str | Pair]) -> list[TokenVectors]:
        """The vectors of the tokens of each text."""


@runtime_checkable
class Classifier(Backend, Protocol):
    """A model that classifies pairs of texts, such as an NLI model or a relevance model."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the columns in lower case; those of NLI are entailment, neutral, contradiction."""

    def classify(self, pairs: Sequence[Pair]) -> Floats:
        """Probabilities, one row per pair and one column per label."""


@runtime_checkable
class Regressor(Backend, Protocol):
    """A model that predicts human ratings of replies."""

    def rate(self, replies: Sequence[Example]) -> Floats:
        """Two numbers for each reply: the predicted rating and the strangeness of the reply to the model.

        Ratings are from 1 to 5, or somewhat outside. Of replies similar to the training data, 1 in 100 has a
        strangeness above 1. Both are NaN where the reply, its context or its references are empty.
        """


@runtime_checkable
class WordVectors(Backend, Protocol):
    """Static vectors of words."""

    @property
    def dims(self) -> int:
        """The length of each vector."""

    @property
    def mean(self) -> Vectors:
        """The mean of all vectors, which some metrics use for unknown words."""

    def vectors(self, words: Sequence[str]) -> Vectors:
        """An array with one row per word, NaN for unknown words."""


class Word(NamedTuple):
    """A word of a text with its annotations by a tagger."""

    text: str
    start: int
    """The offset of the first character in the text."""
    lemma: str
    tag: str
    """Penn Treebank part of speech: VBD, NNS, …"""
    entity: str
    """The type of the named entity that the word belongs to (PERSON, GPE, …), or an empty string."""


@runtime_checkable
class Tagger(Backend, Protocol):
    """A model that finds words, their parts of speech and named entities."""

    def tag(self, texts: Sequence[str]) -> list[list[Word]]:
        """The words of each text."""


@runtime_checkable
class Corpus(Backend, Protocol):
    """Human dialogues, for metrics that compare a system with them."""

    def examples(self) -> Iterator[Example]:
        """Human replies, each with its context; the data are read again on each call."""


@runtime_checkable
class Lexicon(Backend, Protocol):
    """A lexicon of synonyms."""

    def __hash__(self) -> int: ...

    def synsets(self, word: str, part: str = "") -> tuple[str, ...]:
        """The synsets of a word in any inflected form, most frequent first; `part` is n, v, a, r or any."""

    def listed(self, word: str, part: str = "") -> tuple[str, ...]:
        """The synsets listed under exactly this form of a word."""

    def members(self, synset: str) -> tuple[str, ...]:
        """The words of a synset."""

    def count(self, word: str, synset: str) -> int:
        """The frequency of a listed word with this meaning in a sense-annotated corpus."""

    def irregular(self, word: str) -> tuple[str, ...]:
        """The base forms of an irregular form: went → go."""

    def base_forms(self, word: str, part: str) -> tuple[str, ...]:
        """The forms under which the lexicon lists a word: ran → run."""
