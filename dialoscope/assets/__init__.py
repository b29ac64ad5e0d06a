"""Models and data, pinned by hash and fetched when they are first needed."""

from dialoscope.assets.asset import Asset, Conversion, File, HubFiles, IndexFile, IndexFiles
from dialoscope.assets.places import cache_folder, offline, ready_folder
from dialoscope.assets.registry import ASSETS, SUITES
from dialoscope.assets.store import (
    Status,
    fetch,
    fingerprint,
    locate,
    named,
    present,
    remove,
    status,
    suite,
    verify,
)

__all__ = [
    "ASSETS",
    "SUITES",
    "Asset",
    "Conversion",
    "File",
    "HubFiles",
    "IndexFile",
    "IndexFiles",
    "Status",
    "cache_folder",
    "fetch",
    "fingerprint",
    "locate",
    "named",
    "offline",
    "present",
    "ready_folder",
    "remove",
    "status",
    "suite",
    "verify",
]
