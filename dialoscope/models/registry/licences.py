"""Licences of assets: which are allowed, how users are informed, and what a run records."""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Literal, get_args

from dialoscope.core.errors import AssetError
from dialoscope.core.progress import print_notice
from dialoscope.core.safe_text import printable
from dialoscope.models.registry.asset import Asset
from dialoscope.models.registry.entries import ASSETS
from dialoscope.models.registry.places import cache_folder

Choice = Literal["any", "permissive"]

VARIABLE = "DIALOSCOPE_LICENCE"

_announced: set[str] = set()
"""Assets whose licences this process has announced."""


def read_choice(licence: str | None = None) -> Choice | None:
    """Return the allowed licences: the argument, or `DIALOSCOPE_LICENCE`, or None if neither is set."""
    variable = os.environ.get(VARIABLE, "").strip()
    source, text = ("licence", licence) if licence is not None else (VARIABLE, variable)
    for choice in get_args(Choice):
        if text == choice:
            return choice  # type: ignore[no-any-return]
    if licence is None and not variable:
        return None
    raise AssetError(f"{source} is '{printable(text)}'; it must be one of: {', '.join(get_args(Choice))}.")


def with_bases(names: Iterable[str]) -> list[Asset]:
    """Return the assets of these names, each followed by its base models."""
    assets: dict[str, Asset] = {}
    for name in names:
        while name in ASSETS and name not in assets:
            assets[name] = ASSETS[name]
            name = ASSETS[name].base
    return list(assets.values())


def check(uses: Mapping[str, Iterable[str]], choice: Choice | None) -> None:
    """Raise an error if only permissive licences are allowed and an asset has another one.

    Args:
        uses: The names of the assets that each metric or system needs.
        choice: The result of `read_choice`.
    """
    if choice != "permissive":
        return
    lines = []
    for user, names in uses.items():
        refused = [asset for asset in with_bases(names) if asset.terms != "permissive"]
        if refused:
            reasons = ", ".join(f"{asset.name} ({asset.licence_with_terms})" for asset in refused)
            lines.append(f"  {printable(user)} needs {reasons}. Alternative: {_alternative(refused[0])}.")
    if lines:
        raise AssetError(
            "\n".join(
                [
                    f"Only permissive licences are allowed (--licence, licence= or {VARIABLE}), but:",
                    *lines,
                    "Use others, or leave these out (of a suite, by naming its other metrics).",
                ]
            )
        )


def announce(names: Iterable[str], choice: Choice | None) -> None:
    """Show which assets are not permissive, once per cache and asset, unless a choice has been made."""
    if choice is not None:
        return
    lines = [
        f"{asset.name}: {asset.licence_with_terms}. Permissive alternative: {_alternative(asset)}."
        for asset in with_bases(names)
        if asset.terms != "permissive" and not _is_announced(asset)
    ]
    hint = f"Shown once; {VARIABLE}=permissive uses only permissive models, any hides this."
    if len(lines) == 1:
        print_notice(f"Licence of {lines[0]} {hint}")
    elif lines:
        print_notice("\n  ".join(["Licences:", *lines]) + f"\n{hint}")


def allow(user: str, names: Iterable[str], licence: str | None) -> None:
    """Check and announce the licences of the assets that a metric or system uses."""
    choice, names = read_choice(licence), list(names)
    check({user: names}, choice)
    announce(names, choice)


def describe(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return licence and terms of each asset, which are stored with a run."""
    return {asset.name: {"licence": asset.licence, "terms": asset.terms} for asset in with_bases(names)}


def _alternative(asset: Asset) -> str:
    return asset.permissive or asset.alternative or "none is known"


def _is_announced(asset: Asset) -> bool:
    """Whether the licence has been announced; this is recorded in the cache, so call it once per asset."""
    note = cache_folder() / "licences" / asset.name
    with suppress(OSError):
        if note.read_text(encoding="utf-8") == asset.licence:
            return True
    if asset.name in _announced:
        return True
    _announced.add(asset.name)
    with suppress(OSError):  # without this record, each process announces it
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(asset.licence, encoding="utf-8")
    return False
