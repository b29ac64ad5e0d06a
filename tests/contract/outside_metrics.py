"""Metrics of another package: neither additive nor pooled, and one with statistics of its own."""

import math
from dataclasses import dataclass

import numpy as np

from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.tally import ReplyValues
from dialoscope.metrics import Bounds, ColumnTally, Metric, Notes
from dialoscope.text.batch import Batch


@dataclass(frozen=True)
class LengthSpread(Metric[ReplyValues]):
    """The standard deviation of the number of words."""

    name = "length-spread"
    version = 1
    paper = "https://example.org/spread"
    higher_is_better = None
    tally = ReplyValues

    @property
    def bounds(self) -> Bounds:
        """A reply may have any number of words."""
        return Bounds(0, math.inf)

    def measure(self, batch: Batch) -> ReplyValues:
        """The number of words of each reply; undefined for an empty reply."""
        return ReplyValues(np.array([len(example.response.split()) or math.nan for example in batch], float))

    def score(self, tally: ReplyValues) -> float:
        """That of the replies that are not empty."""
        defined = tally.values[~np.isnan(tally.values)]
        return float(np.std(defined)) if len(defined) else math.nan

    def score_each(self, tally: ReplyValues) -> Floats:
        """The number of words."""
        return tally.values


@dataclass(frozen=True, eq=False)
class Letters(ColumnTally):
    """Counts of letters, and the positions of the first and the last vowel."""

    letters: Ints
    vowels: Floats
    ends: Floats
    """(replies, 2)"""


@dataclass(frozen=True)
class VowelShare(Metric[Letters]):
    """The largest share of vowels in any reply of a system, and where they are."""

    name = "vowel-share"
    version = 1
    paper = "https://example.org/vowels"
    higher_is_better = True
    tally = Letters

    @property
    def bounds(self) -> Bounds:
        """Those of a share."""
        return Bounds(0, 1)

    def measure(self, batch: Batch) -> Letters:
        """Counts of each reply."""
        texts = [[c for c in example.response.lower() if c.isalpha()] for example in batch]
        places = [[place for place, c in enumerate(text) if c in "aeiou"] for text in texts]
        ends = [(found[0], found[-1]) if found else (math.nan, math.nan) for found in places]
        return Letters(
            np.array([len(text) for text in texts], np.int64),
            np.array([len(found) for found in places], float),
            np.array(ends, float).reshape(-1, 2),
        )

    def score(self, tally: Letters) -> float:
        """The largest share; undefined without a letter."""
        shares = self.score_each(tally)
        shares = shares[~np.isnan(shares)]
        return float(shares.max()) if len(shares) else math.nan

    def score_each(self, tally: Letters) -> Floats:
        """Vowels over letters."""
        letters = np.where(tally.letters > 0, tally.letters, 1)
        return np.where(tally.letters > 0, tally.vowels / letters, math.nan)

    def notes(self, tally: Letters) -> Notes:
        """The number of letters, a warning where they are few, and what vowels of the two kinds add."""
        letters = int(tally.letters.sum())
        return Notes(
            {"n": float(letters), "last": float(np.nanmax(tally.ends, initial=0))},
            f"{self} is made from {letters} letters, which are few." if letters < 100 else "",
            parts={"vowels": self.score_each(tally)},
        )
