"""The correlations on which trust in a metric is based."""

from dataclasses import dataclass

FORMAT = "dialoscope trust"
VERSION = 1


@dataclass(frozen=True)
class Figure:
    """The correlation of a metric with a rated aspect of one corpus; NaN where it is undefined."""

    corpus: str
    aspect: str
    n: int
    """Rated replies with a value."""
    contexts: int
    spearman: float
    low: float
    high: float
    error: float
    """The standard error of Fisher's z of Spearman's coefficient, from random halves of the contexts."""
    pearson: float
    pearson_low: float
    pearson_high: float
    why: str = ""
    """Why it is undefined."""


@dataclass(frozen=True)
class Family:
    """A metric with its settings, without what was fitted to a run."""

    metric: str
    signature: str
    higher_is_better: bool | None
    figures: tuple[Figure, ...]
    how: str = ""
    """A note on the figures."""

    @property
    def sign(self) -> int:
        """The factor that makes a higher coefficient better."""
        return -1 if self.higher_is_better is False else 1


@dataclass(frozen=True)
class CorpusRecord:
    """The description of a corpus of rated replies, without texts."""

    name: str
    source: str
    """The publication to cite."""
    aspects: tuple[str, ...]
    replies: int
    contexts: int
    data: str
    """The hash of the corpus."""
    seed: int
    """The seed of the halves."""
