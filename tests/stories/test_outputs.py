"""Outputs: refused before any work if they cannot be written, and never replaced without being asked to."""

import os
import subprocess
import sys
import time
from contextlib import suppress

import pytest

import dialoscope as ds
from tests.unit.core.test_files import REFUSES

MISSING = "no/such/input.jsonl"
"""If this is read first, that is what is complained of."""
VERBS = {
    "score": f"score {MISSING} -m words -o OUT",
    "score --overwrite": f"score {MISSING} -m words --overwrite -o OUT",
    "audit": f"audit {MISSING} -m words -o OUT",
    "augment": f"augment {MISSING} -o OUT",
    "respond": "respond CONTEXTS -s nowhere.py:reply -o OUT",
    "compare": f"compare {MISSING} a b --plot OUT.svg",
    "agree": f"agree {MISSING} --plot OUT.svg",
    "train lm": f"train lm {MISSING} -o OUT",
    "train nli": f"train nli {MISSING} -o OUT",
    "train ruber": f"train ruber {MISSING} -o OUT",
    "train ruber, cross": f"train ruber {MISSING} --representation cross -o OUT",
    "train adem": f"train adem {MISSING} -o OUT",
    "train composite": f"train composite {MISSING} -o OUT",
}


@pytest.fixture
def call(cli, tmp_path):
    """A verb with its output."""
    contexts = tmp_path / "contexts.jsonl"
    contexts.write_text('{"id": "1", "context": ["hi"]}\n')
    (tmp_path / "bot.py").write_text("def reply(context): raise SystemExit('It was asked.')\n")

    def call(verb, out):
        words = VERBS[verb].replace("nowhere.py", f"{tmp_path}/bot.py").replace("CONTEXTS", str(contexts))
        return cli(*[word.replace("OUT", str(out)) for word in words.split()])

    return call


@pytest.mark.skipif(not REFUSES.is_dir(), reason="no folder that refuses everybody")
@pytest.mark.parametrize("verb", VERBS)
def test_a_folder_that_refuses_is_told_before_anything_is_read(call, verb):
    code, out, err = call(verb, REFUSES / "mine")
    assert (code, out) == (2, "")
    name = f"{REFUSES}/mine.svg" if "--plot" in VERBS[verb] else f"{REFUSES}/mine"
    assert err.splitlines()[-1].startswith(f"Error: {name} cannot be written: ")
    assert ".dialoscope" not in err


@pytest.mark.parametrize("verb", VERBS)
def test_a_link_that_leads_to_itself_is_refused_in_a_sentence(call, verb, tmp_path):
    for name in ("loop", "loop.svg"):
        (tmp_path / name).symlink_to(tmp_path / name)
    code, _, err = call(verb, tmp_path / "loop")
    assert code == 2
    assert err.splitlines()[-1].endswith("cannot be written: Too many levels of symbolic links.")
    assert f"Error: {tmp_path}/loop" in err


def test_a_name_too_long_for_the_record_beside_it_is_told_before_anything_is_asked(call, tmp_path):
    code, _, err = call("respond", tmp_path / ("x" * 249))
    assert code == 2
    assert err.endswith(f"{'x' * 249}.run.json cannot be written: File name too long.\n")


def test_replies_are_written_where_a_link_leads(cli, tmp_path):
    (tmp_path / "contexts.jsonl").write_text('{"id": "1", "context": ["hi"]}\n')
    (tmp_path / "bot.py").write_text("def reply(context): return 'Hello.'\n")
    (tmp_path / "disk").mkdir()
    link = tmp_path / "out.jsonl"
    link.symlink_to(tmp_path / "disk" / "out.jsonl")
    respond = ("respond", tmp_path / "contexts.jsonl", "-s", f"{tmp_path}/bot.py:reply", "-o", link)
    for _ in range(2):
        code, _, err = cli(*respond)
        assert code == 0, err
        assert link.is_symlink()
        assert "Hello." in (tmp_path / "disk" / "out.jsonl").read_text()
    assert "1 of 1 replies were there already" in err


