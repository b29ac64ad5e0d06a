"""Lone surrogates: halves of characters, which Python's texts can hold and no encoding can."""

import re

_SURROGATE = re.compile("[\ud800-\udfff]")


def without_surrogates(text: str) -> str:
    """The text with one replacement character for each, so that every other keeps its place."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)
