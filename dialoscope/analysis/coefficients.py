"""Five coefficients of correlation of two columns of numbers, each with the reason where it is undefined.

Signs are kept: a metric that points the wrong way has a negative coefficient.
"""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from dialoscope.core.arrays import Floats

FEWEST = 3
"""The fewest pairs of a coefficient: two points are always on a line."""
NEARLY_ONE = 1 - 1e-6
"""Coefficients are clipped here, since Fisher's z of 1 would be infinite."""


class Coefficient(NamedTuple):
    """A value with its number of pairs; where it is undefined (NaN), why."""

    value: float
    n: int
    why: str = ""


class Wording(NamedTuple):
    """The words for the two columns in the reason why a coefficient is undefined."""

    first: str = "the first side is"
    second: str = "the second side is"
    both: str = "both sides are"
    pairs: str = "of values"


def measure(
    name: str,
    x: Floats,
    y: Floats,
    min_points: int = FEWEST,
    words: Wording = Wording(),  # noqa: B008 - a constant
) -> Coefficient:
    """Compute a coefficient, given by its name, on the rows where both columns have a value."""
    defined = ~(np.isnan(x) | np.isnan(y))
    x, y = x[defined], y[defined]
    n = len(x)
    if n < min_points:
        few = f"{n or 'no'} pair{'s' * (n != 1)} {words.pairs}, and {min_points} are needed"
        return Coefficient(math.nan, n, few)
    value = FUNCTIONS[name](x, y)
    if math.isnan(value):
        same = [side for side, column in ((words.first, x), (words.second, y)) if _scale(column) == 0]
        which = words.both if len(same) == 2 else "".join(same) or words.first
        return Coefficient(math.nan, n, f"{which} the same everywhere")
    return Coefficient(value, n)


def pearson(x: Floats, y: Floats) -> float:
    """Pearson's coefficient, from -1 to 1."""
    spread = _scale(x) * _scale(y)
    if spread == 0:
        return math.nan
    return float(np.clip(_subtract_mean(x) @ _subtract_mean(y) / spread, -1, 1))


def spearman(x: Floats, y: Floats) -> float:
    """Spearman's coefficient: Pearson's of the ranks, ties at the middle of theirs."""
    return pearson(ranks(x), ranks(y)) if len(x) else math.nan


def kendall(x: Floats, y: Floats) -> float:
    """Tau-b: pairs in the same order less pairs in the other, of the pairs not tied on either side."""
    untied = math.sqrt(count_untied_pairs(x)) * math.sqrt(count_untied_pairs(y))
    return order_agreement(x, y) / untied if untied else math.nan


def cosine(x: Floats, y: Floats) -> float:
    """The cosine of the columns as vectors, nothing subtracted."""
    length = float(np.linalg.norm(x)) * float(np.linalg.norm(y))
    return float(np.clip(x @ y / length, -1, 1)) if length else math.nan


def accuracy(x: Floats, y: Floats) -> float:
    """Pairwise accuracy: the share of pairs, untied in the second column, that the first orders alike."""
    untied = count_untied_pairs(y)
    return 0.5 + 0.5 * order_agreement(x, y) / untied if untied else math.nan


FUNCTIONS: Mapping[str, Callable[[Floats, Floats], float]] = MappingProxyType(
    {"pearson": pearson, "spearman": spearman, "kendall": kendall, "cosine": cosine, "accuracy": accuracy}
)
NAMES = tuple(FUNCTIONS)


def middle(name: str) -> float:
    """The value of a coefficient where neither order of a pair is more frequent."""
    return 0.5 if name == "accuracy" else 0.0


def fisher(coefficients: Floats) -> Floats:
    """Fisher's z of coefficients, whose standard error does not depend on them."""
    z: Floats = np.arctanh(np.clip(coefficients, -NEARLY_ONE, NEARLY_ONE))
    return z


def ranks(x: Floats) -> Floats:
    """The rank of each value, from 1 upwards; tied values share the mean of theirs."""
    _, kind, ties = np.unique(x, return_inverse=True, return_counts=True)
    middles: Floats = np.cumsum(ties) - (ties - 1) / 2
    return middles[kind]


def round_last_digits(values: Floats) -> Floats:
    """The values rounded to 12 digits, so that equal means added up in another order are equal."""
    size = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    rounded: Floats = np.round(values / size, 12) * size
    return rounded


def order_agreement(x: Floats, y: Floats) -> float:
    """The number of pairs in the same order on both sides, less those in opposite orders."""
    from scipy.stats import kendalltau

    untied = math.sqrt(count_untied_pairs(x)) * math.sqrt(count_untied_pairs(y))
    return float(np.round(kendalltau(x, y).statistic * untied)) if untied else 0.0


def count_untied_pairs(x: Floats) -> int:
    """The number of pairs of different values."""
    ties = np.unique(x, return_counts=True)[1]
    return (len(x) * (len(x) - 1) - int((ties * (ties - 1)).sum())) // 2


def _subtract_mean(x: Floats) -> Floats:
    centred: Floats = x - x.mean()
    return centred


def _scale(x: Floats) -> float:
    """The length of the column about its mean; 0 for one that is the same everywhere save for rounding."""
    if not len(x):
        return 0.0
    length = float(np.linalg.norm(_subtract_mean(x)))
    return length if length > 1e-13 * float(np.linalg.norm(x)) else 0.0


def format_coefficient(value: float, digits: int = 2) -> str:
    """Format a coefficient as in tables: .42, −.05, 1."""
    if math.isnan(value):
        return "–"
    text = f"{abs(value):.{digits}f}"
    sign = "−" if value < 0 and float(text) else ""
    return sign + ("1" if float(text) == 1 else text.replace("0.", ".", 1))


def format_interval(value: float, low: float, high: float, digits: int = 2) -> str:
    """Format a coefficient with its interval, where that is known: .42 [.35, .49]."""
    ends = (
        "" if math.isnan(low) else f" [{format_coefficient(low, digits)}, {format_coefficient(high, digits)}]"
    )
    return format_coefficient(value, digits) + ends
