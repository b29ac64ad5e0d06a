"""Train ADEM: rated replies become a model that foretells ratings."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any, NamedTuple

import numpy as np

from dialoscope.core.arrays import Floats
from dialoscope.core.errors import MissingExtra, TrainingError
from dialoscope.core.progress import bar, notice
from dialoscope.models.bilinear import Bilinear, encode_replies, resolve_encoder
from dialoscope.models.checkpoints import WEIGHTS, Checkpoint
from dialoscope.training.adem_card import card_of_adem, number, spread
from dialoscope.training.bilinear_fit import (
    FEWEST,
    Lesson,
    Trial,
    after,
    begun,
    calibrated,
    trial,
    without_each,
)
from dialoscope.training.rated_replies import RatedReplies, Scales, read_rated
from dialoscope.training.rating_correlation import correlations
from dialoscope.training.recipes import AdemRecipe
from dialoscope.training.workplace import State, Workplace, check_folder, finish, made_with

FADES = 0.1
"""A correlation below this is next to nothing."""


def train_adem(
    data: Sequence[str | Path] | str | Path,
    folder: str | Path,
    recipe: AdemRecipe | None = None,
    *,
    aspects: Sequence[str] | str = ("overall",),
    scales: Scales | None = None,
    licence: str = "",
) -> Checkpoint:
    """Teach a bilinear form over an encoder's vectors how people rate replies.

    Args:
        data: Files of replies with contexts, references and ratings.
        folder: Where the checkpoint goes.
        recipe: How; the default where nothing is given.
        aspects: What was rated; of several the first that a reply is rated for.
        scales: The lowest and highest rating of aspects, where they are not plain from the ratings.
        licence: Of the data, for the card.
    """
    recipe = recipe or AdemRecipe()
    path = check_folder(folder)
    recipe.check_licences()
    files = [data] if isinstance(data, str | Path) else list(data)
    rated = read_rated(files, [aspects] if isinstance(aspects, str) else aspects, scales)
    _check(rated)
    told = rated.told(licence)
    _tell(told)
    encoder = resolve_encoder(recipe.model, recipe.device)
    with Workplace(path, recipe.identity(encoder.fingerprint, told)).held() as place:
        place.save(State(), Path.touch)  # from here on the folder is this training's
        lesson = Lesson(encode_replies(encoder, rated.replies, recipe.turns), rated.ratings)
        return _finished(place, _learned(lesson, rated, recipe))


def _check(rated: RatedReplies) -> None:
    if len(rated.replies) < FEWEST:
        lacks = "; ".join(f"{count} lack {what}" for what, count in sorted(rated.left_out.items()))
        raise TrainingError(
            f"There are {len(rated.replies)} rated replies with context and reference to learn from, and at "
            f"least {FEWEST} are needed{f' ({lacks})' if lacks else ''}."
        )
    if rated.ratings.std() < 1e-9:
        raise TrainingError(
            f"All {len(rated.replies)} replies are rated alike; there is nothing to learn from ratings that "
            "are all the same."
        )


def _tell(told: Mapping[str, Any]) -> None:
    scales = "; ".join(f"{name} from {low:g} to {high:g}" for name, (low, high) in told["scales"].items())
    lacks = ", ".join(f"{count:,} without {what}" for what, count in sorted(told["left out"].items()))
    notice(
        f"{told['replies']:,} rated replies of {len(told['systems']):,} systems to {told['contexts']:,} "
        f"contexts; ratings of {scales}, taken to a scale from 1 to 5. Left out: {lacks or 'none'}."
    )


class _Outcome(NamedTuple):
    """What was learned, and what is known of it."""

    form: Bilinear
    figures: dict[str, Any]
    history: tuple[Mapping[str, Any], ...]


def _learned(lesson: Lesson, rated: RatedReplies, recipe: AdemRecipe) -> _Outcome:
    seeds = range(recipe.seed, recipe.seed + recipe.seeds)
    contexts, systems = rated.contexts, rated.systems
    with bar("Contexts kept apart", recipe.seeds, unit="times") as done:
        trials = []
        for seed in seeds:
            trials.append(trial(lesson, contexts, recipe, seed))
            done(1)
    steps = round(median(stop.steps for one in trials for stop in one.stops))
    form = calibrated(after(begun(lesson, recipe.dims), lesson, recipe, steps), trials, lesson.ratings)
    with bar("Systems kept apart", recipe.folds * len(set(systems)), unit="trainings") as done:
        unseen = without_each(lesson, systems, trials[0], recipe, done)
    figures: dict[str, Any] = {
        "steps": steps,
        "contexts": {
            "before": _over_parts(trials, [one.before for one in trials], lesson.ratings),
            "after": _over_parts(trials, [one.learned for one in trials], lesson.ratings),
        },
        "systems": _by_system(systems, trials[0].learned, unseen, lesson.ratings),
    }
    figures["warning"] = _warning(figures["systems"]["mean"])
    history = tuple(
        {"seed": seed, "part": part, **entry}
        for seed, one in zip(seeds, trials, strict=True)
        for part, stop in enumerate(one.stops)
        for entry in stop.history
    )
    _report(figures)
    return _Outcome(form, figures, history)


def _over_parts(trials: Sequence[Trial], said: Sequence[Floats], ratings: Floats) -> dict[str, Any]:
    """Correlations on each part that was kept apart: their mean, and how far they scatter."""
    found = [
        correlations(values[one.parts == part], ratings[one.parts == part])._asdict()
        for one, values in zip(trials, said, strict=True)
        for part in range(one.parts.max() + 1)
    ]
    return {name: _spread([one[name] for one in found]) for name in ("pearson", "spearman")}


def _spread(values: Sequence[float]) -> dict[str, float]:
    defined = [value for value in values if not np.isnan(value)]
    return {
        "mean": mean(defined) if defined else float("nan"),
        "sd": stdev(defined) if len(defined) > 1 else float("nan"),
    }


def _by_system(systems: Sequence[str], seen: Floats, unseen: Floats, ratings: Floats) -> dict[str, Any]:
    """Within the replies of each system: how a model does that met it, and one that did not.

    All replies together would not do: each model has its own mean, lower where a good system was left out.
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
    return {"each": each, "mean": _mean_of(list(each.values()))}


