"""Scores of groups of replies in bootstrap draws, from stored statistics."""

import math
from typing import TYPE_CHECKING

import numpy as np

from dialoscope.metrics import AdditiveMetric, PoolMetric
from dialoscope.results.resampling import block_sums
from dialoscope.tally import Floats, Ints

if TYPE_CHECKING:
    from dialoscope.results.result import Result


def drawn_scores(result: "Result", of: str, rows: Ints, blocks: Ints, weights: Floats) -> Floats:
    """A metric's value for these replies in draws in which their blocks count so often: (draws,).

    Where repeating replies would change the number itself (the share of different n-grams), it is moved by
    as much as each block is worth when it is left out.
    """
    one = result.named(of)
    tally = result.tallies[one.statistics].take(rows)
    if isinstance(one, AdditiveMetric):
        return one.finish(weights @ block_sums(one.rows(tally), blocks, weights.shape[1]))
    assert isinstance(one, PoolMetric)  # noqa: S101 - there are no others
    kinds, block = np.unique(blocks, return_inverse=True)
    left_out = one.scores_without(tally, block)
    worth = (left_out.mean() - left_out) * math.sqrt(1 - 1 / len(kinds))
    moved: Floats = one.score(tally) + (weights[:, kinds] - 1) @ worth
    return moved
