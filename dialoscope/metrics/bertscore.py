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
    """The encoder of the tokens; `encoder.layer` is the layer whose vectors are compared."""
    part: Literal["f1", "precision", "recall"] = "f1"
    idf: str = "none"
    """The source of weights for rare tokens: the references of the system's replies, or a file of texts."""
    baseline: str = ""
    """A file of the scores of unrelated texts, in bert-score's form; they become 0, and 1 stays 1."""
    leading_space: bool = True
    """Whether a space precedes each text, so that byte-pair vocabularies read its first word as any other."""

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
        """The bounds of a cosine; a baseline moves the lower one by an amount that depends on its file."""
        return Bounds(-math.inf if self.baseline else -1, 1)

    @property
    def backends(self) -> tuple[Backend, ...]:
        """The encoder, and the files that the scores depend on."""
        corpus = () if self.idf in _NO_FILE else (Sentences(self.idf),)
        return self.encoder, *corpus, *((Baseline(self.baseline),) if self.baseline else ())

    @property
    def statistics(self) -> Hashable:
        """The key of all three parts of a reply's score, whichever is selected."""
        return replace(self, part="f1")

    def measure(self, batch: Batch) -> Sums:
        """Precision, recall and F, each with the reference that is best for it; undefined without any."""
        level, corpus = self._level(), self._corpus()  # first, to report a wrong file at once
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
        """Warnings about replies, or their references, that were read without their end."""
        return note_cut_references(batch, self.encoder, self._as_read)

    def score_each(self, tally: Sums) -> Floats:
        """The selected part of the score."""
        return np.asarray(tally.rows[:, _PARTS.index(self.part)], float)

    def _level(self) -> Floats:
        """The score that becomes 0, for each part."""
        layer = getattr(self.encoder, "layer", -1)
        return np.array(Baseline(self.baseline).level(layer) if self.baseline else [0.0] * len(_PARTS))

    def _corpus(self) -> Frequencies | None:
        """The frequencies of tokens in the file, if there is one."""
        if self.idf in _NO_FILE:
            return None
        return corpus_frequencies(self.encoder, Sentences(self.idf), self._as_read)

    def _as_read(self, text: str) -> str:
        text = text.strip()
        return f" {text}" if text and self.leading_space else text


class _Compared(NamedTuple):
    """Replies with their references, and the token matches of each different pair of texts."""

    owner: Ints
    """The index of the reply."""
    couple: Ints
    """The index of the reply and its reference among the matches."""
    matches: TokenMatches
    special: Ints
    """The tokens that the encoder puts around every text."""

    def scores(self, weights: Floats) -> Floats:
        """Precision, recall and F of each, (comparisons, 3), from the weights of all tokens."""
        return np.stack(scores(self.matches, self.special, weights), axis=1)[self.couple]

    def of(self, chosen: NDArray[np.bool_]) -> "_Compared":
        """The chosen comparisons, with no more matches than they need."""
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
    """Score each comparison with weights from the references of all replies of the same system."""
    systems = np.unique([example.system for example in batch], return_inverse=True)[1][compared.owner]
    values = np.empty((len(compared.owner), len(_PARTS)))
    for system in np.unique(systems):
        own = compared.of(systems == system)
        values[systems == system] = own.scores(_reference_frequencies(own).weights(own.matches.ids))
    return values


def _reference_frequencies(compared: _Compared) -> Frequencies:
    """Return document frequencies; a reference of several replies counts once for each of them."""
    matches, there = compared.matches, compared.matches.is_reference
    return frequencies(matches.ids[there], matches.owner[there], np.bincount(compared.couple))
