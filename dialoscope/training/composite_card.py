"""What the checkpoint of a composite tells of itself."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dialoscope.training.card import table, tools
from dialoscope.training.composite_fit import Fold


def card_of_composite(folder: Path, spec: Mapping[str, Any], folds: Sequence[Fold]) -> str:
    """A page for people: what it is made of, how well it agrees with people, and how it was made."""
    data = spec["data"]
    return "\n".join(
        [
            f"# {folder.resolve().name}",
            "",
            "Weights of metrics that need no references, fitted to what people said of replies with "
            "`dialoscope train composite`.",
            "",
            "## Parts and weights",
            *_parts(spec["combination"]),
            "",
            "## Figures",
            "Each corpus judged by weights and scales that were fitted to the others alone; corpora with the "
            "same replies are left out together.",
            *table(("left out", "aspect", "replies", "Pearson", "Spearman"), list(map(_fold, folds))),
            "",
            "## Data",
            f"{data['replies']:,} replies; a hash of those of each corpus:",
            *table(("corpus", "replies"), [(name, f"`{told}`") for name, told in data["files"].items()]),
            "",
            f"Licence of the data: {data['licence'] or 'not stated'}. Figures alone are kept of it.",
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
            *(f"{given[place]:.3f}" for given in weights.values()),
        )
        for place, part in enumerate(combination["parts"])
    ]
    return table(("part", "metric", "better", *weights), rows)


def _fold(fold: Fold) -> tuple[str, ...]:
    return (fold.corpus, fold.aspect, str(fold.replies), f"{fold.pearson:.3f}", f"{fold.spearman:.3f}")
