"""Ctrl-C, a closed terminal and `kill`, from the first moment on."""

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import time
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest

from tests.conftest import ROOT

IN_A_CALLBACK = """
import os, signal, time, weakref
from dialoscope import cli, __main__

class Thing:
    pass

def interrupted():
    thing = Thing()
    reference = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))
    del thing
    time.sleep(60)

cli.app = interrupted
__main__.main()
"""
BY_ITSELF = """
import os, signal, sys, threading, time
from dialoscope.__main__ import main

def send():
    while signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        pass
    time.sleep(float(os.environ["DELAY"]))
    while True:  # again, should the first have come between Python's look for signals and its wait for input
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)

threading.Thread(target=send, daemon=True).start()
main()
"""
A_WORKER_DIES_WHILE_ANOTHER_STARTS = """
import os, signal, sys, time
from multiprocessing.popen_spawn_posix import Popen
from dialoscope.cli.score import _pool
from dialoscope.core.errors import DialoscopeError

launch, launched = Popen._launch, []

def kill_first():
    for pid in launched:
        os.kill(pid, signal.SIGKILL)
        time.sleep(1)  # meanwhile the pool ends the workers that it knows, of which the new one is none yet

def launch_and_kill(self, process):
    sys.argv[1] == "before" and kill_first()
    launch(self, process)
    kill_first()
    launched.append(self.pid)

Popen._launch = launch_and_kill
try:
    with _pool(2) as pool:
        answers = [pool.submit(bytes, 10_000_000) for _ in range(2)]  # more than a pipe holds
        [answer.result() for answer in answers]
except DialoscopeError as error:
    os.write(2, f"{error}\\n".encode())
"""
KILLED_WORKER = (
    "A worker process was killed, perhaps because memory ran out. Try fewer workers: --workers 1.\n"
)
OUR_FRAME = re.compile(
    re.escape(f'File "{ROOT / "dialoscope"}{os.sep}') + r'(__main__\.py"|[^\n]*, in (?!<module>))'
)
"""A line of a traceback that names the program, or a function of the package: from `main` on there is one.

Only the package itself, which is imported before the program, is out of the program's hands.
"""
IMPORTED_FIRST = """
import sys, dialoscope
before = set(sys.modules)
import dialoscope.__main__
print(*sorted(name for name in set(sys.modules) - before if sys.modules[name].__spec__.has_location))
"""
ENDED_BY_INTERRUPT = (130, -signal.SIGINT)  # a shell reports 130 for both
SCORE = ("score", "-", "--suite", "lexical")


def start(*command, rows=2000, before=None, **changes):
    """A process in a group of its own, as a terminal starts one, that waits for more rows from a pipe."""
    process = subprocess.Popen(
        [sys.executable, *map(str, command)],
        env={**os.environ, "PYTHONPATH": str(ROOT), **changes},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=before,
    )
    text = "".join(json.dumps({"response": f"hello {number}"}) + "\n" for number in range(rows))
    with suppress(BrokenPipeError):  # it may have ended; 2,000 rows fit into a pipe that nobody reads yet
        process.stdin.write(text.encode())
        process.stdin.flush()
    return process


def ended(process):
    """The exit code and what was said; none of its processes may be left, or this would not end."""
    try:
        _, said = process.communicate(timeout=60)  # which closes its input, in case it missed the signal
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, said.decode()


@pytest.mark.parametrize("delay", [number / 40 for number in range(21)])
def test_ctrl_c_ends_with_a_line_from_the_first_moment_on(delay):
    """The delay is counted from the moment at which the program is in charge, not Python's own start."""
    process = start("-c", BY_ITSELF, *SCORE, DELAY=str(delay))
    process.wait(timeout=60)
    code, said = ended(process)
    assert said == "Interrupted.\n"
    assert code in ENDED_BY_INTERRUPT


@pytest.mark.parametrize("delay", [0, 0.1, 0.2, 0.3, 0.4, 0.5])
def test_ctrl_c_from_outside(delay):
    process = start("-m", "dialoscope", *SCORE)
    time.sleep(delay)
    os.killpg(process.pid, signal.SIGINT)
    code, said = ended(process)
    python_is_starting = ("Traceback" in said or "Fatal Python error" in said) and not OUR_FRAME.search(said)
    if not python_is_starting:
        assert said in ("Interrupted.\n", "")
        assert code in ENDED_BY_INTERRUPT
        assert said or code == -signal.SIGINT, "only Python's default, before it has started, says nothing"


def test_nothing_is_imported_from_a_file_before_ctrl_c_is_answered():
    """An interrupt in such an import would be shown as a traceback."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", IMPORTED_FIRST],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), sysconfig.get_path("purelib")])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["dialoscope.__main__"]


def test_ctrl_c_in_a_callback_is_not_lost():
    """From which no exception gets out: Python would print it and go on."""
    code, said = ended(start("-c", IN_A_CALLBACK))
    assert said == "Interrupted.\n"
    assert code in ENDED_BY_INTERRUPT


def worker_of(process):
    """The number of the first worker, once there is one."""
    for _ in range(6000):
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        for child in children:
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                return int(child)
        time.sleep(0.01)
    process.kill()
    raise AssertionError(process.stderr.read())


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="asks /proc for child processes")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("delay", [0, 0.1, 0.3])
def test_a_signal_to_all_processes_while_workers_import_leaves_none_of_them(number, delay):
    process = start("-m", "dialoscope", *SCORE, "--workers", "2", rows=5000)
    worker_of(process)
    time.sleep(delay)
    os.killpg(process.pid, number)
    code, said = ended(process)
    if number == signal.SIGINT:
        assert said == "Interrupted.\n"
        assert code in ENDED_BY_INTERRUPT
    else:
        assert (code, said) == (128 + number, "")


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="asks /proc for child processes")
def test_a_worker_that_is_killed_is_answered_with_a_sentence():
    process = start("-m", "dialoscope", *SCORE, "--workers", "2", rows=5000)
    os.kill(worker_of(process), signal.SIGKILL)
    assert ended(process) == (2, f"Error: {KILLED_WORKER}")


@pytest.mark.skipif(sys.platform == "win32", reason="workers are started in another way")
@pytest.mark.parametrize("killed", ["before", "after"])
def test_a_worker_that_is_started_while_another_is_killed_is_not_waited_for(killed):
    """Python's pool does not know it yet when it ends all workers, and then waits for it without end.

    Before it is started the pool closes what it would be given.
    """
    assert ended(start("-c", A_WORKER_DIES_WHILE_ANOTHER_STARTS, killed)) == (0, KILLED_WORKER)


def test_a_signal_that_is_ignored_stays_ignored():
    """As nohup and the background of a script leave it."""

    def ignore():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    process = start("-m", "dialoscope", "score", "-", "-m", "words", "--csv", before=ignore)
    for _ in range(20):
        time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        os.killpg(process.pid, signal.SIGHUP)
    assert ended(process) == (0, "")


def test_the_command_starts_where_interrupts_are_caught():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"dialoscope": "dialoscope.__main__:main"}
