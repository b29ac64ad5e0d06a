"""What can go wrong for a user, as a tree.

DialoscopeError             everything below; its text is meant to be shown without a traceback
├── DataError               a file that cannot be read as replies
├── MetricError             an unknown metric or setting, or one that lacks what it needs
├── AssetError              a model or data set that cannot be had, or is not what it should be
├── BackendError            a model that cannot be loaded, reached or used so
├── TrainingError           a training that cannot be done so, or a checkpoint that is in the way
├── RunError                a run folder that is damaged, foreign or in the way
└── MissingExtra            an optional package is not installed
"""

from dialoscope.core.safe_text import printable_lines


class DialoscopeError(Exception):
    """Something a user can put right; the message says what and how.

    Whatever names and texts the message repeats, it can be printed: all but its line breaks is escaped.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(printable_lines(message))


class DataError(DialoscopeError):
    """Input that cannot be read as replies."""


class MetricError(DialoscopeError):
    """A metric that does not exist, cannot be set so, or lacks what it needs."""


class AssetError(DialoscopeError):
    """A model or data set that cannot be fetched, or whose content is not what it should be."""


class BackendError(DialoscopeError):
    """A model that cannot be loaded, reached, or used as asked."""


class TrainingError(DialoscopeError):
    """A training that cannot be done as asked."""


class RunError(DialoscopeError):
    """A run folder that cannot be loaded or written."""


class MissingExtra(DialoscopeError):
    """A feature whose optional packages are not installed."""

    def __init__(self, feature: str, package: str, extra: str) -> None:
        super().__init__(f"{feature} needs {package}. Install it with: pip install 'dialoscope[{extra}]'")
