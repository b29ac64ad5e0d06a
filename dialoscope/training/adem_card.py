"""What a checkpoint of ADEM tells of itself."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dialoscope.core.safe_text import printable
from dialoscope.training.card import table, tools


def card_of_adem(folder: Path, spec: Mapping[str, Any]) -> str:
    """A page for people: what it is, how far it can be trusted, and how it was made."""
    settings, figures = spec["settings"], spec["figures"]
    return "\n".join(
        [
            f"# {folder.resolve().name}",
            "",
            f"A bilinear form over {settings['dims']} dimensions of `{settings['model']}`, trained with "
            "`dialoscope train adem`: it foretells how people rate a reply, from 1 to 5.",
            "",
            *([f"**Take care.** {figures['warning']}", ""] if figures["warning"] else []),
            "## Contexts that it has not met",
            f"Contexts were cut into {settings['folds']} parts, {settings['seeds']} times; each part was "
            "foretold by a model that had met none of its contexts. Before: both matrices the identity. Mean "
            "± sd over parts.",
            *table(
                ("correlation with people", "before", "after"),
                [
                    (
                        name,
                        *(spread(figures["contexts"][when][name.lower()]) for when in ("before", "after")),
                    )
                    for name in ("Pearson", "Spearman")
                ],
            ),
            "",
            "## Systems that it has not met",
            "Each reply was foretold by two models that had not met its context: one that had met other "
            "replies of its system, and one that had not. Correlations are within the replies of a system.",
            *table(
                ("system", "replies", "Pearson, met", "not met", "Spearman, met", "not met"),
                [
                    *(
                        _system(f"`{printable(name)}`", found)
                        for name, found in figures["systems"]["each"].items()
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
            f"Steps of the descent: {figures['steps']}, the median of what was best for contexts "
            "kept apart. Scores were put on people's scale by a line through what was foretold of these.",
            *tools(spec),
            "",
        ]
    )


def _data(data: Mapping[str, Any]) -> list[str]:
    scales = "; ".join(
        f"{printable(name)}: {low:g} to {high:g}" for name, (low, high) in data["scales"].items()
    )
    lacks = ", ".join(f"{count:,} without {what}" for what, count in sorted(data["left out"].items()))
    return [
        "## Data",
        f"{', '.join(map(printable, data['files']))}: {data['replies']:,} rated replies of "
        f"{len(data['systems']):,} systems to {data['contexts']:,} contexts; left out: {lacks or 'none'}. "
        f"Ratings and their scales: {scales}. SHA-256 {data['sha256']}.",
        "",
        f"Licence of the data: {data['licence'] or 'not stated'}.",
    ]


def _system(name: str, found: Mapping[str, Any]) -> tuple[str, ...]:
    each = (number(found[met][kind]) for kind in ("pearson", "spearman") for met in ("seen", "unseen"))
    return (name, f"{found['n']:,}", *each)


def spread(found: Mapping[str, float]) -> str:
    """A mean, and how far it scatters."""
    return f"{number(found['mean'])} ± {number(found['sd'])}"


def number(value: float) -> str:
    """As people read it."""
    return "undefined" if math.isnan(value) else f"{value:.3f}"
