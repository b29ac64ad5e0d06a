"""Text from files, made safe to show: a reply or a name may hold anything, terminal commands too."""

import re
from collections.abc import Iterable
from html import escape

_SURROGATE = re.compile("[\ud800-\udfff]")


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


def printable_lines(text: str) -> str:
    """The same for a message of several lines, which stay lines."""
    return "\n".join(map(printable, text.split("\n")))


def plain_in_csv(text: str) -> str:
    """The text such that a spreadsheet shows it and does not compute it, with control characters as escapes.

    What could be a formula has an apostrophe before it, as OWASP advises; a number has none.

    >>> plain_in_csv("=1+1"), plain_in_csv("-0.5")
    ("'=1+1", '-0.5')
    """
    plain = printable(text)
    return f"'{plain}" if _FORMULA.match(plain) and not _NUMBER.fullmatch(plain) else plain


def plain_in_markdown(text: str) -> str:
    r"""The text on one line such that Markdown shows it as it is: no tag, link, emphasis or other structure.

    Intervals, and what is harmless within words, are left as they are, so that the source can be read too.

    >>> plain_in_markdown("<b>[you](x) & I_am *at* www.me.org [.1, .2]")
    '&lt;b&gt;\\[you](x) &amp; I_am \\*at\\* www\\.me\\.org [.1, .2]'
    """
    return _LINE_START.sub(_as_no_block, _without_markup(text))


def cell_in_markdown(text: str) -> str:
    r"""The same for a cell of a table, which a pipe would end, and at whose start nothing has a meaning.

    >>> cell_in_markdown("1. a|b")
    '1. a\\|b'
    """
    return _without_markup(text).replace("|", "\\|")


def listed_in_markdown(lines: Iterable[str]) -> list[str]:
    """Lines as a list."""
    return [f"- {plain_in_markdown(line)}" for line in lines]


def _without_markup(text: str) -> str:
    return _MARKUP.sub(_as_character, printable(text))


def _as_no_block(start: re.Match[str]) -> str:
    """The start of a line such that it begins no list, rule, title or code."""
    return f"{start[0][:-1]}\\{start[0][-1]}"


def _as_character(markup: re.Match[str]) -> str:
    """What stands for a character, or for several, that would be markup."""
    text = markup[0]
    if markup.lastgroup == "interval":
        return text
    if markup.lastgroup == "at":
        return "@&#8203;"  # no escape hinders GitHub from linking addresses; a space of no width does
    if text == " ":
        return "&#32;"
    return escape(text, quote=False) if text in "&<>" else f"\\{text}"


_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")
"""How a text begins that a spreadsheet may compute; the last four are the wide forms of the first."""

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)

_MARKUP = re.compile(
    r"""
    (?P<interval> \[ [-−]?[\d.]+ (?: % | ,\ [-−]?[\d.]+ ) \] (?![(\[:]) )
    | (?P<at> @ (?=[0-9A-Za-z]) )      # an address, or somebody who would be called
    | \A\  | \ \Z                      # four at the start are code, and one at an end hinders emphasis
    | [&<>`*\[\#~$]
    | \\ (?=[!-/:-@\[-`{-~]|\Z)
    | (?<![^\W_])_ | _(?![^\W_])       # underscores within words are no emphasis
    | (?<=/)/                          # http://
    | (?<=(?i:www))\. | (?<=[\w-])\.(?=[^\W\d_])
    """,
    re.VERBOSE,
)
"""What could be markup anywhere in a line."""

_LINE_START = re.compile(r"\A(?:[-+](?= |\Z|-)|=|\d{1,9}[.)](?= |\Z))")
"""What could begin a block: an item of a list, a rule, or the line below a title."""


def without_surrogates(text: str) -> str:
    """The text with one replacement character for each lone surrogate, so that it can be encoded."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)
