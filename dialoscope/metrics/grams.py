"""What the metrics of n-gram variety share."""

from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from dialoscope.errors import MetricError
from dialoscope.tally import Bags, Floats, Ints
from dialoscope.text import Batch, Tokenizer
from dialoscope.text.tokens import reply_grams

# Odd, so that multiplying by it (modulo 2**64) loses nothing; not the one that n-grams are hashed with.
_SPREAD = np.int64(-0x4B47D0C5A9F1E1B3)


class OfGrams(Protocol):
    """A metric of the n-grams of the replies."""

    name: ClassVar[str]

    @property
    def n(self) -> int:
        """How many words an n-gram has."""

    @property
    def tokenizer(self) -> str:
        """What cuts a reply into words."""


def check_n(metric: OfGrams) -> None:
    """Refuse n-grams of no words, and an unknown tokenizer."""
    Tokenizer(metric.tokenizer)
    if metric.n < 1:
        raise MetricError(f"{metric.name}: n must be at least 1, not {metric.n}.")


def measure_grams(metric: OfGrams, batch: Batch) -> Bags:
    """The n-grams of each reply."""
    grams = reply_grams(batch, Tokenizer(metric.tokenizer), metric.n)
    return Bags(grams.ids, grams.lengths)


class CountsInEach(NamedTuple):
    """How often each different thing occurs in the bag it belongs to."""

    owner: Ints
    times: Ints


def counts_in_each(tally: Bags) -> CountsInEach:
    """One row for each different thing of each bag."""
    owner = tally.owner
    keys = within(owner, tally.things)
    order = np.argsort(keys)
    keys = keys[order]
    first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if len(keys) else order
    return CountsInEach(owner[order[first]], np.diff(np.append(first, len(keys))))


def within(owner: Ints, things: Ints) -> Ints:
    """A number for "this thing in this bag", which takes one sort where the two apart would take two."""
    return things + owner * _SPREAD


def distinct_in_each(tally: Bags) -> Floats:
    """How many different things each bag holds."""
    return np.bincount(counts_in_each(tally).owner, minlength=len(tally)).astype(float)
