"""A hub of models in miniature: as much of the Hugging Face hub's language as a download needs.

`python hub.py FOLDER` serves each folder in it as the model tiny/<its name>, and prints its address.
"""

import hashlib
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlparse

ROOT = Path(sys.argv[1])
COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = unquote(urlparse(self.path).path)
        parts = path.strip("/").split("/")
        if parts[:3] == ["api", "models", "tiny"] and (ROOT / parts[3]).is_dir():
            self._api(ROOT / parts[3], parts[4:])
        elif parts[0] == "tiny" and parts[2] == "resolve" and (ROOT / parts[1] / parts[4]).is_file():
            self._file(ROOT / parts[1] / parts[4])
        else:
            self._answer(404, b"", {"X-Error-Code": "RepoNotFound"})

    do_HEAD = do_GET  # noqa: N815 - the name is the server's

    def _api(self, folder: Path, rest: list[str]) -> None:
        files = [
            {"type": "file", "path": file.name, "size": file.stat().st_size, "oid": _hash(file)}
            for file in sorted(folder.iterdir())
        ]
        names = [{"rfilename": file["path"]} for file in files]
        found = (
            files if rest[:1] == ["tree"] else {"id": f"tiny/{folder.name}", "sha": COMMIT, "siblings": names}
        )
        self._answer(200, json.dumps(found).encode(), {"Content-Type": "application/json"})

    def _file(self, file: Path) -> None:
        self._answer(200, file.read_bytes(), {"ETag": f'"{_hash(file)}"', "X-Repo-Commit": COMMIT})

    def _answer(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Paths are printed instead."""


def _hash(file: Path) -> str:
    return hashlib.sha1(file.read_bytes(), usedforsecurity=False).hexdigest()


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    sys.stdout.write(f"http://127.0.0.1:{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()
