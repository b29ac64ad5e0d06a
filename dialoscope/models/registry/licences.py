"""Which assets may be used by their licences, and what is said and recorded of them."""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Literal, get_args

from dialoscope.core.errors import AssetError
from dialoscope.core.progress import notice
from dialoscope.core.safe_text import printable
from dialoscope.models.registry.asset import Asset
from dialoscope.models.registry.entries import ASSETS
from dialoscope.models.registry.places import cache_folder

Choice = Literal["any", "permissive"]

VARIABLE = "DIALOSCOPE_LICENCE"

_announced: set[str] = set()
"""Assets whose licences this process has announced."""


def read_choice(licence: str | None = None) -> Choice | None:
    """The licences that are allowed: those named, else those of `DIALOSCOPE_LICENCE`; None without either."""
    variable = os.environ.get(VARIABLE, "").strip()
    source, text = ("licence", licence) if licence is not None else (VARIABLE, variable)
    for choice in get_args(Choice):
        if text == choice:
            return choice  # type: ignore[no-any-return]
    if licence is None and not variable:
        return None
    raise AssetError(f"{source} is '{printable(text)}'; it must be one of: {', '.join(get_args(Choice))}.")


def with_bases(names: Iterable[str]) -> list[Asset]:
    """The assets of these names, each followed by those that it was trained on top of."""
    found: dict[str, Asset] = {}
    for name in names:
        while name in ASSETS and name not in found:
            found[name] = ASSETS[name]
            name = ASSETS[name].base
    return list(found.values())


def check(uses: Mapping[str, Iterable[str]], choice: Choice | None) -> None:
    """Refuse assets that are not permissive where only such may be used.

    Args:
        uses: The names of the assets that each metric or system needs, by its name.
        choice: What `read_choice` returned.
    """
    if choice != "permissive":
        return
    lines = []
    for user, names in uses.items():
        refused = [asset for asset in with_bases(names) if asset.terms != "permissive"]
        if refused:
            reasons = ", ".join(f"{asset.name} ({asset.licence_with_terms})" for asset in refused)
            lines.append(f"  {printable(user)} needs {reasons}. In place of it: {_alternative(refused[0])}.")
    if lines:
        raise AssetError(
            "\n".join(
                [
                    f"Only permissive licences are allowed (--licence, licence= or {VARIABLE}), but:",
                    *lines,
                    "Name others, or leave these out (of a suite, by naming its other metrics).",
                ]
            )
        )


def announce(names: Iterable[str], choice: Choice | None) -> None:
    """Say on standard error which assets are not permissive: once for each cache, and not after a choice."""
    if choice is not None:
        return
    lines = [
        f"{asset.name}: {asset.licence_with_terms}. Permissive alternative: {_alternative(asset)}."
        for asset in with_bases(names)
        if asset.terms != "permissive" and not _is_announced(asset)
    ]
    hint = f"Shown once; {VARIABLE}=permissive uses permissive models alone, any hides this."
    if len(lines) == 1:
        notice(f"Licence of {lines[0]} {hint}")
    elif lines:
        notice("\n  ".join(["Licences:", *lines]) + f"\n{hint}")


def allow(user: str, names: Iterable[str], licence: str | None) -> None:
    """Check and announce the assets that something uses, by the licences that are allowed."""
    choice, names = read_choice(licence), list(names)
    check({user: names}, choice)
    announce(names, choice)


def describe(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """The licence and terms of each asset, for the record of a run."""
    return {asset.name: {"licence": asset.licence, "terms": asset.terms} for asset in with_bases(names)}


def _alternative(asset: Asset) -> str:
    return asset.permissive or asset.alternative or "none is known"


def _is_announced(asset: Asset) -> bool:
    """Whether the licence was announced before; it is noted in the cache, so that this is asked once."""
    note = cache_folder() / "licences" / asset.name
    with suppress(OSError):
        if note.read_text(encoding="utf-8") == asset.licence:
            return True
    if asset.name in _announced:
        return True
    _announced.add(asset.name)
    with suppress(OSError):  # where nothing can be noted, each process announces it
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(asset.licence, encoding="utf-8")
    return False
