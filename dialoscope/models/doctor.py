"""What is installed, which device computes, which assets are here, and what to do about what is lacking."""

import json
import os
import platform
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from types import MappingProxyType
from typing import Literal

from dialoscope.core.errors import BackendError
from dialoscope.models.cache import kept
from dialoscope.models.registry import offline, status
from dialoscope.models.registry.asset import megabytes
from dialoscope.models.registry.lookup import what_to_do

State = Literal["ok", "lacking", "wrong"]

_EXTRAS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "": ("numpy", "scipy", "nltk", "pyarrow", "rapidfuzz", "regex", "rich", "typer"),
        "neural": ("torch", "transformers", "tokenizers", "safetensors", "huggingface-hub"),
        "tagger": ("spacy",),
        "pandas": ("pandas",),
        "polars": ("polars",),
    }
)
_MARKS: Mapping[State, str] = MappingProxyType({"ok": "✓", "lacking": "–", "wrong": "✗"})


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    about: str
    state: State
    said: str
    advice: str = ""
    """What to type or do; empty where nothing needs to be done."""


@dataclass(frozen=True)
class Checkup:
    """Everything that was looked at."""

    findings: tuple[Finding, ...]

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong; what is only lacking can be had when it is needed."""
        return all(finding.state != "wrong" for finding in self.findings)

    def text(self) -> str:
        """For people."""
        lines = []
        for finding in self.findings:
            lines.append(f"{_MARKS[finding.state]} {finding.about}: {finding.said}")
            lines += [f"    → {finding.advice}"] if finding.advice else []
        return "\n".join(lines)

    def json(self) -> str:
        """For programs."""
        return json.dumps([asdict(finding) for finding in self.findings], ensure_ascii=False, indent=1)

    def __str__(self) -> str:
        return self.text()


def doctor() -> Checkup:
    """Look at everything that a run may need; nothing is fetched or changed."""
    return Checkup((*_packages(), _device(), *_assets(), _score_cache(), _network()))


def _packages() -> Iterator[Finding]:
    python = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    yield Finding("python", "ok", python)
    for extra, packages in _EXTRAS.items():
        found = {name: _version(name) for name in packages}
        said = ", ".join(f"{name} {version or 'is not installed'}" for name, version in found.items())
        wanted = f"'dialoscope[{extra}]'" if extra else "--force-reinstall dialoscope"
        if all(found.values()):
            yield Finding(f"packages ({extra})" if extra else "packages", "ok", said)
        else:
            state: State = "lacking" if extra else "wrong"
            yield Finding(
                f"packages ({extra})" if extra else "packages", state, said, f"pip install {wanted}"
            )


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _device() -> Finding:
    """What models compute on by default."""
    cores = f"processor with {os.cpu_count()} cores"
    try:
        import torch
    except ImportError:
        return Finding("device", "lacking", f"{cores}; models need torch", "pip install 'dialoscope[neural]'")
    if torch.cuda.is_available():
        card = torch.cuda.get_device_properties(0)
        advice = "for speed, let models compute in half precision, e.g. -m coherence:lm.dtype=bfloat16"
        return Finding("device", "ok", f"{card.name}, {card.total_memory / 2**30:.0f} GiB", advice)
    advice = (
        "a GPU seems to be here: install a build of torch that can use it"
        if shutil.which("nvidia-smi")
        else ""
    )
    return Finding("device", "ok", f"{cores}, {torch.get_num_threads()} threads; no GPU", advice)


def _assets() -> Iterator[Finding]:
    for found in status():
        about = f"asset {found.asset.name}"
        if found.problem:
            yield Finding(about, "wrong", f"{found.problem} ({found.folder})", what_to_do(found))
        elif found.folder:
            yield Finding(about, "ok", str(found.folder))
        else:
            said = f"{found.asset.about}; not here, {megabytes(found.asset.download_size)} to download"
            yield Finding(about, "lacking", said, f"dialoscope assets fetch {found.asset.name}")


def _score_cache() -> Finding:
    """Where computed scores are kept."""
    try:
        cache = kept()
    except BackendError as error:
        return Finding("score cache", "wrong", str(error), "unset DIALOSCOPE_SCORES_LIMIT, or correct it")
    if cache.problem:
        said = f"{cache.path} cannot be read: {cache.problem}"
        return Finding("score cache", "wrong", said, "move it away; a new one is made when it is needed")
    if not cache.on:
        return Finding(
            "score cache", "lacking", "off", "unset DIALOSCOPE_SCORES to keep what models computed"
        )
    room = f"{megabytes(cache.size)} of at most {megabytes(cache.limit)}"
    said = f"{cache.path}: {cache.entries:,} entries, {room}"
    return Finding("score cache", "ok", said)


def _network() -> Finding:
    if offline():
        return Finding(
            "network", "lacking", "offline", "unset DIALOSCOPE_OFFLINE to fetch assets when needed"
        )
    return Finding("network", "ok", "assets are fetched when first used; --offline forbids it")
