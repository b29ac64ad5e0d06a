"""Train ADEM, which predicts ratings of replies."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any, NamedTuple

import numpy as np

from dialoscope.core.arrays import Floats
from dialoscope.core.errors import MissingExtra, TrainingError
from dialoscope.core.progress import print_notice, progress_bar
from dialoscope.models.bilinear import Bilinear, encode_replies, resolve_encoder
from dialoscope.models.checkpoints import WEIGHTS, Checkpoint
from dialoscope.training.adem_card import card_of_adem, number, spread
from dialoscope.training.bilinear_fit import (
    FEWEST,
    CrossValidation,
    RatedVectors,
    calibrate,
    cross_validate,
    fit_form,
    initial_form,
    leave_systems_out,
)
from dialoscope.training.rated_replies import RatedReplies, Scales, read_rated_replies
from dialoscope.training.rating_correlation import correlations
from dialoscope.training.recipes import AdemRecipe
from dialoscope.training.workplace import State, Workplace, check_folder, describe_run, finish

WEAK = 0.1
"""A correlation below this is too weak for use."""


def train_adem(
    data: Sequence[str | Path] | str | Path,
    folder: str | Path,
    recipe: AdemRecipe | None = None,
    *,
    aspects: Sequence[str] | str = ("overall",),
    scales: Scales | None = None,
    licence: str = "",
) -> Checkpoint:
    """Fit a bilinear form over an encoder's vectors to human ratings of replies.

    Args:
        data: Files of replies with contexts, references and ratings.
        folder: Folder of the checkpoint.
        recipe: The settings; `AdemRecipe()` by default.
        aspects: Rated aspects; of several the first that a reply has a rating for.
        scales: The lowest and highest possible rating of aspects, where they are not usual ones.
        licence: Licence of the data, for the card.
    """
    recipe = recipe or AdemRecipe()
    path = check_folder(folder)
    recipe.check_licences()
    files = [data] if isinstance(data, str | Path) else list(data)
    rated = read_rated_replies(files, [aspects] if isinstance(aspects, str) else aspects, scales)
    _check_ratings(rated)
    description = rated.describe(licence)
    _announce_data(description)
    encoder = resolve_encoder(recipe.model, recipe.device)
    with Workplace(path, recipe.identity(encoder.fingerprint, description)).hold() as workplace:
        workplace.save(State(), Path.touch)  # from here on the folder is this training's
        vectors = RatedVectors(encode_replies(encoder, rated.replies, recipe.turns), rated.ratings)
        return _write_checkpoint(workplace, _fit(vectors, rated, recipe))


def _check_ratings(rated: RatedReplies) -> None:
    if len(rated.replies) < FEWEST:
        missing = "; ".join(f"{count} without {what}" for what, count in sorted(rated.left_out.items()))
        raise TrainingError(
            f"There are {len(rated.replies)} rated replies with context and reference for training, and at "
            f"least {FEWEST} are needed{f' ({missing})' if missing else ''}."
        )
    if rated.ratings.std() < 1e-9:
        raise TrainingError(
            f"All {len(rated.replies)} replies have the same rating; no model can be fitted to that."
        )


def _announce_data(data: Mapping[str, Any]) -> None:
    scales = "; ".join(f"{name} from {low:g} to {high:g}" for name, (low, high) in data["scales"].items())
    missing = ", ".join(f"{count:,} without {what}" for what, count in sorted(data["left out"].items()))
    print_notice(
        f"{data['replies']:,} rated replies of {len(data['systems']):,} systems to {data['contexts']:,} "
        f"contexts; ratings of {scales}, mapped to a scale from 1 to 5. Left out: {missing or 'none'}."
    )


class _Outcome(NamedTuple):
    """The fitted form, its figures, and the errors after each step."""

    form: Bilinear
    figures: dict[str, Any]
    history: tuple[Mapping[str, Any], ...]


def _fit(data: RatedVectors, rated: RatedReplies, recipe: AdemRecipe) -> _Outcome:
    """Evaluate on held-out contexts and systems, and fit to all replies with the best number of steps."""
    seeds = range(recipe.seed, recipe.seed + recipe.seeds)
    contexts, systems = rated.contexts, rated.systems
    with progress_bar("Held-out contexts", recipe.seeds, unit="splits") as advance:
        validations = []
        for seed in seeds:
            validations.append(cross_validate(data, contexts, recipe, seed))
            advance(1)
    steps = round(median(stop.steps for validation in validations for stop in validation.stops))
    form = fit_form(initial_form(data, recipe.dims), data, recipe, steps)
    form = calibrate(form, validations, data.ratings)
    with progress_bar("Held-out systems", recipe.folds * len(set(systems)), unit="trainings") as advance:
        unseen = leave_systems_out(data, systems, validations[0], recipe, advance)
    figures: dict[str, Any] = {
        "steps": steps,
        "contexts": {
            "before": _summarise_parts(validations, [each.before for each in validations], data.ratings),
            "after": _summarise_parts(validations, [each.after for each in validations], data.ratings),
        },
        "systems": _correlate_by_system(systems, validations[0].after, unseen, data.ratings),
    }
    figures["warning"] = _make_warning(figures["systems"]["mean"])
    history = tuple(
        {"seed": seed, "part": part, **entry}
        for seed, validation in zip(seeds, validations, strict=True)
        for part, stop in enumerate(validation.stops)
        for entry in stop.history
    )
    _announce_figures(figures)
    return _Outcome(form, figures, history)


def _summarise_parts(
    validations: Sequence[CrossValidation], predictions: Sequence[Floats], ratings: Floats
) -> dict[str, Any]:
    """The mean and standard deviation of correlations over held-out parts."""
    figures = [
        correlations(values[validation.parts == part], ratings[validation.parts == part])._asdict()
        for validation, values in zip(validations, predictions, strict=True)
        for part in range(validation.parts.max() + 1)
    ]
    return {name: _summarise([each[name] for each in figures]) for name in ("pearson", "spearman")}


def _summarise(values: Sequence[float]) -> dict[str, float]:
    defined = [value for value in values if not np.isnan(value)]
    return {
        "mean": mean(defined) if defined else float("nan"),
        "sd": stdev(defined) if len(defined) > 1 else float("nan"),
    }


def _correlate_by_system(
    systems: Sequence[str], seen: Floats, unseen: Floats, ratings: Floats
) -> dict[str, Any]:
    """The correlations within the replies of each system, of forms trained on it and of forms that were not.

    All replies together would not do: each form has its own mean, lower where a good system was held out.
    """
    names = np.array(systems, object)
    each = {
        name: {
            "n": int((names == name).sum()),
            "seen": correlations(seen[names == name], ratings[names == name])._asdict(),
            "unseen": correlations(unseen[names == name], ratings[names == name])._asdict(),
        }
        for name in sorted(set(systems))
    }
    return {"each": each, "mean": _average_systems(list(each.values()))}


def _average_systems(systems: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The mean over systems, weighted by their replies, without undefined correlations."""
    means: dict[str, Any] = {"n": sum(system["n"] for system in systems), "seen": {}, "unseen": {}}
    for met in ("seen", "unseen"):
        for kind in ("pearson", "spearman"):
            defined = [
                (system[met][kind], system["n"]) for system in systems if not np.isnan(system[met][kind])
            ]
            total = sum(weight for _, weight in defined)
            means[met][kind] = (
                sum(value * weight for value, weight in defined) / total if total else float("nan")
            )
    return means


