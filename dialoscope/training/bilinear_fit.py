"""Fit a bilinear form to ratings, and see how it does on contexts and systems that it never met."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.errors import TrainingError
from dialoscope.models.bilinear import Bilinear, ReplyVectors
from dialoscope.training.recipes import AdemRecipe

FEWEST = 20
"""Rated replies without which nothing is learned."""

_WITHIN = 99.0
"""The percentage of rated replies to unknown contexts that count as known in kind."""

_LEAST = 1e-6
"""Of a spread, so that texts of which nothing is lost are not infinitely strange to each other."""


class Lesson(NamedTuple):
    """Vectors of replies, and what people gave them."""

    sides: ReplyVectors
    ratings: Floats

    def take(self, chosen: NDArray[np.bool_]) -> "Lesson":
        """Some of the replies."""
        rows = np.flatnonzero(chosen)
        return Lesson(self.sides.take(rows), self.ratings[rows])

    def seen_by(self, form: Bilinear) -> "Lesson":
        """With vectors in the dimensions that a form keeps."""
        return Lesson(ReplyVectors(*map(form.project, self.sides)), self.ratings)


class Change(NamedTuple):
    """By how much the two matrices differ from where they began."""

    context: Floats
    reference: Floats

    def plus(self, other: "Change", times: float) -> "Change":
        """A step further."""
        return Change(self.context + times * other.context, self.reference + times * other.reference)

    def dot(self, other: "Change") -> float:
        """The sum of products."""
        return float((self.context * other.context).sum() + (self.reference * other.reference).sum())


def begun(lesson: Lesson, dims: int) -> Bilinear:
    """Before anything is learned: both matrices the identity, scores with the mean and spread of ratings."""
    texts = np.concatenate(lesson.sides)
    mean = texts.mean(axis=0)
    values, axes = np.linalg.eigh(np.cov((texts - mean).T))
    kept = min(dims, int((values > 1e-12 * values[-1]).sum()))
    axes = _turned(axes[:, ::-1][:, :kept])
    plain = Bilinear(
        mean, axes, np.eye(kept), np.eye(kept), np.array([0.0, 1.0]),
        np.zeros(2 * kept + 2), np.ones(2 * kept + 2), np.ones(1),
    )  # fmt: skip
    found = plain.ratings(lesson.sides)
    beta = found.std() / lesson.ratings.std()
    if not beta > 1e-12:
        raise TrainingError(
            "To the encoder all replies are alike, so that there is nothing to learn from them."
        )
    alpha = found.mean() - beta * lesson.ratings.mean()
    places = plain.positions(lesson.sides)
    # Directions are those of all texts together, of which there are more than contexts alone.
    lost = np.maximum(places[:, -2:].std(axis=0), _LEAST)
    spread = np.concatenate([*2 * [np.sqrt(values[::-1][:kept])], lost])
    return replace(plain, scale=np.array([alpha, beta]), centre=places.mean(axis=0), spread=spread)


def _turned(axes: Floats) -> Floats:
    """The same directions, each with its largest part positive: which way round is chance."""
    largest = np.abs(axes).argmax(axis=0)
    return np.asarray(axes * np.sign(axes[largest, np.arange(axes.shape[1])]))


def descent(start: Bilinear, lesson: Lesson, l2: float) -> Iterator[Bilinear]:
    """After each step of conjugate gradients down squared error and squared distance from the identity.

    The squared distance counts `l2` times as much as the features of a reply do on average. Form and lesson
    are of few dimensions already.
    """
    context, reference, reply = lesson.sides
    beta = float(start.scale[1])
    wrong = lesson.ratings - start.ratings(lesson.sides)

    def applied(change: Change) -> Floats:
        moved = ((context @ change.context + reference @ change.reference) * reply).sum(axis=1) / beta
        return np.asarray(moved - moved.mean())  # α follows, so that the mean stays right

    def gathered(errors: Floats) -> Change:
        pull = (errors - errors.mean())[:, None] * reply / beta
        return Change(context.T @ pull, reference.T @ pull)

    sizes = ((context**2).sum(axis=1) + (reference**2).sum(axis=1)) * (reply**2).sum(axis=1)
    hold = l2 * float(sizes.mean()) / beta**2
    found = Change(np.zeros_like(start.context_matrix), np.zeros_like(start.reference_matrix))
    left = gathered(wrong)
    ahead, size = left, left.dot(left)
    first = size
    while size > 1e-20 * first:
        moved = gathered(applied(ahead)).plus(ahead, hold)
        pace = size / ahead.dot(moved)
        found, left = found.plus(ahead, pace), left.plus(moved, -pace)
        before, size = size, left.dot(left)
        ahead = left.plus(ahead, size / before)
        yield _changed(start, found, lesson)


def _changed(start: Bilinear, change: Change, lesson: Lesson) -> Bilinear:
    """With other matrices, and scores with the mean of the ratings."""
    found = replace(
        start,
        context_matrix=start.context_matrix + change.context,
        reference_matrix=start.reference_matrix + change.reference,
    )
    alpha, beta = start.scale
    off = float((found.ratings(lesson.sides) - lesson.ratings).mean())
    return replace(found, scale=np.array([alpha + off * beta, beta]))


def within(form: Bilinear) -> Bilinear:
    """The form for vectors that are in its dimensions already."""
    dims = form.axes.shape[1]
    return replace(form, mean=np.zeros(dims), axes=np.eye(dims))


def after(start: Bilinear, lesson: Lesson, recipe: AdemRecipe, steps: int) -> Bilinear:
    """What so many steps make of a form."""
    way = descent(within(start), lesson.seen_by(start), recipe.l2)
    *_, found = (start, *islice(way, steps))
    return replace(found, mean=start.mean, axes=start.axes)


class Stop(NamedTuple):
    """After how many steps a descent does best on what is kept apart, and how it went."""

    steps: int
    history: tuple[dict[str, Any], ...]


def stopped(lesson: Lesson, apart: Lesson, recipe: AdemRecipe) -> Stop:
    """Early: when for a while no step did any better; 0 where the identity does best."""
    start = begun(lesson, recipe.dims)
    taught, asked = lesson.seen_by(start), apart.seen_by(start)
    history = [_judged(0, within(start), taught, asked)]
    best = 0
    for number, found in enumerate(descent(within(start), taught, recipe.l2), 1):
        history.append(_judged(number, found, taught, asked))
        if history[-1]["validation"] < history[best]["validation"]:
            best = number
        if number >= recipe.steps or number - best >= recipe.patience:
            break
    return Stop(best, tuple(history))


def _judged(step: int, found: Bilinear, lesson: Lesson, apart: Lesson) -> dict[str, Any]:
    """The mean squared errors."""
    errors = [float(((found.ratings(one.sides) - one.ratings) ** 2).mean()) for one in (lesson, apart)]
    return {"step": step, "training": errors[0], "validation": errors[1]}


def parts_of(contexts: Sequence[str], count: int, seed: int) -> Ints:
    """A part for each reply, those to one context in the same: drawn, whatever the order of the replies."""
    owner = numbered(contexts)
    different = owner.max() + 1
    if different < count:
        raise TrainingError(
            f"There are {different} different contexts, which cannot be cut into {count} parts; rate "
            "replies to more contexts, or cut into fewer (--folds)."
        )
    drawn = np.random.default_rng(seed).permutation(different)
    return np.asarray((drawn % count)[owner])


def numbered(texts: Sequence[str]) -> Ints:
    """A number for each text, the same for the same text, by their order in the alphabet."""
    numbers = {text: number for number, text in enumerate(sorted(set(texts)))}
    return np.array([numbers[text] for text in texts], np.int64)


@dataclass(frozen=True, eq=False)
class Trial:
    """What models said of replies to contexts that they had not met, for one way of cutting."""

    parts: Ints
    before: Floats
    """By the identity."""
    learned: Floats
    strangeness: Floats
    """In units of the spread in training."""
    stops: tuple[Stop, ...]


def trial(lesson: Lesson, contexts: Sequence[str], recipe: AdemRecipe, seed: int) -> Trial:
    """Each part in turn is kept apart, the next one says when to stop, and the others teach."""
    parts = parts_of(contexts, recipe.folds, seed)
    before, learned, strange = np.empty((3, len(parts)))
    stops = []
    for part in range(recipe.folds):
        chooses = (part + 1) % recipe.folds
        teach, choose = lesson.take(~np.isin(parts, (part, chooses))), lesson.take(parts == chooses)
        stops.append(stopped(varied(teach), choose, recipe))
        known, tested = lesson.take(parts != part), lesson.take(parts == part).sides
        start = begun(known, recipe.dims)
        found = after(start, known, recipe, stops[-1].steps)
        before[parts == part] = start.ratings(tested)
        learned[parts == part] = found.ratings(tested)
        strange[parts == part] = found.strangeness(tested)
    return Trial(parts, before, learned, strange, tuple(stops))


def varied(lesson: Lesson) -> Lesson:
    """Itself, if there is anything to be learned from it."""
    if len(lesson.ratings) < FEWEST // 2 or lesson.ratings.std() < 1e-9:
        raise TrainingError(
            f"Of {len(lesson.ratings)} rated replies too few are left, or all have the same rating, where "
            "some are kept apart. Rate more replies."
        )
    return lesson


def without_each(
    lesson: Lesson,
    systems: Sequence[str],
    told: Trial,
    recipe: AdemRecipe,
    done: Callable[[int], None] = lambda more: None,
) -> Floats:
    """What models say of each reply that met neither its context nor any other reply of its system."""
    owner = numbered(systems)
    found = np.full(len(systems), math.nan)
    for system in range(owner.max() + 1):
        for part, stop in enumerate(told.stops):
            rows = (owner == system) & (told.parts == part)
            rest = lesson.take((owner != system) & (told.parts != part))
            if rows.any() and len(rest.ratings) >= FEWEST // 2 and rest.ratings.std() > 1e-9:
                learned = after(begun(rest, recipe.dims), rest, recipe, stop.steps)
                found[rows] = learned.ratings(lesson.take(rows).sides)
            done(1)
    return found


def calibrated(found: Bilinear, trials: Sequence[Trial], ratings: Floats) -> Bilinear:
    """With α and β such that ratings follow scores one to one on contexts that were not met.

    And with the distance within which nearly all of these replies lie for a limit.
    """
    said = np.concatenate([one.learned for one in trials])
    people = np.tile(ratings, len(trials))
    slope = float(np.cov(said, people)[0, 1] / said.var(ddof=1)) if said.var() else 0.0
    if not slope > 0:
        raise TrainingError(
            "Nothing was learned: where contexts were kept apart, what is foretold does not follow what "
            "people said. Rate more replies, or try another aspect (--aspect) or encoder (--model)."
        )
    offset = people.mean() - slope * said.mean()
    alpha, beta = found.scale
    limit = np.percentile(np.concatenate([one.strangeness for one in trials]), _WITHIN)
    scale = np.array([alpha - offset * beta / slope, beta / slope])
    return replace(found, scale=scale, limit=np.array([float(limit)]))
