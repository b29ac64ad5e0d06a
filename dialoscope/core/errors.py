"""The errors that a user can meet, as a tree.

DialoscopeError             all errors below; shown without a traceback
├── DataError               a file that cannot be read as replies
├── MetricError             an unknown metric or setting, or missing input of one
├── AssetError              a model or data set that cannot be fetched, or whose content is wrong
├── BackendError            a model that cannot be loaded, reached or used as requested
├── TrainingError           a training that cannot be done as requested, or a checkpoint in the way
├── RunError                a run folder that is damaged, foreign or in the way
└── MissingExtra            an optional package is not installed
"""

from dialoscope.core.safe_text import printable_lines


class DialoscopeError(Exception):
    """An error that a user can correct; the message says what is wrong and how to correct it.

    The message can be printed whatever names and texts it repeats: all but its line breaks is escaped.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(printable_lines(message))


class DataError(DialoscopeError):
    """Input that cannot be read as replies."""


class MetricError(DialoscopeError):
    """A metric that does not exist, has no such setting, or whose input is missing."""


class AssetError(DialoscopeError):
    """A model or data set that cannot be fetched, or whose content is wrong."""


class BackendError(DialoscopeError):
    """A model that cannot be loaded, reached, or used as requested."""


class TrainingError(DialoscopeError):
    """A training that cannot be done as requested."""


class RunError(DialoscopeError):
    """A run folder that cannot be loaded or written."""


class MissingExtra(DialoscopeError):
    """A feature whose optional packages are not installed."""

    def __init__(self, feature: str, package: str, extra: str) -> None:
        super().__init__(f"{feature} needs {package}. Install it with: pip install 'dialoscope[{extra}]'")
