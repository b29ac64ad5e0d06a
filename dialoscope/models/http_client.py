"""Requests to a server that speaks JSON: patient with one that is busy, brief about one that says no.

Nothing of what is sent is ever shown, neither key nor text; of what the server says, its message alone,
without the key should it repeat that.
"""

import http.client
import json
import os
import random
import re
import selectors
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from threading import Event, Timer, local
from typing import Any, NamedTuple, TypeVar
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from dialoscope.core.errors import BackendError
from dialoscope.core.progress import notice
from dialoscope.core.redaction import BLANK, redact
from dialoscope.core.safe_text import printable
from dialoscope.data.cells import describe_type

_LARGEST_ANSWER = 2**26
_LONGEST_MESSAGE = 300
_LONGEST_PAUSE = 300.0
_TOLD_PAUSE = 10.0
"""Seconds beyond which whoever waits along is told."""
_COMMON_KEY = "OPENAI_API_KEY"
_WORTH_ANOTHER_TRY = frozenset({408, 425, 429})

Item = TypeVar("Item")
Made = TypeVar("Made")


class Refused(BackendError):
    """The server understood the request and will not serve it, however often it is asked."""


@dataclass(frozen=True)
class Server:
    """Where requests go, and how patiently."""

    url: str
    key_variable: str
    timeout: float
    retries: int
    pause: float
    """Seconds before the second try; each further one waits twice as long."""

    def __post_init__(self) -> None:
        if re.match(r"[^/]*//[^/]*@|[^/]*@", self.url) or "?" in self.url or "#" in self.url:
            raise BackendError(
                "The address of a server must hold no password, no question mark and no #. "
                "Put the key into an environment variable and name that with key_variable."
            )
        parts = _split(self.url)
        is_plain = self.url.isascii() and self.url.isprintable() and " " not in self.url
        if not is_plain or parts.scheme not in ("http", "https") or not parts.hostname:
            raise BackendError(
                f"'{_shown(self.url)}' is no address of a server, such as http://localhost:8000/v1."
            )

    @property
    def parts(self) -> SplitResult:
        """Of the address."""
        return _split(self.url)

    def headers(self) -> dict[str, str]:
        """With the key, where there is one."""
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        return {**headers, "Authorization": f"Bearer {key}"} if (key := self.key()) else headers

    def key(self) -> str:
        """From the environment; empty where there is none."""
        key = os.environ.get(self.key_variable, "").strip() if self.key_variable else ""
        if not (key.isascii() and key.isprintable()):
            raise BackendError(f"{self.key_variable} holds characters that no key has.")
        if key and self.key_variable == _COMMON_KEY and self._is_open():
            raise BackendError(
                f"The key in {_COMMON_KEY} would go to {self.url} unencrypted. Use https; or, for a server "
                "of your own, name the variable with its key as key_variable, or '' to send none."
            )
        return key

    def redact(self, text: str) -> str:
        """What the server says, for an error: without the header with the key, and without a long key."""
        key = self.key()
        return redact(text.replace(f"Bearer {key}", f"Bearer {BLANK}"), [key]) if key else text

    def _is_open(self) -> bool:
        """Whether others on the way could read along."""
        host = self.parts.hostname or ""
        return self.parts.scheme == "http" and not (host == "localhost" or _is_loopback(host))


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        why = "" if "@" in url else f": {printable(str(error))}"  # it may repeat a password
        raise BackendError(f"'{_shown(url)}' is no address of a server{why}.") from None
    return parts


def _shown(url: str) -> str:
    """An address as it may be shown: without whatever may be a password, slashes in it included."""
    return printable(re.sub(r"^([^/]*//)?.*@", r"\1", url, flags=re.DOTALL))


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class _Answer(NamedTuple):
    status: int
    reason: str
    headers: Message
    body: bytes


class _Again(Exception):
    """Worth another try; the text says what went wrong, `after` how long the server wants to be left."""

    def __init__(self, problem: str, after: float = 0.0) -> None:
        super().__init__(problem)
        self.after = after


