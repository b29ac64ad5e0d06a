"""Whether a folder holds an asset."""

import hashlib
import json
from pathlib import Path

from dialoscope.assets.asset import Asset

MANIFEST = "asset.json"


def whole(asset: Asset, folder: Path) -> bool:
    """Whether the folder was filled with this very content, judged quickly."""
    return (folder / MANIFEST).is_file() and not damage(asset, folder)


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
        if hashes and (found := _sha256(folder / file.path)) != file.sha256:
            return f"the SHA-256 of {file.path} is {found}, but should be {file.sha256}"
    return ""


def _manifest_problem(asset: Asset, path: Path) -> str:
    """A folder without a manifest is judged by its files alone: somebody may have put them there."""
    try:
        fingerprint = json.loads(path.read_bytes())["fingerprint"]
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, KeyError, TypeError):
        return f"{MANIFEST} cannot be read"
    return "" if fingerprint == asset.fingerprint else "it is of another version"


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