@pytest.mark.parametrize("verb", ["show", "verify"])
def test_a_run_that_is_a_link_to_itself_cannot_be_read(cli, verb, tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    code, _, err = cli(verb, tmp_path / "loop")
    assert (code, err) == (2, f"Error: {tmp_path}/loop cannot be read: Too many levels of symbolic links.\n")


def test_replies_are_not_written_in_place_of_a_device(call):
    code, _, err = call("respond", "/dev/null")
    assert (code, err) == (2, "Error: /dev/null is a device or a pipe; name a file, such as replies.jsonl.\n")


def start_all(tmp_path, command):
    """Errors and statuses of processes that have all looked at their output before they got their input."""
    processes = {}
    for number in range(4):
        pipe = tmp_path / f"{number}.jsonl"
        os.mkfifo(pipe)
        words = command.replace("INPUT", str(pipe)).replace("SEED", str(number)).split()
        processes[pipe] = start(*words, stdout=subprocess.DEVNULL)
    readers = [wait_until_read(pipe, process) for pipe, process in processes.items()]
    for descriptor in readers:
        os.write(descriptor, b'{"id": "1", "system": "s", "context": ["hi"], "response": "so good"}\n')
        os.close(descriptor)
    for pipe in processes:
        pipe.unlink()
    return [(process.communicate(timeout=300)[1], process.returncode) for process in processes.values()]


def start(*words, **settings):
    program = [sys.executable, "-m", "dialoscope", *map(str, words)]
    return subprocess.Popen(program, stderr=subprocess.PIPE, text=True, **settings)


def wait_until_read(pipe, process):
    """A descriptor to write to what a process reads."""
    while process.poll() is None:
        with suppress(OSError):
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        time.sleep(0.02)
    pytest.fail(process.stderr.read())


def test_of_runs_with_one_name_the_first_has_it_and_the_others_are_told_where_theirs_are(tmp_path):
    out = tmp_path / "run"
    ended = start_all(tmp_path, f"score INPUT -m words --seed SEED -o {out}")
    assert sorted(code for _, code in ended) == [0, 2, 2, 2]
    names = []
    for err, code in ended:
        if code == 0:
            assert err == f"Saved to {out}\n"
            names.append("run")
        else:
            assert err.startswith(
                f"Error: {out} was written by another process in the meantime, and is not replaced without "
                f"--overwrite (overwrite=True). This run was saved as {out}-"
            )
            names.append("run-" + err.removesuffix(".\n").rsplit("-", 1)[1])
    assert sorted(names) == ["run", "run-2", "run-3", "run-4"]
    assert [ds.Result.load(tmp_path / name).provenance.seed for name in names] == [0, 1, 2, 3]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


def test_with_overwrite_the_last_has_the_name(tmp_path):
    out = tmp_path / "run"
    ended = start_all(tmp_path, f"score INPUT -m words --seed SEED --overwrite -o {out}")
    assert ended == [(f"Saved to {out}\n", 0)] * 4
    assert ds.Result.load(out).provenance.seed in range(4)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_replies_are_asked_for_once_though_two_processes_have_caches_of_their_own(tmp_path):
    asked, out = tmp_path / "asked", tmp_path / "replies.jsonl"
    (tmp_path / "bot.py").write_text(
        "import time\n"
        "def reply(context):\n"
        f"    open({str(asked)!r}, 'a').write('x')\n"
        "    time.sleep(0.5)\n"
        "    return 'so'\n"
    )
    contexts = tmp_path / "contexts.jsonl"
    contexts.write_text("".join(f'{{"id": "{n}", "context": ["{n}"]}}\n' for n in range(4)))
    command = ["respond", contexts, "-s", f"{tmp_path}/bot.py:reply", "-o", out]
    first = start(*command, env={**os.environ, "DIALOSCOPE_CACHE": str(tmp_path / "first")})
    while not asked.exists() and first.poll() is None:
        time.sleep(0.02)
    second = start(*command, env={**os.environ, "DIALOSCOPE_CACHE": str(tmp_path / "second")})
    said = [process.communicate(timeout=300)[1] for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0)
    assert said[1].startswith(f"Another process writes {out}; waiting for it to end.\n")
    assert asked.read_text() == "xxxx"
    assert len(out.read_text().splitlines()) == 4
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []
