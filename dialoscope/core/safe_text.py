"""Escapes for text from files: a reply or a name may hold anything, even commands to the terminal."""

import re
from collections.abc import Iterable
from html import escape

_SURROGATE = re.compile("[\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Return the text with escapes for all characters that are not visible, line breaks included.

    >>> printable("bot\x1b[2J")
    'bot\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


def printable_lines(text: str) -> str:
    """Return a message of several lines with the same escapes, but for its line breaks."""
    return "\n".join(map(printable, text.split("\n")))


def plain_in_csv(text: str) -> str:
    """Return the text such that a spreadsheet shows it and does not compute it, with escapes.

    A text that could be a formula gets an apostrophe before it, as OWASP advises; a number does not.

    >>> plain_in_csv("=1+1"), plain_in_csv("-0.5")
    ("'=1+1", '-0.5')
    """
    plain = printable(text)
    return f"'{plain}" if _FORMULA.match(plain) and not _NUMBER.fullmatch(plain) else plain


def plain_in_markdown(text: str) -> str:
    r"""Return the text on one line such that Markdown shows it unchanged, without tags, links or emphasis.

    Intervals, and characters that are harmless within words, are not escaped, so that the source is readable.

    >>> plain_in_markdown("<b>[you](x) & I_am *at* www.me.org [.1, .2]")
    '&lt;b&gt;\\[you](x) &amp; I_am \\*at\\* www\\.me\\.org [.1, .2]'
    """
    return _LINE_START.sub(_escape_block, _escape_markup(text))


def cell_in_markdown(text: str) -> str:
    r"""Return the text for a cell of a table, which a pipe would end, and whose start has no special meaning.

    >>> cell_in_markdown("1. a|b")
    '1. a\\|b'
    """
    return _escape_markup(text).replace("|", "\\|")


def list_in_markdown(lines: Iterable[str]) -> list[str]:
    """Return the lines as a Markdown list."""
    return [f"- {plain_in_markdown(line)}" for line in lines]


def _escape_markup(text: str) -> str:
    return _MARKUP.sub(_escape_match, printable(text))


def _escape_block(start: re.Match[str]) -> str:
    """Return the start of a line such that it begins no list, rule, title or code."""
    return f"{start[0][:-1]}\\{start[0][-1]}"


def _escape_match(markup: re.Match[str]) -> str:
    """Return the escape of characters that would be markup."""
    text = markup[0]
    if markup.lastgroup == "interval":
        return text
    if markup.lastgroup == "at":
        return "@&#8203;"  # no escape prevents GitHub from linking addresses; a space without width does
    if text == " ":
        return "&#32;"
    return escape(text, quote=False) if text in "&<>" else f"\\{text}"


_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")
"""The start of a text that a spreadsheet may compute; the last four are the wide forms of the first."""

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)

_MARKUP = re.compile(
    r"""
    (?P<interval> \[ [-−]?[\d.]+ (?: % | ,\ [-−]?[\d.]+ ) \] (?![(\[:]) )
    | (?P<at> @ (?=[0-9A-Za-z]) )      # an address, or somebody who would be called
    | \A\  | \ \Z                      # four at the start are code, and one at an end prevents emphasis
    | [&<>`*\[\#~$]
    | \\ (?=[!-/:-@\[-`{-~]|\Z)
    | (?<![^\W_])_ | _(?![^\W_])       # underscores within words are no emphasis
    | (?<=/)/                          # http://
    | (?<=(?i:www))\. | (?<=[\w-])\.(?=[^\W\d_])
    """,
    re.VERBOSE,
)
"""Characters that could be markup anywhere in a line."""

_LINE_START = re.compile(r"\A(?:[-+](?= |\Z|-)|=|\d{1,9}[.)](?= |\Z))")
"""The start of a line that could begin a block: an item of a list, a rule, or the line below a title."""


def without_surrogates(text: str) -> str:
    """Return the text with a replacement character for each lone surrogate, so that it can be encoded."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)
