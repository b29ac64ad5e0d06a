"""#words: how long the replies are."""

from dataclasses import dataclass

import numpy as np

from dialoscope.core.arrays import Floats
from dialoscope.metrics.shared.base import Bounds, MeanMetric
from dialoscope.text.batch import Batch
from dialoscope.text.tokenizer import Tokenizer
from dialoscope.text.tokens import replies_of


@dataclass(frozen=True)
class Words(MeanMetric):
    """The number of words of a reply; length alone explains much of what other metrics find."""

    name = "words"
    version = 1
    paper = "https://arxiv.org/abs/1603.08023"
    higher_is_better = None

    tokenizer: str = "words"

    def __post_init__(self) -> None:
        super().__post_init__()
        Tokenizer(self.tokenizer)

    @property
    def bounds(self) -> Bounds:
        """From 0 without limit."""
        return Bounds(0, np.inf)

    def grade(self, batch: Batch) -> Floats:
        """The number of words of each reply."""
        return replies_of(batch, Tokenizer(self.tokenizer)).lengths.astype(float)
