"""What a checkpoint tells of itself."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dialoscope.core.safe_text import printable


def card_of(folder: Path, spec: Mapping[str, Any], history: Sequence[Mapping[str, Any]]) -> str:
    """A page for people: what it is, how it was made, and how good it is."""
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
            f"{', '.join(data['files'])}: {data['training']:,} to learn from, {data['validation']:,} to "
            f"choose by, {data['removed']:,} left out because they also stand in what is kept apart. "
            f"SHA-256 {data['sha256']}.",
            "",
            *origin(spec),
            "",
            "## Course",
            *table(
                ("epoch", "batches", "training", "validation"),
                [
                    (
                        str(one["epoch"]),
                        str(one["batches"]),
                        f"{one['training']:.4f}",
                        f"{one['validation']:.4f}",
                    )
                    for one in history
                ],
            ),
            "",
        ]
    )


def origin(spec: Mapping[str, Any]) -> list[str]:
    """Whose data it was, and how it was learned from."""
    return [
        f"Licence of the data: {spec['data']['licence'] or 'not stated'}.",
        "",
        "## Recipe",
        *table(("setting", "value"), [(name, _told(value)) for name, value in spec["settings"].items()]),
        "",
        *tools(spec),
    ]


def _told(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def tools(spec: Mapping[str, Any]) -> list[str]:
    """What it was made with."""
    return table(("made with", ""), [(name, f"`{value}`") for name, value in spec["made with"].items()])


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table, with an empty one before it."""
    lines = [heads, ["---"] * len(heads), *rows]
    safe = [[printable(cell).replace("|", "\\|") for cell in line] for line in lines]
    return ["", *("| " + " | ".join(line) + " |" for line in safe)]
