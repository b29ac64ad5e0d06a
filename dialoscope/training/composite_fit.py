"""Fit a composite: the scales of its parts, and weights to human ratings."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dialoscope.analysis.aspects import NAMES
from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.errors import TrainingError
from dialoscope.core.safe_text import printable
from dialoscope.metrics.shared.combination import (
    ASPECTS,
    NEUTRAL,
    RECIPE,
    Combination,
    CombinationPart,
    Scale,
)
from dialoscope.training.rating_correlation import correlations
from dialoscope.training.recipes import Weighting

ROUNDS = 1000
"""The maximum number of rounds over all weights; they converge in far fewer."""

FEWEST = 10
"""The minimum number of rated replies of a corpus."""

_SUITS = ("overall", "coherence")
_OFFERS = ("overall", "engagement")
_BOTH = ("overall", "coherence", "engagement")

PARTS = (
    CombinationPart("ruber", "ruber-unreferenced", aspects=_BOTH),
    CombinationPart("pmi", "pmi:lm=smollm2-chat,scale=normalised", aspects=_SUITS),
    CombinationPart("pmi-dialog", "pmi:scale=normalised", aspects=_SUITS),
    CombinationPart("information", "pmi:length=sum", aspects=("engagement",)),
    CombinationPart("relatedness", "relatedness", aspects=_SUITS),
    CombinationPart("self-consistency", "self-consistency:over=last", aspects=_SUITS),
    CombinationPart("fluency", "fluency:lm=smollm2-chat,scale=raw", aspects=("overall",)),
    CombinationPart("fluency-sum", "fluency:scale=raw,length=sum", aspects=("fluency",)),
    CombinationPart("specificity", "specificity", aspects=_OFFERS),
    CombinationPart("words", "words", cap=15, aspects=_OFFERS),
    CombinationPart("repetition", "repetition-2", better="less", excess=0.3),
    CombinationPart("copying", "copying-2", better="less", aspects=_BOTH, excess=0.3),
)
"""The parts of the shipped checkpoint."""


@dataclass(frozen=True)
class CompositeRecipe(Weighting):
    """The parts of a composite, and how their weights are fitted."""

    name: ClassVar[str] = RECIPE

    parts: tuple[CombinationPart, ...] = PARTS

    def __post_init__(self) -> None:
        super().__post_init__()
        if len({part.name for part in self.parts}) < len(self.parts):
            raise TrainingError("Two parts have the same name; give each its own.")
        for aspect in ASPECTS:
            if not any(aspect in part.aspects for part in self.parts):
                raise TrainingError(f"No part is one of {aspect}; each aspect needs at least one.")

    def settings(self) -> dict[str, Any]:
        """All that the outcome depends on besides the data."""
        parts = [part.to_dict() for part in self.parts]
        return {"evenness": self.evenness, "knots": self.knots, "parts": parts}


def part_of(text: str) -> CombinationPart:
    """The part that a text names: `repetition=-repetition-2`, with a minus where less is better."""
    name, _, metric = text.partition("=")
    if not name or not metric.removeprefix("-"):
        raise TrainingError(f"'{printable(text)}' is no part; write it as NAME=METRIC.")
    return CombinationPart(
        name, metric.removeprefix("-"), better="less" if metric.startswith("-") else "more"
    )


def by_aspect(ratings: Mapping[str, Floats]) -> dict[str, Floats]:
    """The standardised mean ratings of each reply by aspect, from those by the names of files.

    Several names of one aspect have equal weight. Without ratings of the reply as a whole, those of coherence
    are a proxy, since overall ratings mostly follow it.
    """
    aspects = {}
    for aspect, names in NAMES.items():
        columns = [_standardise(values) for name, values in ratings.items() if name.strip().lower() in names]
        if columns:
            aspects[aspect] = np.mean(columns, axis=0)
    if "coherence" in aspects:
        aspects.setdefault("overall", aspects["coherence"])
    return aspects


def _standardise(ratings: Floats) -> Floats:
    defined = _drop_undefined(ratings)
    spread = float(np.std(defined)) if len(defined) else 0.0
    return np.asarray((ratings - defined.mean()) / spread) if spread else np.full(len(ratings), math.nan)


class RatedCorpus(NamedTuple):
    """The replies of a corpus: the values of each part, and the ratings."""

    name: str
    source: str
    """The same for corpora with the same replies, which are held out together."""
    values: Floats  # (replies, parts)
    ratings: Mapping[str, Floats]
    """By aspect the standardised mean rating of each reply; NaN where there is none."""
    items: Ints
    """A number for the context of each reply."""


def fit_weights(
    recipe: CompositeRecipe, corpora: Sequence[RatedCorpus], aspects: Sequence[str] = ASPECTS
) -> Combination:
    """The scales of all replies and the weights that fit the ratings best, all corpora having equal weight.

    An aspect without ratings has no weights.
    """
    scales = tuple(
        fit_scale(
            [_drop_undefined(np.minimum(corpus.values[:, column], part.cap)) for corpus in corpora],
            recipe.knots,
        )
        for column, part in enumerate(recipe.parts)
    )
    bare = Combination(recipe.parts, scales, {}, ())
    rated = [aspect for aspect in aspects if any(has_ratings(corpus, aspect) for corpus in corpora)]
    return replace(bare, weights={aspect: _fit_aspect(recipe, bare, corpora, aspect) for aspect in rated})


def fit_scale(samples: Sequence[Floats], knots: int) -> Scale:
    """The share of replies below a value, plus half of those that have it; samples have equal weight."""
    samples = [sample for sample in samples if len(sample)]
    if not samples:
        return Scale((0.0,), (NEUTRAL,))
    values = np.concatenate(samples)
    masses = np.concatenate([np.full(len(sample), 1 / len(sample) / len(samples)) for sample in samples])
    different, indices = np.unique([float(f"{value:.6g}") for value in values], return_inverse=True)
    mass = np.bincount(indices, masses)
    middle = np.cumsum(mass) - mass / 2
    wanted = np.searchsorted(middle, np.linspace(0, 1, knots)).clip(0, len(different) - 1)
    chosen = np.unique(wanted)
    return Scale(tuple(different[chosen].tolist()), tuple(np.round(middle[chosen], 5).tolist()))


def _drop_undefined(values: Floats) -> Floats:
    return values[np.isfinite(values)]


def _fit_aspect(
    recipe: CompositeRecipe, bare: Combination, corpora: Sequence[RatedCorpus], aspect: str
) -> tuple[float, ...]:
    """Non-negative least squares, all corpora having equal weight; equal weights if all would be zero."""
    able = [column for column, part in enumerate(recipe.parts) if aspect in part.aspects]
    sides = [_centre(bare, corpus, aspect, able) for corpus in corpora if has_ratings(corpus, aspect)]
    square = np.mean([merits.T @ merits / len(merits) for merits, _ in sides], axis=0)
    cross = np.mean([merits.T @ ratings / len(ratings) for merits, ratings in sides], axis=0)
    even = np.eye(len(able)) - 1 / len(able)
    square = square + recipe.evenness * np.trace(square) / len(able) * even
    weights = np.zeros(len(recipe.parts))
    weights[able] = _minimise(square, cross)
    if not weights.sum():
        return tuple(1 / len(able) if column in able else 0.0 for column in range(len(weights)))
    return tuple((weights / weights.sum()).tolist())


class _CentredSides(NamedTuple):
    """The merits of the parts and the ratings in one corpus, both with a mean of 0."""

    merits: Floats
    ratings: Floats


def _centre(bare: Combination, corpus: RatedCorpus, aspect: str, able: Sequence[int]) -> _CentredSides:
    is_rated = np.isfinite(corpus.ratings[aspect])
    merits = np.nan_to_num(bare.merits(corpus.values[is_rated])[:, able], nan=NEUTRAL)
    ratings = corpus.ratings[aspect][is_rated]
    return _CentredSides(merits - merits.mean(axis=0), (ratings - ratings.mean()) / ratings.std())


def has_ratings(corpus: RatedCorpus, aspect: str) -> bool:
    """Whether a corpus has enough ratings of an aspect, which are not all the same."""
    ratings = _drop_undefined(corpus.ratings[aspect]) if aspect in corpus.ratings else np.empty(0)
    return len(ratings) >= FEWEST and bool(np.ptp(ratings) > 0)


def _minimise(square: Floats, cross: Floats) -> Floats:
    """The x >= 0 that minimises x·Ax/2 - b·x, by coordinate descent."""
    solution = np.zeros(len(cross))
    for _ in range(ROUNDS):
        before = solution.copy()
        for index, diagonal in enumerate(np.diag(square)):
            if diagonal > 0:
                step = (cross[index] - square[index] @ solution) / diagonal
                solution[index] = max(0.0, solution[index] + step)
        if np.allclose(before, solution, rtol=0, atol=1e-12):
            break
    return solution


class Fold(NamedTuple):
    """The correlations of a combination with the ratings of a corpus that it was not fitted to."""

    corpus: str
    aspect: str
    replies: int
    pearson: float
    spearman: float
    weights: tuple[float, ...]


def cross_validate_corpora(recipe: CompositeRecipe, corpora: Sequence[RatedCorpus]) -> list[Fold]:
    """Evaluate on each corpus the weights that are fitted to the corpora of other sources."""
    return [
        _evaluate_fold(recipe, corpus, others_than(corpus, corpora), aspect)
        for corpus in corpora
        for aspect in ASPECTS
        if has_ratings(corpus, aspect)
        and any(has_ratings(other, aspect) for other in others_than(corpus, corpora))
    ]


def others_than(corpus: RatedCorpus, corpora: Sequence[RatedCorpus]) -> list[RatedCorpus]:
    """The corpora of other sources."""
    return [other for other in corpora if other.source != corpus.source]


def _evaluate_fold(
    recipe: CompositeRecipe, corpus: RatedCorpus, others: Sequence[RatedCorpus], aspect: str
) -> Fold:
    combination = fit_weights(recipe, others, (aspect,))
    is_rated = np.isfinite(corpus.ratings[aspect])
    scores = combination.scores(corpus.values[is_rated], aspect)
    pearson, spearman = correlations(scores, corpus.ratings[aspect][is_rated])
    return Fold(corpus.name, aspect, int(is_rated.sum()), pearson, spearman, combination.weights[aspect])
