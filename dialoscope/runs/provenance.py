"""Where a result comes from: enough to make it again, and to see that it was not changed."""

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
    """How, when, from what data and by what software a run was made."""

    data: str
    """Hash of all examples in their order, whatever file format they came in."""
    source: Mapping[str, Any] | None
    """How the data was read, if it came from files that can be read again."""
    replies: int
    skipped: int
    """Malformed rows that were left out."""
    missing: str
    """What was done with replies whose input for a metric is missing: stop, undefined or leave-out."""
    seed: int
    command: str
    started: str
    seconds: float
    versions: Mapping[str, str]
    warnings: tuple[str, ...] = ()
    models: Mapping[str, str] = field(default_factory=dict)
    """By its signature, a hash of what is behind each model: weights, tokenizer, data."""
    fitted: tuple[str, ...] = ()
    """Metrics whose scales were fitted to these very replies."""
    licences: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By its name, the licence and the terms of each asset that the numbers were made with."""

    def list_licences(self) -> list[str]:
        """A line for each asset that the numbers were made with."""
        return [
            printable(f"licence of {name}: {entry.get('licence')} ({entry.get('terms')})")
            for name, entry in self.licences.items()
        ]

    def notices(self) -> list[str]:
        """What a reader of the numbers should be told about the data."""
        left_out = describe_skipped(self.skipped)
        is_warned_of = not self.skipped or any(text.startswith(left_out) for text in self.warnings)
        return [*self.warnings] if is_warned_of else [f"{left_out}.", *self.warnings]


_PACKAGES = ("dialoscope", "numpy", "scipy", "rapidfuzz", "regex", "nltk", "pyarrow")
_NEURAL = ("torch", "transformers", "tokenizers", "safetensors")


def versions(*, neural: bool = False) -> dict[str, str]:
    """The versions of everything that has a part in the numbers, of what models need where one has."""
    installed = {dist.name for dist in metadata.distributions()} if neural else set()
    wanted = (*_PACKAGES, *(name for name in _NEURAL if name in installed))
    packages = {name: metadata.version(name) for name in wanted}
    return {**packages, "python": platform.python_version(), "platform": sys.platform}
