"""Fit a bilinear form to ratings, and evaluate it on held-out contexts and systems."""

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
"""The minimum number of rated replies."""

_WITHIN = 99.0
"""The percentage of held-out replies that are within the limit of strangeness."""

_LEAST = 1e-6
"""The minimum spread of what the projection loses, so that no text is infinitely strange."""


class RatedVectors(NamedTuple):
    """The vectors of replies, contexts and references, and the ratings."""

    sides: ReplyVectors
    ratings: Floats

    def take(self, mask: NDArray[np.bool_]) -> "RatedVectors":
        """The replies where a mask is true."""
        rows = np.flatnonzero(mask)
        return RatedVectors(self.sides.take(rows), self.ratings[rows])

    def project(self, form: Bilinear) -> "RatedVectors":
        """The same with vectors in the principal components of a form."""
        return RatedVectors(ReplyVectors(*map(form.project, self.sides)), self.ratings)


class MatrixChange(NamedTuple):
    """The difference of both matrices from their initial values."""

    context: Floats
    reference: Floats

    def add(self, other: "MatrixChange", times: float) -> "MatrixChange":
        """The sum with a multiple of another change."""
        return MatrixChange(self.context + times * other.context, self.reference + times * other.reference)

    def dot(self, other: "MatrixChange") -> float:
        """The scalar product."""
        return float((self.context * other.context).sum() + (self.reference * other.reference).sum())


def initial_form(data: RatedVectors, dims: int) -> Bilinear:
    """The form before training: both matrices are the identity, scores have the ratings' mean and spread."""
    texts = np.concatenate(data.sides)
    mean = texts.mean(axis=0)
    values, axes = np.linalg.eigh(np.cov((texts - mean).T))
    count = min(dims, int((values > 1e-12 * values[-1]).sum()))
    axes = _fix_signs(axes[:, ::-1][:, :count])
    plain = Bilinear(
        mean, axes, np.eye(count), np.eye(count), np.array([0.0, 1.0]),
        np.zeros(2 * count + 2), np.ones(2 * count + 2), np.ones(1),
    )  # fmt: skip
    scores = plain.ratings(data.sides)
    beta = scores.std() / data.ratings.std()
    if not beta > 1e-12:
        raise TrainingError("All replies have the same vector, so that no form can be fitted to them.")
    alpha = scores.mean() - beta * data.ratings.mean()
    places = plain.positions(data.sides)
    # The components are those of all texts together, which are more than the contexts.
    lost = np.maximum(places[:, -2:].std(axis=0), _LEAST)
    spread = np.concatenate([*2 * [np.sqrt(values[::-1][:count])], lost])
    return replace(plain, scale=np.array([alpha, beta]), centre=places.mean(axis=0), spread=spread)


def _fix_signs(axes: Floats) -> Floats:
    """The same axes, each with its largest element positive, since their signs are arbitrary."""
    largest = np.abs(axes).argmax(axis=0)
    return np.asarray(axes * np.sign(axes[largest, np.arange(axes.shape[1])]))


def descent(start: Bilinear, data: RatedVectors, l2: float) -> Iterator[Bilinear]:
    """The form after each step of conjugate gradients on squared error and distance from the identity.

    The weight of the squared distance is `l2` times the mean squared features of a reply. Form and vectors
    are projected already.
    """
    context, reference, reply = data.sides
    beta = float(start.scale[1])
    errors = data.ratings - start.ratings(data.sides)

    def apply(change: MatrixChange) -> Floats:
        moved = ((context @ change.context + reference @ change.reference) * reply).sum(axis=1) / beta
        return np.asarray(moved - moved.mean())  # α changes too, so that the mean stays the same

    def gather(errors: Floats) -> MatrixChange:
        pull = (errors - errors.mean())[:, None] * reply / beta
        return MatrixChange(context.T @ pull, reference.T @ pull)

    sizes = ((context**2).sum(axis=1) + (reference**2).sum(axis=1)) * (reply**2).sum(axis=1)
    penalty = l2 * float(sizes.mean()) / beta**2
    change = MatrixChange(np.zeros_like(start.context_matrix), np.zeros_like(start.reference_matrix))
    residual = gather(errors)
    direction, size = residual, residual.dot(residual)
    first = size
    while size > 1e-20 * first:
        moved = gather(apply(direction)).add(direction, penalty)
        rate = size / direction.dot(moved)
        change, residual = change.add(direction, rate), residual.add(moved, -rate)
        before, size = size, residual.dot(residual)
        direction = residual.add(direction, size / before)
        yield _apply_change(start, change, data)


def _apply_change(start: Bilinear, change: MatrixChange, data: RatedVectors) -> Bilinear:
    """The form with changed matrices, and scores with the mean of the ratings."""
    form = replace(
        start,
        context_matrix=start.context_matrix + change.context,
        reference_matrix=start.reference_matrix + change.reference,
    )
    alpha, beta = start.scale
    offset = float((form.ratings(data.sides) - data.ratings).mean())
    return replace(form, scale=np.array([alpha + offset * beta, beta]))


def without_projection(form: Bilinear) -> Bilinear:
    """The form for vectors that are projected already."""
    dims = form.axes.shape[1]
    return replace(form, mean=np.zeros(dims), axes=np.eye(dims))


def fit_form(start: Bilinear, data: RatedVectors, recipe: AdemRecipe, steps: int) -> Bilinear:
    """The form after so many steps of descent."""
    forms = descent(without_projection(start), data.project(start), recipe.l2)
    *_, form = (start, *islice(forms, steps))
    return replace(form, mean=start.mean, axes=start.axes)


