"""The card of a composite."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dialoscope.training.card import table, tools
from dialoscope.training.composite_fit import Fold


def card_of_composite(folder: Path, spec: Mapping[str, Any], folds: Sequence[Fold]) -> str:
    """The card: the parts and weights, the correlation with ratings, and how it was made."""
    data = spec["data"]
    return "\n".join(
        [
            f"# {folder.resolve().name}",
            "",
            "Weights of reference-free metrics, fitted to human ratings with `dialoscope train composite`.",
            "",
            "## Parts and weights",
            *_parts(spec["combination"]),
            "",
            "## Figures",
            "Correlations with the ratings of each corpus, by weights and scales fitted to the others alone; "
            "corpora with the same replies are held out together.",
            *table(("held out", "aspect", "replies", "Pearson", "Spearman"), list(map(_format_fold, folds))),
            "",
            "## Data",
            f"{data['replies']:,} replies; the hash of each corpus:",
            *table(("corpus", "replies"), [(name, f"`{value}`") for name, value in data["files"].items()]),
            "",
            f"Licence of the data: {data['licence'] or 'not stated'}. Only figures of it are stored here.",
            "",
            "## Recipe",
            *table(
                ("setting", "value"), [(name, str(spec["settings"][name])) for name in ("evenness", "knots")]
            ),
            "",
            *tools(spec),
            "",
        ]
    )


def _parts(combination: Mapping[str, Any]) -> list[str]:
    weights = combination["weights"]
    rows = [
        (
            part["name"],
            f"`{part['metric']}`" + (f", at most {part['cap']:g}" if part["cap"] else ""),
            part["better"],
            *(f"{values[index]:.3f}" for values in weights.values()),
        )
        for index, part in enumerate(combination["parts"])
    ]
    return table(("part", "metric", "better", *weights), rows)


def _format_fold(fold: Fold) -> tuple[str, ...]:
    return (fold.corpus, fold.aspect, str(fold.replies), f"{fold.pearson:.3f}", f"{fold.spearman:.3f}")
