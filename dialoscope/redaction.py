"""Secrets are blanked in what is written or shown: records, tables, errors. Data is never changed.

A program gets its arguments, and a server its key, as they are. What is recorded of a command has "…" in
place of what looks like a secret; the text of an error has it in place of secrets that are known.
"""

import re
import shlex
from collections.abc import Iterable

BLANK = "…"
SHORTEST = 8
"""Characters of a secret that is blanked wherever an error repeats it; shorter ones may be ordinary words."""

_SHELL_WORD = re.compile(r"""(?:\\.|"(?:\\.|[^"\\])*"|'[^']*'|\S)+""", re.DOTALL)
_ASSIGNED = re.compile(r"""(?<![\w.-])([\w.-]+)["']?([=:])["']?""")
_NAME_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SECRET_NAMES = frozenset(
    "accesskey accesstoken apikey auth authorization authtoken bearer credential credentials passphrase "  # noqa: SIM905
    "passwd password pwd secret secretkey".split()
)
_OTHER_KEYS = frozenset(
    "cache column dict foreign index json primary public reply response row sort text".split()  # noqa: SIM905
)
"""Words before `key` that make it no secret."""
_OTHER_TOKENS = frozenset(
    "bad begin bos cls end eos first forced image last mask max min new next pad per prompt sep separator "  # noqa: SIM905
    "special start stop turn unk".split()
)
"""Words before `token` that make it no secret."""
_AROUND = " {}[]()"
_SCHEMES = frozenset(("basic", "bearer", "token"))
_SHAPES = re.compile(
    r"(?<![\w-])(?:sk-[\w-]{8,}|(?:hf|gh[opsur]|gsk|github_pat)_\w{20,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{10,}"
    r"|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|eyJ[\w-]{8,}\.[\w-]+\.[\w-]*)|(?<=://)[^/\s@]+(?=@)"
)


def without_secrets(command: str) -> str:
    """The command with a "…" for each argument that looks like a secret.

    These are the value of an option, variable, header or field whose name says so (`--api-key X`,
    `--token=X`, `X_API_KEY=X`, `Authorization: Bearer X`), a key of a usual shape (`sk-…`), and the user in
    an address.

    >>> without_secrets("./bot --api-key abc --max-tokens 5")
    './bot --api-key … --max-tokens 5'
    """
    return _scan(command)[0]


def join_without_secrets(arguments: Iterable[str]) -> str:
    """The arguments as one command, as it may be recorded."""
    shown, is_value = [], False
    for word in arguments:
        blanked, _, is_value = _blank(word, is_nested=not word.startswith("-"), is_value=is_value)
        shown.append(shlex.quote(word) if blanked == word else _quoted(blanked))
    return " ".join(shown)


def secrets_in(command: str) -> list[str]:
    """What `without_secrets` blanks."""
    return _scan(command)[1]


def redact(text: str, secrets: Iterable[str]) -> str:
    """The text of an error without these secrets, where they are long enough to be no ordinary words."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST:
            text = text.replace(secret, BLANK)
    return text


def _scan(command: str) -> tuple[str, list[str]]:
    """The command without secrets, and these."""
    pieces, secrets, end, is_value = list[str](), list[str](), 0, False
    for match in _SHELL_WORD.finditer(command):
        raw, word = match[0], _unquoted(match[0])
        is_nested = raw[0] in "'\"" and not word.startswith("-")
        blanked, found, is_value = _blank(word, is_nested=is_nested, is_value=is_value)
        pieces += [command[end : match.start()], raw if blanked == word else _quoted(blanked)]
        secrets += found
        end = match.end()
    return "".join([*pieces, command[end:]]), secrets


def _blank(word: str, *, is_nested: bool, is_value: bool) -> tuple[str, list[str], bool]:
    """The word without secrets, these, and whether the next word is one.

    A nested word may be a command of its own, or a header, in one argument.
    """
    if is_value and not word.startswith("-"):
        return (word, [], True) if word.lower() in _SCHEMES else (BLANK, [word.strip(_AROUND)], False)
    if is_nested and len(word.split()) > 1:
        return *_scan(word), False
    for match in _ASSIGNED.finditer(word):
        if _is_secret(match[1], is_field=match[2] == ":"):
            value = word[match.end() :]
            if value.lower() in _SCHEMES or (not value and match[2] == ":"):
                return word, [], True
            return f"{word[: match.end()]}{BLANK}", [value.strip(_AROUND)], False
    is_option = word.startswith("-") and _is_secret(word)
    return _SHAPES.sub(BLANK, word), _SHAPES.findall(word), is_option or word.lower() == "bearer"


def _is_secret(name: str, *, is_field: bool = False) -> bool:
    """Whether this names a secret; `key:` and `a.token:` do not, since modules have such names."""
    if is_field and "." in name:
        return False
    parts = [part.lower() for part in _NAME_PART.findall(name)]
    last, before = [*reversed(parts), "", ""][:2]
    if last in ("key", "token"):
        return before not in (_OTHER_KEYS if last == "key" else _OTHER_TOKENS) and bool(
            before or not is_field
        )
    return last in _SECRET_NAMES


def _unquoted(word: str) -> str:
    if not any(character in word for character in "'\"\\"):
        return word
    try:
        return "".join(shlex.split(word))
    except ValueError:  # a quotation that does not end
        return word.strip("'\"")


def _quoted(word: str) -> str:
    """For a shell, but for the blanks, which are no syntax."""
    plain = word.replace(BLANK, "")
    return word if shlex.quote(plain) in (plain, "''") else shlex.quote(word)