def _mean_of(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Over systems, each counting by its replies; those without a number not at all."""
    every: dict[str, Any] = {"n": sum(one["n"] for one in found), "seen": {}, "unseen": {}}
    for met in ("seen", "unseen"):
        for kind in ("pearson", "spearman"):
            known = [(one[met][kind], one["n"]) for one in found if not np.isnan(one[met][kind])]
            total = sum(weight for _, weight in known)
            every[met][kind] = (
                sum(value * weight for value, weight in known) / total if total else float("nan")
            )
    return every


def _warning(found: Mapping[str, Any]) -> str:
    """Whether it knows systems rather than replies."""
    seen, unseen = (found[name]["spearman"] for name in ("seen", "unseen"))
    if not unseen < max(FADES, seen / 2):
        return ""
    return (
        f"Within the replies of a system that it has not met, Spearman's correlation is {unseen:.2f} "
        f"({seen:.2f} for one that it has met): do not score other systems with it."
    )


def _report(figures: Mapping[str, Any]) -> None:
    told = {when: found["spearman"] for when, found in figures["contexts"].items()}
    within = {met: figures["systems"]["mean"][met]["spearman"] for met in ("seen", "unseen")}
    notice(
        f"Spearman on contexts not met: {spread(told['before'])} before, {spread(told['after'])} after; "
        f"within systems {number(within['seen'])} for those met, {number(within['unseen'])} for others."
    )
    if figures["warning"]:
        notice(figures["warning"])


def _finished(place: Workplace, found: _Outcome) -> Checkpoint:
    """The weights are put in place whole, and spec.json last of all."""
    try:
        from safetensors.numpy import save_file
    except ImportError as missing:
        raise MissingExtra("Training", "safetensors", "train") from missing
    weights = place.folder / WEIGHTS
    save_file(
        {name: np.ascontiguousarray(array) for name, array in found.form.arrays().items()},
        place.fresh(weights),
    )
    place.settle(weights)
    spec = {**place.identity, "figures": found.figures, "made with": made_with("numpy")}
    return finish(place, spec, found.history, card_of_adem(place.folder, spec))
