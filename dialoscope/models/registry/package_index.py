"""Find a file on the package index, with pip's settings.

The file is looked up by its exact name and downloaded unchanged. Nothing is resolved, installed or built, so
that no code of a package runs. Indexes speak the simple API (https://packaging.python.org/specifications/
simple-repository-api/), as JSON or HTML.
"""

import ast
import json
import os
import re
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

from dialoscope.models.registry.asset import IndexFile
from dialoscope.models.registry.download import Network, Page, Unavailable, fetch_page, remove_password

_PUBLIC = "https://pypi.org/simple"
_JSON = "application/vnd.pypi.simple.v1+json"
_ACCEPT = f"{_JSON}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"


class IndexLink(NamedTuple):
    """The address of a file, and the hash that the index gives for it, if any."""

    url: str
    sha256: str


@dataclass(frozen=True)
class Sources:
    """The indexes and folders in which pip would look for a package."""

    indexes: tuple[str, ...]
    pages: tuple[str, ...]
    """Folders and pages with packages of any name: pip's find-links."""
    network: Network


def read_sources(settings: Mapping[str, str]) -> Sources:
    """Read the indexes and folders from pip's settings."""
    extra = tuple(settings.get("extra-index-url", "").split())
    indexes = (settings.get("index-url") or _PUBLIC, *extra)
    is_index_forbidden = settings.get("no-index", "").lower() in ("1", "true", "yes", "on")
    default = Network()
    return Sources(
        () if is_index_forbidden else indexes,
        tuple(settings.get("find-links", "").split()),
        Network(
            timeout=_number(settings, ("timeout", "default-timeout"), default.timeout),
            retries=int(_number(settings, ("retries",), default.retries)),
            certificates=settings.get("cert", "") or os.environ.get("REQUESTS_CA_BUNDLE", ""),
            proxy=settings.get("proxy", ""),
        ),
    )


def read_pip_settings() -> dict[str, str]:
    """Return pip's settings from its files and the environment, or from the environment alone without pip."""
    # -P: a pip.py in the folder of the user's data is not pip
    command = [sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", "config", "list"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
        return _parse_settings(listed.stdout.splitlines())
    except (OSError, subprocess.CalledProcessError):
        return _environment_settings()


def _environment_settings() -> dict[str, str]:
    return {
        name.removeprefix("PIP_").lower().replace("_", "-"): value
        for name, value in os.environ.items()
        if name.startswith("PIP_") and value
    }


def find_links(file: IndexFile, where: Sources) -> Iterator[IndexLink]:
    """Yield all links to files of this name, in pip's order; raise Unavailable if there is none."""
    reasons = []
    count = 0
    pages = [(_find_on_page, page) for page in where.pages]
    lookups = [*pages, *((_find_on_index, index) for index in where.indexes)]
    for find, source in lookups:
        try:
            before = count
            for link in find(source, file, where.network):
                count += 1
                yield link
            if count == before:
                reasons.append(f"{remove_password(source)} has none")
        except Unavailable as problem:
            reasons.append(str(problem))
    if not count:
        raise Unavailable(f"{file.filename} was not found ({'; '.join(reasons) or 'nowhere to look'})")


def _parse_settings(lines: Sequence[str]) -> dict[str, str]:
    """Parse the lines of `pip config list`; settings of `download` override those of all commands."""
    settings: dict[str, str] = {}
    sections = ("global", "install", "download", ":env:")
    for section in sections:
        for line in lines:
            name, _, value = line.partition("=")
            if name.startswith(section + "."):
                settings[name.removeprefix(section + ".").replace("_", "-")] = str(ast.literal_eval(value))
    return settings


def _number(settings: Mapping[str, str], names: Sequence[str], default: float) -> float:
    for name in names:
        if re.fullmatch(r"\d+(\.\d+)?", settings.get(name, "")):
            return float(settings[name])
    return default


def _find_on_index(index: str, file: IndexFile, network: Network) -> Iterator[IndexLink]:
    project = re.sub(r"[-_.]+", "-", file.project).lower()
    url = f"{index.rstrip('/')}/{project}/"
    if url.startswith("file:"):
        url += "index.html"
    yield from _find_matching(fetch_page(url, network, _ACCEPT), url, file.filename)


def _find_on_page(source: str, file: IndexFile, network: Network) -> Iterator[IndexLink]:
    folder = _local_folder(source)
    if folder is None or folder.suffix in (".html", ".htm"):
        url = source if folder is None else folder.absolute().as_uri()
        yield from _find_matching(fetch_page(url, network, "text/html"), url, file.filename)
    elif (folder / file.filename).is_file():
        yield IndexLink((folder / file.filename).absolute().as_uri(), "")


def _local_folder(source: str) -> Path | None:
    """Return the path of a `file:` address or a plain path; None for other addresses."""
    if source.startswith("file:"):
        return Path(urllib.request.url2pathname(urllib.parse.urlsplit(source).path))
    return None if re.match(r"[a-z]+://", source, re.IGNORECASE) else Path(source).expanduser()


def _find_matching(answer: Page, url: str, filename: str) -> Iterator[IndexLink]:
    for link in _read_json(answer) if answer.media_type == _JSON else _read_html(answer):
        try:
            target = urllib.parse.urlsplit(urllib.parse.urljoin(answer.address, link.url))
        except ValueError:
            continue  # a link to nowhere
        if urllib.parse.unquote(target.path.rpartition("/")[2]) == filename:
            yield IndexLink(_add_password(url, target), link.sha256)


def _add_password(index: str, target: urllib.parse.SplitResult) -> str:
    """Add the index's user and password to the address of a file if scheme and server are the same."""
    parts = urllib.parse.urlsplit(index)
    credentials, at, host = parts.netloc.rpartition("@")
    if at and (target.scheme, target.netloc) == (parts.scheme, host):
        target = target._replace(netloc=f"{credentials}@{host}")
    return target._replace(fragment="").geturl()


def _read_json(answer: Page) -> Iterator[IndexLink]:
    try:
        files: list[dict[str, Any]] = json.loads(answer.content)["files"]
        for file in files:
            yield IndexLink(str(file["url"]), str(file.get("hashes", {}).get("sha256", "")))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Unavailable(f"{remove_password(answer.address)} is no page of a package index") from None


def _read_html(answer: Page) -> Iterator[IndexLink]:
    anchors = _Anchors()
    anchors.feed(answer.content.decode("utf-8", errors="replace"))
    for target in anchors.found:
        url, _, fragment = target.partition("#")
        stated = re.search(r"sha256=([0-9a-f]{64})", fragment)
        yield IndexLink(url, stated[1] if stated else "")


class _Anchors(HTMLParser):
    """The targets of a page's links."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if tag == "a" and name == "href" and value]
