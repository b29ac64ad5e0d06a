"""Whether a folder holds an asset."""

import json
from contextlib import suppress
from pathlib import Path

from dialoscope.core.files import hash_file
from dialoscope.models.registry.asset import Asset, File
from dialoscope.models.registry.places import cache_folder

MANIFEST = "asset.json"


def sound(asset: Asset, folder: Path) -> bool:
    """Whether the folder was filled with this very content and holds it still."""
    return (folder / MANIFEST).is_file() and not content_damage(asset, folder)


def content_damage(asset: Asset, folder: Path) -> str:
    """What is wrong with an asset's content, if anything: hashed once, and again when a file was touched."""
    if problem := damage(asset, folder):
        return problem
    now, note = repr(stamps(asset, folder)), cache_folder() / "checked" / asset.name
    with suppress(OSError):
        if note.read_text(encoding="utf-8") == now:
            return ""
    if problem := damage(asset, folder, hashes=True):
        return problem
    with suppress(OSError):  # where nothing can be noted, it is hashed each time
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(now, encoding="utf-8")
    return ""


def damage(asset: Asset, folder: Path, *, hashes: bool = False) -> str:
    """What is wrong with an asset's folder, if anything: by manifest and sizes; with hashes, by content."""
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


def stamps(asset: Asset, folder: Path) -> tuple[tuple[int, ...], ...]:
    """What changes when a file of the asset is written anew, or is put in the place of another."""
    found = ((folder / file.path).stat() for file in asset.files)
    return tuple((one.st_size, one.st_mtime_ns, one.st_ctime_ns, one.st_ino) for one in found)


def _manifest_problem(asset: Asset, path: Path) -> str:
    """A folder without a manifest is judged by its files alone: somebody may have put them there."""
    try:
        fingerprint = json.loads(path.read_bytes())["fingerprint"]
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return f"{MANIFEST} cannot be read"
    return "" if fingerprint == asset.fingerprint else "it is of another version"


def _content_problem(file: File, path: Path) -> str:
    try:
        found = hash_file(path)
    except OSError as error:
        return f"{file.path} cannot be read ({error.strerror})"
    return (
        "" if found == file.sha256 else f"the SHA-256 of {file.path} is {found}, but should be {file.sha256}"
    )
