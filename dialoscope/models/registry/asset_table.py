"""The list of assets, and whether those that are here are sound."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dialoscope.core.render import serialization
from dialoscope.core.render.markdown import render_markdown
from dialoscope.core.render.plain_text import render_text
from dialoscope.core.render.sections import CodeCell, Grid, Notes
from dialoscope.models.registry.asset import Asset, megabytes
from dialoscope.models.registry.entries import ASSETS
from dialoscope.models.registry.lookup import Status, status, verify, what_to_do


def as_text(width: int | None = None) -> str:
    """All assets as a table, and the folders of those that are here."""
    every = status()
    head = ["name", "kind", "here", "on disk", "to download", "licence", "what it is"]
    return render_text([Grid(head, list(map(_row, every))), Notes(_notes(every))], width)


def as_json() -> str:
    """All assets, with everything that is known of them."""
    return serialization.as_json([_entry(asset_status) for asset_status in status()])


def as_markdown() -> str:
    """What there is, for the documents: nothing of this machine."""
    head = ["name", "kind", "what it is", "licence", "terms", "to download", "on disk", "suite", "where from"]
    rows = [
        [
            CodeCell(asset.name),
            *(asset.kind, asset.about, asset.licence, asset.terms),
            *(megabytes(asset.download_size), megabytes(asset.size)),
            *(", ".join(asset.suites), _carriers(asset)),
        ]
        for asset in ASSETS.values()
    ]
    return render_markdown([Grid(head, rows)])


class Verification(NamedTuple):
    """What a look at every byte found, as lines to show."""

    sound: list[str]
    damaged: list[str]


def verdict(names: Iterable[str] = ()) -> Verification:
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
    where = [f"Those that are here are in {' and '.join(folders)}."] if folders else []
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
    here = f"this package; needs {asset.base}" if asset.base else "this package"
    return " or ".join(source.title for source in asset.sources) or here


def _whole(found: Iterable[Status]) -> list[Status]:
    return [one for one in found if one.folder and not one.problem]


def _complaint(found: Status) -> str:
    name = found.asset.name
    if found.folder is None:
        return f"{name} is not here. Fetch it: dialoscope assets fetch {name}"
    return f"{name} is damaged: {found.problem}. {what_to_do(found)}"
