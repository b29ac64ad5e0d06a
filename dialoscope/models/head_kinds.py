"""The kinds of heads, in a module of their own so that recipes need not load the heads."""

from typing import Literal

Representation = Literal["bi-gru", "max", "mean"]
"""How the vectors of words are combined into the vector of a text."""
Objective = Literal["ranking", "cross-entropy"]
"""The loss that separates right replies from wrong ones."""
