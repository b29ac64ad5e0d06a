"""Download files: whole or not at all, continued where a connection ended, and checked by hash.

It is written with urllib.request, which knows the `file:` addresses of pip's settings as httpx2 does not. Its
loop counts failures without progress, which tenacity and stamina cannot (docs/design/dependencies.md).
"""

import base64
import hashlib
import http.client
import re
import socket
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

from dialoscope.models.registry.asset import File

Progress = Callable[[int], None]

_CHUNK = 1 << 18
_FIRST_PAUSE = 0.5  # seconds before the second try; doubled before each further one
_LONGEST_PAUSE = 10.0
_RETRIED_STATUSES = (408, 425, 429, 500, 502, 503, 504)
_ERRORS = (OSError, http.client.HTTPException, ValueError)  # the last: an address that cannot be parsed
_PERMANENT_ERRORS = (
    *(str, ValueError, ssl.SSLCertVerificationError, socket.gaierror),
    *(FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError),
)
_LARGEST_PAGE = 64 << 20


class Unavailable(Exception):
    """A source that cannot provide a file; another may."""


@dataclass(frozen=True)
class Network:
    """The settings of connections to servers."""

    timeout: float = 30
    """Seconds without a byte."""
    retries: int = 4
    certificates: str = ""
    """A file of certificates to trust in place of the system's."""
    proxy: str = ""
    """A proxy in place of the one that the environment names."""

    def open(self, url: str, headers: dict[str, str]) -> Any:  # noqa: ANN401 - urllib's responses share no type
        """Request a URL; user and password in it go to that server alone."""
        plain, authorization = _split_password(url)
        request = urllib.request.Request(plain, headers={"User-Agent": "dialoscope", **headers})  # noqa: S310
        if authorization:
            request.add_unredirected_header("Authorization", authorization)
        try:
            return self._opener().open(request, timeout=self.timeout)
        except urllib.error.HTTPError as refusal:
            refusal.close()
            raise

    def _opener(self) -> urllib.request.OpenerDirector:
        proxies = {"http": self.proxy, "https": self.proxy} if self.proxy else None
        opener = urllib.request.OpenerDirector()  # not the default one, which knows ftp and data too
        for handler in (
            urllib.request.ProxyHandler(proxies),
            urllib.request.HTTPHandler(),
            urllib.request.HTTPSHandler(context=self._trust()),
            urllib.request.FileHandler(),
            urllib.request.UnknownHandler(),
            urllib.request.HTTPDefaultErrorHandler(),
            urllib.request.HTTPRedirectHandler(),
            urllib.request.HTTPErrorProcessor(),
        ):
            opener.add_handler(handler)
        return opener

    def _trust(self) -> ssl.SSLContext:
        if not self.certificates:
            return ssl.create_default_context()
        try:
            if Path(self.certificates).is_dir():
                return ssl.create_default_context(capath=self.certificates)
            return ssl.create_default_context(cafile=self.certificates)
        except OSError as error:
            raise Unavailable(f"the certificates in {self.certificates} cannot be read ({error})") from None


class Page(NamedTuple):
    """A page of a server."""

    content: bytes
    media_type: str
    address: str
    """The address after redirects."""


def fetch_page(url: str, network: Network, accept: str = "*/*") -> Page:
    """Return a whole page."""
    failures = 0
    while True:
        try:
            with network.open(url, {"Accept": accept}) as response:
                return Page(response.read(_LARGEST_PAGE), response.headers.get_content_type(), response.url)
        except _ERRORS as error:
            failures += 1
            if not _is_temporary(error) or failures > network.retries:
                raise Unavailable(f"{remove_password(url)}: {_reason(error)}") from None
            _pause(failures)


def download(url: str, file: File, part: Path, network: Network, progress: Progress) -> None:
    """Complete a file that may be there in part; wrong content is removed."""
    is_resumed = part.exists()
    sha256 = _complete(url, file, part, network, progress)
    if sha256 != file.sha256 and is_resumed:  # the part that was there may be wrong: once more from the start
        _discard(part, progress)
        sha256 = _complete(url, file, part, network, progress)
    if sha256 != file.sha256:
        _discard(part, progress)
        raise Unavailable(
            f"{remove_password(url)} gave wrong content for {file.path}, which was removed: "
            f"its SHA-256 is {sha256}, but should be {file.sha256}"
        )


