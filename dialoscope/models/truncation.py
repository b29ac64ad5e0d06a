"""Truncation of texts that are longer than a model can read; a model need not report it.

A pair, or a text with a prefix, loses its beginning, so that the newest turn of a context remains. A single
text loses its end, unless `latest` removes its beginning first.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dialoscope.models.protocols import Backend

_MOST_TOKENS = 18
"""Maximum number of tokens of one character outside ASCII, after normalization."""


class Cut(NamedTuple):
    """The texts that a model truncates, and at which end."""

    limit: int
    """Number of tokens that the model can read; 0 if unknown."""
    beginning: NDArray[np.bool_]
    end: NDArray[np.bool_]


@runtime_checkable
class _ReportsCuts(Protocol):
    def cut(self, texts: Sequence[Any]) -> Cut: ...


@runtime_checkable
class _HasLatest(Protocol):
    def latest(self, texts: Sequence[str]) -> list[str]: ...


def find_cuts(model: Backend, texts: Sequence[Any]) -> Cut:
    """Return which texts a model truncates."""
    if isinstance(model, _ReportsCuts):
        return model.cut(texts)
    return Cut(0, *np.zeros((2, len(texts)), bool))


def keep_latest(model: Any, texts: Sequence[str]) -> list[str]:  # noqa: ANN401
    """Return the longest end of each text that the model can read."""
    return model.latest(texts) if isinstance(model, _HasLatest) else list(texts)


def may_exceed(text: str, tokens: int) -> bool:
    """Whether a text may have more than this number of tokens, so that it must be tokenized."""
    return len(text) > tokens if text.isascii() else _MOST_TOKENS * len(text) > tokens
