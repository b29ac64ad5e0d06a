"""Repetition within a reply (See et al., 2019, https://aclanthology.org/N19-1170)."""

from dataclasses import dataclass

from dialoscope.core.arrays import Floats
from dialoscope.metrics.shared.base import Bounds, MeanMetric, ratio
from dialoscope.metrics.shared.ngrams import check_n, distinct_in_each
from dialoscope.text.batch import Batch
from dialoscope.text.tokenizer import Tokenizer
from dialoscope.text.tokens import hashed_grams, reply_words


@dataclass(frozen=True)
class Repetition(MeanMetric):
    """The share of a reply's n-grams that it has already used: a confound of length and diversity."""

    name = "repetition"
    version = 1
    paper = "https://aclanthology.org/N19-1170"
    higher_is_better = False
    main_setting = "n"

    n: int = 1
    tokenizer: str = "words"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_n(self)

    @property
    def bounds(self) -> Bounds:
        """0 when the reply says nothing twice."""
        return Bounds(0, 1)

    def grade(self, batch: Batch) -> Floats:
        """Undefined for a reply shorter than n words."""
        grams = hashed_grams(reply_words(batch, Tokenizer(self.tokenizer)), self.n)
        return ratio(grams.lengths - distinct_in_each(grams), grams.lengths)
