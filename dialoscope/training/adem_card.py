"""The card of ADEM."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dialoscope.core.safe_text import printable
from dialoscope.training.card import table, tools


def card_of_adem(folder: Path, spec: Mapping[str, Any]) -> str:
    """The card: what it is, how well it predicts ratings of new contexts and systems, how it was made."""
    settings, figures = spec["settings"], spec["figures"]
    return "\n".join(
        [
            f"# {folder.resolve().name}",
            "",
            f"A bilinear form over {settings['dims']} dimensions of `{settings['model']}`, trained with "
            "`dialoscope train adem`: it predicts the rating of a reply, from 1 to 5.",
            "",
            *([f"**Warning.** {figures['warning']}", ""] if figures["warning"] else []),
            "## Held-out contexts",
            f"Contexts were split into {settings['folds']} parts, {settings['seeds']} times; each part was "
            "predicted by a model trained on none of its contexts. Before: both matrices are the identity. "
            "Mean ± sd over parts.",
            *table(
                ("correlation with ratings", "before", "after"),
                [
                    (
                        name,
                        *(spread(figures["contexts"][when][name.lower()]) for when in ("before", "after")),
                    )
                    for name in ("Pearson", "Spearman")
                ],
            ),
            "",
            "## Held-out systems",
            "Each reply was predicted by two models not trained on its context: one trained on other replies "
            "of its system, and one on none. Correlations are within the replies of a system.",
            *table(
                ("system", "replies", "Pearson, seen", "held out", "Spearman, seen", "held out"),
                [
                    *(
                        _system(f"`{printable(name)}`", own)
                        for name, own in figures["systems"]["each"].items()
                    ),
                    _system("mean", figures["systems"]["mean"]),
                ],
            ),
            "",
            *_data(spec["data"]),
            "",
            "## Recipe",
            *table(("setting", "value"), [(name, str(value)) for name, value in settings.items()]),
            "",
            f"Steps of the descent: {figures['steps']}, the median of the best numbers for held-out "
            "contexts. Scores were calibrated to ratings by a line through the predictions of these.",
            *tools(spec),
            "",
        ]
    )


def _data(data: Mapping[str, Any]) -> list[str]:
    scales = "; ".join(
        f"{printable(name)}: {low:g} to {high:g}" for name, (low, high) in data["scales"].items()
    )
    missing = ", ".join(f"{count:,} without {what}" for what, count in sorted(data["left out"].items()))
    return [
        "## Data",
        f"{', '.join(map(printable, data['files']))}: {data['replies']:,} rated replies of "
        f"{len(data['systems']):,} systems to {data['contexts']:,} contexts; left out: {missing or 'none'}. "
        f"Ratings and their scales: {scales}. SHA-256 {data['sha256']}.",
        "",
        f"Licence of the data: {data['licence'] or 'not stated'}.",
    ]


def _system(name: str, figures: Mapping[str, Any]) -> tuple[str, ...]:
    each = (number(figures[met][kind]) for kind in ("pearson", "spearman") for met in ("seen", "unseen"))
    return (name, f"{figures['n']:,}", *each)


def spread(values: Mapping[str, float]) -> str:
    """A mean and its standard deviation."""
    return f"{number(values['mean'])} ± {number(values['sd'])}"


def number(value: float) -> str:
    """A correlation with three digits, or `undefined`."""
    return "undefined" if math.isnan(value) else f"{value:.3f}"
