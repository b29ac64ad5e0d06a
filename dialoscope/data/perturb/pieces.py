"""The words that perturbations move about: what stands between spaces, or characters if there are none."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True)
class Pieces:
    """A reply cut up, and what stood between the pieces."""

    words: tuple[str, ...]
    joint: str

    def joined(self, words: Sequence[str]) -> str:
        """A reply of other words, put together as this one was."""
        return self.joint.join(words)


def pieces(reply: str) -> Pieces:
    """The words of a reply; characters, with the marks that belong to them, if its script has no spaces."""
    if reply.isascii() or 2 * len(_unspaced().findall(reply)) <= len(reply):
        return Pieces(tuple(reply.split()), " ")
    return Pieces(tuple(_characters().findall(reply)), "")


@cache
def _unspaced() -> Any:  # noqa: ANN401 - regex is not typed
    import regex  # only other scripts than ours pay for it

    return regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]\p{M}*")


@cache
def _characters() -> Any:  # noqa: ANN401 - regex is not typed
    import regex

    return regex.compile(r"\S\p{M}*")
