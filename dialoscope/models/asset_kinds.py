"""The kinds of assets that a model can use, and the names of the assets that it uses."""

from collections.abc import Iterable
from pathlib import Path

from dialoscope.core.errors import BackendError
from dialoscope.models.registry import ASSETS


def assets_of_kind(*kinds: str) -> list[str]:
    """Return the names of the assets of these kinds."""
    return [name for name, asset in ASSETS.items() if asset.kind in kinds]


def check_kind(name: str, expected: str, *kinds: str) -> str:
    """Return the name of an asset after checking its kind; `expected` describes it in the message."""
    if name in ASSETS and ASSETS[name].kind not in kinds:
        raise BackendError(
            f"The asset '{name}' is not a {expected}; its kind is: {ASSETS[name].kind}. "
            f"These can be used: {', '.join(assets_of_kind(*kinds))}."
        )
    return name


def collect_asset_names(users: Iterable[object]) -> tuple[str, ...]:
    """Return the names of the assets that models, or metrics and systems with models, use."""
    return tuple(dict.fromkeys(name for user in users for name in getattr(user, "asset_names", ())))


def matching_assets(name: str) -> tuple[str, ...]:
    """Return the name in a tuple if it refers to an asset; files and folders have precedence."""
    return (name,) if name in ASSETS and not Path(name).exists() else ()
