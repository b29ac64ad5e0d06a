"""Lookup of assets on this machine; missing ones are fetched."""

from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

from dialoscope.core.errors import AssetError
from dialoscope.core.suggestions import did_you_mean
from dialoscope.models.registry.asset import Asset
from dialoscope.models.registry.entries import ASSETS, SUITES
from dialoscope.models.registry.folder import (
    MANIFEST,
    file_states,
    find_content_damage,
    find_damage,
    is_valid,
)
from dialoscope.models.registry.places import (
    cached_folder,
    explain_offline_fetch,
    is_offline,
    shipped_folder,
    user_assets_folder,
)


class Status(NamedTuple):
    """The state of an asset on this machine."""

    asset: Asset
    folder: Path | None
    """The folder of the asset, damaged or not; None if it is not installed."""
    problem: str
    """The problem if the asset is damaged, else an empty string."""


def locate(name: str) -> Path:
    """Return the folder of an asset; fetch it first if necessary."""
    asset = get_asset(name)
    return _find(asset) or _fetch(asset)


def present(name: str) -> Path | None:
    """Return the folder of an asset, or None if it would have to be fetched."""
    return _find(get_asset(name))


def fetch(names: Iterable[str]) -> list[Path]:
    """Return the folders of assets; fetch them and their base models if necessary."""
    assets = [get_asset(name) for name in names]
    folders = [locate(asset.name) for asset in assets]
    for base in {asset.base for asset in assets if asset.base}:
        locate(base)
    return folders


def status(names: Iterable[str] = ASSETS) -> list[Status]:
    """Return the states of assets; only files that have changed since the last check are hashed again."""
    return [_status(get_asset(name), find_content_damage) for name in names]


def verify(names: Iterable[str] = ASSETS) -> list[Status]:
    """Return the states of assets after hashing all of their files."""
    return [_status(get_asset(name), partial(find_damage, hashes=True)) for name in names]


def repair_advice(damaged: Status) -> str:
    """Return how to repair a damaged asset; assets in the user's own folder must not be removed."""
    name = damaged.asset.name
    if damaged.asset.shipped:
        return "Install dialoscope again."
    if damaged.folder == cached_folder(name):
        return f"Fetch it again: dialoscope assets remove {name} && dialoscope assets fetch {name}"
    return f"Copy it to {damaged.folder} again, or move that folder away."


def remove(names: Iterable[str]) -> list[str]:
    """Remove assets from the cache; return the names of those that were in it."""
    from dialoscope.models.registry import fetching

    return [asset.name for asset in [get_asset(name) for name in names] if fetching.remove(asset)]


def fingerprint(name: str) -> str:
    """Return the hash of the content, which is the same on every machine and is checked in user folders."""
    asset = get_asset(name)
    folder = _user_folder(asset) or (shipped_folder(asset.name) if asset.shipped else None)
    if folder is not None:
        problem = find_damage(asset, folder)
        _refuse(asset, folder, problem or _content_problem(asset, folder, file_states(asset, folder)))
    return asset.fingerprint


def get_asset(name: str) -> Asset:
    """Return the asset of this name."""
    if name in ASSETS:
        return ASSETS[name]
    raise AssetError(f"There is no asset '{name}'.{_guess(name, ASSETS)}")


def suite(name: str) -> list[str]:
    """Return the names of the assets of a suite."""
    if name not in SUITES:
        raise AssetError(f"There is no suite of assets '{name}'.{_guess(name, SUITES)}")
    return [asset.name for asset in ASSETS.values() if name in asset.suites]


def _guess(name: str, candidates: Iterable[str]) -> str:
    names = list(candidates)
    return " " + did_you_mean(name, names, f"There are: {', '.join(names)}.")


def _find(asset: Asset) -> Path | None:
    user_folder = _user_folder(asset)
    if user_folder is not None:
        _refuse(asset, user_folder, find_damage(asset, user_folder))
        return user_folder
    if asset.shipped:
        _refuse(asset, shipped_folder(asset.name), find_damage(asset, shipped_folder(asset.name)))
        return shipped_folder(asset.name)
    folder = cached_folder(asset.name)
    return folder if is_valid(asset, folder) else None


def _refuse(asset: Asset, folder: Path, problem: str) -> None:
    """Raise an error if a folder of the user or of this package has a problem."""
    if problem and folder == shipped_folder(asset.name):
        raise AssetError(f"{folder} is damaged: {problem}. Install dialoscope again.")
    if problem:
        raise AssetError(
            f"{folder} is not the asset {asset.name}: {problem}. Copy it there again, or move it away."
        )


@lru_cache(maxsize=64)
def _content_problem(asset: Asset, folder: Path, states: tuple[tuple[int, ...], ...]) -> str:
    """Return a problem of the content of a folder, computed once for the same states of its files."""
    return find_content_damage(asset, folder)


def _user_folder(asset: Asset) -> Path | None:
    """Return the folder of an asset in DIALOSCOPE_ASSETS, if it exists."""
    parent = user_assets_folder()
    return parent / asset.name if parent is not None and (parent / asset.name).is_dir() else None


def _fetch(asset: Asset) -> Path:
    if is_offline():
        raise AssetError(
            f"{_why_unusable(asset)} DIALOSCOPE_OFFLINE prevents fetching. "
            f"Unset it, or {explain_offline_fetch(asset.name)}."
        )
    from dialoscope.models.registry import fetching  # loads urllib etc. only if needed

    return fetching.fetch(asset)


def _why_unusable(asset: Asset) -> str:
    """Return why the asset in the cache cannot be used: it is missing or damaged."""
    folder = cached_folder(asset.name)
    if not folder.is_dir():
        return f"{asset.name} ({asset.about}) is not on this machine, and"
    problem = find_content_damage(asset, folder) or f"{MANIFEST} is missing"
    return f"{asset.name} is damaged: {problem} ({folder}). {repair_advice(Status(asset, folder, problem))}."


def _folder(asset: Asset) -> Path | None:
    """Return the folder of an asset, damaged or not, or None if it is not installed."""
    folder = shipped_folder(asset.name) if asset.shipped else cached_folder(asset.name)
    return _user_folder(asset) or (folder if folder.is_dir() else None)


def _status(asset: Asset, check: Callable[[Asset, Path], str]) -> Status:
    folder = _folder(asset)
    return Status(asset, folder, check(asset, folder) if folder else "")
