"""BERTScore (Zhang et al., 2020, https://arxiv.org/abs/1904.09675)."""

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.errors import MetricError
from dialoscope.core.tally import Sums
from dialoscope.metrics.shared.base import Bounds, GradeMetric
from dialoscope.metrics.shared.bertscore_baseline import Baseline
from dialoscope.metrics.shared.frequencies import Frequencies, Sentences, corpus_frequencies, frequencies
from dialoscope.metrics.shared.matching import Couple, TokenMatches, match_couples, scores
from dialoscope.metrics.shared.truncation_notes import note_cut_references
from dialoscope.models.encoder import TransformerEncoder
from dialoscope.models.protocols import Backend, Encoder
from dialoscope.text.batch import Batch

_PARTS = ("precision", "recall", "f1")
_NO_FILE = ("none", "references")


@dataclass(frozen=True)
class Bertscore(GradeMetric[Sums]):
    """The similarity of the tokens of a reply and a reference, each matched to the most similar one."""

    name = "bertscore"
    version = 1
    paper = "https://arxiv.org/abs/1904.09675"
    needs = frozenset({"references"})
    higher_is_better = True
    tally = Sums
    at_once = True
    paths = frozenset({"idf", "baseline"})

    encoder: Encoder = TransformerEncoder()
    """Whose vectors of tokens are compared; encoder.layer says after which layer."""
    part: Literal["f1", "precision", "recall"] = "f1"
    idf: str = "none"
    """Whether rare tokens weigh more: by the references of the system's replies, or by a file of texts."""
    baseline: str = ""
    """A file that says what unrelated texts score, in bert-score's form; that becomes 0, and 1 stays 1."""
    leading_space: bool = True
    """Whether the first word is read as one within a text, which it is to vocabularies of byte pairs then."""

    def __post_init__(self) -> None:
        for name in self.paths:
            object.__setattr__(self, name, str(getattr(self, name)))  # a Path is plain enough
        super().__post_init__()
        if not self.idf:
            raise MetricError("bertscore: idf is empty; it must be none, references, or a file of texts.")
        if self.baseline and getattr(self.encoder, "layer", -1) < 0:
            raise MetricError(
                "bertscore: a baseline is that of one layer. Say which is used, counted from 0 (the "
                "embeddings): encoder.layer=6."
            )

    @property
    def bounds(self) -> Bounds:
        """Those of a cosine; how far below 0 a baseline moves them, its file says."""
        return Bounds(-math.inf if self.baseline else -1, 1)

    @property
    def backends(self) -> tuple[Backend, ...]:
        """The encoder, and the files that a number depends on."""
        corpus = () if self.idf in _NO_FILE else (Sentences(self.idf),)
        return self.encoder, *corpus, *((Baseline(self.baseline),) if self.baseline else ())

    @property
    def statistics(self) -> Hashable:
        """All three parts of a reply's score, whichever is asked for."""
        return replace(self, part="f1")

    def measure(self, batch: Batch) -> Sums:
        """Precision, recall and F, each with the reference that is best for it; undefined without any."""
        level, corpus = self._level(), self._corpus()  # first, so that a wrong file is told at once
        compared = batch.once(
            (Bertscore, self.encoder, self.leading_space),
            lambda: _compare(batch, self.encoder, self._as_read),
        )
        if self.idf == "references":
            each = _score_by_system(batch, compared)
        else:
            ids = compared.matches.ids
            each = compared.scores(corpus.weights(ids) if corpus else np.ones(len(ids)))
        best = np.full((len(batch), len(_PARTS)), math.nan)
        np.fmax.at(best, compared.owner, each)
        return Sums((best - level) / (1 - level))

    def warnings(self, batch: Batch) -> list[str]:
        """Which replies, or references of theirs, were read without their end."""
        return note_cut_references(batch, self.encoder, self._as_read)

    def score_each(self, tally: Sums) -> Floats:
        """The part that is asked for."""
        return np.asarray(tally.rows[:, _PARTS.index(self.part)], float)

    def _level(self) -> Floats:
        """What becomes 0, in each part."""
        layer = getattr(self.encoder, "layer", -1)
        return np.array(Baseline(self.baseline).level(layer) if self.baseline else [0.0] * len(_PARTS))

    def _corpus(self) -> Frequencies | None:
        """How often tokens occur in the file that is named, if one is."""
        if self.idf in _NO_FILE:
            return None
        return corpus_frequencies(self.encoder, Sentences(self.idf), self._as_read)

    def _as_read(self, text: str) -> str:
        text = text.strip()
        return f" {text}" if text and self.leading_space else text


class _Compared(NamedTuple):
    """Replies with their references, and how the tokens of each two texts match; equal ones once."""

    owner: Ints
    """The reply."""
    couple: Ints
    """Where it and its reference stand among the matches."""
    matches: TokenMatches
    special: Ints
    """Tokens that the encoder puts around every text."""

    def scores(self, weights: Floats) -> Floats:
        """Precision, recall and F of each, (comparisons, 3), from the weights of all tokens."""
        return np.stack(scores(self.matches, self.special, weights), axis=1)[self.couple]

    def of(self, chosen: NDArray[np.bool_]) -> "_Compared":
        """Some of them, with no more matches than they need."""
        needed, couple = np.unique(self.couple[chosen], return_inverse=True)
        return _Compared(self.owner[chosen], couple, self.matches.take(needed), self.special)


def _compare(batch: Batch, encoder: Encoder, read_as: Callable[[str], str]) -> _Compared:
    numbers = {Couple("", ""): 0}  # whose tokens are those around every text
    owner, couple = [], []
    for row, example in enumerate(batch):
        reply = read_as(example.response)
        for reference in example.references:
            owner.append(row)
            couple.append(numbers.setdefault(Couple(reply, read_as(reference)), len(numbers)))
    matches = match_couples(encoder, list(numbers) if owner else [])
    special = matches.ids[: matches.lengths[:1].sum()]
    return _Compared(np.array(owner, np.int64), np.array(couple, np.int64), matches, special)


def _score_by_system(batch: Batch, compared: _Compared) -> Floats:
    """With the weights that follow from the references of all replies of the same system."""
    systems = np.unique([example.system for example in batch], return_inverse=True)[1][compared.owner]
    values = np.empty((len(compared.owner), len(_PARTS)))
    for system in np.unique(systems):
        own = compared.of(systems == system)
        values[systems == system] = own.scores(_reference_frequencies(own).weights(own.matches.ids))
    return values


def _reference_frequencies(compared: _Compared) -> Frequencies:
    """Each reference of each reply is a text, so that one of several replies counts several times."""
    matches, there = compared.matches, compared.matches.is_reference
    return frequencies(matches.ids[there], matches.owner[there], np.bincount(compared.couple))
