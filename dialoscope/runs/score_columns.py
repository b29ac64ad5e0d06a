"""Scores of the replies of a run by metrics of other programs, in columns."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dialoscope.core.arrays import Floats
from dialoscope.core.records import Score
from dialoscope.runs.joining import find

if TYPE_CHECKING:
    from dialoscope.runs.result import ReplyIndex


@dataclass(frozen=True, eq=False)
class Scores:
    """A column for each metric, a row for each reply of the run; NaN where there is no score."""

    metrics: tuple[str, ...]
    values: Floats  # (replies, metrics)
    notes: tuple[str, ...] = ()
    """Notes on the scores, such as the number that belong to no reply."""

    @classmethod
    def of(cls, replies: "ReplyIndex", records: "Scores | Iterable[Score]") -> "Scores":
        """The scores of a file, each at its reply."""
        if isinstance(records, Scores):
            return records
        held = tuple(records)
        matches = find(replies, held, "score")
        metrics = {name: index for index, name in enumerate(dict.fromkeys(score.metric for score in held))}
        values = np.full((len(replies), len(metrics)), np.nan)
        for row, score in zip(matches.reply.tolist(), held, strict=True):
            if row >= 0 and score.value is not None:
                values[row, metrics[score.metric]] = score.value
        return cls(tuple(metrics), values, matches.notes)
