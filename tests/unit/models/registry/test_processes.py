"""Several processes, and processes that die."""

import json
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from dialoscope.core.errors import AssetError
from dialoscope.core.files import lock
from dialoscope.models import registry as assets
from dialoscope.models.registry import IndexFiles, cache_folder, fetching
from tests.unit.models.registry.toys import content, file, holds, piece, publish, toy, zipped

BIG = {"weights.bin": content(6 << 20)}
BIG_WHEEL = zipped({"toy/weights.bin": BIG["weights.bin"]})


def big_toy():
    return toy(
        sources=(IndexFiles((piece(BIG_WHEEL),), "toy/"),), files=(file("weights.bin", BIG["weights.bin"]),)
    )


@pytest.fixture
def process(tmp_path):
    """Starts processes that fetch the big toy."""
    described = tmp_path / "asset.json"
    described.write_text(json.dumps(asdict(big_toy())))
    running = []

    def start(*arguments):
        command = [
            sys.executable,
            str(Path(__file__).parent / "fetch_one.py"),
            str(described),
            *map(str, arguments),
        ]
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return running[-1]

    yield start
    for one in running:
        one.kill()
        one.communicate()


def wait_for(condition):
    until = time.monotonic() + 30
    while not (found := condition()):
        assert time.monotonic() < until, "it never happened"
        time.sleep(0.02)
    return found


def arrived():
    return sum(part.stat().st_size for part in cache_folder().glob("downloads/*.part"))


def test_two_processes_fetch_once(site, process):
    server = site("slow")
    publish(server, {"toy-1.0-py3-none-any.whl": BIG_WHEEL})
    first = process()
    wait_for(arrived)
    second = process()
    said = [one.communicate(timeout=60) for one in (first, second)]
    folder = str(cache_folder() / "assets" / "toy")
    assert [out for out, _ in said] == [folder, folder]
    assert said[1][1] == "Waiting for another process that is fetching or removing toy.\n"
    assert len(server.requests("/files/")) == 1
    assert holds(Path(folder), BIG)


def test_a_killed_fetch_leaves_no_half_asset_and_the_next_goes_on(site, process):
    server = site("slow")
    publish(server, {"toy-1.0-py3-none-any.whl": BIG_WHEEL})
    doomed = process()
    wait_for(lambda: arrived() > 1 << 20)
    doomed.send_signal(signal.SIGKILL)
    assert doomed.wait() == -signal.SIGKILL
    there = arrived()
    assert not (cache_folder() / "assets" / "toy").exists()
    assert holds(fetching.fetch(big_toy()), BIG)
    assert server.requests("/files/")[-1][1] == f"bytes={there}-"
    assert list((cache_folder() / "assets").glob(".*")) == []


def test_a_full_disk_is_told_and_the_download_is_kept(site, process):
    """A limit on the size of files stands for the disk: the write fails in the middle, as on a full one."""
    publish(site(), {"toy-1.0-py3-none-any.whl": BIG_WHEEL})
    _, said = process(2 << 20).communicate(timeout=60)
    assert "No space left in " in said
    assert "for toy, which needs 13 MB. Free some space (`dialoscope assets remove NAME`), or set " in said
    assert 0 < arrived() <= 2 << 20
    assert holds(fetching.fetch(big_toy()), BIG)


def test_a_write_that_fails_is_not_blamed_on_the_server(site):
    server = site()
    publish(server, {"toy-1.0-py3-none-any.whl": BIG_WHEEL})
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, usual[1]))
    try:
        with pytest.raises(AssetError, match="No space left in"):
            fetching.fetch(big_toy())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert len(server.requests("/files/")) == 1


def test_a_lock_is_waited_for_and_a_dead_holder_holds_nothing(tmp_path, capsys):
    path = tmp_path / "lock"
    program = (
        "import sys, time; from dialoscope.core.files import lock; from pathlib import Path\n"
        "with lock(Path(sys.argv[1]), ''): print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        threading.Timer(0.3, holder.kill).start()
        with lock(path, "waiting for it"):
            assert holder.wait() == -signal.SIGKILL
    assert capsys.readouterr().err == "waiting for it\n"


def test_offline_nothing_is_asked(monkeypatch):
    def connect(*_):
        pytest.fail("the network was touched")

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket, "getaddrinfo", connect)
    monkeypatch.setenv("DIALOSCOPE_OFFLINE", "1")
    for name, asset in assets.ASSETS.items():
        assert (assets.present(name) is None) is not asset.shipped
    with pytest.raises(AssetError) as told:
        assets.locate("minilm")
    assert str(told.value) == (
        "minilm (all-MiniLM-L6-v2: 6 layers, 384 dimensions) is not on this machine, and DIALOSCOPE_OFFLINE "
        "prevents fetching. Unset it, or fetch it where there is a network (dialoscope assets fetch minilm), "
        "copy its folder from there (dialoscope assets path minilm), and set DIALOSCOPE_ASSETS to the folder "
        "that holds the copy."
    )


def test_an_asset_that_is_there_is_found_quickly_and_without_loading_much(tmp_path):
    """Also a promise to those who start often: no hashing, no network code, nothing heavy."""
    folder = tmp_path / "ready" / "smollm2"
    folder.mkdir(parents=True)
    for wanted in assets.ASSETS["smollm2"].files:
        with (folder / wanted.path).open("wb") as stream:
            stream.truncate(wanted.size)
    program = (
        "import sys, time; import dialoscope.models.registry as assets; start = time.process_time(); "
        "assets.locate('smollm2'); print(time.process_time() - start, *sys.modules)"
    )
    env = {"DIALOSCOPE_ASSETS": str(folder.parent), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=env
    )
    seconds, *loaded = done.stdout.split()
    assert float(seconds) < 0.1  # hashing what the folder holds takes longer
    assert not {"urllib.request", "ssl", "numpy", "zipfile", "socket", "subprocess"} & set(loaded)
