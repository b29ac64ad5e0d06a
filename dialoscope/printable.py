"""Text from files, made safe to show: a reply or a name may hold anything, terminal commands too."""


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
