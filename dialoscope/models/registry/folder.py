"""Checks of folders of assets: manifest, sizes and hashes."""

import json
from contextlib import suppress
from pathlib import Path

from dialoscope.core.files import hash_file
from dialoscope.models.registry.asset import Asset, File
from dialoscope.models.registry.places import cache_folder

MANIFEST = "asset.json"


def is_valid(asset: Asset, folder: Path) -> bool:
    """Whether a folder has a manifest and exactly the content of the asset."""
    return (folder / MANIFEST).is_file() and not find_content_damage(asset, folder)


def find_content_damage(asset: Asset, folder: Path) -> str:
    """Return a problem of the content, or "". Files are hashed once, and again after they have changed."""
    if problem := find_damage(asset, folder):
        return problem
    now, note = repr(file_states(asset, folder)), cache_folder() / "checked" / asset.name
    with suppress(OSError):
        if note.read_text(encoding="utf-8") == now:
            return ""
    if problem := find_damage(asset, folder, hashes=True):
        return problem
    with suppress(OSError):  # without this record, the files are hashed each time
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(now, encoding="utf-8")
    return ""


def find_damage(asset: Asset, folder: Path, *, hashes: bool = False) -> str:
    """Return a problem of the manifest, the sizes or (if `hashes`) the hashes of the files, or ""."""
    if problem := _manifest_problem(asset, folder / MANIFEST):
        return problem
    for file in asset.files:
        try:
            size = (folder / file.path).stat().st_size
        except OSError:
            return f"{file.path} is missing"
        if size != file.size:
            return f"{file.path} has {size:,} bytes, but should have {file.size:,}"
        if hashes and (problem := _content_problem(file, folder / file.path)):
            return problem
    return ""


def file_states(asset: Asset, folder: Path) -> tuple[tuple[int, ...], ...]:
    """Return sizes, times and inodes of the files, which change when a file is written or replaced."""
    states = ((folder / file.path).stat() for file in asset.files)
    return tuple((state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino) for state in states)


def _manifest_problem(asset: Asset, path: Path) -> str:
    """Return a problem of the manifest, or ""; it may be missing if the user has copied the files."""
    try:
        fingerprint = json.loads(path.read_bytes())["fingerprint"]
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return f"{MANIFEST} cannot be read"
    return "" if fingerprint == asset.fingerprint else "it is a different version"


def _content_problem(file: File, path: Path) -> str:
    try:
        sha256 = hash_file(path)
    except OSError as error:
        return f"{file.path} cannot be read ({error.strerror})"
    if sha256 == file.sha256:
        return ""
    return f"the SHA-256 of {file.path} is {sha256}, but should be {file.sha256}"
