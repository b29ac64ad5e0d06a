"""The card of a head."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dialoscope.training.card import origin, table


def card_of_head(folder: Path, spec: Mapping[str, Any], history: Sequence[Mapping[str, Any]]) -> str:
    """The card: what it is, how good it is over seeds, and how it was made."""
    settings, data = spec["settings"], spec["data"]
    return "\n".join(
        [
            f"# {folder.resolve().name}",
            "",
            f"A head ({settings['representation']}, {settings['objective']}) over the vectors of "
            f"`{settings['embedding']}`, trained with `dialoscope train {spec['recipe']}`: it classifies "
            "whether a reply belongs to its context.",
            "",
            "## Figures",
            *table(
                ("", "before", f"seed {spec['kept seed']}, kept", f"mean ± sd of {settings['seeds']}"),
                [_figure(name, spec) for name in spec["after"]],
            ),
            "",
            "## Data",
            f"{', '.join(data['files'])}, part {settings['part']}: {data['training']:,} dialogues with "
            f"{data['exchanges']:,} exchanges for training, {data['validation']:,} for validation, "
            f"{data['removed']:,} left out because they are also in held-out data. "
            f"SHA-256 {data['sha256']}.",
            "",
            *origin(spec),
            "",
            "## Epochs of the kept seed",
            *table(
                ("epoch", "batches", "training", "validation"),
                [_epoch(entry) for entry in history if entry["seed"] == spec["kept seed"]],
            ),
            "",
        ]
    )


def _figure(name: str, spec: Mapping[str, Any]) -> tuple[str, ...]:
    spread = spec["seeds"][name]
    summary = f"{spread['mean']:.4g} ± {spread['sd']:.2g}" if spread["sd"] is not None else ""
    return (name, f"{spec['before'][name]:.4g}", f"{spec['after'][name]:.4g}", summary)


def _epoch(entry: Mapping[str, Any]) -> tuple[str, ...]:
    losses = (f"{entry[name]:.4f}" for name in ("training", "validation"))
    return (str(entry["epoch"]), str(entry["batches"]), *losses)
