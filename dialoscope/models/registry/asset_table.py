"""What a person is told about assets."""

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dialoscope.models.registry.asset import Asset, megabytes
from dialoscope.models.registry.entries import ASSETS
from dialoscope.models.registry.lookup import Status, status, verify, what_to_do

HEADINGS = ("name", "kind", "here", "on disk", "to download", "licence", "what it is")


def as_text() -> str:
    """All assets as a table, and where those lie that are here."""
    every = status()
    rows = [HEADINGS, *map(_row, every)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    return "\n".join([*lines, "", *_notes(every)])


def as_json() -> str:
    """All assets, with everything that is known of them."""
    return json.dumps([_entry(found) for found in status()], indent=2, ensure_ascii=False)


def as_markdown() -> str:
    """What there is, for the documents: nothing of this machine."""
    rows = [
        f"| `{asset.name}` | {asset.kind} | {asset.about} | {asset.licence} | {asset.terms} "
        f"| {megabytes(asset.download_size)} | {megabytes(asset.size)} "
        f"| {', '.join(asset.suites)} | {_carriers(asset)} |"
        for asset in ASSETS.values()
    ]
    return "\n".join(
        [
            "| name | kind | what it is | licence | terms | to download | on disk | suite | where from |",
            "|---|---|---|---|---|---|---|---|---|",
            *rows,
        ]
    )


class Verification(NamedTuple):
    """What a look at every byte found, as lines to show."""

    sound: list[str]
    damaged: list[str]


def verify_assets(names: Iterable[str] = ()) -> Verification:
    """Verify assets, those that are here if none is named."""
    wanted = list(names)
    found = [one for one in verify(wanted or ASSETS) if wanted or one.folder]
    sound = [f"{one.asset.name} is whole ({one.folder})." for one in _whole(found)]
    damaged = [_complaint(one) for one in found if one not in _whole(found)]
    return Verification(sound or ([] if damaged else ["No asset is here."]), damaged)


def _row(found: Status) -> tuple[str, ...]:
    asset = found.asset
    here = "damaged" if found.problem else "yes" if found.folder else "-"
    sizes = (megabytes(asset.size), megabytes(asset.download_size))
    return (asset.name, asset.kind, here, *sizes, asset.licence_with_terms, asset.about)


def _notes(every: Sequence[Status]) -> list[str]:
    folders = sorted({str(found.folder.parent) for found in every if found.folder})
    damaged = [_complaint(found) for found in every if found.problem]
    where = [f"Those that are here lie in {' and '.join(folders)}."] if folders else []
    return [*damaged, *where, "Others are fetched when first needed, or with `dialoscope assets fetch NAME`."]


def _entry(found: Status) -> dict[str, object]:
    asset = found.asset
    return {
        "name": asset.name,
        "kind": asset.kind,
        "about": asset.about,
        "licence": asset.licence,
        "terms": asset.terms,
        "suites": list(asset.suites),
        "size": asset.size,
        "download_size": asset.download_size,
        "fingerprint": asset.fingerprint,
        "folder": str(found.folder) if found.folder else None,
        "problem": found.problem or None,
    }


def _carriers(asset: Asset) -> str:
    here = f"this package; needs `{asset.base}`" if asset.base else "this package"
    return " or ".join(source.title for source in asset.sources) or here


def _whole(found: Iterable[Status]) -> list[Status]:
    return [one for one in found if one.folder and not one.problem]


def _complaint(found: Status) -> str:
    name = found.asset.name
    if found.folder is None:
        return f"{name} is not here. Fetch it: dialoscope assets fetch {name}"
    return f"{name} is damaged: {found.problem}. {what_to_do(found)}"
