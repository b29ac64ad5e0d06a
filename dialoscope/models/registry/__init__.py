"""Models and data that are pinned by hash and fetched on first use."""

from dialoscope.models.registry.asset import Asset, Conversion, File, HubFiles, IndexFile, IndexFiles
from dialoscope.models.registry.entries import ASSETS, SUITES
from dialoscope.models.registry.lookup import (
    Status,
    fetch,
    fingerprint,
    get_asset,
    locate,
    present,
    remove,
    status,
    suite,
    verify,
)
from dialoscope.models.registry.places import cache_folder, is_offline, user_assets_folder

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
    "get_asset",
    "is_offline",
    "locate",
    "present",
    "remove",
    "status",
    "suite",
    "user_assets_folder",
    "verify",
]
