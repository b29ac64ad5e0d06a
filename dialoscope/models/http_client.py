"""A client for servers that speak JSON over HTTP: deadlines, retries, and connections that are kept open.

A request is tried again while the server is busy or out of reach, and fails at once where the server refuses
it. Errors show the server's message without the key, and nothing of what was sent.

It is written with http.client. httpx2 and urllib3 were tried in its place: httpx2 takes surplus bytes of an
answer for the answer to the next question, and neither has a deadline for a whole answer
(docs/design/dependencies.md has the measurements).
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
from dialoscope.core.progress import print_notice
from dialoscope.core.redaction import BLANK, redact
from dialoscope.core.safe_text import printable
from dialoscope.data.cells import describe_type

_LARGEST_ANSWER = 2**26
_LONGEST_MESSAGE = 300
_LONGEST_PAUSE = 300.0
_LONGEST_SILENT_PAUSE = 10.0
"""Seconds; a longer pause prints a notice."""
_COMMON_KEY = "OPENAI_API_KEY"
_RETRIED_STATUSES = frozenset({408, 425, 429})

Item = TypeVar("Item")
Reply = TypeVar("Reply")


class Refused(BackendError):
    """The server understood the request and refuses it; another try would not help."""


class OutOfReach(BackendError):
    """No connection to the server could be made, or the server ended it."""


@dataclass(frozen=True)
class Server:
    """The address of a server, its key, its timeout and the number of tries."""

    url: str
    key_variable: str
    """The environment variable that holds the key; empty for none."""
    timeout: float
    """Seconds within which the whole answer must arrive."""
    retries: int
    pause: float
    """Seconds before the second try; doubled before each further one."""

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
                f"'{_remove_password(self.url)}' is no address of a server, such as http://localhost:8000/v1."
            )

    @property
    def parts(self) -> SplitResult:
        """The parts of the address."""
        return _split(self.url)

    def headers(self) -> dict[str, str]:
        """Return the headers of a request, with the key where there is one."""
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        return {**headers, "Authorization": f"Bearer {key}"} if (key := self.key()) else headers

    def key(self) -> str:
        """Return the key from the environment; empty where there is none."""
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
        """Remove the header with the key, and a long key, from a text of the server."""
        key = self.key()
        return redact(text.replace(f"Bearer {key}", f"Bearer {BLANK}"), [key]) if key else text

    def _is_open(self) -> bool:
        """Whether requests go unencrypted to another machine."""
        host = self.parts.hostname or ""
        return self.parts.scheme == "http" and not (host == "localhost" or _is_loopback(host))


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        reason = "" if "@" in url else f": {printable(str(error))}"  # it may repeat a password
        raise BackendError(f"'{_remove_password(url)}' is no address of a server{reason}.") from None
    return parts


def _remove_password(url: str) -> str:
    """Return an address without anything that may be a password, which may hold slashes."""
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


class _Retry(Exception):
    """A failure that another try may mend; `after` is the number of seconds that the server asks for."""

    def __init__(self, problem: str, after: float = 0.0) -> None:
        super().__init__(problem)
        self.after = after


class Client:
    """Sends requests from several threads; each thread has a connection, which is kept open."""

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
            _hang_up(connection.sock)  # closing alone would wait for the thread that reads
            connection.close()

    def each(self, ask: Callable[[Item], Reply], items: Sequence[Item]) -> Iterator[tuple[int, Reply]]:
        """Call `ask` for several items at once; yield their numbers and results as they complete."""
        with ThreadPoolExecutor(self._parallel, thread_name_prefix="dialoscope-http") as pool:
            numbers = {pool.submit(ask, item): number for number, item in enumerate(items)}
            try:
                for future in as_completed(numbers):
                    yield numbers[future], future.result()
            finally:
                self._stopped.set()
                pool.shutdown(cancel_futures=True)
                self._stopped.clear()

    def post(
        self, path: str, content: Mapping[str, Any], *, retries: int | None = None, is_trial: bool = False
    ) -> dict[str, Any]:
        """Return the server's answer, a JSON object; try again while the server is busy or out of reach.

        `retries` replaces the number of the server's description. In a trial an internal error is a refusal,
        since some servers answer so to a setting that they do not know.
        """
        retries = self._server.retries if retries is None else retries
        body = json.dumps(content).encode()
        tries = 0
        while True:
            tries += 1
            try:
                return self._try(path, body, is_trial)
            except _Retry as problem:
                if tries > retries:
                    times = "once" if tries == 1 else f"{tries} times"
                    is_out_of_reach = isinstance(problem.__cause__, ConnectionError)
                    raise (OutOfReach if is_out_of_reach else BackendError)(
                        f"{self._server.url}{path}: {problem} (tried {times})"
                    ) from problem
                self._wait(self._server.pause * 2 ** (tries - 1), problem.after)

    def _wait(self, pause: float, after: float) -> None:
        """Wait about as long as `pause` and at least `after`; stop waiting once another request failed."""
        pause = max(min(pause, _LONGEST_PAUSE / 2) * random.uniform(0.5, 1.5), min(after, _LONGEST_PAUSE))  # noqa: S311
        if pause > _LONGEST_SILENT_PAUSE:
            print_notice(f"{self._server.url} is busy or out of reach; asking again in {pause:.0f} seconds.")
        if self._stopped.wait(pause):
            raise BackendError(f"{self._server.url}: given up, since another request failed.")

    def _try(self, path: str, body: bytes, is_trial: bool) -> dict[str, Any]:
        """Send a request and interpret the status of its answer."""
        answer = self._send(path, body)
        where = f"{self._server.url}{path}"
        message = self._printable(_read_message(answer.body))
        summary = f"{answer.status} {self._printable(answer.reason)}{f': {message}' if message else ''}"
        is_refused = answer.status == 501 or (is_trial and answer.status == 500)
        if answer.status in _RETRIED_STATUSES or (answer.status >= 500 and not is_refused):
            raise _Retry(summary, _parse_retry_after(answer.headers.get("Retry-After", "")))
        if 300 <= answer.status < 400:
            target = self._printable(answer.headers.get("Location", "")) or "somewhere else"
            raise Refused(f"{where} redirects to {target}. Name that address, if you trust it.")
        if answer.status == 401 and not self._server.key():
            raise Refused(
                f"{where}: {summary}. Put a key for it into {self._server.key_variable or 'key_variable'}."
            )
        if answer.status != 200:
            raise Refused(f"{where}: {summary}")
        return _parse_object(where, answer.body)

    def _send(self, path: str, body: bytes) -> _Answer:
        """Send a request, once more over a new connection where the kept one turns out to be closed."""
        is_kept = getattr(self._local, "connection", None) is not None
        try:
            return self._exchange(path, body)
        except (OSError, UnicodeError, http.client.HTTPException) as error:
            self._drop_connection()
            if is_kept and not isinstance(error, TimeoutError):
                return self._send(path, body)
            if isinstance(error, ssl.SSLCertVerificationError):
                message = f"{self._server.url}: its certificate is not to be trusted: {error.verify_message}"
                raise BackendError(message) from error
            if isinstance(error, TimeoutError):
                raise _Retry(f"no answer within {self._server.timeout:g} seconds") from error
            reason = self._printable(str(error)) or type(error).__name__
            raise _Retry(f"cannot be reached: {reason}") from error

    def _exchange(self, path: str, body: bytes) -> _Answer:
        connection = self._connection()
        target = f"{self._server.parts.path.rstrip('/')}{path}"
        if getattr(self._local, "is_by_proxy", False):
            target = f"http://{self._server.parts.netloc}{target}"
        with self._deadline(connection):
            connection.request("POST", target, body, self._headers)
            with connection.getresponse() as response:
                content = response.read(_LARGEST_ANSWER + 1)
        if len(content) > _LARGEST_ANSWER:
            self._drop_connection()
            raise Refused(f"{self._server.url}{path}: its answer is larger than {_LARGEST_ANSWER:,} bytes.")
        if response.length:  # the part of the announced length that never came
            raise http.client.IncompleteRead(content, response.length)
        if response.will_close:
            self._drop_connection()
        return _Answer(response.status, response.reason, response.headers, content)

    @contextmanager
    def _deadline(self, connection: http.client.HTTPConnection) -> Iterator[None]:
        """Raise a TimeoutError when time is up, also where each byte of a slow answer comes in time."""
        if connection.sock is None:
            connection.connect()
        is_late, line = Event(), connection.sock  # the connection forgets it where the answer is its last

        def cut() -> None:
            is_late.set()
            _hang_up(line)

        timer = Timer(self._server.timeout, cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        except (OSError, http.client.HTTPException):
            if not is_late.is_set():
                raise
        finally:
            timer.cancel()
        if is_late.is_set():
            raise TimeoutError

    def _connection(self) -> http.client.HTTPConnection:
        """Return the connection of this thread, without bytes that came before a question was asked."""
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is not None and _has_unread(connection.sock):
            connection.close()  # the next request connects again
        if connection is None:
            connection = self._local.connection = self._create_connection()
            self._connections.append(connection)
        return connection

    def _drop_connection(self) -> None:
        connection, self._local.connection = self._local.connection, None
        connection.close()

    def _create_connection(self) -> http.client.HTTPConnection:
        """Return a connection to the server, or to the proxy that the environment names for it."""
        parts, timeout = self._server.parts, self._server.timeout
        host = parts.hostname or ""
        proxy = None if proxy_bypass(host) else getproxies().get(parts.scheme)
        peer = _split(proxy if "//" in proxy else f"//{proxy}") if proxy else parts
        self._local.is_by_proxy = bool(proxy) and parts.scheme == "http"
        connection: http.client.HTTPConnection
        if parts.scheme == "http":
            connection = http.client.HTTPConnection(peer.hostname or "", peer.port, timeout=timeout)
        else:
            context = ssl.create_default_context()
            connection = http.client.HTTPSConnection(
                peer.hostname or "", peer.port, timeout=timeout, context=context
            )
        connection.response_class = _Response
        if proxy and parts.scheme == "https":
            connection.set_tunnel(host, parts.port or 443)
        return connection

    def _printable(self, text: str) -> str:
        """Return a text of the server on one line, shortened, without the key and control characters."""
        return printable(" ".join(self._server.redact(text).split())[:_LONGEST_MESSAGE])


class _Response(http.client.HTTPResponse):
    """A response that refuses a chunk of negative size, which http.client would read without end."""

    def _read_next_chunk_size(self) -> int:
        size: int = super()._read_next_chunk_size()  # type: ignore[misc]
        if size < 0:
            raise ValueError("a chunk of negative size")
        return size


def sort_choices(choices: Sequence[Mapping[str, Any]], requested: int) -> list[Mapping[str, Any]]:
    """Return the choices in the order of their indices; a single one need not have an index."""
    if len(choices) > requested:
        raise BackendError(f"its answer holds {len(choices):,} choices, more than the {requested} asked for.")
    indices = [choice.get("index") for choice in choices]
    if requested == 1 and indices == [None]:
        return list(choices)
    for index in indices:
        if type(index) is not int or not 0 <= index < requested:
            shown = (
                f"{index}"[:20]
                if type(index) is int
                else "missing"
                if index is None
                else describe_type(index)
            )
            due = "0" if requested == 1 else f"one of 0 to {requested - 1}"
            raise BackendError(f"its answer holds a choice whose index is {shown} where {due} is due.")
    if len(set(indices)) < len(indices):
        raise BackendError("its answer holds several choices with the same index.")
    return sorted(choices, key=lambda choice: choice["index"])


def _has_unread(line: socket.socket | None) -> bool:
    """Whether the server sent something, or hung up, while no answer was awaited."""
    if line is None or line.fileno() < 0:
        return False
    with selectors.DefaultSelector() as selector:
        selector.register(line, selectors.EVENT_READ)
        return bool(selector.select(0))


def _hang_up(line: socket.socket | None) -> None:
    if line is not None:
        with suppress(OSError):  # closed already
            socket.socket.shutdown(line, socket.SHUT_RDWR)  # not that of TLS, which two threads must not call


def _read_message(body: bytes) -> str:
    """Return the message of an error in the usual forms; other forms may repeat the request, so give none."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        text = body[: 4 * _LONGEST_MESSAGE].decode("utf-8", "replace")
        return "" if "<" in text else text
    for name in ("error", "message", "detail"):
        message = content.get(name) if isinstance(content, dict) else None
        message = message.get("message") if isinstance(message, dict) else message
        if isinstance(message, list):  # some servers list each wrong field
            message = "; ".join(
                str(item["msg"]) for item in message if isinstance(item, dict) and "msg" in item
            )
        if isinstance(message, str) and message:
            return message
    return ""


def _parse_object(where: str, body: bytes) -> dict[str, Any]:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BackendError(f"{where}: its answer is not JSON; is this the address of a model?") from error
    if not isinstance(content, dict):
        raise BackendError(f"{where}: its answer is no JSON object; is this the address of a model?")
    return content


def _parse_retry_after(text: str) -> float:
    """Return the seconds that a Retry-After header asks for, as a number or as a date."""
    if text.strip().isdecimal():
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # a year of twenty digits, or a time zone
        return 0.0
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, date.timestamp() - datetime.now(UTC).timestamp())
