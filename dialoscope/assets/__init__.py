"""Models and data, pinned by hash and fetched when they are first needed."""

from dialoscope.assets.asset import Asset, Conversion, File, HubFiles, IndexFile, IndexFiles
from dialoscope.assets.places import cache_folder, offline
from dialoscope.assets.registry import ASSETS, SUITES
from dialoscope.assets.store import Verdict, fetch, fingerprint, locate, named, present, remove, suite, verify

__all__ = [
    "ASSETS",
    "SUITES",
    "Asset",
    "Conversion",
    "File",
    "HubFiles",
    "IndexFile",
    "IndexFiles",
    "Verdict",
    "cache_folder",
    "fetch",
    "fingerprint",
    "locate",
    "named",
    "offline",
    "present",
    "remove",
    "suite",
    "verify",
]
