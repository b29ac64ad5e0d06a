"""Styles in which dialogue corpora write the same words."""

import re


def tidied(turn: str) -> str:
    """The turn without the spaces that tokenizers put before punctuation and into contractions."""
    turn = turn.replace("’", "'").replace("‘", "'")
    turn = re.sub(r"\s*'\s*(s|m|re|ve|d|ll|t)\b", r"'\1", turn)
    turn = re.sub(r"\s+([,.!?;:])", r"\1", turn)
    turn = re.sub(r"([.!?])(?=[A-Z])", r"\1 ", turn)
    return " ".join(turn.split())


def spaced(turn: str) -> str:
    """The turn with a space before punctuation."""
    return re.sub(r"(?<=[^\s,.!?;:])([,.!?;:]+)(?=\s|$)", r" \1", turn)


def spaced_lower(turn: str) -> str:
    """The turn in lower case, with a space before punctuation."""
    return spaced(turn).lower()


STYLES = (tidied, spaced, spaced_lower)
