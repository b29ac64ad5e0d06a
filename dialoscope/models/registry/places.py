"""The folders of assets, and whether the network may be used.

platformdirs was tried for the folder of the cache: it replaces 14 lines, but moves the cache of macOS users
who set XDG_CACHE_HOME, and only its newest versions refuse where no home folder is known.
"""

import os
import sys
from pathlib import Path

from dialoscope.core.errors import AssetError


def cache_folder() -> Path:
    """Return the folder of fetched assets: `DIALOSCOPE_CACHE`, or else a folder in the platform's cache."""
    chosen = os.environ.get("DIALOSCOPE_CACHE")
    return Path(chosen).expanduser().absolute() if chosen else _platform_cache() / "dialoscope"


def user_assets_folder() -> Path | None:
    """Return the user's own folder of assets, `DIALOSCOPE_ASSETS`, which is read and never written."""
    chosen = os.environ.get("DIALOSCOPE_ASSETS")
    return Path(chosen).expanduser().absolute() if chosen else None


def cached_folder(name: str) -> Path:
    """Return the folder in the cache that an asset is fetched into."""
    return cache_folder() / "assets" / name


def shipped_folder(name: str) -> Path:
    """Return the folder of an asset that this package brings along."""
    return Path(__file__).parent / "trained" / name


def is_offline() -> bool:
    """Whether `DIALOSCOPE_OFFLINE` forbids the network."""
    return is_switched_on("DIALOSCOPE_OFFLINE")


def is_switched_on(variable: str) -> bool:
    """Whether an environment variable says yes."""
    return os.environ.get(variable, "").strip().lower() not in ("", "0", "no", "false", "off")


def explain_offline_fetch(name: str) -> str:
    """Return what to do where an asset cannot be fetched, as part of a message."""
    return (
        f"fetch it where there is a network (dialoscope assets fetch {name}), copy its folder from there "
        f"(dialoscope assets path {name}), and set DIALOSCOPE_ASSETS to the folder that holds the copy"
    )


def _platform_cache() -> Path:
    if sys.platform == "win32":
        return _folder("LOCALAPPDATA", "AppData/Local")
    if sys.platform == "darwin":
        return _folder("", "Library/Caches")
    return _folder("XDG_CACHE_HOME", ".cache")


def _folder(variable: str, default: str) -> Path:
    """Return the folder that a variable names, or else the default below the home folder."""
    chosen = os.environ.get(variable, "")
    if chosen and Path(chosen).is_absolute():  # the XDG standard: a relative one is not valid
        return Path(chosen)
    try:
        return Path.home() / default
    except RuntimeError:
        raise AssetError("No home folder is known. Set DIALOSCOPE_CACHE to a folder for models.") from None
