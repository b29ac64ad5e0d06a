"""Bring files over the network: whole or not at all, going on where it stopped, and checked by hash."""

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
_PAUSE = 0.5  # seconds before the second try; doubled before each further one
_LONGEST_PAUSE = 10.0
_WORTH_ANOTHER_TRY = (408, 425, 429, 500, 502, 503, 504)
_FAULTS = (OSError, http.client.HTTPException, ValueError)  # the last: an address that cannot be read
_LASTING = (
    *(str, ValueError, ssl.SSLCertVerificationError, socket.gaierror),
    *(FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError),
)
_PAGE = 64 << 20  # no index page is longer than so many bytes


class Unavailable(Exception):
    """A place that cannot give what is wanted of it; another may."""


@dataclass(frozen=True)
class Network:
    """How servers are reached."""

    timeout: float = 30
    """Seconds without a sign of life."""
    retries: int = 4
    certificates: str = ""
    """A file of certificates to trust in place of the system's."""
    proxy: str = ""
    """A proxy in place of the one that the environment names."""

    def open(self, url: str, headers: dict[str, str]) -> Any:  # noqa: ANN401 - urllib's responses share no type
        """Ask for a URL; user and password in it go to that server alone."""
        plain, authorization = _without_password(url)
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
    """What a server answered."""

    content: bytes
    media_type: str
    address: str
    """Where it came from in the end."""


def page(url: str, network: Network, accept: str = "*/*") -> Page:
    """A short document, whole."""
    failures = 0
    while True:
        try:
            with network.open(url, {"Accept": accept}) as response:
                return Page(response.read(_PAGE), response.headers.get_content_type(), response.url)
        except _FAULTS as error:
            failures += 1
            if not _passing(error) or failures > network.retries:
                raise Unavailable(f"{shown(url)}: {_reason(error)}") from None
            _rest(failures)


def download(url: str, file: File, part: Path, network: Network, progress: Progress) -> None:
    """Complete a file that may be there in part; wrong content is removed."""
    resumed = part.exists()
    found = _completed(url, file, part, network, progress)
    if found != file.sha256 and resumed:  # what was there may be to blame: once more from the start
        _discard(part, progress)
        found = _completed(url, file, part, network, progress)
    if found != file.sha256:
        _discard(part, progress)
        raise Unavailable(
            f"{shown(url)} gave wrong content for {file.path}, which was removed: "
            f"its SHA-256 is {found}, but should be {file.sha256}"
        )


def _discard(part: Path, progress: Progress) -> None:
    """Remove a file, and take off what was counted of it."""
    progress(-part.stat().st_size)
    part.unlink()


def shown(url: str) -> str:
    """A URL as it may be shown: without a password."""
    return re.sub(r"//[^/]*@", "//", url)


def _completed(url: str, file: File, part: Path, network: Network, progress: Progress) -> str:
    """The hash of the file, once all of it is there."""
    with part.open("ab+") as stream:
        arrival = _Arrival(stream, progress)
        try:
            _complete(url, file, arrival, network)
        except Unavailable:
            progress(-arrival.size)
            raise
        return arrival.digest.hexdigest()


def _complete(url: str, file: File, arrival: "_Arrival", network: Network) -> None:
    failures, most = 0, arrival.size
    while arrival.size < file.size:
        reason = _transferred(url, file, arrival, network)
        # To come as far again is no progress: a server that always starts over would never be given up.
        failures = 0 if arrival.size > most else failures + 1
        most = max(most, arrival.size)
        if failures > network.retries:
            raise Unavailable(f"{shown(url)}: {reason}")
        if arrival.size < file.size:
            _rest(failures)


def _transferred(url: str, file: File, arrival: "_Arrival", network: Network) -> str:
    """Bring as much as comes; why it ended."""
    headers = {"Range": f"bytes={arrival.size}-"} if arrival.size else {}
    try:
        with network.open(url, {**headers, "Accept-Encoding": "identity"}) as response:
            if arrival.size and not _goes_on_at(response, arrival.size):
                arrival.restart()
            while arrival.size <= file.size and (chunk := response.read(_CHUNK)):
                arrival.add(chunk)
    except _FAULTS as error:
        if arrival.full:
            raise arrival.full from None
        if getattr(error, "code", None) == 416:  # what is there is not the beginning of what the server has
            arrival.restart()
        elif not _passing(error):
            raise Unavailable(f"{shown(url)}: {_reason(error)}") from None
        return _reason(error)
    return f"the connection ended after {arrival.size:,} of {file.size:,} bytes"


class _Arrival:
    """A file on its way, and the hash of what is there."""

    def __init__(self, stream: IO[bytes], progress: Progress) -> None:
        self.stream = stream
        self.progress = progress
        self.full: OSError | None = None
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
            self.full = error  # not the server's fault: no other will do better
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


def _goes_on_at(response: Any, size: int) -> bool:  # noqa: ANN401
    stated = str(response.headers.get("Content-Range", ""))
    return bool(response.status == 206 and stated.startswith(f"bytes {size}-"))


def _rest(failures: int) -> None:
    if failures:
        time.sleep(min(_PAUSE * 2 ** (failures - 1), _LONGEST_PAUSE))


def _passing(error: Exception) -> bool:
    """Whether a fault may go away by itself."""
    if isinstance(error, urllib.error.HTTPError):
        return error.code in _WORTH_ANOTHER_TRY
    return not isinstance(getattr(error, "reason", error), _LASTING)


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"the server answered {error.code} {error.reason}"
    reason = getattr(error, "reason", error)
    return str(getattr(reason, "strerror", None) or reason) or type(reason).__name__


def _without_password(url: str) -> tuple[str, str]:
    """The URL without user and password, and the header that says them."""
    parts = urllib.parse.urlsplit(url)
    said, at, host = parts.netloc.rpartition("@")
    if not at:
        return url, ""
    secret = base64.b64encode(urllib.parse.unquote(said).encode()).decode()
    return parts._replace(netloc=host).geturl(), f"Basic {secret}"
