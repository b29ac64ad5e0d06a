"""The words that perturbations move: those between spaces, or characters in scripts without spaces."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True)
class Pieces:
    """The words of a reply, and the text between them."""

    words: tuple[str, ...]
    joint: str

    def join(self, words: Sequence[str]) -> str:
        """Return a reply of other words, joined like those of this one."""
        return self.joint.join(words)


def split_reply(reply: str) -> Pieces:
    """Split a reply into words, or into characters with their marks if its script has no spaces."""
    if reply.isascii() or 2 * len(_unspaced_pattern().findall(reply)) <= len(reply):
        return Pieces(tuple(reply.split()), " ")
    return Pieces(tuple(_character_pattern().findall(reply)), "")


@cache
def _unspaced_pattern() -> Any:  # noqa: ANN401 - regex is not typed
    import regex  # imported for other scripts than Latin only

    return regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]\p{M}*")


@cache
def _character_pattern() -> Any:  # noqa: ANN401 - regex is not typed
    import regex

    return regex.compile(r"\S\p{M}*")
