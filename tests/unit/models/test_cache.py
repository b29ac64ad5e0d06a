"""The score cache: what was computed once is not computed again, and what is damaged is not believed."""

import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dialoscope.core.errors import BackendError
from dialoscope.models import cache as memory
from dialoscope.models.cache import cache_status, clear_cache, compute_cached, text_key

NUMBERS = st.sampled_from(["<f4", "<f8", "<f2", "<i8", "<i4", "|u1", "|b1"])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Each test has a cache of its own."""
    monkeypatch.setenv("DIALOSCOPE_CACHE", str(tmp_path))
    monkeypatch.delenv("DIALOSCOPE_SCORES", raising=False)
    monkeypatch.delenv("DIALOSCOPE_SCORES_LIMIT", raising=False)
    memory._notify.cache_clear()
    return tmp_path


class Model:
    """Gives each text an array, and counts how often it was asked."""

    def __init__(self, texts, scale=1.0):
        self.texts, self.scale, self.asked = texts, scale, []

    def value(self, text):
        return self.scale * np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8).astype(np.float32)

    def __call__(self, positions):
        self.asked += [self.texts[position] for position in positions]
        for position in reversed(positions):
            yield position, self.value(self.texts[position])

    def scores(self, who="model"):
        found = compute_cached(who, [text_key(text) for text in self.texts], self)
        for text, value in zip(self.texts, found, strict=True):
            np.testing.assert_array_equal(value, self.value(text))
        return found


def test_what_was_computed_is_not_computed_again():
    first, second = Model(["a", "b", "c", "b", "a"]), Model(["c", "d", "a"])
    first.scores()
    second.scores()
    assert (first.asked, second.asked) == (["a", "b", "c"], ["d"])


def test_afresh_nothing_is_believed_and_all_is_cache_status():
    model = Model(["a", "b"])
    keys = [text_key(text) for text in model.texts]
    compute_cached("me", keys, model)
    with memory.bypass_cache():
        compute_cached("me", keys, model)
    assert model.asked == ["a", "b", "a", "b"]
    compute_cached("me", keys, model)
    assert len(model.asked) == 4


def test_other_backends_have_other_numbers():
    Model(["a"]).scores("one")
    other = Model(["a"], scale=2)
    other.scores("two")
    assert other.asked == ["a"]


def test_nothing_is_asked_of_the_backend_when_all_is_known_or_nothing_wanted(folder):
    never = Model([])
    assert never.scores() == []
    assert never.asked == []


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(arrays.arrays(NUMBERS, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0)), max_size=5))
def test_arrays_come_back_as_they_were(values):
    clear_cache()
    keys = [text_key(str(number)) for number in range(len(values))]
    fresh = compute_cached(
        "any", keys, lambda positions: ((position, values[position]) for position in positions)
    )
    again = compute_cached("any", keys, lambda positions: pytest.fail("it was kept"))
    for value, one, two in zip(values, fresh, again, strict=True):
        assert value.dtype == one.dtype == two.dtype
        assert value.shape == one.shape == two.shape
        assert value.tobytes() == one.tobytes() == two.tobytes()  # NaN among them
        assert two.flags.aligned


def test_arrays_in_pieces_and_of_foreign_byte_order_are_cache_status():
    value = np.arange(12, dtype=">f4").reshape(3, 4)[:, ::2].T
    fresh = compute_cached("any", [b"k"], lambda positions: [(0, value)])
    again = compute_cached("any", [b"k"], lambda positions: pytest.fail("it was kept"))
    np.testing.assert_array_equal(fresh[0], value)
    np.testing.assert_array_equal(again[0], value)
    assert fresh[0].dtype == again[0].dtype == np.float32


def test_arrays_cannot_be_changed_since_equal_texts_share_them():
    own = np.ones(3)
    fresh = compute_cached("any", [b"k", b"k"], lambda positions: [(0, own)])
    again = compute_cached("any", [b"k", b"k"], lambda positions: pytest.fail("it was kept"))
    for found in (*fresh, *again):
        with pytest.raises(ValueError, match="read-only"):
            found[0] = 2
    own[0] = 2  # the backend's own array stays its own


@given(st.lists(st.text(st.characters(), max_size=4), max_size=4), st.lists(st.text(max_size=4), max_size=4))
def test_keys_tell_texts_apart(one, other):
    assert (text_key(*one) == text_key(*other)) == (one == other)


def test_a_key_has_sixteen_bytes_and_takes_any_text():
    assert text_key("a", "bc") != text_key("ab", "c") != text_key("abc")
    assert len(text_key("\ud800", "\0")) == 16
    assert text_key("tea").hex() == "2ed531d63ff8cc94007004ce06cf3519"


def test_a_name_with_lone_surrogates_is_no_problem():
    Model(["a"]).scores("folder \udc80")
    again = Model(["a"])
    again.scores("folder \udc80")
    assert again.asked == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([0], r"no value for 2 of 3 texts, the first of them number 1\."),
        ([0, 1, 2, 3], r"an unexpected value for text 3\."),
        ([0, 1, 1, 2], r"an unexpected value for text 1\."),
    ],
)
def test_a_backend_that_breaks_its_word_is_found_out(given, message):
    with pytest.raises(RuntimeError, match=message):
        compute_cached(
            "any", [b"a", b"b", b"c"], lambda positions: ((number, np.ones(1)) for number in given)
        )


def test_only_numbers_are_cache_status():
    with pytest.raises(TypeError, match=r"Only arrays of numbers can be cached, not arrays of object\."):
        compute_cached("any", [b"a"], lambda positions: [(0, np.array([None]))])


def test_what_was_finished_before_a_failure_is_cache_status():
    def failing(positions):
        yield 1, np.ones(1)
        raise BackendError("out of tea")

    with pytest.raises(BackendError, match="out of tea"):
        compute_cached("any", [b"a", b"b"], failing)
    asked = []
    compute_cached(
        "any", [b"a", b"b"], lambda positions: (asked.append(p) or (p, np.ones(1)) for p in positions)
    )
    assert asked == [0]


PROGRAM = """
import sys, time, numpy as np
from dialoscope.models import cache as memory
memory._BUFFER_SECONDS = 0.02
start, end, pause = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
def compute(positions):
    for position in positions:
        time.sleep(pause)
        yield position, np.full(4, start + position)
        print(position, flush=True)
