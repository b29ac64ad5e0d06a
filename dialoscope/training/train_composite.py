"""Train a composite: score rated replies by its parts, and fit the weights to the ratings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dialoscope.core.errors import TrainingError
from dialoscope.core.progress import print_notice
from dialoscope.core.safe_text import printable
from dialoscope.core.signature import signature
from dialoscope.data.replies import read
from dialoscope.metrics import Metric, metric
from dialoscope.metrics.shared.combination import Combination
from dialoscope.models.checkpoints import IN_SPEC, Checkpoint
from dialoscope.runs.evaluate import evaluate
from dialoscope.runs.result import Result
from dialoscope.training.composite_card import card_of_composite
from dialoscope.training.composite_fit import (
    CompositeRecipe,
    Fold,
    RatedCorpus,
    by_aspect,
    cross_validate_corpora,
    fit_weights,
)
from dialoscope.training.dialogue_split import words_of
from dialoscope.training.workplace import State, Workplace, check_folder, describe_run, finish

COMMON = 0.5
"""Two corpora with at least this share of the smaller one's replies in common have one source."""


def train_composite(
    data: Sequence[str | Path] | str | Path,
    folder: str | Path,
    recipe: CompositeRecipe | None = None,
    *,
    licence: str = "",
) -> Checkpoint:
    """Fit the weights of a composite of metrics to human ratings.

    Args:
        data: Files of rated replies, a corpus each; all corpora have equal weight.
        folder: Folder of the checkpoint.
        recipe: The parts and settings; `CompositeRecipe()` by default.
        licence: Licence of the data, for the card.
    """
    chosen = recipe or CompositeRecipe()
    names = [str(file) for file in ([data] if isinstance(data, str | Path) else data)]
    if not names:
        raise TrainingError("There is no training data: name at least one file of rated replies.")
    path = check_folder(folder)
    identity = {
        "recipe": chosen.name,
        "version": chosen.version,
        "settings": chosen.settings(),
        "files": names,
    }
    with Workplace(path, identity).hold() as workplace:
        scored = score_corpora(names, [part.metric for part in chosen.parts])
        combination, folds = _fit(chosen, scored)
        spec = {
            **{name: value for name, value in identity.items() if name != "files"},
            "data": {**scored.data, "licence": licence},
            "combination": combination.to_dict(),
            IN_SPEC: combination.hash,
            "made with": describe_run("numpy"),
        }
        history = tuple(fold._asdict() for fold in folds)
        workplace.save(State(), Path.touch)  # from here on the folder is this training's
        return finish(workplace, spec, history, card_of_composite(path, spec, folds))


class ScoredCorpora(NamedTuple):
    """Rated corpora, scored by all parts."""

    corpora: tuple[RatedCorpus, ...]
    signatures: tuple[str, ...]
    models: Mapping[str, str]
    """The hash of each model behind the parts, by its signature."""
    data: Mapping[str, Any]
    """The hashes of the files, and the number of replies, for the card."""


def score_corpora(files: Sequence[str], parts: Sequence[str]) -> ScoredCorpora:
    """The values of metrics and the ratings of the replies of each file."""
    metrics = [metric(name) for name in parts]
    _check_parts(metrics)
    titles = _make_titles(files)
    results = {titles[file]: _score(file, metrics) for file in files}
    replies = {
        titles[file]: frozenset(words_of((example.response,)) for example in read(file)) for file in files
    }
    sources = _find_sources(replies)
    corpora = tuple(_make_corpus(title, sources[title], result, metrics) for title, result in results.items())
    models = {signature(model): model.fingerprint for part in metrics for model in part.backends}
    data = {
        "files": {title: result.provenance.data for title, result in results.items()},
        "replies": sum(len(result.replies) for result in results.values()),
    }
    return ScoredCorpora(corpora, tuple(part.signature for part in metrics), models, data)


def _fit(recipe: CompositeRecipe, scored: ScoredCorpora) -> tuple[Combination, list[Fold]]:
    combination = fit_weights(recipe, scored.corpora)
    if not combination.weights:
        raise TrainingError(
            "There are no ratings to fit weights to: no file has ten replies or more with different ratings "
            "of overall, coherence, fluency or engagement."
        )
    _check_values(recipe, scored)
    folds = cross_validate_corpora(recipe, scored.corpora)
    for fold in folds:
        print_notice(f"{fold.corpus} held out, {fold.aspect}: Spearman {fold.spearman:.3f}.")
    return replace(combination, signatures=scored.signatures, models=scored.models), folds


def _check_parts(metrics: Sequence[Metric[Any]]) -> None:
    for part in metrics:
        if part.to_fit:
            raise TrainingError(
                f"{part} has a scale that is fitted to each run, so it cannot be a part; coherence and "
                "fluency can with scale=raw."
            )


def _check_values(recipe: CompositeRecipe, scored: ScoredCorpora) -> None:
    values = np.concatenate([corpus.values for corpus in scored.corpora])
    for part, column in zip(recipe.parts, values.T, strict=True):
        if np.isnan(column).all():
            raise TrainingError(
                f"The part {part.name} ({part.metric}) has no value for single replies; name a metric that "
                "scores each reply."
            )


def _score(file: str, metrics: Sequence[Metric[Any]]) -> Result:
    result = evaluate(read(file), metrics, missing="undefined")
    if not len(result.ratings):
        raise TrainingError(f"{printable(file)} has no ratings, so that no weights can be fitted to it.")
    return result


def _make_corpus(title: str, source: str, result: Result, metrics: Sequence[Metric[Any]]) -> RatedCorpus:
    values = np.stack([result.values(part) for part in metrics], axis=1)
    means = {
        aspect: result.ratings.means(aspect, len(result.replies))
        for aspect in dict.fromkeys(result.ratings.aspect)
    }
    return RatedCorpus(title, source, values, by_aspect(means), result.replies.item)


def _make_titles(files: Sequence[str]) -> dict[str, str]:
    """The titles of corpora: folder and file, without the ending."""
    titles = {
        file: f"{Path(file).resolve().parent.name}/{Path(file).name.partition('.')[0]}" for file in files
    }
    if len(set(titles.values())) < len(files):
        raise TrainingError("Two files have the same name in folders of the same name; rename one of them.")
    return titles


def _find_sources(replies: Mapping[str, frozenset[str]]) -> dict[str, str]:
    """The source of each corpus: the same for those that have most replies in common."""
    sources: dict[str, str] = {}
    for title, own in replies.items():
        common = dict.fromkeys(sources[other] for other in _find_similar(own, replies) if other in sources)
        first = next(iter(common), title)
        sources = {other: first if source in common else source for other, source in sources.items()}
        sources[title] = first
    return sources


def _find_similar(own: frozenset[str], replies: Mapping[str, frozenset[str]]) -> Iterator[str]:
    for other, theirs in replies.items():
        if len(own & theirs) >= COMMON * min(len(own), len(theirs)):
            yield other
