"""The parts of models that import torch, which are loaded when a model is first used.

Descriptions in `dialoscope.models` load them through `import_engine`, so that `import dialoscope` and lexical
metrics need no torch. Only this package and `dialoscope.training.engines` import it.
"""

from importlib import import_module
from typing import Any

from dialoscope.core.errors import MissingExtra


def import_engine(name: str, feature: str, package: str = "dialoscope.models.engines") -> Any:  # noqa: ANN401
    """Import a module that needs torch; if a package is missing, the error says what needs it."""
    try:
        return import_module(f"{package}.{name}")
    except ImportError as missing:
        raise MissingExtra(feature, missing.name or "torch", "neural") from missing
