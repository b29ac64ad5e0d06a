"""The figures that trust in a metric rests on."""

from dataclasses import dataclass

FORMAT = "dialoscope trust"
VERSION = 1


@dataclass(frozen=True)
class Figure:
    """How a metric goes with one aspect that people rated in one corpus; NaN where that is undefined."""

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
    """A metric with its settings, whatever was fitted to a run."""

    metric: str
    signature: str
    higher_is_better: bool | None
    figures: tuple[Figure, ...]
    how: str = ""
    """What must be known of the figures."""

    @property
    def sign(self) -> int:
        """What a coefficient is multiplied with for more to be better."""
        return -1 if self.higher_is_better is False else 1


@dataclass(frozen=True)
class CorpusRecord:
    """Rated replies; nothing of their texts."""

    name: str
    source: str
    """Whom to cite."""
    aspects: tuple[str, ...]
    replies: int
    contexts: int
    data: str
    """A hash of all of it."""
    seed: int
    """Of the halves."""