keys = [memory.text_key(str(number)) for number in range(start, end)]
found = memory.compute_cached("shared", keys, compute)
assert [value[0] for value in found] == list(range(start, end))
"""


def started(start, end, pause=0.0, **more):
    program = [sys.executable, "-c", PROGRAM, str(start), str(end), str(pause)]
    return subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def known(numbers):
    """How many of these are in the cache, computed right or not at all."""
    lacking = []

    def compute(positions):
        lacking.extend(positions)
        return ((position, np.full(4, numbers[position])) for position in positions)

    found = compute_cached("shared", [text_key(str(number)) for number in numbers], compute)
    assert [value[0] for value in found] == list(numbers)
    return len(numbers) - len(lacking)


def test_several_processes_write_at_once():
    processes = [started(start, start + 400, 0.0005) for start in (0, 200, 400, 0)]
    for process in processes:
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, "")
    assert known(range(800)) == 800


def test_a_killed_run_keeps_what_was_finished():
    process = started(0, 100_000, 0.005)
    for _ in range(60):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert known(range(50)) >= 40


def written_on(path, statement, *values):
    base = sqlite3.connect(path)
    base.execute(statement, values)
    base.commit()
    base.close()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE score SET value = substr(value, 1, length(value) - 1) || x'00'",
        "UPDATE score SET value = substr(value, 1, 12)",
        "UPDATE score SET value = x''",
        "UPDATE score SET value = 7",
        "UPDATE score SET value = 'text'",
        "UPDATE score SET value = CAST(x'ff' AS TEXT)",
    ],
)
def test_a_row_that_was_tampered_with_is_computed_anew_and_replaced(folder, damage, capsys):
    Model(["tea", "milk"]).scores()
    written_on(folder / "scores-1.sqlite", damage)
    again, after = Model(["tea", "milk"]), Model(["tea", "milk"])
    again.scores()
    after.scores()
    assert (sorted(again.asked), after.asked) == (["milk", "tea"], [])
    assert capsys.readouterr().err == ""


def test_rows_of_another_backend_are_not_taken_for_this_ones(folder):
    Model(["tea"], 3).scores("foreign")
    written_on(folder / "scores-1.sqlite", "UPDATE who SET who = CAST('model' AS BLOB)")
    again = Model(["tea"])
    again.scores()
    assert again.asked == ["tea"]


def test_values_swapped_between_texts_are_noticed(folder):
    Model(["tea", "milk"]).scores()
    base = sqlite3.connect(folder / "scores-1.sqlite")
    (one, first), (two, second) = base.execute("SELECT key, value FROM score").fetchall()
    base.close()
    written_on(folder / "scores-1.sqlite", "UPDATE score SET value = ? WHERE key = ?", second, one)
    written_on(folder / "scores-1.sqlite", "UPDATE score SET value = ? WHERE key = ?", first, two)
    again = Model(["tea", "milk"])
    again.scores()
    assert sorted(again.asked) == ["milk", "tea"]


def emptied(path):
    path.write_bytes(b"")


def shortened(path):
    path.write_bytes(path.read_bytes()[:5000])


def overwritten(path):
    path.write_bytes(b"not a database at all" * 1000)


def of_another_version(path):
    written_on(path, "PRAGMA user_version = 99")


def of_somebody_else(path):
    written_on(path, "PRAGMA application_id = 1")


def of_somebody_elses_format(path):
    of_somebody_else(path)
    of_another_version(path)


def without_a_table(path):
    written_on(path, "DROP TABLE score")


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (shortened, "malformed"),
        (overwritten, "file is not a database"),
        (of_another_version, "its format is unknown"),
        (without_a_table, "no such table: score"),
    ],
)
def test_a_damaged_file_is_made_anew(folder, damage, reason, capsys):
    path = folder / "scores-1.sqlite"
    Model([str(number) for number in range(500)]).scores()
    damage(path)
    again, after = Model(["1", "2"]), Model(["1", "2"])
    again.scores()
    shown = capsys.readouterr().err
    assert shown.startswith(f"The score cache {path} is damaged (")
    assert reason in shown
    assert shown.endswith(") and is replaced by a new one.\n")
    assert shown.count("\n") == 1
    after.scores()
    assert (again.asked, after.asked) == (["1", "2"], [])
    assert not list(folder.glob("scores.damaged*"))


@pytest.mark.parametrize("change", [of_somebody_else, of_somebody_elses_format])
def test_a_database_of_somebody_else_is_left_alone(folder, change, capsys):
    path = folder / "scores-1.sqlite"
    Model(["a"]).scores()
    change(path)
    before = path.read_bytes()
    for _ in range(2):
        again = Model(["a"])
        again.scores()
        assert again.asked == ["a"]
    clear_cache()
    shown = f"The score cache {path} cannot be used (it belongs to another program); scores are not stored.\n"
    assert capsys.readouterr().err == shown
    assert cache_status().problem == "it belongs to another program"
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("damage", "problem"),
    [(overwritten, "file is not a database"), (without_a_table, "no such table: score"), (shortened, "")],
)
def test_to_look_at_it_changes_nothing(folder, damage, problem, capsys):
    path = folder / "scores-1.sqlite"
    Model([str(number) for number in range(500)]).scores()
    damage(path)
    before = {file: file.read_bytes() for file in folder.iterdir()}
    assert problem in cache_status().problem
    assert cache_status().problem
    assert {file: file.read_bytes() for file in folder.iterdir()} == before
    assert capsys.readouterr().err == ""


def test_to_look_at_it_while_it_is_written_shows_what_is_there(folder):
    path = folder / "scores-1.sqlite"
    Model(["a"]).scores()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("INSERT INTO score SELECT who, x'00', used, value FROM score")  # now in the journal
    assert cache_status().entries == 2
    other.close()


def test_a_file_of_another_format_is_left_to_those_who_know_it(folder):
    other = folder / "scores-0.sqlite"
    other.write_bytes(b"as it was")
    Model(["a"]).scores()
    assert other.read_bytes() == b"as it was"


def test_an_empty_file_is_filled(folder, capsys):
    emptied(folder / "scores-1.sqlite")
    assert (cache_status().entries, cache_status().problem) == (0, "")
    Model(["a"]).scores()
    assert cache_status().entries == 1
    assert capsys.readouterr().err == ""


def test_damage_that_shows_while_writing_costs_nothing(folder):
    texts = [str(number) for number in range(10)]

    def compute(positions):
        overwritten(folder / "scores-1.sqlite")
        return ((position, Model.value(Model([]), texts[position])) for position in positions)

    compute_cached("model", [text_key(text) for text in texts], compute)
    again = Model(texts)
    again.scores()
    assert again.asked == []


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32), st.integers(1, 300))
def test_whatever_is_damaged_no_wrong_number_comes_out(folder, seed, flips):
    clear_cache()
    texts = [f"text {number} " * 5 for number in range(100)]
    Model(texts).scores()
    path = folder / "scores-1.sqlite"
    content, chance = bytearray(path.read_bytes()), random.Random(seed)  # noqa: S311
    for _ in range(flips):
        place = chance.randrange(len(content))
        if place not in range(60, 72):  # whose it is
            content[place] = chance.randrange(256)
    path.write_bytes(content)
    Model(texts).scores()  # compares each array with the right one
    Model(texts).scores()
    clear_cache()
    last = Model(texts)
    last.scores()
    again = Model(texts)
    again.scores()
    assert again.asked == []


def test_a_folder_in_its_place_turns_it_off_with_one_notice(folder, capsys):
    path = folder / "scores-1.sqlite"
    path.mkdir()
    Model(["a"]).scores()
    Model(["a"]).scores()
    assert capsys.readouterr().err == (
        f"The score cache {path} cannot be used (unable to open database file); scores are not stored.\n"
    )
    assert cache_status().problem


def test_a_cache_folder_that_cannot_be_made_turns_it_off(folder, monkeypatch, capsys):
    (folder / "file").write_text("")
    monkeypatch.setenv("DIALOSCOPE_CACHE", str(folder / "file" / "below"))
    Model(["a"]).scores()
    assert "Not a directory" in capsys.readouterr().err


def test_a_damaged_file_that_cannot_be_moved_turns_it_off(folder, monkeypatch, capsys):
    overwritten(folder / "scores-1.sqlite")

    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(memory, "_discard", refuse)
    Model(["a"]).scores()
    assert "cannot be used ([Errno 13] Permission denied); scores are not stored." in capsys.readouterr().err


def test_a_full_disk_does_not_stop_the_work(folder):
    limit = (300_000, 300_000)  # bytes that a file of this process may have, which is how a full disk looks
    process = started(0, 8000, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit))
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert errors.count("\n") == 1
    assert errors.endswith("; scores are not stored.\n")
    assert cache_status().entries < 8000


def test_a_lock_that_is_held_for_too_long_does_not_stop_the_work(folder, monkeypatch, capsys):
    Model(["a"]).scores()
    monkeypatch.setattr(memory, "_TIMEOUT", 0.05)
    other = sqlite3.connect(folder / "scores-1.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    model = Model(["a", "b"])
    model.scores()
    other.execute("ROLLBACK")
    other.close()
    assert model.asked == ["b"]
    assert "cannot be used (database is locked); scores are not stored." in capsys.readouterr().err


def test_what_is_known_is_used_where_the_day_cannot_be_noted(folder, monkeypatch, capsys):
    Model(["a"]).scores()
    monkeypatch.setattr(memory, "_TIMEOUT", 0.05)
    monkeypatch.setattr(memory, "_today", lambda: 10**6)
    other = sqlite3.connect(folder / "scores-1.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    again = Model(["a"])
    again.scores()
    other.execute("ROLLBACK")
    other.close()
    assert again.asked == []
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("word", ["on", "1", " "])
def test_it_is_on_unless_it_is_turned_off(monkeypatch, word):
    monkeypatch.setenv("DIALOSCOPE_SCORES", word)
    assert cache_status().on


def test_what_is_turned_off_can_be_forgotten(monkeypatch):
    Model(["a"]).scores()
    monkeypatch.setenv("DIALOSCOPE_SCORES", "off")
    clear_cache()
    monkeypatch.delenv("DIALOSCOPE_SCORES")
    assert cache_status().entries == 0


@pytest.mark.parametrize("word", ["off", "OFF", "0", "no", "false"])
def test_it_can_be_turned_off(folder, monkeypatch, word):
    monkeypatch.setenv("DIALOSCOPE_SCORES", word)
    Model(["a"]).scores()
    again = Model(["a"])
    again.scores()
    assert again.asked == ["a"]
    assert not list(folder.iterdir())
    assert cache_status() == (folder / "scores-1.sqlite", 0, 0, memory.LIMIT, False, "")


def test_what_it_holds_can_be_told_and_forgotten(folder):
    assert cache_status() == (folder / "scores-1.sqlite", 0, 0, 2 * 2**30, True, "")
    clear_cache()
    assert not list(folder.iterdir())
    Model([f"text {number} " * 20 for number in range(1000)]).scores()
    full = cache_status()
    assert full.entries == 1000
    assert full.size > 1000 * 4 * 160
    clear_cache()
    assert cache_status().entries == 0
    assert cache_status().size < 50_000
    assert (folder / "scores-1.sqlite").stat().st_size == cache_status().size


def test_a_limit_that_is_no_number_is_an_error(monkeypatch):
    monkeypatch.setenv("DIALOSCOPE_SCORES_LIMIT", "2 GB\x1b")
    message = r"DIALOSCOPE_SCORES_LIMIT must be a number of bytes, such as 2147483648, not '2 GB\\x1b'\."
    with pytest.raises(BackendError, match=message):
        Model(["a"]).scores()


def test_it_stays_below_its_limit_and_lets_go_what_was_longest_not_used(folder, monkeypatch):
    monkeypatch.setenv("DIALOSCOPE_SCORES_LIMIT", "400000")
    monkeypatch.setattr(memory, "_today", lambda: 100)
    old = [f"old {number} " * 20 for number in range(300)]
    Model(old).scores()
    monkeypatch.setattr(memory, "_today", lambda: 101)
    Model(old[:50]).scores()  # used again
    monkeypatch.setattr(memory, "_today", lambda: 102)
    new = [f"new {number} " * 20 for number in range(300)]
    Model(new).scores()
    assert cache_status().size < 500_000
    of_new, of_used, of_old = Model(new), Model(old[:50]), Model(old[50:])
    monkeypatch.setenv("DIALOSCOPE_SCORES_LIMIT", "4000000")
    for model in (of_new, of_used, of_old):
        model.scores()
    assert of_new.asked == of_used.asked == []
    assert 100 < len(of_old.asked) < 250  # no more than had to go


def test_a_limit_of_nothing_keeps_next_to_nothing(monkeypatch):
    monkeypatch.setenv("DIALOSCOPE_SCORES_LIMIT", "0")
    for _ in range(3):
        Model([f"text {number}" for number in range(1000)]).scores()
    assert cache_status().entries < 10


@given(st.lists(st.integers(1, 2**40), max_size=8), st.floats(0, 1))
def test_the_oldest_share_is_found(sizes, share):
    day, part = memory._split_days(list(enumerate(sizes)), share)
    gone = sum(sizes[:day]) + part * sizes[day] if sizes else 0
    assert 0 <= part <= 1
    assert gone == pytest.approx(share * sum(sizes), rel=1e-6, abs=1e-6)


def test_a_bar_says_what_is_computed_and_only_what_is_lacking(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    compute_cached(
        "any", [b"a", b"b"], lambda positions: ((p, np.ones(1)) for p in positions), label="Scoring"
    )
    shown = capsys.readouterr().err
    assert "Scoring" in shown
    assert "2/2" in shown
    compute_cached("any", [b"a", b"b"], lambda positions: pytest.fail("it was kept"), label="Scoring")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("setting", "value"), [("_BUFFER_SECONDS", 0.0), ("_BUFFER_BYTES", 1)])
def test_long_work_is_written_as_it_goes(monkeypatch, setting, value):
    monkeypatch.setattr(memory, setting, value)
    entries = []

    def compute(positions):
        for position in positions:
            yield position, np.ones(1)
            entries.append(cache_status().entries)

    compute_cached("any", [b"a", b"b", b"c"], compute)
    assert entries == [1, 2, 3]


def test_a_file_that_another_process_has_just_made_is_taken_as_it_is(folder, monkeypatch):
    Model(["a"]).scores()
    numbers = iter([0])  # as it was seen a moment ago
    number = memory._File._number

    def seen(file, pragma):
        return next(numbers, memory._FORMAT) if pragma == "user_version" else number(file, pragma)

    monkeypatch.setattr(memory._File, "_number", seen)
    again = Model(["a"])
    again.scores()
    assert again.asked == []


def test_a_hundred_thousand_short_texts_take_seconds_not_minutes():
    keys = [text_key("context", str(number)) for number in range(100_000)]
    value = np.ones(12)
    begin = time.perf_counter()
    compute_cached("any", keys, lambda positions: ((position, value) for position in positions))
    compute_cached("any", keys, lambda positions: pytest.fail("it was kept"))
    assert time.perf_counter() - begin < 20  # about 1.6 on an idle machine of two cores
    assert cache_status().size < 100_000 * 200


def test_what_is_not_to_be_kept_is_computed_each_time_and_equal_keys_once(folder):
    asked = []

    def compute(positions):
        asked.extend(positions)
        return ((position, np.ones(1)) for position in positions)

    for _ in range(2):
        assert len(compute_cached("any", [b"a", b"b", b"a"], compute, use_cache=False)) == 3
    assert asked == [0, 1, 0, 1]
    assert not list(folder.iterdir())


def test_it_works_for_a_process_that_forks_while_computing():
    def forking(positions):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        return ((position, np.ones(1)) for position in positions)

    compute_cached("any", [b"a"], forking)
    compute_cached("any", [b"a"], lambda positions: pytest.fail("it was kept"))
