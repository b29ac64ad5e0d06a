"""A verb is killed before each of its changes of the disk, and started again.

To try another verb, add a row to ROWS. `--long` kills before every change, otherwise before a sample of them.
"""

import json
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass

import pytest

import dialoscope as ds
from dialoscope.core.files import remove_leftovers
from tests.conftest import ROOT
from tests.unit.metrics.test_composite import rows as rated_rows

FEW = 4
"""Number of changes of a verb that are tried without `--long`, and of its renames."""


@dataclass(frozen=True)
class Row:
    """A verb, how it is called, and what must be whole whenever it is killed."""

    name: str
    command: str
    """`{data}` is a folder with inputs, `{out}` one for outputs."""
    whole: tuple[str, ...]
    """Files and folders in `{out}` that must be the earlier or the new ones, byte for byte, at any time."""
    same: tuple[str, ...] = ()
    """Those that must in the end be the same bytes as without a kill; others may hold times."""
    earlier: str = ""
    """A command that makes what the verb replaces."""
    exchange: bool = True
    """Whether the system can exchange two folders in one step."""
    refused: str = ""
    """What the verb says if it is called again when all is done."""
    torch: bool = False
    asked: int = 0
    """Number of questions for the bot; only the one during which it is killed may be asked twice."""


TINY = (
    "--embedding fake --representation mean --perceptron 4 --part 1/1 --epochs 1 --batch 99 --negative-pool 3"
)
CHECKPOINT = ("spec.json", "weights.safetensors", "history.jsonl", "card.md")
RUN, REPLIES = ("run",), ("replies.jsonl",)
SCORE = "score {data}/replies.jsonl -m words -m copying --draws 100 -o {out}/run"
RESPOND = "respond {data}/contexts.jsonl -s {data}/bot.py:reply --workers 1 -o {out}/replies.jsonl"
ROWS = [
    Row("score", SCORE, RUN, RUN, refused="exists already"),
    Row("score --overwrite", f"{SCORE} --overwrite", RUN, RUN, f"{SCORE} --seed 1"),
    Row(
        "score --overwrite in two steps",
        f"{SCORE} --overwrite",
        RUN,
        RUN,
        f"{SCORE} --seed 1",
        exchange=False,
    ),
    Row("respond", RESPOND, REPLIES, REPLIES, asked=3),
    Row("respond --overwrite", f"{RESPOND} --overwrite", REPLIES, REPLIES, f"{RESPOND} --name other"),
    Row(
        "train ruber",
        f"train ruber {{data}}/talks.jsonl -o {{out}}/model {TINY} --seeds 2 --validation 0.25 --device cpu",
        (),
        tuple(f"model/{name}" for name in CHECKPOINT[1:3]),
        refused="holds a finished checkpoint",
        torch=True,
    ),
    Row(
        "train composite",
        "train composite {data}/rated.jsonl -o {out}/model --part words=words --part said=-repetition-1",
        (),
        ("model/history.jsonl",),
        refused="holds a finished checkpoint",
    ),
]


class Server:
    """A process that runs commands in forks of itself."""

    def __init__(self, *modules):
        program = [sys.executable, "-m", "tests.fuzz.kill_server", *modules]
        self.process = subprocess.Popen(
            program, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, command, out, point=None, *, exchange=True):
        """What became of a command: its status, number of changes, and what it said."""
        argv = command.format(data=out.parent / "data", out=out).split()
        wanted = {"argv": argv, "folder": str(out), "point": point, "exchange": exchange}
        self.process.stdin.write(json.dumps(wanted) + "\n")
        self.process.stdin.flush()
        found = json.loads(self.process.stdout.readline())
        assert "Traceback" not in found["said"], found["said"]
        return found

    def close(self):
        self.process.stdin.close()
        assert self.process.wait() == 0
        self.process.stdout.close()


@pytest.fixture(scope="module")
def servers():
    started = {}

    def server(*modules):
        if modules not in started:
            started[modules] = Server(*modules)
        return started[modules]

    yield server
    for process in started.values():
        process.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the inputs of all verbs."""
    folder = tmp_path_factory.mktemp("kills")
    data = folder / "data"
    data.mkdir()
    write(
        data / "replies.jsonl",
        [{"id": n, "system": "s", "context": ["hi"], "response": "you " * n} for n in range(1, 5)],
    )
    write(data / "contexts.jsonl", [{"id": f"{n}", "context": [f"hello {n}"]} for n in range(3)])
    write(
        data / "talks.jsonl",
        [{"id": f"{n}", "turns": [f"so {n}", f"yes {n} {n % 5}", f"no {n}"]} for n in range(24)],
    )
    write(data / "rated.jsonl", rated_rows(20))
    (data / "bot.py").write_text(
        "from pathlib import Path\n"
        "def reply(context):\n"
        "    with Path(__file__).with_name('asked').open('a') as file:\n"
        "        file.write('x')\n"
        "    return context[-1].upper()\n"
    )
    return folder


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def content(out, names):
    """What is in files, and in all files of folders, but for the times in a manifest."""
    paths = [path for name in names for path in [out / name, *(out / name).rglob("*")] if path.is_file()]
    return {str(path.relative_to(out)): without_times(path) for path in paths}


def without_times(path):
    if path.name != "manifest.json":
        return path.read_bytes()
    manifest = json.loads(path.read_bytes())
    for name in ("started", "seconds"):
        del manifest["provenance"][name]
    return {**manifest, "seal": None}


def names_in(out):
    return sorted(str(path.relative_to(out)) for path in out.rglob("*"))


def begin(row, out, server):
    """The state before the verb is called."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    (out.parent / "data" / "asked").write_text("")
    if row.earlier:
        assert server.run(row.earlier, out)["status"] == 0


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_is_killed_leaves_nothing_half_done(row, folder, servers, request):
    server = servers(*(["torch"] if row.torch else []))
    out = folder / "out"
    begin(row, out, server)
    earlier = content(out, row.whole)
    undisturbed = server.run(row.command, out, exchange=row.exchange)
    assert undisturbed["status"] == 0, undisturbed["said"]
    new, same, names = content(out, row.whole), content(out, row.same), names_in(out)
    assert same
    assert earlier != new or not row.whole
    for point in points(undisturbed["changes"], request.config.getoption("--long")):
        begin(row, out, server)
        killed = server.run(row.command, out, point, exchange=row.exchange)
        assert killed["status"] == -9, killed["said"]
        read_outputs(out)
        assert content(out, row.whole) in (earlier, new), f"killed before change {point}"
        again = server.run(row.command, out, exchange=row.exchange)
        refused = bool(row.refused) and row.refused in again["said"]
        assert again["status"] == (2 if refused else 0), again["said"]
        remove_leftovers(out)
        assert (content(out, row.same), names_in(out)) == (same, names), f"killed before change {point}"
        if row.asked:
            assert len((folder / "data" / "asked").read_text()) <= row.asked + 1


def points(changes, every):
    """Numbers of changes, from 1: all of them, or some, and some of those before and after renames."""
    numbers = range(1, len(changes) + 1)
    renames = [n for n in numbers if "os.rename" in changes[max(n - 2, 0) : n]]
    return numbers if every else sorted({*spread(numbers), *spread(renames)})


def spread(numbers):
    """A few of the numbers, the last among them."""
    return numbers[:: -max(1, len(numbers) // FEW)]


def read_outputs(out):
    """The next start: a run that was being replaced is put back when it is loaded."""
    with suppress(ds.RunError):
        ds.Result.load(out / "run")
