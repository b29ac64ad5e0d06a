"""What other people's metrics gave the replies of a run, in columns."""

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
    """What a reader must know of them: how many belong to no reply."""

    @classmethod
    def of(cls, replies: "ReplyIndex", records: "Scores | Iterable[Score]") -> "Scores":
        """Scores from a file, each at the reply it is of."""
        if isinstance(records, Scores):
            return records
        held = tuple(records)
        found = find(replies, held, "score")
        metrics = {name: place for place, name in enumerate(dict.fromkeys(one.metric for one in held))}
        values = np.full((len(replies), len(metrics)), np.nan)
        for row, one in zip(found.reply.tolist(), held, strict=True):
            if row >= 0 and one.value is not None:
                values[row, metrics[one.metric]] = one.value
        return cls(tuple(metrics), values, found.notes)
