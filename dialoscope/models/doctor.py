"""Checks of the installation: packages, device, assets, score cache and network, each with advice."""

import json
import os
import platform
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from types import MappingProxyType
from typing import Literal

from dialoscope.core.errors import BackendError
from dialoscope.models.cache import cache_status
from dialoscope.models.registry import is_offline, status
from dialoscope.models.registry.asset import megabytes
from dialoscope.models.registry.lookup import repair_advice

State = Literal["ok", "lacking", "wrong"]

_DEVELOPMENT_EXTRAS = frozenset({"dev", "test"})
_MARKS: Mapping[State, str] = MappingProxyType({"ok": "✓", "lacking": "–", "wrong": "✗"})


@dataclass(frozen=True)
class Check:
    """The result of one check."""

    about: str
    state: State
    said: str
    advice: str = ""
    """A command or an action; empty if nothing needs to be done."""


@dataclass(frozen=True)
class Checkup:
    """The results of all checks."""

    findings: tuple[Check, ...]

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong; missing packages and assets can be installed when needed."""
        return all(check.state != "wrong" for check in self.findings)

    def text(self) -> str:
        """Return the results as readable text."""
        lines = []
        for check in self.findings:
            lines.append(f"{_MARKS[check.state]} {check.about}: {check.said}")
            lines += [f"    → {check.advice}"] if check.advice else []
        return "\n".join(lines)

    def json(self) -> str:
        """Return the results as JSON."""
        return json.dumps([asdict(check) for check in self.findings], ensure_ascii=False, indent=1)

    def __str__(self) -> str:
        return self.text()


def doctor() -> Checkup:
    """Check everything that a run may need; nothing is fetched or changed."""
    return Checkup(
        (*_check_packages(), _check_device(), *_check_assets(), _check_score_cache(), _check_network())
    )


def _check_packages() -> Iterator[Check]:
    python = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    yield Check("python", "ok", python)
    for extra, packages in _required_packages().items():
        about = f"packages ({extra})" if extra else "packages"
        versions = {name: _installed_version(name) for name in packages}
        listing = ", ".join(f"{name} {version or 'is not installed'}" for name, version in versions.items())
        if all(versions.values()):
            yield Check(about, "ok", listing)
        elif extra:
            yield Check(about, "lacking", listing, f"pip install 'dialoscope[{extra}]'")
        else:
            yield Check(about, "wrong", listing, "pip install --force-reinstall dialoscope")


def _required_packages() -> dict[str, list[str]]:
    """Return the names of the packages that each extra requires, and under "" those always required.

    They come from the metadata of the installed package. Extras for development are left out.
    """
    packages: dict[str, list[str]] = {"": []}
    for requirement in metadata.requires("dialoscope") or ():
        specifier, _, marker = requirement.partition(";")
        name = re.split(r"[^\w.-]", specifier.strip(), maxsplit=1)[0]
        extra = re.search(r"extra *== *['\"]([^'\"]+)", marker)
        packages.setdefault(extra[1] if extra else "", []).append(name)
    return {extra: names for extra, names in packages.items() if extra not in _DEVELOPMENT_EXTRAS}


def _installed_version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _check_device() -> Check:
    """Check the device on which models compute by default."""
    cores = f"processor with {os.cpu_count()} cores"
    try:
        import torch
    except ImportError:
        return Check("device", "lacking", f"{cores}; models need torch", "pip install 'dialoscope[neural]'")
    if torch.cuda.is_available():
        card = torch.cuda.get_device_properties(0)
        advice = "half precision is faster on a GPU, e.g. -m coherence:lm.dtype=bfloat16"
        return Check("device", "ok", f"{card.name}, {card.total_memory / 2**30:.0f} GiB", advice)
    advice = (
        "this machine seems to have a GPU: install a build of torch that supports it"
        if shutil.which("nvidia-smi")
        else ""
    )
    return Check("device", "ok", f"{cores}, {torch.get_num_threads()} threads; no GPU", advice)


def _check_assets() -> Iterator[Check]:
    for state in status():
        asset, about = state.asset, f"asset {state.asset.name}"
        if state.problem:
            yield Check(about, "wrong", f"{state.problem} ({state.folder})", repair_advice(state))
        elif state.folder:
            yield Check(about, "ok", str(state.folder))
        else:
            message = f"{asset.about}; not on this machine, download of {megabytes(asset.download_size)}"
            yield Check(about, "lacking", message, f"dialoscope assets fetch {asset.name}")


def _check_score_cache() -> Check:
    try:
        cache = cache_status()
    except BackendError as error:
        return Check("score cache", "wrong", str(error), "unset DIALOSCOPE_SCORES_LIMIT, or correct it")
    if cache.problem:
        message = f"{cache.path} cannot be read: {cache.problem}"
        return Check("score cache", "wrong", message, "move the file away; a new one is created when needed")
    if not cache.on:
        return Check("score cache", "lacking", "off", "unset DIALOSCOPE_SCORES to cache the scores of models")
    size = f"{megabytes(cache.size)} of at most {megabytes(cache.limit)}"
    return Check("score cache", "ok", f"{cache.path}: {cache.entries:,} entries, {size}")


def _check_network() -> Check:
    if is_offline():
        return Check("network", "lacking", "offline", "unset DIALOSCOPE_OFFLINE to fetch assets when needed")
    return Check("network", "ok", "assets are fetched when first used; --offline prevents this")
