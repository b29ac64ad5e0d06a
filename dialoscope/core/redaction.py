"""Redaction of secrets in records, tables and errors. Data is never changed.

A program gets its arguments, and a server its key, unchanged. A recorded command has "…" in place of
arguments that look like secrets; the text of an error has it in place of known secrets.
"""

import re
import shlex
from collections.abc import Iterable

BLANK = "…"
SHORTEST = 8
"""Minimum length of secrets that are redacted in errors; shorter ones may be ordinary words."""

_SHELL_WORD = re.compile(r"""(?:\\.|"(?:\\.|[^"\\])*"|'[^']*'|\S)+""", re.DOTALL)
_ASSIGNED = re.compile(r"""(?<![\w.-])([\w.-]+)["']?([=:])["']?""")
_NAME_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SECRET_NAMES = frozenset(
    "accesskey accesstoken apikey auth authorization authtoken bearer cookie cookies credential credentials "  # noqa: SIM905
    "pass passphrase passwd password pwd secret secretkey sig signature".split()
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
_OTHER_PASSES = frozenset("first last max min num one per second single two".split())  # noqa: SIM905
"""Words before `pass` that make it no secret."""
_OTHERS = {"key": _OTHER_KEYS, "token": _OTHER_TOKENS, "pass": _OTHER_PASSES}
_AROUND = " {}[]()"
_SCHEMES = frozenset(("basic", "bearer", "token"))
_COOKIES = re.compile(r"(?:-H)?\s*(?:set-)?cookie:\s*", re.IGNORECASE)
_USERS = frozenset(("-u", "-U", "--user", "--proxy-user"))
"""Options whose value may be `user:password`."""
_USER = re.compile(r"[^:/\s-][^:/\s]*:(?!//|\d+\Z)(?=.)", re.DOTALL)
"""The user before a password; not the scheme of an address, nor the numbers of a user and a group."""
_LOGINS = frozenset("login mariadb mongo mongosh mysql mysqladmin mysqldump sshpass".split())  # noqa: SIM905
"""Programs whose `-p` is a password; that of others may name the program, which a record must show."""
_OPTION = re.compile(r"--?[A-Za-z](?:[A-Za-z_-]*(?:=.*)?)", re.DOTALL)
"""An option rather than the value of the option before it; others that begin with a dash are values."""
_SHAPES = re.compile(
    r"(?<![\w-])(?:sk-[\w-]{8,}|[rs]k_(?:live|test)_\w{8,}|(?:hf|gh[opsur]|gsk|github_pat)_\w{20,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{10,}"
    r"|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|eyJ[\w-]{8,}\.[\w-]+\.[\w-]*)|(?<=://)[^/\s@]+(?=@)"
)


def without_secrets(command: str) -> str:
    """Return the command with a "…" for each argument that looks like a secret.

    These are the value of an option, variable, header or field that is named as a secret (`--api-key X`,
    `--token=X`, `X_API_KEY=X`, `Authorization: Bearer X`), a key of a usual shape (`sk-…`), the user in an
    address, and the password in `-u user:X`, or of programs such as sshpass in `-p X`.

    >>> without_secrets("./bot --api-key abc --max-tokens 5")
    './bot --api-key … --max-tokens 5'
    """
    return _scan(command)[0]


def join_without_secrets(arguments: Iterable[str]) -> str:
    """Return the arguments as one command without secrets."""
    shown, after = [], ""
    for word in arguments:
        blanked, _, is_option = _blank(word, is_nested=not word.startswith("-"), after=after)
        after = word if is_option else ""
        shown.append(shlex.quote(word) if blanked == word else _quote(blanked))
    return " ".join(shown)


def secrets_in(command: str) -> list[str]:
    """Return the secrets that `without_secrets` blanks."""
    return _scan(command)[1]


def redact(text: str, secrets: Iterable[str]) -> str:
    """Return the text of an error without these secrets, unless they are so short that they may be words."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST:
            text = text.replace(secret, BLANK)
    return text


def _scan(command: str) -> tuple[str, list[str]]:
    """Return the command without its secrets, and the secrets."""
    pieces, secrets, end, after, is_login = list[str](), list[str](), 0, "", False
    for match in _SHELL_WORD.finditer(command):
        raw, word = match[0], _unquote(match[0])
        is_nested = raw[0] in "'\"" and not word.startswith("-")
        is_login = is_login or re.split("[/:]", word)[-1] in _LOGINS
        if is_login and word.startswith("-p") and len(word) > 2:
            blanked, new_secrets, is_option = f"-p{BLANK}", [word[2:]], False
        else:
            blanked, new_secrets, is_option = _blank(word, is_nested=is_nested, after=after)
        after = word if is_option or (is_login and word == "-p") else ""
        pieces += [command[end : match.start()], raw if blanked == word else _quote(blanked)]
        secrets += new_secrets
        end = match.end()
    return "".join([*pieces, command[end:]]), secrets


def _blank(word: str, *, is_nested: bool, after: str) -> tuple[str, list[str], bool]:
    """Return the word without secrets, the secrets, and whether the next word is, or contains, one.

    A nested word may be a command of its own, or a header, in one argument. `after` is the option before the
    word if its value may be a secret.
    """
    option, equals, value = word.partition("=") if word.startswith("-") else (after, "", word)
    if option in _USERS and (user := _USER.match(value)):
        return f"{option if equals else ''}{equals}{user[0]}{BLANK}", [value[user.end() :]], False
    if after not in ("", *_USERS) and not _OPTION.fullmatch(word):
        return (word, [], True) if word.lower() in _SCHEMES else (BLANK, [word.strip(_AROUND)], False)
    if (cookies := _COOKIES.match(word)) and cookies.end() < len(word):
        return f"{cookies[0]}{BLANK}", [word[cookies.end() :]], False
    if is_nested and len(word.split()) > 1:
        return *_scan(word), False
    for match in _ASSIGNED.finditer(word):
        if _is_secret(match[1], is_field=match[2] == ":"):
            value = word[match.end() :]
            if value.lower() in _SCHEMES or (not value and match[2] == ":"):
                return word, [], True
            return f"{word[: match.end()]}{BLANK}", [value.strip(_AROUND)], False
    is_option = word in _USERS or word.lower() == "bearer" or (word.startswith("-") and _is_secret(word))
    return _SHAPES.sub(BLANK, word), _SHAPES.findall(word), is_option


def _is_secret(name: str, *, is_field: bool = False) -> bool:
    """Whether this is the name of a secret; `key:` and `a.token:` are not, since modules have such names."""
    if is_field and "." in name:
        return False
    parts = [part.lower() for part in _NAME_PART.findall(name)]
    last, before = [*reversed(parts), "", ""][:2]
    if before in _OTHERS.get(last, ()):
        return False
    if last in ("key", "token"):
        return bool(before or not is_field)
    return last in _SECRET_NAMES


def _unquote(word: str) -> str:
    if not any(character in word for character in "'\"\\"):
        return word
    try:
        return "".join(shlex.split(word))
    except ValueError:  # a quotation that does not end
        return word.strip("'\"")


def _quote(word: str) -> str:
    """Return the word quoted for a shell; blanks are no syntax, and need no quotes."""
    plain = word.replace(BLANK, "")
    return word if shlex.quote(plain) in (plain, "''") else shlex.quote(word)
