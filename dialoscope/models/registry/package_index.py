"""Find a file on the package index, as pip is set up to look for it.

The file is looked up by its exact name and downloaded as it is. Nothing is resolved, installed or built, so
no code of a package runs. Indexes speak the simple API (https://packaging.python.org/specifications/
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
from dialoscope.models.registry.download import Network, Page, Unavailable, page, shown

_PUBLIC = "https://pypi.org/simple"
_JSON = "application/vnd.pypi.simple.v1+json"
_ACCEPT = f"{_JSON}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"


class Link(NamedTuple):
    """Where a file can be had, and the hash that the index gives for it, if any."""

    url: str
    sha256: str


@dataclass(frozen=True)
class Places:
    """Where pip would look for a package."""

    indexes: tuple[str, ...]
    pages: tuple[str, ...]
    """Folders and pages that hold or link packages of any name: pip's find-links."""
    network: Network


def places(settings: Mapping[str, str]) -> Places:
    """Where to look, from pip's settings."""
    extra = tuple(settings.get("extra-index-url", "").split())
    indexes = (settings.get("index-url") or _PUBLIC, *extra)
    forbidden = settings.get("no-index", "").lower() in ("1", "true", "yes", "on")
    known = Network()
    return Places(
        () if forbidden else indexes,
        tuple(settings.get("find-links", "").split()),
        Network(
            timeout=_number(settings, ("timeout", "default-timeout"), known.timeout),
            retries=int(_number(settings, ("retries",), known.retries)),
            certificates=settings.get("cert", "") or os.environ.get("REQUESTS_CA_BUNDLE", ""),
            proxy=settings.get("proxy", ""),
        ),
    )


def pip_settings() -> dict[str, str]:
    """Pip's settings from its files and the environment; from the environment alone where there is no pip."""
    # -P: a pip.py in the folder of the user's data is not pip
    command = [sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", "config", "list"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
        return _settings(listed.stdout.splitlines())
    except (OSError, subprocess.CalledProcessError):
        return _environment_settings()


def _environment_settings() -> dict[str, str]:
    return {
        name.removeprefix("PIP_").lower().replace("_", "-"): value
        for name, value in os.environ.items()
        if name.startswith("PIP_") and value
    }


def links(file: IndexFile, where: Places) -> Iterator[Link]:
    """Every place that has a file of this name, in pip's order; a place that fails is told at the end."""
    complaints = []
    found = 0
    looks = [(_on_page, place) for place in where.pages] + [(_on_index, place) for place in where.indexes]
    for look_up, place in looks:
        try:
            before = found
            for link in look_up(place, file, where.network):
                found += 1
                yield link
            if found == before:
                complaints.append(f"{shown(place)} has none")
        except Unavailable as problem:
            complaints.append(str(problem))
    if not found:
        raise Unavailable(f"{file.filename} was not found ({'; '.join(complaints) or 'nowhere to look'})")


def _settings(lines: Sequence[str]) -> dict[str, str]:
    """The lines of `pip config list`; what stands for `download` goes before what stands for all."""
    found: dict[str, str] = {}
    sections = ("global", "install", "download", ":env:")
    for section in sections:
        for line in lines:
            name, _, value = line.partition("=")
            if name.startswith(section + "."):
                found[name.removeprefix(section + ".").replace("_", "-")] = str(ast.literal_eval(value))
    return found


def _number(settings: Mapping[str, str], names: Sequence[str], otherwise: float) -> float:
    for name in names:
        if re.fullmatch(r"\d+(\.\d+)?", settings.get(name, "")):
            return float(settings[name])
    return otherwise


def _on_index(index: str, file: IndexFile, network: Network) -> Iterator[Link]:
    project = re.sub(r"[-_.]+", "-", file.project).lower()
    url = f"{index.rstrip('/')}/{project}/"
    if url.startswith("file:"):
        url += "index.html"
    yield from _matching(page(url, network, _ACCEPT), url, file.filename)


def _on_page(place: str, file: IndexFile, network: Network) -> Iterator[Link]:
    folder = _local(place)
    if folder is None or folder.suffix in (".html", ".htm"):
        url = place if folder is None else folder.absolute().as_uri()
        yield from _matching(page(url, network, "text/html"), url, file.filename)
    elif (folder / file.filename).is_file():
        yield Link((folder / file.filename).absolute().as_uri(), "")


def _local(place: str) -> Path | None:
    if place.startswith("file:"):
        return Path(urllib.request.url2pathname(urllib.parse.urlsplit(place).path))
    return None if re.match(r"[a-z]+://", place, re.IGNORECASE) else Path(place).expanduser()


def _matching(answer: Page, url: str, filename: str) -> Iterator[Link]:
    listed = _json_links(answer) if answer.media_type == _JSON else _html_links(answer)
    for link in listed:
        try:
            target = urllib.parse.urlsplit(urllib.parse.urljoin(answer.address, link.url))
        except ValueError:
            continue  # a link to nowhere
        if urllib.parse.unquote(target.path.rpartition("/")[2]) == filename:
            yield Link(_with_password_of(url, target), link.sha256)


def _with_password_of(index: str, target: urllib.parse.SplitResult) -> str:
    """The index's user and password hold for files on the same server, asked for in the same way."""
    asked = urllib.parse.urlsplit(index)
    said, at, host = asked.netloc.rpartition("@")
    if at and (target.scheme, target.netloc) == (asked.scheme, host):
        target = target._replace(netloc=f"{said}@{host}")
    return target._replace(fragment="").geturl()


def _json_links(answer: Page) -> Iterator[Link]:
    try:
        files: list[dict[str, Any]] = json.loads(answer.content)["files"]
        for file in files:
            yield Link(str(file["url"]), str(file.get("hashes", {}).get("sha256", "")))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Unavailable(f"{shown(answer.address)} is no page of a package index") from None


def _html_links(answer: Page) -> Iterator[Link]:
    anchors = _Anchors()
    anchors.feed(answer.content.decode("utf-8", errors="replace"))
    for target in anchors.found:
        url, _, fragment = target.partition("#")
        stated = re.search(r"sha256=([0-9a-f]{64})", fragment)
        yield Link(url, stated[1] if stated else "")


class _Anchors(HTMLParser):
    """The targets of a page's links."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if tag == "a" and name == "href" and value]
