"""Files and folders are there whole or not at all, errors name what was asked for, and nothing is left."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from hashlib import sha256
from pathlib import Path

import pytest

from dialoscope.core import files
from dialoscope.core.files import (
    check_file_writable,
    check_writable,
    follow_link,
    hash_file,
    lock,
    lock_beside,
    recover,
    stage,
    write_atomically,
)

REFUSES = Path("/sys/kernel")
"""A folder in which not even an administrator can make anything."""


@pytest.fixture(params=["renameat2", "plain renames"])
def renames(request, monkeypatch):
    """With and without the system's own exchange, and its rename that replaces nothing."""
    if request.param == "plain renames":
        monkeypatch.setattr(files, "_find_renameat2", lambda: None)
    elif files._find_renameat2() is None:
        pytest.skip("This system has no renameat2.")


def write_folder(path, text, *, replace):
    with stage(path) as staging:
        staging.new.mkdir()
        (staging.new / "text").write_text(text)
        return staging.place(path, replace=replace)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


# Errors


def test_a_file_that_cannot_be_written_is_the_one_that_was_asked_for(tmp_path):
    place = tmp_path / "no such folder" / "figure.svg"
    with pytest.raises(FileNotFoundError) as refused:
        write_atomically(place, [b"x"])
    assert refused.value.filename == str(place)


def test_a_folder_in_its_place_leaves_nothing_beside(tmp_path):
    (tmp_path / "figure.svg").mkdir()
    with pytest.raises(IsADirectoryError) as refused:
        write_atomically(tmp_path / "figure.svg", [b"x"])
    assert refused.value.filename == str(tmp_path / "figure.svg")
    assert names_in(tmp_path) == ["figure.svg"]


@pytest.mark.skipif(not REFUSES.is_dir(), reason="no folder that refuses everybody")
@pytest.mark.parametrize("write", [lambda path: write_atomically(path, [b"x"]), check_writable])
def test_a_folder_that_refuses_is_told_by_the_name_of_the_output(write):
    with pytest.raises(OSError, match=r"denied|not permitted|Read-only") as refused:
        write(REFUSES / "figure.svg")
    assert refused.value.filename == str(REFUSES / "figure.svg")


def test_a_full_disk_is_told_by_the_name_of_the_output(tmp_path):
    """A file that may not grow, as a full disk: the error of a write has no name of its own."""
    program = (
        "import resource, signal, sys; from pathlib import Path\n"
        "from dialoscope.core.files import write_atomically\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: write_atomically(Path(sys.argv[1]), [bytes(5000)])\n"
        "except OSError as error: print(error.filename, error.filename2)"
    )
    path = tmp_path / "out.jsonl"
    said = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    assert said.stdout == f"{path} None\n"
    assert names_in(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "why"), [("loop", "symbolic links"), ("x" * 300, "too long"), ("file/run", "Not a directory")]
)
def test_what_could_not_be_written_is_known_before(tmp_path, name, why):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=why) as refused:
        check_writable(tmp_path / name)
    assert refused.value.filename == str(tmp_path / name)
    assert names_in(tmp_path) == ["file", "loop"]


def test_what_can_be_written_is_not_written_yet(tmp_path):
    check_writable(tmp_path / "a" / "b" / "run")
    check_writable(tmp_path / "run")
    assert names_in(tmp_path) == []


def test_a_file_needs_a_folder_that_is_there(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "no" / "file")
    for name in ("link", "no/file"):
        with pytest.raises(FileNotFoundError):
            check_file_writable(tmp_path / name)
    (tmp_path / "no").mkdir()
    check_file_writable(tmp_path / "link")
    assert names_in(tmp_path / "no") == []


@pytest.mark.parametrize("exists", [True, False])
def test_a_file_is_written_where_a_link_leads(tmp_path, exists):
    for name in ("links", "files"):
        (tmp_path / name).mkdir()
    file, link = tmp_path / "files" / "a.jsonl", tmp_path / "links" / "b.jsonl"
    link.symlink_to(file)
    if exists:
        file.write_bytes(b"old\n")
    assert write_atomically(link, [b"new\n"]) == link
    assert (link.is_symlink(), file.read_bytes()) == (True, b"new\n")
    assert write_atomically(link, [b"newer\n"], replace=False) == tmp_path / "files" / "a-2.jsonl"
    assert (names_in(tmp_path / "links"), names_in(tmp_path / "files")) == (
        ["b.jsonl"],
        ["a-2.jsonl", "a.jsonl"],
    )


