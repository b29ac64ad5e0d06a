"""Where assets lie, and whether the network may be asked for them."""

import os
import sys
from pathlib import Path

from dialoscope.errors import AssetError


def cache_folder() -> Path:
    """Where fetched assets are kept: `DIALOSCOPE_CACHE`, or else a folder in the platform's cache."""
    chosen = os.environ.get("DIALOSCOPE_CACHE")
    return Path(chosen).expanduser().absolute() if chosen else _platform_cache() / "dialoscope"


def ready_folder() -> Path | None:
    """The user's own folder of assets, `DIALOSCOPE_ASSETS`, which is read and never written."""
    chosen = os.environ.get("DIALOSCOPE_ASSETS")
    return Path(chosen).expanduser().absolute() if chosen else None


def offline() -> bool:
    """Whether `DIALOSCOPE_OFFLINE` forbids the network."""
    return os.environ.get("DIALOSCOPE_OFFLINE", "").strip().lower() not in ("", "0", "no", "false", "off")


def _platform_cache() -> Path:
    if sys.platform == "win32":
        return _home("LOCALAPPDATA", "AppData/Local")
    if sys.platform == "darwin":
        return _home("", "Library/Caches")
    return _home("XDG_CACHE_HOME", ".cache")


def _home(variable: str, otherwise: str) -> Path:
    chosen = os.environ.get(variable, "")
    if chosen and Path(chosen).is_absolute():  # the XDG standard: a relative one is not valid
        return Path(chosen)
    try:
        return Path.home() / otherwise
    except RuntimeError:
        raise AssetError("No home folder is known. Set DIALOSCOPE_CACHE to a folder for models.") from None
