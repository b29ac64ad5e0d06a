"""Small assets, and what carries them."""

import io
import json
import random
import tarfile
import zipfile
from hashlib import sha256

from dialoscope.models.registry import Asset, Conversion, File, HubFiles, IndexFile, IndexFiles


class Site:
    def __init__(self, folder, url, log):
        self.folder = folder
        self.url = url
        self.log = log

    def requests(self, path=""):
        """The requests so far: path, range, authorization."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [line for line in lines if path in line[0]]


def content(size, seed=0):
    return random.Random(seed).randbytes(size)  # noqa: S311 - any bytes will do


def file(path, data):
    return File(path, len(data), sha256(data).hexdigest())


def zipped(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def tarred(members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def piece(data, filename="toy-1.0-py3-none-any.whl", inner=""):
    return IndexFile("toy", "1.0", filename, len(data), sha256(data).hexdigest(), inner)


MEMBERS = {"config.json": b"{}", "deep/er/weights.bin": content(700_000)}
WHEEL = zipped({f"toy/data/{name}": data for name, data in MEMBERS.items()} | {"toy/__init__.py": b"1/0"})


def toy(sources=None, files=None, conversion: Conversion | None = None, name="toy"):
    return Asset(
        name=name,
        kind="toy",
        about="a small one",
        licence="CC0-1.0",
        files=files or tuple(file(path, data) for path, data in MEMBERS.items()),
        sources=sources or (IndexFiles((piece(WHEEL),), "toy/data/"),),
        conversion=conversion,
    )


HUB = HubFiles("people/toy", "1234abcd")


def publish(site, files=None, hub=None):
    """Put files onto the servers' disk."""
    for name, data in (files if files is not None else {"toy-1.0-py3-none-any.whl": WHEEL}).items():
        (site.folder / "files" / name).write_bytes(data)
    for name, data in (hub or {}).items():
        target = site.folder / HUB.repository / "resolve" / HUB.revision / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def holds(folder, members=None):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "asset.json"
    } == (members or MEMBERS)
