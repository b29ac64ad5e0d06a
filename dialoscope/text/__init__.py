"""From texts to integers: tokens, n-grams, and what two texts have in common."""

from dialoscope.text.batch import Batch
from dialoscope.text.overlap import Overlap, overlap
from dialoscope.text.tokenizer import TOKENIZERS, Tokenizer
from dialoscope.text.tokens import Ragged, contexts_of, references_of, replies_of

__all__ = [
    "TOKENIZERS",
    "Batch",
    "Overlap",
    "Ragged",
    "Tokenizer",
    "contexts_of",
    "overlap",
    "references_of",
    "replies_of",
]
