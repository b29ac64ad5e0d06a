"""The provenance of a result: its data, settings and software, to repeat and to check it."""

import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

from dialoscope.core.safe_text import printable
from dialoscope.data.problems import describe_skipped


@dataclass(frozen=True)
class Provenance:
    """The data, the settings, the software and the time of a run."""

    data: str
    """Hash of all examples in their order, whatever file format they came in."""
    source: Mapping[str, Any] | None
    """The files and settings with which the data was read, if it can be read again."""
    replies: int
    skipped: int
    """Malformed rows that were left out."""
    missing: str
    """The treatment of replies with missing input: stop, undefined or leave-out."""
    seed: int
    command: str
    started: str
    seconds: float
    versions: Mapping[str, str]
    warnings: tuple[str, ...] = ()
    models: Mapping[str, str] = field(default_factory=dict)
    """A hash of the weights, tokenizer and data of each model, by its signature."""
    fitted: tuple[str, ...] = ()
    """The metrics whose scales were fitted to these replies."""
    licences: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The licence and the terms of each asset that the numbers were made with, by its name."""

    def list_licences(self) -> list[str]:
        """A line for each asset that the numbers were made with."""
        return [
            printable(f"licence of {name}: {entry.get('licence')} ({entry.get('terms')})")
            for name, entry in self.licences.items()
        ]

    def notices(self) -> list[str]:
        """Warnings on the data for readers of the numbers."""
        left_out = describe_skipped(self.skipped)
        is_warned_of = not self.skipped or any(text.startswith(left_out) for text in self.warnings)
        return [*self.warnings] if is_warned_of else [f"{left_out}.", *self.warnings]


_PACKAGES = ("dialoscope", "numpy", "scipy", "rapidfuzz", "regex", "nltk", "pyarrow")
_NEURAL = ("torch", "transformers", "tokenizers", "safetensors")


def versions(*, neural: bool = False) -> dict[str, str]:
    """The versions of the packages that affect the numbers; those of models only where one was used."""
    installed = {dist.name for dist in metadata.distributions()} if neural else set()
    wanted = (*_PACKAGES, *(name for name in _NEURAL if name in installed))
    packages = {name: metadata.version(name) for name in wanted}
    return {**packages, "python": platform.python_version(), "platform": sys.platform}
