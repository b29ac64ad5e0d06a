"""A server and a program to be asked, both real."""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

HERE = Path(__file__).parent


class Chat:
    """The server, and what it has been asked."""

    def __init__(self, port):
        self.root = f"http://127.0.0.1:{port}"
        self.url = f"{self.root}/v1"

    def seen(self):
        with urllib.request.urlopen(self.root) as answer:  # noqa: S310 - our own
            return json.loads(answer.read())

    def texts(self):
        return [one["text"] for one in self.seen()["log"]]


@pytest.fixture
def chat():
    process = subprocess.Popen(
        [sys.executable, str(HERE / "chat_server.py")], stdout=subprocess.PIPE, text=True
    )
    yield Chat(int(process.stdout.readline()))
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.fixture
def program(tmp_path, monkeypatch):
    """The command that starts the program, and what it has been asked."""
    log = tmp_path / "bot.log"
    monkeypatch.setenv("BOT_LOG", str(log))

    def command(mode=""):
        return f"{sys.executable} {HERE / 'bot.py'} {mode}".strip()

    command.seen = lambda: [json.loads(line) for line in log.read_text().splitlines()]
    return command


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path_factory):
    """No key and no proxy of whoever runs the tests."""
    for name in ("OPENAI_API_KEY", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def rows(tmp_path):
    """Writes rows into a file."""

    def write(content, name="contexts.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in content), encoding="utf-8")
        return path

    return write
