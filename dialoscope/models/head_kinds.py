"""What heads there are; apart from the heads themselves, so that reading a recipe loads nothing else."""

from typing import Literal

Representation = Literal["bi-gru", "max", "mean"]
"""How vectors of words become one of a text."""
Objective = Literal["ranking", "cross-entropy"]
"""How right replies are distinguished from wrong ones."""
