"""What the tasks have in common: tokens side by side, and which of two replies is preferred."""

from collections.abc import Sequence

import numpy as np
import torch

from dialoscope.core.arrays import Floats

TIE = 1e-5
"""Scores are equal if they differ by at most this share of the larger one, or of 1 if both are smaller.

A score is a logit or a log-probability. Single precision rounds to 6e-8, and what a model adds up on the way
to a score leaves about 1e-6 of its size, another 1e-6 on another processor. Scores that are equal by
definition would otherwise be above or below each other by chance.
"""


def rectangle(
    rows: Sequence[list[int]], filler: int, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """The rows filled up to equal length, and where something stands."""
    longest = max(map(len, rows))
    whole = np.full((len(rows), longest), filler, np.int64)
    mask = np.zeros((len(rows), longest), np.int64)
    for place, row in enumerate(rows):
        whole[place, : len(row)] = row
        mask[place, : len(row)] = 1
    return torch.from_numpy(whole).to(device), torch.from_numpy(mask).to(device)


def preferred(scores: Floats) -> Floats:
    """For each row, the share of the other columns that the first is above; equal ones count half."""
    return np.asarray(_wins(scores).mean(axis=1))


def rank(scores: Floats) -> Floats:
    """For each row, the place of the first column, from 1; equal ones share theirs."""
    return np.asarray(1 + (1 - _wins(scores)).sum(axis=1))


def _wins(scores: Floats) -> Floats:
    """Compares the first column with each other: 1 where it is above, 0 where below, 1/2 where equal."""
    right, wrong = scores[:, :1], scores[:, 1:]
    size = np.maximum(1, np.maximum(np.abs(right), np.abs(wrong)))
    return np.where(np.abs(right - wrong) <= TIE * size, 0.5, right > wrong)