def test_a_link_is_followed_unless_it_leads_to_itself(tmp_path):
    for name, target in [("link", "run"), ("loop", "loop")]:
        (tmp_path / name).symlink_to(tmp_path / target)
    assert follow_link(tmp_path / "link") == tmp_path / "run"
    assert follow_link(tmp_path / "run") == tmp_path / "run"
    with pytest.raises(OSError, match="symbolic links"):
        follow_link(tmp_path / "loop")


# Replacing, or not


@pytest.mark.usefixtures("renames")
def test_a_folder_is_replaced(tmp_path):
    for text in ("first", "second", "third"):
        assert write_folder(tmp_path / "run", text, replace=True) == tmp_path / "run"
        assert (tmp_path / "run" / "text").read_text() == text
        assert names_in(tmp_path) == ["run"]


@pytest.mark.usefixtures("renames")
def test_what_is_there_is_not_replaced_unless_asked(tmp_path):
    folders = [
        write_folder(tmp_path / "v.1", text, replace=False).name for text in ("first", "second", "third")
    ]
    assert folders == ["v.1", "v.1-2", "v.1-3"]
    assert [(tmp_path / name / "text").read_text() for name in folders] == ["first", "second", "third"]
    written = [
        write_atomically(tmp_path / "a.jsonl", [text], replace=False).name for text in (b"1", b"2", b"3")
    ]
    assert written == ["a.jsonl", "a-2.jsonl", "a-3.jsonl"]
    assert [(tmp_path / name).read_bytes() for name in written] == [b"1", b"2", b"3"]
    assert names_in(tmp_path) == sorted(folders + written)


@pytest.mark.usefixtures("renames")
def test_a_file_where_a_folder_should_be_is_not_replaced_unless_asked(tmp_path):
    (tmp_path / "run").write_text("mine")
    assert write_folder(tmp_path / "run", "first", replace=False) == tmp_path / "run-2"
    assert (tmp_path / "run").read_text() == "mine"


# Leftovers

WRITER = """
import sys, time
from pathlib import Path
from dialoscope.core.files import stage
with stage(Path(sys.argv[1])) as staging:
    staging.new.write_text("half")
    print(staging.path.name, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def writer(tmp_path):
    """A process in the middle of writing a file, and the name of its staging folder."""
    command = [sys.executable, "-c", WRITER, str(tmp_path / "other")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process, process.stdout.readline().strip()
        process.kill()


def test_what_a_dead_process_left_is_removed_by_the_next_write_and_what_a_living_one_has_is_not(
    tmp_path, writer
):
    process, staging = writer
    write_atomically(tmp_path / "file", [b"x"])
    assert names_in(tmp_path) == [staging, "file"]
    process.send_signal(signal.SIGKILL)
    process.wait()
    write_atomically(tmp_path / "file", [b"y"])
    assert names_in(tmp_path) == ["file"]


def test_what_is_not_ours_is_not_removed(tmp_path):
    for name in (".dialoscope-12345678", ".dialoscope-abcdefgh", ".dialoscope-mine"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "thesis.tex").touch()
    (tmp_path / ".dialoscope-87654321").symlink_to(tmp_path / ".dialoscope-12345678")
    (tmp_path / ".dialoscope-00000000").touch()
    before = names_in(tmp_path)
    write_atomically(tmp_path / "file", [b"x"])
    assert names_in(tmp_path) == sorted([*before, "file"])
    assert all((tmp_path / name / "thesis.tex").exists() for name in before if (tmp_path / name).is_dir())


def test_a_lock_that_leads_elsewhere_is_not_followed(tmp_path):
    staging, elsewhere = tmp_path / ".dialoscope-12345678", tmp_path / "elsewhere"
    for folder in (staging, elsewhere):
        folder.mkdir()
        (folder / "new").write_text("precious")
    (elsewhere / "lock").touch()
    (staging / "lock").symlink_to(elsewhere / "lock")
    write_atomically(tmp_path / "file", [b"x"])
    assert (elsewhere / "new").exists()
    assert (staging / "new").exists()


def write_many(folder, how, number):
    if how == "plain renames":
        files._find_renameat2 = lambda: None
    for turn in range(60):
        write_atomically(folder / f"{number}", [f"{number} {turn}".encode()])
        write_folder(folder / "run", f"{number} {turn}", replace=True)


def run_side_by_side(function, *arguments):
    """In four processes, which must all come to their end."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=function, args=(*arguments, number)) for number in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(300)
    assert [process.exitcode for process in processes] == [0, 0, 0, 0]


@pytest.mark.parametrize("how", ["renameat2", "plain renames"])
def test_processes_that_write_side_by_side_disturb_each_other_not(tmp_path, how):
    """Each looks for leftovers of the others all the time."""
    run_side_by_side(write_many, tmp_path, how)
    assert names_in(tmp_path) == ["0", "1", "2", "3", "run"]
    assert [(tmp_path / str(number)).read_text() for number in range(4)] == [f"{n} 59" for n in range(4)]
    assert (tmp_path / "run" / "text").read_text().endswith(" 59")


