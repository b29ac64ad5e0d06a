"""Helpers of training tasks: padded batches, and comparisons of right and wrong replies."""

from collections.abc import Sequence

import numpy as np
import torch

from dialoscope.core.arrays import Floats

TIE = 1e-5
"""Scores are equal if they differ by at most this share of the larger one, or of 1 if both are smaller.

A score is a logit or a log-probability. Single precision rounds to 6e-8, and the sums of a model leave an
error of about 1e-6 of a score, another 1e-6 on another processor. Without a tolerance, the order of scores
that are equal by definition would be arbitrary.
"""


def pad(rows: Sequence[list[int]], filler: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """The rows padded to equal length, and a mask that is 1 where a row has a token."""
    longest = max(map(len, rows))
    padded = np.full((len(rows), longest), filler, np.int64)
    mask = np.zeros((len(rows), longest), np.int64)
    for index, row in enumerate(rows):
        padded[index, : len(row)] = row
        mask[index, : len(row)] = 1
    return torch.from_numpy(padded).to(device), torch.from_numpy(mask).to(device)


def compute_preference(scores: Floats) -> Floats:
    """For each row, the share of the other columns that the first is above; equal ones count half."""
    return np.asarray(_wins(scores).mean(axis=1))


def rank(scores: Floats) -> Floats:
    """For each row, the rank of the first column, from 1; equal ones count half."""
    return np.asarray(1 + (1 - _wins(scores)).sum(axis=1))


def _wins(scores: Floats) -> Floats:
    """1 where the first column is above another, 0 where it is below, 1/2 where they are equal."""
    right, wrong = scores[:, :1], scores[:, 1:]
    size = np.maximum(1, np.maximum(np.abs(right), np.abs(wrong)))
    return np.where(np.abs(right - wrong) <= TIE * size, 0.5, right > wrong)
