"""The card of a checkpoint, and tables for all cards."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dialoscope.core.safe_text import printable


def card_of(folder: Path, spec: Mapping[str, Any], history: Sequence[Mapping[str, Any]]) -> str:
    """The card of a transformer: what it is, how good it is, and how it was made."""
    data = spec["data"]
    return "\n".join(
        [
            f"# {folder.resolve().name}",
            "",
            f"`{spec['settings']['model']}` trained with `dialoscope train {spec['recipe']}` "
            f"({spec['settings']['method']}).",
            "",
            "## Figures",
            *table(
                ("", "before", "after"),
                [
                    (name, f"{spec['before'][name]:.4g}", f"{value:.4g}")
                    for name, value in spec["after"].items()
                ],
            ),
            "",
            "## Data",
            f"{', '.join(data['files'])}: {data['training']:,} for training, {data['validation']:,} for "
            f"validation, {data['removed']:,} left out because they are also in held-out data. "
            f"SHA-256 {data['sha256']}.",
            "",
            *origin(spec),
            "",
            "## Epochs",
            *table(
                ("epoch", "batches", "training", "validation"),
                [
                    (
                        str(entry["epoch"]),
                        str(entry["batches"]),
                        f"{entry['training']:.4f}",
                        f"{entry['validation']:.4f}",
                    )
                    for entry in history
                ],
            ),
            "",
        ]
    )


def origin(spec: Mapping[str, Any]) -> list[str]:
    """The licence of the data, the settings, and the tools."""
    return [
        f"Licence of the data: {spec['data']['licence'] or 'not stated'}.",
        "",
        "## Recipe",
        *table(
            ("setting", "value"), [(name, _format_value(value)) for name, value in spec["settings"].items()]
        ),
        "",
        *tools(spec),
    ]


def _format_value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def tools(spec: Mapping[str, Any]) -> list[str]:
    """The table of the command, the device and the versions."""
    return table(("made with", ""), [(name, f"`{value}`") for name, value in spec["made with"].items()])


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table, with an empty one before it."""
    lines = [heads, ["---"] * len(heads), *rows]
    safe = [[printable(cell).replace("|", "\\|") for cell in line] for line in lines]
    return ["", *("| " + " | ".join(line) + " |" for line in safe)]
