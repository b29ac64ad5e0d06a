"""Servers on this machine that carry small assets."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.models.registry.toys import Site


@pytest.fixture(autouse=True)
def machine(request, monkeypatch, tmp_path):
    """A machine without settings, with an empty cache and nothing to reach; the real one for real assets."""
    if request.node.get_closest_marker("assets"):
        return
    for name in list(os.environ):
        if name.startswith(("PIP_", "DIALOSCOPE_", "HF_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DIALOSCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Starts servers, real processes; the first serves as pip's index and as the hub."""
    running = []
    folder = tmp_path / "site"
    (folder / "files").mkdir(parents=True)

    def start(fault="", extra=False):
        log = tmp_path / f"requests-{len(running)}.jsonl"
        log.touch()
        command = [sys.executable, str(Path(__file__).parent / "server.py"), str(folder), str(log), fault]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        running.append(process)
        url = f"http://127.0.0.1:{int(process.stdout.readline())}"
        monkeypatch.setenv("PIP_EXTRA_INDEX_URL" if extra else "PIP_INDEX_URL", f"{url}/simple")
        return Site(folder, url, log)

    yield start
    for process in running:
        process.kill()
        process.wait()
        process.stdout.close()
