"""Where assets lie, and whether the network may be asked for them."""

import os
import sys
from pathlib import Path

from dialoscope.core.errors import AssetError


def cache_folder() -> Path:
    """Where fetched assets are kept: `DIALOSCOPE_CACHE`, or else a folder in the platform's cache."""
    chosen = os.environ.get("DIALOSCOPE_CACHE")
    return Path(chosen).expanduser().absolute() if chosen else _platform_cache() / "dialoscope"


def ready_folder() -> Path | None:
    """The user's own folder of assets, `DIALOSCOPE_ASSETS`, which is read and never written."""
    chosen = os.environ.get("DIALOSCOPE_ASSETS")
    return Path(chosen).expanduser().absolute() if chosen else None


def place_of(name: str) -> Path:
    """Where an asset of that name lies in the cache, once it is fetched."""
    return cache_folder() / "assets" / name


def shipped_place(name: str) -> Path:
    """Where an asset of that name lies in this package."""
    return Path(__file__).parent / "trained" / name


def offline() -> bool:
    """Whether `DIALOSCOPE_OFFLINE` forbids the network."""
    return switched_on("DIALOSCOPE_OFFLINE")


def switched_on(variable: str) -> bool:
    """Whether an environment variable says yes."""
    return os.environ.get(variable, "").strip().lower() not in ("", "0", "no", "false", "off")


def how_to_carry(name: str) -> str:
    """What to do where an asset cannot be fetched, as part of a message."""
    return (
        f"fetch it where there is a network (dialoscope assets fetch {name}), copy its folder from there "
        f"(dialoscope assets path {name}), and set DIALOSCOPE_ASSETS to the folder that holds the copy"
    )


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
