"""Find assets, and fetch what is not there."""

from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

from dialoscope.core.errors import AssetError
from dialoscope.core.suggestions import did_you_mean
from dialoscope.models.registry.asset import Asset
from dialoscope.models.registry.entries import ASSETS, SUITES
from dialoscope.models.registry.folder import MANIFEST, content_damage, damage, sound, stamps
from dialoscope.models.registry.places import how_to_carry, offline, place_of, ready_folder, shipped_place


class Status(NamedTuple):
    """How it stands with an asset on this machine."""

    asset: Asset
    folder: Path | None
    """Where it lies, damaged or not; None where it is not there."""
    problem: str
    """What is wrong with it; empty where all is well, and where it is not there."""


def locate(name: str) -> Path:
    """The folder that holds an asset's files; fetched first where it is not there yet."""
    asset = named(name)
    return _found(asset) or _fetched(asset)


def present(name: str) -> Path | None:
    """Where an asset lies, or None where it would have to be fetched."""
    return _found(named(name))


def fetch(names: Iterable[str]) -> list[Path]:
    """Make sure that assets are there, and those that they were trained on top of."""
    wanted = [named(name) for name in names]
    found = [locate(asset.name) for asset in wanted]
    for base in {asset.base for asset in wanted if asset.base}:
        locate(base)
    return found


def status(names: Iterable[str] = ASSETS) -> list[Status]:
    """How it stands with assets; files that were touched since they were last hashed are hashed again."""
    return [_status(named(name), content_damage) for name in names]


def verify(names: Iterable[str] = ASSETS) -> list[Status]:
    """How it stands with assets, from a look at every byte of them."""
    return [_status(named(name), partial(damage, hashes=True)) for name in names]


def what_to_do(damaged: Status) -> str:
    """How to put a damaged asset right: what lies in the user's own folder is not ours to remove."""
    name = damaged.asset.name
    if damaged.asset.shipped:
        return "Install dialoscope again."
    if damaged.folder == place_of(name):
        return f"Fetch it anew: dialoscope assets remove {name} && dialoscope assets fetch {name}"
    return f"Copy it to {damaged.folder} again, or move that folder away."


def remove(names: Iterable[str]) -> list[str]:
    """Remove assets from the cache; the names of those that were there."""
    from dialoscope.models.registry import fetching

    return [asset.name for asset in [named(name) for name in names] if fetching.remove(asset)]


def fingerprint(name: str) -> str:
    """A hash of an asset's content, the same on every machine; the user's own folder must hold just that."""
    asset = named(name)
    own = _ready(asset) or (shipped_place(asset.name) if asset.shipped else None)
    if own is not None:
        _refuse(asset, own, damage(asset, own) or _content_problem(asset, own, stamps(asset, own)))
    return asset.fingerprint


def named(name: str) -> Asset:
    """The asset of that name."""
    if name in ASSETS:
        return ASSETS[name]
    raise AssetError(f"There is no asset '{name}'.{_guess(name, ASSETS)}")


def suite(name: str) -> list[str]:
    """The names of the assets of a suite."""
    if name not in SUITES:
        raise AssetError(f"There is no suite of assets '{name}'.{_guess(name, SUITES)}")
    return [asset.name for asset in ASSETS.values() if name in asset.suites]


def _guess(name: str, known: Iterable[str]) -> str:
    names = list(known)
    return " " + did_you_mean(name, names, f"There are: {', '.join(names)}.")


def _found(asset: Asset) -> Path | None:
    ready = _ready(asset)
    if ready is not None:
        _refuse(asset, ready, damage(asset, ready))
        return ready
    if asset.shipped:
        _refuse(asset, shipped_place(asset.name), damage(asset, shipped_place(asset.name)))
        return shipped_place(asset.name)
    place = place_of(asset.name)
    return place if sound(asset, place) else None


def _refuse(asset: Asset, ready: Path, problem: str) -> None:
    """An error where there is a problem with the asset's folder among the user's own, or in this package."""
    if problem and ready == shipped_place(asset.name):
        raise AssetError(f"{ready} is damaged: {problem}. Install dialoscope again.")
    if problem:
        raise AssetError(
            f"{ready} is not the asset {asset.name}: {problem}. Copy it there again, or move it away."
        )


@lru_cache(maxsize=64)
def _content_problem(asset: Asset, folder: Path, stamps: tuple[tuple[int, ...], ...]) -> str:
    """What is wrong with the content of a folder; asked once for as long as its files stay as they are."""
    return content_damage(asset, folder)


def _ready(asset: Asset) -> Path | None:
    """The asset's folder among the user's own, where there is one."""
    mine = ready_folder()
    return mine / asset.name if mine is not None and (mine / asset.name).is_dir() else None


def _fetched(asset: Asset) -> Path:
    if offline():
        raise AssetError(
            f"{_why_unusable(asset)} DIALOSCOPE_OFFLINE forbids fetching. "
            f"Unset it, or {how_to_carry(asset.name)}."
        )
    from dialoscope.models.registry import fetching  # urllib and the like are loaded only by those who fetch

    return fetching.fetch(asset)


def _why_unusable(asset: Asset) -> str:
    """Why the cache cannot give an asset: it is damaged there, or is not there at all."""
    place = place_of(asset.name)
    if not place.is_dir():
        return f"{asset.name} ({asset.about}) is not on this machine, and"
    problem = content_damage(asset, place) or f"{MANIFEST} is missing"
    return f"{asset.name} is damaged: {problem} ({place}). {what_to_do(Status(asset, place, problem))}."


def _folder(asset: Asset) -> Path | None:
    """Where an asset lies, damaged or not."""
    place = shipped_place(asset.name) if asset.shipped else place_of(asset.name)
    return _ready(asset) or (place if place.is_dir() else None)


def _status(asset: Asset, problem_of: Callable[[Asset, Path], str]) -> Status:
    folder = _folder(asset)
    return Status(asset, folder, problem_of(asset, folder) if folder else "")
