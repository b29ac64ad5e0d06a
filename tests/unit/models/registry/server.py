"""A package index and a model hub on this machine, with the faults of real ones.

    python server.py FOLDER LOG [FAULT]

Serves FOLDER/files as a package index under /simple (each file's project is the name up to the first hyphen)
and FOLDER/hub as a hub; writes each request to LOG; prints its port. A fault is one of those in `FAULTS`.
"""

import json
import sys
import time
from collections import Counter
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

JSON = "application/vnd.pypi.simple.v1+json"
FAULTS = {
    "html": "the index speaks HTML only, with relative links",
    "broken-json": "the index says JSON and gives something else",
    "no-hashes": "the index states no hashes",
    "other-hash": "the index states another hash, as for another file of that name",
    "truncated": "every other answer ends half way",
    "stingy": "every answer ends after 100,000 bytes",
    "no-range": "each request is answered with the whole file",
    "truncated-no-range": "each request is answered with the first half of the file",
    "wavering": "as no-range, and answers end after a half and after a third in turn, twenty times",
    "no-satisfaction": "a request for the rest is refused with 416",
    "wrong": "files have other content of the same length",
    "longer": "files have content behind their end",
    "slow": "files come in small pieces with pauses",
    "silent": "files never come",
    "gone": "files are not there",
    "moody": "every other request is answered 503",
    "locked": "a user and a password are needed",
    "moved": "files are elsewhere, and nobody may be told the password there",
}


class Site(BaseHTTPRequestHandler):
    """Answers requests."""

    protocol_version = "HTTP/1.1"
    folder = Path()
    log = Path()
    fault = ""
    seen: ClassVar = Counter()

    def do_GET(self):
        wanted = self.headers.get("Range", "")
        allowed = self.headers.get("Authorization", "")
        with self.log.open("a", encoding="utf-8") as log:
            log.write(json.dumps([self.path, wanted, allowed]) + "\n")
        self.seen[self.path] += 1
        if self.fault == "locked" and not allowed:
            return self.answer(401, "text/plain", b"who are you?")
        if self.fault == "moody" and self.seen[self.path] % 2:
            return self.answer(503, "text/plain", b"not now")
        if self.path.startswith("/simple/"):
            return self.index(self.path.split("/")[2])
        if self.fault == "moved" and not self.path.startswith("/elsewhere"):
            return self.answer(302, "text/plain", b"", [("Location", "/elsewhere" + self.path)])
        return self.file(self.folder / self.path.removeprefix("/elsewhere").lstrip("/"))

    def index(self, project):
        files = [path for path in (self.folder / "files").iterdir() if path.name.split("-")[0] == project]
        if not files:
            return self.answer(404, "text/plain", b"no such project")
        hashes = {path.name: self.stated_hash(path) for path in files}
        if self.fault == "html":
            links = "".join(
                f'<a href="../../files/{n}#sha256={h}">{n}</a><a>x</a>' for n, h in hashes.items()
            )
            return self.answer(200, "text/html; charset=utf-8", f"<html>{links}</html>".encode())
        if self.fault == "broken-json":
            return self.answer(200, JSON, b'{"files": [7]}')
        listed = [
            {"filename": n, "url": f"/files/{n}", "hashes": {"sha256": h} if h else {}}
            for n, h in hashes.items()
        ]
        return self.answer(200, JSON, json.dumps({"files": listed}).encode())

    def stated_hash(self, path):
        if self.fault in ("no-hashes", "wrong", "longer"):
            return ""
        return "0" * 64 if self.fault == "other-hash" else sha256(path.read_bytes()).hexdigest()

    def file(self, path):
        worn_out = self.fault == "wavering" and self.seen[self.path] > 20
        if self.fault == "gone" or worn_out or not path.is_file():
            return self.answer(404, "text/plain", b"gone")
        content = path.read_bytes()
        if self.fault == "wrong":
            content = bytes(byte ^ 1 for byte in content)
        if self.fault == "longer":
            content += b"and more"
        start = int(self.headers.get("Range", "bytes=0-")[6:-1])
        if start and self.fault == "no-satisfaction":
            return self.answer(416, "text/plain", b"")
        if start and "no-range" not in self.fault and self.fault != "wavering":
            extra = [("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")]
            return self.answer(206, "application/octet-stream", content[start:], extra)
        return self.answer(200, "application/octet-stream", content)

    def answer(self, code, media_type, content, extra=()):
        self.send_response(code)
        for name, value in [("Content-Type", media_type), ("Content-Length", str(len(content))), *extra]:
            self.send_header(name, value)
        self.end_headers()
        binary = media_type == "application/octet-stream"
        if binary and (
            self.fault == "truncated-no-range" or (self.fault == "truncated" and self.seen[self.path] % 2)
        ):
            self.cut(content[: len(content) // 2])
        elif binary and self.fault == "wavering":
            self.cut(content[: len(content) // (2 if self.seen[self.path] % 2 else 3)])
        elif binary and self.fault == "stingy":
            self.cut(content[:100_000])
        elif binary and self.fault == "silent":
            time.sleep(30)
        elif binary and self.fault == "slow":
            for at in range(0, len(content), 1 << 18):
                self.wfile.write(content[at : at + (1 << 18)])
                time.sleep(0.1)
        else:
            self.wfile.write(content)

    def cut(self, content):
        self.wfile.write(content)
        self.close_connection = True

    def log_message(self, *_):
        pass


def main():
    Site.folder, Site.log = map(Path, sys.argv[1:3])
    Site.fault = sys.argv[3] if len(sys.argv) > 3 else ""
    assert Site.fault in ("", *FAULTS), Site.fault
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        server.daemon_threads = True
        sys.stdout.write(f"{server.server_port}\n")
        sys.stdout.flush()
        server.serve_forever()


if __name__ == "__main__":
    main()
