"""What the tasks have in common: tokens side by side, and which of two replies is preferred."""

from collections.abc import Sequence

import numpy as np
import torch


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


def preferred(right: torch.Tensor, wrong: torch.Tensor) -> float:
    """How often the right one is above the wrong one; half where they are equal."""
    return float(((right > wrong).double() + (right == wrong).double() / 2).mean())
