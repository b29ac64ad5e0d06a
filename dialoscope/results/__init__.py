"""What a run found: the only thing that reports, comparisons and meta-evaluation read."""

from dialoscope.results.provenance import Provenance, versions
from dialoscope.results.ratings import Ratings
from dialoscope.results.resampling import Interval
from dialoscope.results.result import ReplyIndex, Result
from dialoscope.results.scores import Scores
from dialoscope.results.table import Cell, Table

__all__ = ["Cell", "Interval", "Provenance", "Ratings", "ReplyIndex", "Result", "Scores", "Table", "versions"]
