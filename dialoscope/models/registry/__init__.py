"""Models and data, pinned by hash and fetched when they are first needed."""

from dialoscope.models.registry.asset import Asset, Conversion, File, HubFiles, IndexFile, IndexFiles
from dialoscope.models.registry.entries import ASSETS, SUITES
from dialoscope.models.registry.lookup import (
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
from dialoscope.models.registry.places import cache_folder, offline, ready_folder

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
