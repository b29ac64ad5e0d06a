"""Fit a composite: the scales of its parts, and weights that follow what people said of replies."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dialoscope.analysis.aspects import NAMES
from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.errors import TrainingError
from dialoscope.core.safe_text import printable
from dialoscope.metrics.shared.combination import ASPECTS, NEUTRAL, RECIPE, Combination, Part, Scale
from dialoscope.training.rating_correlation import correlations

ROUNDS = 1000
"""Of going through all weights; they settle in far fewer."""

FEWEST = 10
"""Rated replies of a corpus without which it says nothing of an aspect."""

_SUITS = ("overall", "coherence")
_OFFERS = ("overall", "engagement")
_BOTH = ("overall", "coherence", "engagement")

PARTS = (
    Part("ruber", "ruber-unreferenced", aspects=_BOTH),
    Part("pmi", "pmi:lm=smollm2-chat,scale=normalised", aspects=_SUITS),
    Part("pmi-dialog", "pmi:scale=normalised", aspects=_SUITS),
    Part("information", "pmi:length=sum", aspects=("engagement",)),
    Part("relatedness", "relatedness", aspects=_SUITS),
    Part("self-consistency", "self-consistency:over=last", aspects=_SUITS),
    Part("fluency", "fluency:lm=smollm2-chat,scale=raw", aspects=("overall",)),
    Part("fluency-sum", "fluency:scale=raw,length=sum", aspects=("fluency",)),
    Part("specificity", "specificity", aspects=_OFFERS),
    Part("words", "words", cap=15, aspects=_OFFERS),
    Part("repetition", "repetition-2", better="less", excess=0.3),
    Part("copying", "copying-2", better="less", aspects=_BOTH, excess=0.3),
)
"""What the shipped checkpoint is made of."""


@dataclass(frozen=True)
class CompositeRecipe:
    """How a composite is fitted."""

    name: ClassVar[str] = RECIPE
    version: ClassVar[int] = 1

    parts: tuple[Part, ...] = PARTS
    evenness: float = 1.0
    """How strongly weights are drawn to each other: 0 not at all, and towards equal weights with more."""
    knots: int = 65
    """Of a scale, at the most."""

    def __post_init__(self) -> None:
        if not 0 <= self.evenness < math.inf:
            raise TrainingError(f"evenness is {self.evenness}; it must be 0 or more.")
        if self.knots < 2:
            raise TrainingError(f"knots is {self.knots}; it must be 2 or more.")
        if len({part.name for part in self.parts}) < len(self.parts):
            raise TrainingError("Two parts have the same name; give each its own.")
        for aspect in ASPECTS:
            if not any(aspect in part.aspects for part in self.parts):
                raise TrainingError(f"No part is one of {aspect}; each aspect needs at least one.")

    def given(self, **chosen: Any) -> "CompositeRecipe":  # noqa: ANN401 - settings of any type
        """The same with other settings; those that are None stay as they are."""
        return replace(self, **{name: value for name, value in chosen.items() if value is not None})

    def settings(self) -> dict[str, Any]:
        """What the outcome depends on, besides the data."""
        parts = [part.told() for part in self.parts]
        return {"evenness": self.evenness, "knots": self.knots, "parts": parts}


def part_of(text: str) -> Part:
    """The part that a text names: `repetition=-repetition-2`, with a minus where less is better."""
    name, _, named = text.partition("=")
    if not name or not named.removeprefix("-"):
        raise TrainingError(f"'{printable(text)}' is no part; write it as NAME=METRIC.")
    return Part(name, named.removeprefix("-"), better="less" if named.startswith("-") else "more")


def by_aspect(rated: Mapping[str, Floats]) -> dict[str, Floats]:
    """Mean ratings of each reply, by aspect, from those by what raters were asked for.

    Where several were asked for that are one aspect here, each counts alike. Where nobody was asked for the
    reply as a whole, coherence stands for it, which is what people mostly judge by.
    """
    found = {}
    for aspect, names in NAMES.items():
        columns = [_standard(ratings) for name, ratings in rated.items() if name.strip().lower() in names]
        if columns:
            found[aspect] = np.mean(columns, axis=0)
    if "coherence" in found:
        found.setdefault("overall", found["coherence"])
    return found


def _standard(ratings: Floats) -> Floats:
    known = _defined(ratings)
    spread = float(np.std(known)) if len(known) else 0.0
    return np.asarray((ratings - known.mean()) / spread) if spread else np.full(len(ratings), math.nan)


class Rated(NamedTuple):
    """Replies of a corpus: what each part says of them, and what people say."""

    name: str
    source: str
    """The same for corpora whose replies are the same, which are left out together."""
    values: Floats  # (replies, parts)
    ratings: Mapping[str, Floats]
    """By aspect the mean rating of each reply, standardised; NaN where there is none."""
    items: Ints
    """A number for what each reply replies to."""


def fitted(
    recipe: CompositeRecipe, corpora: Sequence[Rated], aspects: Sequence[str] = ASPECTS
) -> Combination:
    """The scales of all replies, every corpus counting alike, and the weights that suit the ratings best.

    An aspect that no corpus tells anything of has no weights.
    """
    scales = tuple(
        scale_of([_defined(np.minimum(one.values[:, place], part.cap)) for one in corpora], recipe.knots)
        for place, part in enumerate(recipe.parts)
    )
    bare = Combination(recipe.parts, scales, {}, ())
    told = [aspect for aspect in aspects if any(tells(one, aspect) for one in corpora)]
    return replace(bare, weights={aspect: _weights(recipe, bare, corpora, aspect) for aspect in told})


def scale_of(samples: Sequence[Floats], knots: int) -> Scale:
    """The share of replies below a value, those with the value counting half; samples count alike."""
    samples = [sample for sample in samples if len(sample)]
    if not samples:
        return Scale((0.0,), (NEUTRAL,))
    values = np.concatenate(samples)
    masses = np.concatenate([np.full(len(one), 1 / len(one) / len(samples)) for one in samples])
    different, place = np.unique([float(f"{value:.6g}") for value in values], return_inverse=True)
    mass = np.bincount(place, masses)
    middle = np.cumsum(mass) - mass / 2
    wanted = np.searchsorted(middle, np.linspace(0, 1, knots)).clip(0, len(different) - 1)
    kept = np.unique(wanted)
    return Scale(tuple(different[kept].tolist()), tuple(np.round(middle[kept], 5).tolist()))


def _defined(values: Floats) -> Floats:
    return values[np.isfinite(values)]


def _weights(
    recipe: CompositeRecipe, bare: Combination, corpora: Sequence[Rated], aspect: str
) -> tuple[float, ...]:
    """Least squares with weights of at least 0; a corpus counts as much as any other."""
    able = [place for place, part in enumerate(recipe.parts) if aspect in part.aspects]
    sides = [_centred(bare, one, aspect, able) for one in corpora if tells(one, aspect)]
    square = np.mean([merits.T @ merits / len(merits) for merits, _ in sides], axis=0)
    cross = np.mean([merits.T @ wanted / len(wanted) for merits, wanted in sides], axis=0)
    even = np.eye(len(able)) - 1 / len(able)
    square = square + recipe.evenness * np.trace(square) / len(able) * even
    found = np.zeros(len(recipe.parts))
    found[able] = _not_negative(square, cross)
    return tuple((found / found.sum()).tolist()) if found.sum() else _equal(able, len(found))


def _equal(able: Sequence[int], count: int) -> tuple[float, ...]:
    """Where nothing goes with the ratings, each part counts alike."""
    return tuple(1 / len(able) if place in able else 0.0 for place in range(count))


class _Side(NamedTuple):
    """What is fitted to what, in one corpus: both with a mean of 0."""

    merits: Floats
    wanted: Floats


def _centred(bare: Combination, one: Rated, aspect: str, able: Sequence[int]) -> _Side:
    rated = np.isfinite(one.ratings[aspect])
    merits = np.nan_to_num(bare.merits(one.values[rated])[:, able], nan=NEUTRAL)
    wanted = one.ratings[aspect][rated]
    return _Side(merits - merits.mean(axis=0), (wanted - wanted.mean()) / wanted.std())


def tells(one: Rated, aspect: str) -> bool:
    """Whether a corpus has ratings of an aspect from which anything can be learned."""
    rated = _defined(one.ratings[aspect]) if aspect in one.ratings else np.empty(0)
    return len(rated) >= FEWEST and bool(np.ptp(rated) > 0)


def _not_negative(square: Floats, cross: Floats) -> Floats:
    """Where x·Ax/2 - b·x is least among all x of which nothing is below 0, one coordinate after the other."""
    found = np.zeros(len(cross))
    for _ in range(ROUNDS):
        before = found.copy()
        for place, diagonal in enumerate(np.diag(square)):
            if diagonal > 0:
                step = (cross[place] - square[place] @ found) / diagonal
                found[place] = max(0.0, found[place] + step)
        if np.allclose(before, found, rtol=0, atol=1e-12):
            break
    return found


class Fold(NamedTuple):
    """How well a combination agrees with people on a corpus that it was not fitted to."""

    corpus: str
    aspect: str
    replies: int
    pearson: float
    spearman: float
    weights: tuple[float, ...]


def left_out(recipe: CompositeRecipe, corpora: Sequence[Rated]) -> list[Fold]:
    """Each corpus judged by what is fitted to the others, those of its own source left out too."""
    return [
        _fold(recipe, one, others_than(one, corpora), aspect)
        for one in corpora
        for aspect in ASPECTS
        if tells(one, aspect) and any(tells(other, aspect) for other in others_than(one, corpora))
    ]


def others_than(one: Rated, corpora: Sequence[Rated]) -> list[Rated]:
    """The corpora of other sources."""
    return [other for other in corpora if other.source != one.source]


def _fold(recipe: CompositeRecipe, one: Rated, others: Sequence[Rated], aspect: str) -> Fold:
    found = fitted(recipe, others, (aspect,))
    rated = np.isfinite(one.ratings[aspect])
    pearson, spearman = correlations(found.scores(one.values[rated], aspect), one.ratings[aspect][rated])
    return Fold(one.name, aspect, int(rated.sum()), pearson, spearman, found.weights[aspect])