class Client:
    """Sends requests from several threads, each over a connection of its own that is kept open."""

    def __init__(self, server: Server, parallel: int) -> None:
        self._server, self._parallel = server, parallel
        self._headers = server.headers()
        self._local, self._stopped = local(), Event()
        self._connections: list[http.client.HTTPConnection] = []

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        """Leave at once, also where another thread still waits for an answer."""
        self._stopped.set()
        for connection in self._connections:
            _hang_up(connection.sock)  # closing alone would wait for whoever reads
            connection.close()

    def each(self, ask: Callable[[Item], Made], items: Sequence[Item]) -> Iterator[tuple[int, Made]]:
        """What `ask` makes of each item, with its number, as they become ready; some are asked at once."""
        with ThreadPoolExecutor(self._parallel, thread_name_prefix="dialoscope-http") as pool:
            numbers = {pool.submit(ask, item): number for number, item in enumerate(items)}
            try:
                for done in as_completed(numbers):
                    yield numbers[done], done.result()
            finally:
                self._stopped.set()
                pool.shutdown(cancel_futures=True)
                self._stopped.clear()

    def post(self, path: str, content: Mapping[str, Any], *, is_trial: bool = False) -> dict[str, Any]:
        """The answer of the server, an object; tried again while it is busy or out of reach.

        In a trial an internal error counts as a refusal: it is how some servers meet what they do not know.
        """
        body = json.dumps(content).encode()
        tries = 0
        while True:
            tries += 1
            try:
                return self._once(path, body, is_trial)
            except _Again as problem:
                if tries > self._server.retries:
                    times = "once" if tries == 1 else f"{tries} times"
                    raise BackendError(f"{self._server.url}{path}: {problem} (tried {times})") from problem
                self._wait(self._server.pause * 2 ** (tries - 1), problem.after)

    def _wait(self, pause: float, wanted: float) -> None:
        """Not all at the same moment, and no longer once nobody wants the answer."""
        pause = max(min(pause, _LONGEST_PAUSE / 2) * random.uniform(0.5, 1.5), min(wanted, _LONGEST_PAUSE))  # noqa: S311
        if pause > _TOLD_PAUSE:
            notice(f"{self._server.url} is busy or out of reach; asking again in {pause:.0f} seconds.")
        if self._stopped.wait(pause):
            raise BackendError(f"{self._server.url}: given up, since another request failed.")

    def _once(self, path: str, body: bytes, is_trial: bool) -> dict[str, Any]:
        answer = self._sent(path, body)
        where = f"{self._server.url}{path}"
        message = self._shown(_message(answer.body))
        said = f"{answer.status} {self._shown(answer.reason)}{f': {message}' if message else ''}"
        is_refused = answer.status == 501 or (is_trial and answer.status == 500)
        if answer.status in _WORTH_ANOTHER_TRY or (answer.status >= 500 and not is_refused):
            raise _Again(said, _seconds(answer.headers.get("Retry-After", "")))
        if 300 <= answer.status < 400:
            target = self._shown(answer.headers.get("Location", "")) or "somewhere else"
            raise Refused(f"{where} redirects to {target}. Name that address, if you trust it.")
        if answer.status == 401 and not self._server.key():
            raise Refused(
                f"{where}: {said}. Put a key for it into {self._server.key_variable or 'key_variable'}."
            )
        if answer.status != 200:
            raise Refused(f"{where}: {said}")
        return _object(where, answer.body)

    def _sent(self, path: str, body: bytes) -> _Answer:
        """A connection that was open for long may have been closed; then a new one gets the same."""
        is_used = getattr(self._local, "connection", None) is not None
        try:
            return self._exchange(path, body)
        except (OSError, UnicodeError, http.client.HTTPException) as error:
            self._drop()
            if is_used and not isinstance(error, TimeoutError):
                return self._sent(path, body)
            if isinstance(error, ssl.SSLCertVerificationError):
                message = f"{self._server.url}: its certificate is not to be trusted: {error.verify_message}"
                raise BackendError(message) from error
            raise _Again(self._reason(error)) from error

    def _exchange(self, path: str, body: bytes) -> _Answer:
        connection = self._connection()
        target = f"{self._server.parts.path.rstrip('/')}{path}"
        if getattr(self._local, "is_by_proxy", False):
            target = f"http://{self._server.parts.netloc}{target}"
        with self._in_time(connection):
            connection.request("POST", target, body, self._headers)
            with connection.getresponse() as response:
                content = response.read(_LARGEST_ANSWER + 1)
        if len(content) > _LARGEST_ANSWER:
            self._drop()
            raise Refused(f"{self._server.url}{path}: its answer is larger than {_LARGEST_ANSWER:,} bytes.")
        if response.length:  # what was promised and never came
            raise http.client.IncompleteRead(content, response.length)
        if response.will_close:
            self._drop()
        return _Answer(response.status, response.reason, response.headers, content)

    @contextmanager
    def _in_time(self, connection: http.client.HTTPConnection) -> Iterator[None]:
        """Cut off when time is up, also where the answer comes byte by byte, each of them in time."""
        if connection.sock is None:
            connection.connect()
        late, line = Event(), connection.sock  # which the connection forgets where the answer is its last

        def cut() -> None:
            late.set()
            _hang_up(line)

        timer = Timer(self._server.timeout, cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        except (OSError, http.client.HTTPException):
            if not late.is_set():
                raise
        finally:
            timer.cancel()
        if late.is_set():
            raise TimeoutError

    def _connection(self) -> http.client.HTTPConnection:
        found: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if found is not None and _has_unread(found.sock):
            found.close()  # what comes before it is asked answers nothing; it connects anew by itself
        if found is None:
            found = self._local.connection = self._connected()
            self._connections.append(found)
        return found

    def _drop(self) -> None:
        connection, self._local.connection = self._local.connection, None
        connection.close()

    def _connected(self) -> http.client.HTTPConnection:
        """To the server, or to the proxy that the environment names for it."""
        parts, timeout = self._server.parts, self._server.timeout
        host = parts.hostname or ""
        proxy = None if proxy_bypass(host) else getproxies().get(parts.scheme)
        by = _split(proxy if "//" in proxy else f"//{proxy}") if proxy else parts
        self._local.is_by_proxy = bool(proxy) and parts.scheme == "http"
        connection: http.client.HTTPConnection
        if parts.scheme == "http":
            connection = http.client.HTTPConnection(by.hostname or "", by.port, timeout=timeout)
        else:
            trusted = ssl.create_default_context()
            connection = http.client.HTTPSConnection(
                by.hostname or "", by.port, timeout=timeout, context=trusted
            )
        connection.response_class = _Response
        if proxy and parts.scheme == "https":
            connection.set_tunnel(host, parts.port or 443)
        return connection

    def _reason(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return f"no answer within {self._server.timeout:g} seconds"
        return f"cannot be reached: {self._shown(str(error)) or type(error).__name__}"

    def _shown(self, text: str) -> str:
        """What the server says, on one line, safe to show, and not too much of it."""
        return printable(" ".join(self._server.redact(text).split())[:_LONGEST_MESSAGE])


class _Response(http.client.HTTPResponse):
    """An answer; a chunk of negative size, which would be read without end, is none."""

    def _read_next_chunk_size(self) -> int:
        size: int = super()._read_next_chunk_size()  # type: ignore[misc]
        if size < 0:
            raise ValueError("a chunk of negative size")
        return size


def by_index(choices: Sequence[Mapping[str, Any]], asked: int) -> list[Mapping[str, Any]]:
    """The choices in the order of their indices; where one was asked for, its index may be missing."""
    if len(choices) > asked:
        raise BackendError(f"its answer holds {len(choices):,} choices, more than the {asked} asked for.")
    indices = [choice.get("index") for choice in choices]
    if asked == 1 and indices == [None]:
        return list(choices)
    for index in indices:
        if type(index) is not int or not 0 <= index < asked:
            shown = (
                f"{index}"[:20]
                if type(index) is int
                else "missing"
                if index is None
                else describe_type(index)
            )
            due = "0" if asked == 1 else f"one of 0 to {asked - 1}"
            raise BackendError(f"its answer holds a choice whose index is {shown} where {due} is due.")
    if len(set(indices)) < len(indices):
        raise BackendError("its answer holds several choices with the same index.")
    return sorted(choices, key=lambda choice: choice["index"])


def _has_unread(line: socket.socket | None) -> bool:
    """Whether something came in, or the other side hung up, when nothing was awaited."""
    if line is None or line.fileno() < 0:
        return False
    with selectors.DefaultSelector() as selector:
        selector.register(line, selectors.EVENT_READ)
        return bool(selector.select(0))


def _hang_up(line: socket.socket | None) -> None:
    if line is not None:
        with suppress(OSError):  # closed already
            socket.socket.shutdown(line, socket.SHUT_RDWR)  # not that of TLS, which is not for two threads


def _message(body: bytes) -> str:
    """Of the usual shapes of an error; anything else may repeat the request, so it is not shown."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        text = body[: 4 * _LONGEST_MESSAGE].decode("utf-8", "replace")
        return "" if "<" in text else text
    for name in ("error", "message", "detail"):
        found = content.get(name) if isinstance(content, dict) else None
        found = found.get("message") if isinstance(found, dict) else found
        if isinstance(found, list):  # where a field is wrong, some servers list each
            found = "; ".join(str(one["msg"]) for one in found if isinstance(one, dict) and "msg" in one)
        if isinstance(found, str) and found:
            return found
    return ""


def _object(where: str, body: bytes) -> dict[str, Any]:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BackendError(f"{where}: its answer is not JSON; is this the address of a model?") from error
    if not isinstance(content, dict):
        raise BackendError(f"{where}: its answer is no JSON object; is this the address of a model?")
    return content


def _seconds(text: str) -> float:
    """What Retry-After says: seconds, or a time."""
    if text.strip().isdecimal():
        return float(text)
    try:
        when = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # a year of twenty digits, or a time zone
        return 0.0
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, when.timestamp() - datetime.now(UTC).timestamp())
