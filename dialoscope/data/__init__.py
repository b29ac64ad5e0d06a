"""Reading replies out of files, and warning of what is odd about them."""

from dialoscope.data.canonical import canonical
from dialoscope.data.layout import Row
from dialoscope.data.lint import Lint, lint
from dialoscope.data.problems import Problem, ReadLog
from dialoscope.data.replies import HeldReplies, Replies, RowSource, read

__all__ = [
    "HeldReplies",
    "Lint",
    "Problem",
    "ReadLog",
    "Replies",
    "Row",
    "RowSource",
    "canonical",
    "lint",
    "read",
]
