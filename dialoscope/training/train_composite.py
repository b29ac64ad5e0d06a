"""Train a composite: rated replies are scored by its parts, and the weights fitted to what people said."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dialoscope.core.errors import TrainingError
from dialoscope.core.progress import notice
from dialoscope.core.safe_text import printable
from dialoscope.core.signature import signature
from dialoscope.data.replies import read
from dialoscope.metrics import Metric, metric
from dialoscope.metrics.shared.combination import Combination
from dialoscope.models.checkpoints import IN_SPEC, Checkpoint
from dialoscope.runs.evaluate import evaluate
from dialoscope.runs.result import Result
from dialoscope.training.composite_card import card_of_composite
from dialoscope.training.composite_fit import CompositeRecipe, Fold, Rated, by_aspect, fitted, left_out
from dialoscope.training.dialogue_split import words_of
from dialoscope.training.workplace import State, Workplace, check_folder, finish, made_with

COMMON = 0.5
"""The share of replies of the smaller of two corpora from which on both are one, told twice."""


def train_composite(
    data: Sequence[str | Path] | str | Path,
    folder: str | Path,
    recipe: CompositeRecipe | None = None,
    *,
    licence: str = "",
) -> Checkpoint:
    """Fit a composite of metrics to what people said of replies.

    Args:
        data: Files of rated replies, a corpus each; every corpus counts alike.
        folder: Where the checkpoint goes.
        recipe: Which parts, and how they are weighed; the default where nothing is given.
        licence: Of the data, for the card.
    """
    chosen = recipe or CompositeRecipe()
    names = [str(one) for one in ([data] if isinstance(data, str | Path) else data)]
    if not names:
        raise TrainingError("There is nothing to learn from: name at least one file of rated replies.")
    path = check_folder(folder)
    identity = {
        "recipe": chosen.name,
        "version": chosen.version,
        "settings": chosen.settings(),
        "files": names,
    }
    with Workplace(path, identity).held() as place:
        scored = score_corpora(names, [part.metric for part in chosen.parts])
        found, folds = _fitted(chosen, scored)
        spec = {
            **{name: value for name, value in identity.items() if name != "files"},
            "data": {**scored.told, "licence": licence},
            "combination": found.told(),
            IN_SPEC: found.hash,
            "made with": made_with("numpy"),
        }
        history = tuple(fold._asdict() for fold in folds)
        place.save(State(), Path.touch)  # from here on the folder is this training's
        return finish(place, spec, history, card_of_composite(path, spec, folds))


class Scored(NamedTuple):
    """Rated corpora, scored by all parts."""

    corpora: tuple[Rated, ...]
    signatures: tuple[str, ...]
    models: Mapping[str, str]
    """The hash of each model behind the parts, by its signature."""
    told: Mapping[str, Any]
    """Which data it was."""


def score_corpora(files: Sequence[str], parts: Sequence[str]) -> Scored:
    """What metrics and people say of the replies of each file."""
    metrics = [metric(name) for name in parts]
    _check_parts(metrics)
    titles = _titles(files)
    results = {titles[file]: _scored(file, metrics) for file in files}
    sources = _sources({titles[file]: _replies(file) for file in files})
    corpora = tuple(_rated(title, sources[title], result, metrics) for title, result in results.items())
    models = {signature(model): model.fingerprint for one in metrics for model in one.backends}
    told = {
        "files": {title: result.provenance.data for title, result in results.items()},
        "replies": sum(len(result.replies) for result in results.values()),
    }
    return Scored(corpora, tuple(one.signature for one in metrics), models, told)


def _fitted(recipe: CompositeRecipe, scored: Scored) -> tuple[Combination, list[Fold]]:
    found = fitted(recipe, scored.corpora)
    if not found.weights:
        raise TrainingError(
            "There are no ratings to fit weights to: not one file has ten replies or more with ratings of "
            "overall, coherence, fluency or engagement that are not all alike."
        )
    _check_values(recipe, scored)
    folds = left_out(recipe, scored.corpora)
    for fold in folds:
        notice(f"{fold.corpus} left out, {fold.aspect}: Spearman {fold.spearman:.3f}.")
    return replace(found, signatures=scored.signatures, models=scored.models), folds


def _check_parts(metrics: Sequence[Metric[Any]]) -> None:
    for one in metrics:
        if one.to_fit:
            raise TrainingError(
                f"{one} has a scale that is fitted to each run, so it can be no part; coherence and fluency "
                "can with scale=raw."
            )


def _check_values(recipe: CompositeRecipe, scored: Scored) -> None:
    values = np.concatenate([one.values for one in scored.corpora])
    for part, column in zip(recipe.parts, values.T, strict=True):
        if np.isnan(column).all():
            raise TrainingError(
                f"The part {part.name} ({part.metric}) has no value for a single reply; name a metric that "
                "judges each reply."
            )


def _scored(file: str, metrics: Sequence[Metric[Any]]) -> Result:
    result = evaluate(read(file), metrics, missing="undefined")
    if not len(result.ratings):
        raise TrainingError(f"{printable(file)} has no ratings, so that nothing can be learned from it.")
    return result


def _rated(title: str, source: str, result: Result, metrics: Sequence[Metric[Any]]) -> Rated:
    values = np.stack([result.values(one) for one in metrics], axis=1)
    means = {
        aspect: result.ratings.means(aspect, len(result.replies))
        for aspect in dict.fromkeys(result.ratings.aspect)
    }
    return Rated(title, source, values, by_aspect(means), result.replies.item)


def _titles(files: Sequence[str]) -> dict[str, str]:
    """What corpora are called: file and folder, without the ending."""
    titles = {
        file: f"{Path(file).resolve().parent.name}/{Path(file).name.partition('.')[0]}" for file in files
    }
    if len(set(titles.values())) < len(files):
        raise TrainingError("Two files have the same name in folders of the same name; rename one of them.")
    return titles


def _replies(file: str) -> frozenset[str]:
    return frozenset(words_of((example.response,)) for example in read(file))


def _sources(replies: Mapping[str, frozenset[str]]) -> dict[str, str]:
    """One name for all corpora of which each has most of its replies in common with another of them."""
    found: dict[str, str] = {}
    for title, own in replies.items():
        kin = dict.fromkeys(found[other] for other in _like(own, replies) if other in found)
        first = next(iter(kin), title)
        found = {other: first if source in kin else source for other, source in found.items()}
        found[title] = first
    return found


def _like(own: frozenset[str], replies: Mapping[str, frozenset[str]]) -> Iterator[str]:
    for other, theirs in replies.items():
        if len(own & theirs) >= COMMON * min(len(own), len(theirs)):
            yield other
