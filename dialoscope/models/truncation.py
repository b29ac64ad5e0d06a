"""What models leave out of texts that are longer than they read; a model need not say it.

A pair, and a text with what precedes it, lose their beginning, so that the newest turn of a context stays. A
text by itself loses its end, unless `latest` takes its beginning off first.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dialoscope.models.protocols import Backend

_MOST_TOKENS = 18
"""Tokens that one character outside ASCII may become, once it was taken apart."""


class Cut(NamedTuple):
    """Which of some texts are longer than a model reads, and where it leaves something out."""

    limit: int
    """The tokens that it reads; 0 if it does not say."""
    beginning: NDArray[np.bool_]
    end: NDArray[np.bool_]


@runtime_checkable
class _SaysCut(Protocol):
    def cut(self, texts: Sequence[Any]) -> Cut: ...


@runtime_checkable
class _TakesLatest(Protocol):
    def latest(self, texts: Sequence[str]) -> list[str]: ...


def find_cuts(model: Backend, texts: Sequence[Any]) -> Cut:
    """Which of these texts lose something when this model reads them."""
    if isinstance(model, _SaysCut):
        return model.cut(texts)
    return Cut(0, *np.zeros((2, len(texts)), bool))


def latest(model: Any, texts: Sequence[str]) -> list[str]:  # noqa: ANN401
    """The texts without as much of their beginning as the model cannot read together with the rest."""
    return model.latest(texts) if isinstance(model, _TakesLatest) else list(texts)


def may_exceed(text: str, tokens: int) -> bool:
    """Whether a text may have more tokens than that, so that they must be counted."""
    return len(text) > tokens if text.isascii() else _MOST_TOKENS * len(text) > tokens