def _make_warning(figures: Mapping[str, Any]) -> str:
    """A warning if the form does not generalise to other systems; else empty."""
    seen, unseen = (figures[name]["spearman"] for name in ("seen", "unseen"))
    if not unseen < max(WEAK, seen / 2):
        return ""
    return (
        f"Within the replies of a held-out system, Spearman's correlation is {unseen:.2f} "
        f"({seen:.2f} for a system in training): do not score other systems with it."
    )


def _announce_figures(figures: Mapping[str, Any]) -> None:
    over_parts = {when: values["spearman"] for when, values in figures["contexts"].items()}
    within = {met: figures["systems"]["mean"][met]["spearman"] for met in ("seen", "unseen")}
    print_notice(
        f"Spearman on held-out contexts: {spread(over_parts['before'])} before, {spread(over_parts['after'])}"
        f" after; within systems {number(within['seen'])} for seen ones, {number(within['unseen'])} for "
        "held-out ones."
    )
    if figures["warning"]:
        print_notice(figures["warning"])


def _write_checkpoint(workplace: Workplace, outcome: _Outcome) -> Checkpoint:
    """Write the weights, then history, card and spec."""
    try:
        from safetensors.numpy import save_file
    except ImportError as missing:
        raise MissingExtra("Training", "safetensors", "train") from missing
    weights = workplace.folder / WEIGHTS
    save_file(
        {name: np.ascontiguousarray(array) for name, array in outcome.form.arrays().items()},
        workplace.fresh(weights),
    )
    workplace.settle(weights)
    spec = {**workplace.identity, "figures": outcome.figures, "made with": describe_run("numpy")}
    return finish(workplace, spec, outcome.history, card_of_adem(workplace.folder, spec))
