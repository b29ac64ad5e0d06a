"""By how much numbers of a model may differ from exact ones, derived from the arithmetic in single precision.

A sum of n terms is rounded about n times. Where terms have no common sign, the partial sum of i terms is
sqrt(i / n) times as large as the whole, S, and rounding it errs by up to u times its size, evenly spread: a
variance of (u S)² i / (3 n). Roundings are independent, so these add up, to (u S)² n / 6 (Higham and Mary,
"A New Approach to Probabilistic Rounding Error Analysis", 2019). Every processor adds up several partial
sums beside each other, in lanes, which leaves each with fewer terms, and the variance smaller by their
number.

In a model, sums follow each other: what the next layer reads was rounded before. Layers are normalised, so
that a relative error stays about as large as it is, and variances of successive sums add up. Hence the
relative error of what comes out has the standard deviation u sqrt(n / (6 lanes)), with n the number of
terms of all sums in a row.
"""

import json
import math
from pathlib import Path

import numpy as np

UNIT = 2.0**-24
"""The largest relative error of rounding once to single precision."""
LANES = 4
"""The fewest sums that a processor adds up beside each other: SSE and NEON have so many."""
MOST_LANES = 16
"""The most: those of AVX-512."""
SPREAD = 5.0
"""The logits of a token that the default language model gives have a smaller standard deviation."""
DEVIATIONS = 5
"""A normal error exceeds so many standard deviations in 6 of 10 million numbers."""


DOUBLE_ERROR = DEVIATIONS * 2.0**-53 * math.sqrt(10**6 / (6 * LANES))
"""The relative error of a sum of a million terms in double precision: values of replies in each resample."""


def relative_error(folder: Path, length: int) -> float:
    """By how much a number that the model in a folder gives for a text of `length` tokens may be off.

    In proportion to numbers of its kind: to the length of a vector, for instance.
    """
    terms = _terms(json.loads((folder / "config.json").read_text(encoding="utf-8")), length)
    return DEVIATIONS * UNIT * math.sqrt(terms / (6 * LANES))


def cosine_error(folder: Path, length: int) -> float:
    """By how much the cosine of the vectors of two texts may be off.

    Only what is off in the direction of the other vector changes it, by at most the relative error of each.
    """
    return math.sqrt(2) * relative_error(folder, length)


def log_probability_error(folder: Path, length: int, spread: float = SPREAD) -> float:
    """By how much a log-probability may be off that the model in a folder gives to a token of a text.

    It is a logit less the logarithm of the sum of all powers, which are two numbers with errors; `spread` is
    the standard deviation of the logits of one token, and the text has `length` tokens.
    """
    return math.sqrt(2) * relative_error(folder, length) * spread


def _terms(config: dict[str, int], length: int) -> int:
    """The number of terms of all sums in a row: in each layer attention and two further products."""
    hidden = config["hidden_size"]
    head = hidden // config["num_attention_heads"]
    attention = hidden + head + length + hidden  # projection, scores, values, projection
    return config["num_hidden_layers"] * (attention + hidden + config["intermediate_size"]) + hidden


def error_like(single: np.ndarray, double: np.ndarray) -> float:
    """By how much numbers may be off if other code in single precision is off by so much on the same input.

    Its sums may have the most lanes and ours the fewest, so that our errors are larger by the square root of
    the ratio; twice as large again, since the largest of a few errors varies. This is for models of random
    weights, in which errors grow from layer to layer by a factor that only the model itself shows.
    """
    largest = float(np.abs(np.asarray(single, float) - double).max(initial=0))
    return 2 * math.sqrt(MOST_LANES / LANES) * max(largest, UNIT * float(np.abs(double).max(initial=0)))