def _discard(part: Path, progress: Progress) -> None:
    """Remove a file, and subtract its size from the progress."""
    progress(-part.stat().st_size)
    part.unlink()


def remove_password(url: str) -> str:
    """Return a URL without user and password."""
    return re.sub(r"//[^/]*@", "//", url)


def _complete(url: str, file: File, part: Path, network: Network, progress: Progress) -> str:
    """Download the rest of a file, and return the hash of all of it."""
    with part.open("ab+") as stream:
        arrival = _Arrival(stream, progress)
        try:
            _transfer_rest(url, file, arrival, network)
        except Unavailable:
            progress(-arrival.size)
            raise
        return arrival.digest.hexdigest()


def _transfer_rest(url: str, file: File, arrival: "_Arrival", network: Network) -> None:
    """Connect again and again until all is there; give up after too many failures without progress."""
    failures, most = 0, arrival.size
    while arrival.size < file.size:
        reason = _transfer(url, file, arrival, network)
        # The same size again is no progress, or a server that always starts over would be tried for ever.
        failures = 0 if arrival.size > most else failures + 1
        most = max(most, arrival.size)
        if failures > network.retries:
            raise Unavailable(f"{remove_password(url)}: {reason}")
        if arrival.size < file.size:
            _pause(failures)


def _transfer(url: str, file: File, arrival: "_Arrival", network: Network) -> str:
    """Receive all that one connection gives, and return the reason why it ended."""
    headers = {"Range": f"bytes={arrival.size}-"} if arrival.size else {}
    try:
        with network.open(url, {**headers, "Accept-Encoding": "identity"}) as response:
            if arrival.size and not _continues_at(response, arrival.size):
                arrival.restart()
            while arrival.size <= file.size and (chunk := response.read(_CHUNK)):
                arrival.add(chunk)
    except _ERRORS as error:
        if arrival.disk_error:
            raise arrival.disk_error from None
        if (
            getattr(error, "code", None) == 416
        ):  # the part that is there is not the beginning of the server's file
            arrival.restart()
        elif not _is_temporary(error):
            raise Unavailable(f"{remove_password(url)}: {_reason(error)}") from None
        return _reason(error)
    return f"the connection ended after {arrival.size:,} of {file.size:,} bytes"


class _Arrival:
    """A file that is being received, and the hash of its received part."""

    def __init__(self, stream: IO[bytes], progress: Progress) -> None:
        self.stream = stream
        self.progress = progress
        self.disk_error: OSError | None = None
        self.size = 0
        self.digest = hashlib.sha256()
        stream.seek(0)
        while chunk := stream.read(_CHUNK):
            self._count(chunk)

    def add(self, chunk: bytes) -> None:
        try:
            self.stream.write(chunk)
            self.stream.flush()
        except OSError as error:
            self.disk_error = error  # another server would not help
            raise
        self._count(chunk)

    def restart(self) -> None:
        self.stream.truncate(0)
        self.progress(-self.size)
        self.size = 0
        self.digest = hashlib.sha256()

    def _count(self, chunk: bytes) -> None:
        self.digest.update(chunk)
        self.size += len(chunk)
        self.progress(len(chunk))


def _continues_at(response: Any, size: int) -> bool:  # noqa: ANN401
    stated = str(response.headers.get("Content-Range", ""))
    return bool(response.status == 206 and stated.startswith(f"bytes {size}-"))


def _pause(failures: int) -> None:
    if failures:
        time.sleep(min(_FIRST_PAUSE * 2 ** (failures - 1), _LONGEST_PAUSE))


def _is_temporary(error: Exception) -> bool:
    """Whether another try may succeed."""
    if isinstance(error, urllib.error.HTTPError):
        return error.code in _RETRIED_STATUSES
    return not isinstance(getattr(error, "reason", error), _PERMANENT_ERRORS)


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"the server answered {error.code} {error.reason}"
    reason = getattr(error, "reason", error)
    return str(getattr(reason, "strerror", None) or reason) or type(reason).__name__


def _split_password(url: str) -> tuple[str, str]:
    """Return the URL without user and password, and the header that holds them."""
    parts = urllib.parse.urlsplit(url)
    credentials, at, host = parts.netloc.rpartition("@")
    if not at:
        return url, ""
    secret = base64.b64encode(urllib.parse.unquote(credentials).encode()).decode()
    return parts._replace(netloc=host).geturl(), f"Basic {secret}"