# A kill

REPLACER = """
import os, signal, sys
from pathlib import Path
from dialoscope.core import files
from tests.fuzz.kill_server import Killer
path, point = Path(sys.argv[1]), int(sys.argv[2])
if sys.argv[3] == "plain renames":
    files._find_renameat2 = lambda: None
sys.addaudithook(Killer(path.parent, point))
with files.stage(path) as staging:
    staging.new.mkdir()
    (staging.new / "text").write_text("new")
    (staging.new / "more").write_text("new")
    staging.place(path, replace=True)
"""


@pytest.mark.parametrize("how", ["renameat2", "plain renames"])
def test_a_replacement_killed_at_any_point_leaves_the_old_folder_or_the_new(tmp_path, how, capsys):
    statuses, completed = [], 0
    while 0 not in statuses and statuses.count(1) == 0:
        folder = tmp_path / str(len(statuses))
        folder.mkdir()
        write_folder(folder / "run", "old", replace=True)
        command = [sys.executable, "-c", REPLACER, folder / "run", str(len(statuses) + 1), how]
        statuses.append(subprocess.run(command).returncode)
        was_missing = not (folder / "run").exists()
        recover(folder / "run")
        said = capsys.readouterr().err
        run = f"{folder}/run"
        message = f"Replacing {run} was interrupted and is now completed: the new one is {run}.\n"
        assert said == (message if was_missing else "")
        completed += was_missing
        texts = {path.name: path.read_text() for path in (folder / "run").iterdir()}
        assert texts in ({"text": "old"}, {"text": "new", "more": "new"})
        write_atomically(folder / "file", [b"x"])
        assert names_in(folder) == ["file", "run"]
    assert set(statuses) == {-signal.SIGKILL, 0}
    assert len(statuses) > 8
    assert completed == (how == "plain renames")


def test_what_took_the_place_meanwhile_is_not_replaced_by_what_was_interrupted(tmp_path, capsys):
    staging = files.Staging.create(tmp_path)
    for path in (staging.new, staging.path / "old" / "run", tmp_path / "run"):
        path.mkdir(parents=True)
        (path / "text").write_text(path.name)
    staging._lock_file.close()  # as if its process had died
    write_atomically(tmp_path / "file", [b"x"])
    assert names_in(tmp_path) == ["file", "run", "run-2"]
    assert (tmp_path / "run-2" / "text").read_text() == "new"
    assert capsys.readouterr().err.endswith(f"is now completed: the new one is {tmp_path}/run-2.\n")


# Locks

HOLDER = (
    "import sys, time; from dialoscope.core.files import lock; from pathlib import Path\n"
    "with lock(Path(sys.argv[1]), '', temporary=True): print('held', flush=True); time.sleep(60)"
)


def test_a_temporary_lock_is_waited_for_and_removed_in_the_end(tmp_path, capsys):
    path = lock_beside(tmp_path / "out.jsonl")
    with subprocess.Popen([sys.executable, "-c", HOLDER, path], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        write_atomically(tmp_path / "file", [b"x"])
        assert path.exists()
        threading.Timer(0.3, holder.kill).start()
        with lock(path, "waiting for it", temporary=True):
            assert holder.wait() == -signal.SIGKILL
    assert capsys.readouterr().err == "waiting for it\n"
    assert names_in(tmp_path) == ["file"]


def test_the_lock_of_a_dead_process_is_removed_by_the_next_write(tmp_path):
    path = lock_beside(tmp_path / "out.jsonl")
    with subprocess.Popen([sys.executable, "-c", HOLDER, path], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        holder.kill()
    assert path.exists()
    write_atomically(tmp_path / "file", [b"x"])
    assert names_in(tmp_path) == ["file"]


def count_alone(path, counter, _):
    """Not atomic, so that two at once lose some."""
    for _ in range(50):
        with lock(path, "", temporary=True):
            number = int(counter.read_text())
            time.sleep(0)
            counter.write_text(str(number + 1))


def test_a_temporary_lock_holds_one_process_at_a_time(tmp_path):
    """Though each removes the file that the others wait for."""
    counter = tmp_path / "counter"
    counter.write_text("0")
    run_side_by_side(count_alone, tmp_path / "lock", counter)
    assert counter.read_text() == "200"
    assert names_in(tmp_path) == ["counter"]


# Hashes


def test_a_file_is_hashed_whole(tmp_path):
    content = os.urandom(3 * 2**20 + 1)
    (tmp_path / "file").write_bytes(content)
    assert hash_file(tmp_path / "file") == sha256(content).hexdigest()
