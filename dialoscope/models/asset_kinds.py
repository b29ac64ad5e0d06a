"""Which assets a backend can use, asked before one is fetched in vain, and which it does use."""

from collections.abc import Iterable
from pathlib import Path

from dialoscope.core.errors import BackendError
from dialoscope.models.registry import ASSETS


def assets_of_kind(*kinds: str) -> list[str]:
    """The names of the assets of these kinds."""
    return [name for name, asset in ASSETS.items() if asset.kind in kinds]


def check_kind(name: str, what: str, *kinds: str) -> str:
    """The name of an asset, which must be of one of these kinds; `what` says in a message what it is not."""
    if name in ASSETS and ASSETS[name].kind not in kinds:
        raise BackendError(
            f"The asset '{name}' is no {what}, but of the kind: {ASSETS[name].kind}. "
            f"These can be used: {', '.join(assets_of_kind(*kinds))}."
        )
    return name


def asset_names_of(things: Iterable[object]) -> tuple[str, ...]:
    """The names of the assets that backends, or what is made of them, use; those of others have none."""
    return tuple(dict.fromkeys(name for thing in things for name in getattr(thing, "asset_names", ())))


def matching_assets(name: str) -> tuple[str, ...]:
    """The name, where it is that of an asset: a file or folder of that name comes first."""
    return (name,) if name in ASSETS and not Path(name).exists() else ()
