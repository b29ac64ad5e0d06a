"""ADEM: predicted ratings of replies (Lowe et al., 2017)."""

from dataclasses import dataclass

import numpy as np

from dialoscope.core.arrays import Floats
from dialoscope.core.tally import Sums
from dialoscope.metrics.shared.base import Bounds, GradeMetric, Notes, ratio
from dialoscope.metrics.shared.truncation_notes import note_cutting
from dialoscope.models.bilinear import BilinearRegressor
from dialoscope.models.protocols import Regressor
from dialoscope.text.batch import Batch

FAR = 0.05
"""The share of strange replies above which there is a warning; 1 in 100 training replies is strange."""

_RATING, _STRANGENESS = range(2)


@dataclass(frozen=True)
class Adem(GradeMetric[Sums]):
    """The rating of a reply, from 1 to 5, predicted by a model trained on ratings."""

    name = "adem"
    version = 2
    paper = "https://aclanthology.org/P17-1103"
    needs = frozenset({"context", "references"})
    higher_is_better = True
    at_once = True
    tally = Sums

    checkpoint: Regressor = BilinearRegressor()
    """The folder that `dialoscope train adem` wrote; none is shipped."""

    @property
    def bounds(self) -> Bounds:
        """The bounds of the rating scale."""
        return Bounds(1, 5)

    def announce(self, batch: Batch) -> None:
        """Refuse a checkpoint that cannot be used before any model computes."""
        self.checkpoint.fingerprint  # noqa: B018

    def measure(self, batch: Batch) -> Sums:
        """The predicted ratings; undefined for a reply without words, context or reference."""
        return Sums(self.checkpoint.rate(list(batch)).reshape(-1, 2))

    def warnings(self, batch: Batch) -> list[str]:
        """Warnings about replies whose context or end was cut for the model."""
        return note_cutting(batch, self.checkpoint, enumerate(batch))

    def score_each(self, tally: Sums) -> Floats:
        """The predicted rating, clipped to the scale."""
        return np.asarray(np.clip(tally.rows[:, _RATING].astype(float), *self.bounds))

    def notes(self, tally: Sums) -> Notes:
        """The share of replies that are unlike all training data, and a warning where they are many."""
        far = _share_of_strange_replies(tally)
        warning = (
            f"{self}: more than {FAR:.0%} of replies are farther from the training data of the checkpoint "
            "than 99 of 100 rated replies were (far); their predicted ratings are guesses. Train a "
            "checkpoint on replies and contexts of this kind."
        )
        return Notes({"far": far}, warning if far > FAR else "")


def _share_of_strange_replies(tally: Sums) -> float:
    strange = tally.rows[:, _STRANGENESS].astype(float)
    defined = strange[~np.isnan(strange)]
    return float(ratio(np.array([(defined > 1).sum()]), np.array([len(defined)]))[0])
