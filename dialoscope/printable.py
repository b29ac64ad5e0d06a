"""Text from files, made safe to show: a reply or a name may hold anything, terminal commands too."""

from collections.abc import Iterable
from html import escape


def printable(text: str) -> str:
    r"""The text with everything that is not plainly visible written as an escape, line breaks included.

    >>> printable("bot\x1b[2J")
    'bot\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


def plain_in_markdown(text: str) -> str:
    r"""The text such that Markdown shows it as it is: neither a tag nor a link comes out of it.

    >>> plain_in_markdown("<b>[you](x) & I")
    '&lt;b&gt;[you]\\(x) &amp; I'
    """
    return escape(text, quote=False).replace("](", "]\\(")


def listed_in_markdown(lines: Iterable[str]) -> list[str]:
    """Lines as a list."""
    return [f"- {plain_in_markdown(line)}" for line in lines]
