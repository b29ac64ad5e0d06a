"""What people said of the replies of a run, in columns."""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from dialoscope.records import Rating
from dialoscope.tally import Floats, Ints


@dataclass(frozen=True, eq=False)
class Ratings:
    """One row for each rating; NaN where a rater gave no value."""

    reply: Ints
    """The place of the rated reply in the run."""
    aspect: tuple[str, ...]
    rater: tuple[str, ...]
    value: Floats

    def __len__(self) -> int:
        return len(self.reply)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ratings) and (
            (self.aspect, self.rater, self.reply.tolist())
            == (other.aspect, other.rater, other.reply.tolist())
            and np.array_equal(self.value, other.value, equal_nan=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def means(self, aspect: str, replies: int) -> Floats:
        """The mean rating of each of so many replies; NaN where nobody rated it."""
        rows = (np.array(self.aspect, dtype=object) == aspect) & np.isfinite(self.value)
        sums = np.bincount(self.reply[rows], self.value[rows], replies)
        counts = np.bincount(self.reply[rows], minlength=replies)
        return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


@dataclass
class RatingsBuilder:
    """Collects ratings while the replies stream by."""

    reply: "array[int]" = field(default_factory=lambda: array("q"))
    value: "array[float]" = field(default_factory=lambda: array("d"))
    aspect: list[str] = field(default_factory=list)
    rater: list[str] = field(default_factory=list)

    def add(self, reply: int, ratings: Iterable[Rating]) -> None:
        """The ratings of the reply at this place."""
        for rating in ratings:
            self.reply.append(reply)
            self.value.append(float("nan") if rating.value is None else rating.value)
            self.aspect.append(rating.aspect)
            self.rater.append(rating.rater)

    def build(self) -> Ratings:
        """All of them."""
        return Ratings(
            np.array(self.reply, np.int64), tuple(self.aspect), tuple(self.rater), np.array(self.value, float)
        )
