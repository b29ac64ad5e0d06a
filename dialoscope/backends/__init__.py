"""Models behind the metrics: protocols, frozen descriptions that load on first use, and a fake of each."""

from dialoscope.backends.base import (
    Backend,
    Classifier,
    Continuation,
    Corpus,
    Encoder,
    Generation,
    LanguageModel,
    Lexicon,
    Pair,
    Regressor,
    Tagger,
    TokenVectors,
    Vectors,
    Word,
    WordVectors,
)

__all__ = [
    "Backend",
    "Classifier",
    "Continuation",
    "Corpus",
    "Encoder",
    "Generation",
    "LanguageModel",
    "Lexicon",
    "Pair",
    "Regressor",
    "Tagger",
    "TokenVectors",
    "Vectors",
    "Word",
    "WordVectors",
]
