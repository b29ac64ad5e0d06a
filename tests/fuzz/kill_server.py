"""Run commands that are killed before their Nth change of a folder: `python -m tests.fuzz.kill_server torch`.

Each line of standard input is a JSON object: `argv` (of `dialoscope`), `folder` (whose changes count),
`point` (the number of the change before which to kill, from 1, or null), `exchange` (whether the system has
renameat2). Each line of output is one: `status` (of the process; -9 if it was killed), `changes` (their
names), `said`.

What is heavy is imported once; each command runs in a fork of its own, and dies by SIGKILL.
"""

import json
import os
import signal
import sys
import tempfile
from contextlib import suppress
from importlib import import_module
from pathlib import Path


class Killer:
    """An audit hook that counts changes below a folder, and kills this process before one of them."""

    def __init__(self, folder, point):
        self.folder = str(folder)
        self.point = point
        self.changes = []

    def __call__(self, event, args):
        if event == "open":
            path, _, flags = args
            if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                self.count(event, path)
        elif event == "os.rename":
            self.count(event, args[1])
        elif event in ("os.mkdir", "os.remove", "os.rmdir", "os.link", "os.truncate", "os.chmod"):
            # With a descriptor of a folder, as rmtree has, the path is a mere name.
            below = event in ("os.remove", "os.rmdir") and args[-1] != -1
            self.count(event, self.folder if below else args[0])

    def count(self, event, path):
        if isinstance(path, int) or not os.path.abspath(os.fsdecode(path)).startswith(self.folder):  # noqa: PTH100
            return
        self.changes.append(event)
        if len(self.changes) == self.point:
            os.kill(os.getpid(), signal.SIGKILL)


def announce_writes():
    """Tell audit hooks before and after files that are written by libraries in C++ and Rust."""
    import pyarrow.parquet as pq

    pq.write_table = announced(pq.write_table)
    for name in ("safetensors.numpy", "dialoscope.training.engines.loop"):
        if name in sys.modules:
            sys.modules[name].save_file = announced(sys.modules[name].save_file)


def announced(function):
    """The function, which writes its first argument into the file that its second one names."""

    def call(content, path, **kwargs):
        sys.audit("open", path, "wb", os.O_WRONLY | os.O_CREAT)
        function(content, path, **kwargs)
        sys.audit("open", path, "wb", os.O_WRONLY | os.O_CREAT)

    return call


def run(command, report):
    """In the fork: never returns."""
    from dialoscope.cli import main
    from dialoscope.core import files

    os.dup2(os.open(report / "said", os.O_WRONLY | os.O_CREAT), 1)
    os.dup2(1, 2)
    if not command["exchange"]:
        files._find_renameat2 = lambda: None
    sys.argv = ["dialoscope", *command["argv"]]
    killer = Killer(command["folder"], command["point"])
    announce_writes()
    sys.addaudithook(killer)
    try:
        main()
        code = 0
    except SystemExit as stop:
        code = stop.code or 0
    killer.point = None
    (report / "changes").write_text(json.dumps(killer.changes))
    sys.stdout.flush()
    os._exit(code)


def serve():
    os.environ.update(DIALOSCOPE_SCORES="off", OMP_NUM_THREADS="1")
    for name in ("pyarrow.parquet", "numpy.random", "dialoscope.cli", "dialoscope.runs.evaluate"):
        import_module(name)
    with suppress(ImportError):
        import_module("pandas")  # which Arrow imports where it is installed
    if "torch" in sys.argv:
        import torch
        import torch._dynamo  # which optimizers import

        import dialoscope.training.engines.head_training  # noqa: F401

        torch.set_num_threads(1)
    for line in sys.stdin:
        command = json.loads(line)
        with tempfile.TemporaryDirectory() as name:
            report = Path(name)
            child = os.fork()
            if not child:
                try:
                    run(command, report)
                finally:
                    os._exit(70)  # an exception that main let through
            _, status = os.waitpid(child, 0)
            changes = report / "changes"
            answer = {
                "status": os.waitstatus_to_exitcode(status),
                "changes": json.loads(changes.read_text()) if changes.exists() else None,
                "said": (report / "said").read_text(errors="replace"),
            }
        print(json.dumps(answer), flush=True)  # noqa: T201


if __name__ == "__main__":
    serve()
