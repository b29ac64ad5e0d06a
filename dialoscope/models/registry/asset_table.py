"""Tables and messages about assets."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dialoscope.core.render import serialization
from dialoscope.core.render.markdown import render_markdown
from dialoscope.core.render.plain_text import render_text
from dialoscope.core.render.sections import CodeCell, Grid, NoteLines
from dialoscope.models.registry.asset import Asset, megabytes
from dialoscope.models.registry.entries import ASSETS
from dialoscope.models.registry.lookup import Status, repair_advice, status, verify


def as_text(width: int | None = None) -> str:
    """Return a table of all assets, and the folders of installed ones."""
    states = status()
    head = ["name", "kind", "installed", "on disk", "download", "licence", "description"]
    return render_text([Grid(head, list(map(_row, states))), NoteLines(_notes(states))], width)


def as_json() -> str:
    """Return all fields of all assets as JSON."""
    return serialization.as_json([_entry(state) for state in status()])


def as_markdown() -> str:
    """Return a Markdown table of all assets for the documentation, independent of the machine."""
    head = ["name", "kind", "description", "licence", "terms", "download", "on disk", "suite", "source"]
    rows = [
        [
            CodeCell(asset.name),
            *(asset.kind, asset.about, asset.licence, asset.terms),
            *(megabytes(asset.download_size), megabytes(asset.size)),
            *(", ".join(asset.suites), _sources(asset)),
        ]
        for asset in ASSETS.values()
    ]
    return render_markdown([Grid(head, rows)])


class AssetCheck(NamedTuple):
    """The result of comparing hashes, as lines to show."""

    valid: list[str]
    damaged: list[str]


def verify_assets(names: Iterable[str] = ()) -> AssetCheck:
    """Compare the hashes of all files of these assets, or of all installed ones if none is named."""
    wanted = list(names)
    states = [state for state in verify(wanted or ASSETS) if wanted or state.folder]
    valid = [f"{state.asset.name} is intact ({state.folder})." for state in states if _is_intact(state)]
    damaged = [_complaint(state) for state in states if not _is_intact(state)]
    return AssetCheck(valid or ([] if damaged else ["No asset is installed."]), damaged)


def _row(state: Status) -> tuple[str, ...]:
    asset = state.asset
    installed = "damaged" if state.problem else "yes" if state.folder else "-"
    sizes = (megabytes(asset.size), megabytes(asset.download_size))
    return (asset.name, asset.kind, installed, *sizes, asset.licence_with_terms, asset.about)


def _notes(states: Sequence[Status]) -> list[str]:
    folders = sorted({str(state.folder.parent) for state in states if state.folder})
    damaged = [_complaint(state) for state in states if state.problem]
    where = [f"Installed assets are in {' and '.join(folders)}."] if folders else []
    return [*damaged, *where, "Others are fetched on first use, or with `dialoscope assets fetch NAME`."]


def _entry(state: Status) -> dict[str, object]:
    asset = state.asset
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
        "folder": str(state.folder) if state.folder else None,
        "problem": state.problem or None,
    }


def _sources(asset: Asset) -> str:
    shipped = f"this package; needs {asset.base}" if asset.base else "this package"
    return " or ".join(source.title for source in asset.sources) or shipped


def _is_intact(state: Status) -> bool:
    return bool(state.folder and not state.problem)


def _complaint(state: Status) -> str:
    name = state.asset.name
    if state.folder is None:
        return f"{name} is not installed. Fetch it: dialoscope assets fetch {name}"
    return f"{name} is damaged: {state.problem}. {repair_advice(state)}"
