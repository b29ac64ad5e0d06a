"""Styles in which dialogue corpora write the same words."""

import re


def remove_spaces(turn: str) -> str:
    """The turn without the spaces that tokenizers put before punctuation and into contractions."""
    turn = turn.replace("’", "'").replace("‘", "'")
    turn = re.sub(r"\s*'\s*(s|m|re|ve|d|ll|t)\b", r"'\1", turn)
    turn = re.sub(r"\s+([,.!?;:])", r"\1", turn)
    turn = re.sub(r"([.!?])(?=[A-Z])", r"\1 ", turn)
    return " ".join(turn.split())


def add_spaces(turn: str) -> str:
    """The turn with a space before punctuation."""
    return re.sub(r"(?<=[^\s,.!?;:])([,.!?;:]+)(?=\s|$)", r" \1", turn)


def add_spaces_and_lower(turn: str) -> str:
    """The turn in lower case, with a space before punctuation."""
    return add_spaces(turn).lower()


STYLES = (remove_spaces, add_spaces, add_spaces_and_lower)