class Stop(NamedTuple):
    """The number of steps that is best on held-out replies, and the errors after each."""

    steps: int
    history: tuple[dict[str, Any], ...]


def find_stop(data: RatedVectors, held_out: RatedVectors, recipe: AdemRecipe) -> Stop:
    """Stop early, after `patience` steps without improvement; 0 steps where the identity is best."""
    start = initial_form(data, recipe.dims)
    training, validation = data.project(start), held_out.project(start)
    history = [_measure_errors(0, without_projection(start), training, validation)]
    best = 0
    for number, form in enumerate(descent(without_projection(start), training, recipe.l2), 1):
        history.append(_measure_errors(number, form, training, validation))
        if history[-1]["validation"] < history[best]["validation"]:
            best = number
        if number >= recipe.steps or number - best >= recipe.patience:
            break
    return Stop(best, tuple(history))


def _measure_errors(
    step: int, form: Bilinear, training: RatedVectors, validation: RatedVectors
) -> dict[str, Any]:
    """The mean squared errors."""
    errors = [
        float(((form.ratings(part.sides) - part.ratings) ** 2).mean()) for part in (training, validation)
    ]
    return {"step": step, "training": errors[0], "validation": errors[1]}


def assign_parts(contexts: Sequence[str], count: int, seed: int) -> Ints:
    """A random part for each reply, the same for all replies to a context, whatever their order."""
    owner = number_texts(contexts)
    different = owner.max() + 1
    if different < count:
        raise TrainingError(
            f"There are {different} different contexts, which cannot be split into {count} parts; rate "
            "replies to more contexts, or split into fewer (--folds)."
        )
    order = np.random.default_rng(seed).permutation(different)
    return np.asarray((order % count)[owner])


def number_texts(texts: Sequence[str]) -> Ints:
    """A number for each text, the same for equal texts, in alphabetical order."""
    numbers = {text: number for number, text in enumerate(sorted(set(texts)))}
    return np.array([numbers[text] for text in texts], np.int64)


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """The predictions for replies to held-out contexts, for one split."""

    parts: Ints
    before: Floats
    """Predictions of the identity."""
    after: Floats
    """Predictions of trained forms."""
    strangeness: Floats
    """Distances from the training data, in units of its spread."""
    stops: tuple[Stop, ...]


def cross_validate(
    data: RatedVectors, contexts: Sequence[str], recipe: AdemRecipe, seed: int
) -> CrossValidation:
    """Hold out each part in turn; the next one is for validation, the others for training."""
    parts = assign_parts(contexts, recipe.folds, seed)
    before, after, strangeness = np.empty((3, len(parts)))
    stops = []
    for part in range(recipe.folds):
        validation = (part + 1) % recipe.folds
        training = data.take(~np.isin(parts, (part, validation)))
        stops.append(find_stop(check_variance(training), data.take(parts == validation), recipe))
        rest, held_out = data.take(parts != part), data.take(parts == part).sides
        start = initial_form(rest, recipe.dims)
        form = fit_form(start, rest, recipe, stops[-1].steps)
        before[parts == part] = start.ratings(held_out)
        after[parts == part] = form.ratings(held_out)
        strangeness[parts == part] = form.strangeness(held_out)
    return CrossValidation(parts, before, after, strangeness, tuple(stops))


def check_variance(data: RatedVectors) -> RatedVectors:
    """Return the data, or refuse too few replies and constant ratings."""
    if len(data.ratings) < FEWEST // 2 or data.ratings.std() < 1e-9:
        raise TrainingError(
            f"Without the held-out ones, {len(data.ratings)} rated replies are left: too few, or all with "
            "the same rating. Rate more replies."
        )
    return data


def leave_systems_out(
    data: RatedVectors,
    systems: Sequence[str],
    validation: CrossValidation,
    recipe: AdemRecipe,
    advance: Callable[[int], None] = lambda count: None,
) -> Floats:
    """The prediction for each reply of a form trained on neither its context nor its system."""
    owner = number_texts(systems)
    predictions = np.full(len(systems), math.nan)
    for system in range(owner.max() + 1):
        for part, stop in enumerate(validation.stops):
            rows = (owner == system) & (validation.parts == part)
            rest = data.take((owner != system) & (validation.parts != part))
            if rows.any() and len(rest.ratings) >= FEWEST // 2 and rest.ratings.std() > 1e-9:
                form = fit_form(initial_form(rest, recipe.dims), rest, recipe, stop.steps)
                predictions[rows] = form.ratings(data.take(rows).sides)
            advance(1)
    return predictions


def calibrate(form: Bilinear, validations: Sequence[CrossValidation], ratings: Floats) -> Bilinear:
    """The form with α and β such that the regression of ratings on held-out predictions is the identity.

    Its limit is the strangeness that nearly all held-out replies are below.
    """
    predicted = np.concatenate([validation.after for validation in validations])
    actual = np.tile(ratings, len(validations))
    slope = float(np.cov(predicted, actual)[0, 1] / predicted.var(ddof=1)) if predicted.var() else 0.0
    if not slope > 0:
        raise TrainingError(
            "On held-out contexts, predictions do not correlate with ratings. Rate more replies, or try "
            "another aspect (--aspect) or encoder (--model)."
        )
    offset = actual.mean() - slope * predicted.mean()
    alpha, beta = form.scale
    strangeness = np.concatenate([validation.strangeness for validation in validations])
    limit = np.percentile(strangeness, _WITHIN)
    scale = np.array([alpha - offset * beta / slope, beta / slope])
    return replace(form, scale=scale, limit=np.array([float(limit)]))
