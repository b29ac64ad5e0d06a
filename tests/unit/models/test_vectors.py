"""Word vectors from files of every format, sound and unsound."""

import base64
import gzip
import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dialoscope.core.errors import BackendError
from dialoscope.core.files import lock
from dialoscope.core.signature import signature
from dialoscope.models import content, vector_files, vectors
from dialoscope.models.vectors import StaticVectors

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "word_vectors.json").read_text(encoding="utf-8"))
WORDS = ["tea", "milk", "Tea", "naïve", "two words"]
NUMBERS = np.arange(15, dtype=np.float32).reshape(5, 3) / 7 - 1


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Each test has a cache of its own."""
    monkeypatch.setenv("DIALOSCOPE_CACHE", str(tmp_path / "cache"))
    content._find_hash.cache_clear()
    vectors._load_table.cache_clear()
    return tmp_path


def binary(words=WORDS, numbers=NUMBERS, end=b"\n"):
    rows = [
        word.replace(" ", "_").encode() + b" " + row.astype("<f4").tobytes() + end
        for word, row in zip(words, numbers, strict=True)
    ]
    return f"{len(words)} {numbers.shape[1]}\n".encode() + b"".join(rows)


def glove(words=WORDS, numbers=NUMBERS, end="\n"):
    rows = [
        " ".join([word, *map(repr, row.tolist())]) + end for word, row in zip(words, numbers, strict=True)
    ]
    return "".join(rows).encode()


def text(words=WORDS, numbers=NUMBERS, end="\n"):
    return f"{len(words)} {numbers.shape[1]}{end}".encode() + glove(words, numbers, end)


def written(path, what):
    path.write_bytes(what)
    return StaticVectors(str(path))


def npy(folder, numbers=NUMBERS, name="m.npy"):
    folder.mkdir(exist_ok=True)
    np.save(folder / name, numbers)
    return folder


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["format"])
def test_what_gensim_writes_is_read_as_gensim_reads_it(folder, case):
    found = written(folder / "any.name", base64.b64decode(case["file"]))
    assert found.dims == 7
    expected = np.array(list(case["vectors"].values()), np.float32)
    np.testing.assert_array_equal(found.vectors(list(case["vectors"])), expected)


@pytest.mark.parametrize(
    "what",
    [
        binary(),
        binary(end=b""),
        binary(end=b"\r\n"),
        text(),
        text(end="\r\n"),
        text(end=" \n"),
        glove(),
        glove(end=" \r\n"),
        glove() + b"\n\n",
        glove()[:-1],
        gzip.compress(binary()),
        gzip.compress(text()),
        gzip.compress(glove()),
    ],
)
def test_every_format_is_recognised_by_its_content(folder, what):
    found = written(folder / "vectors.dat", what)
    words = ["tea", "milk", "Tea", "naïve", "two words" if b"two words" in what else "two_words"]
    if what[:2] == b"\x1f\x8b":
        words[4] = "two words" if b"two words" in gzip.decompress(what) else "two_words"
    np.testing.assert_array_equal(found.vectors(words), NUMBERS)
    assert found.vectors(words).dtype == np.float32


@pytest.mark.parametrize("dtype", ["<f4", "<f8", "<f2", ">f4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_matrix_stays_where_it_is(folder, dtype, order):
    numbers = np.array(NUMBERS, dtype, order=order)
    place = npy(folder / "glove", numbers)
    (place / "words.txt").write_bytes("\n".join(WORDS).encode())
    for model in (place, place / "m.npy"):
        found = StaticVectors(str(model)).vectors(["milk", "naïve"])
        np.testing.assert_array_equal(found, numbers.astype(np.float32)[[1, 3]])
    assert not list((folder / "cache").rglob("*.f32"))


def as_lines(path):
    path.with_suffix(".txt").write_bytes("\r\n".join([*WORDS, ""]).encode())


def as_list(path):
    path.with_suffix(".json").write_text(json.dumps(WORDS))


def as_object(path):
    path.with_suffix(".json").write_text(
        json.dumps({word: row for row, word in reversed(list(enumerate(WORDS)))})
    )


def as_table(path):
    table = pa.table({"rank": list(range(5)), "index": pa.array(WORDS)})
    pq.write_table(table, path.with_suffix(".parquet"))


@pytest.mark.parametrize("vocabulary", [as_lines, as_list, as_object, as_table])
def test_vocabularies_come_in_many_forms(folder, vocabulary):
    place = npy(folder / "glove")
    vocabulary(place / "m.npy")
    np.testing.assert_array_equal(StaticVectors(str(place)).vectors(WORDS), NUMBERS)


def test_the_vocabulary_of_a_matrix_s_name_is_its_own(folder):
    place = npy(folder / "glove")
    (place / "m.txt").write_text("\n".join(WORDS))
    (place / "readme.txt").write_text("about")
    np.testing.assert_array_equal(StaticVectors(str(place)).vectors(WORDS), NUMBERS)


def test_a_folder_with_one_file_of_vectors_is_enough(folder):
    (folder / "word2vec").mkdir()
    (folder / "word2vec" / "news.bin").write_bytes(binary())
    (folder / "word2vec" / "licence.md").write_text("free")
    np.testing.assert_array_equal(StaticVectors(str(folder / "word2vec")).vectors(["tea"]), NUMBERS[:1])


def test_unknown_words_are_nan_and_the_others_not(folder):
    found = written(folder / "v", glove()).vectors(["tea", "coffee", "", "\ud800", "te", "teas", "tea"])
    assert np.isnan(found).all(axis=1).tolist() == [False, True, True, True, True, True, False]
    np.testing.assert_array_equal(found[[0, 6]], NUMBERS[[0, 0]])


def test_no_words_no_rows(folder):
    assert written(folder / "v", glove()).vectors([]).shape == (0, 3)


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("as-is", [0, 2, None, None, 1, None]),
        ("lower", [0, 0, 0, None, 1, 1]),
        ("either", [0, 2, 0, None, 1, 1]),
    ],
)
def test_case_is_as_asked_for(folder, case, expected):
    (folder / "v").write_bytes(glove())
    found = StaticVectors(str(folder / "v"), case=case).vectors(["tea", "Tea", "TEA", "Nope", "milk", "MILK"])
    for row, place in zip(found, expected, strict=True):
        np.testing.assert_array_equal(row, np.full(3, np.nan) if place is None else NUMBERS[place])


def test_of_a_word_that_is_there_twice_the_first_counts(folder):
    found = written(folder / "v", glove(["a", "b", "a"], NUMBERS[:3])).vectors(["a"])
    np.testing.assert_array_equal(found, NUMBERS[:1])


def test_words_of_the_same_hash_are_told_apart(folder, monkeypatch):
    monkeypatch.setattr(vectors, "_hashes", lambda words: np.array([7] * len(words), np.uint64))
    found = written(folder / "v", glove()).vectors([*WORDS, "other"])
    np.testing.assert_array_equal(found[:5], NUMBERS)
    assert np.isnan(found[5]).all()


def test_more_words_than_one_block(folder, monkeypatch):
    monkeypatch.setattr(vector_files, "_ROWS", 4)
    numbers = np.random.default_rng(1).standard_normal((11, 6)).astype(np.float32)
    words = [f"w{number}" for number in range(11)]
    for name, what in {"b": binary(words, numbers), "t": text(words, numbers)}.items():
        np.testing.assert_array_equal(written(folder / name, what).vectors(words), numbers)


def test_a_binary_file_larger_than_what_is_read_at_once(folder):
    numbers = np.random.default_rng(1).standard_normal((1500, 300)).astype(np.float32)
    words = [f"w{number}" for number in range(1500)]
    np.testing.assert_array_equal(written(folder / "b", binary(words, numbers)).vectors(words), numbers)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5), min_size=1, unique=True
    ),
    st.integers(1, 4),
)
def test_any_words_come_back_from_the_binary_format(folder, words, dims):
    kept = [word for word in words if " " not in word and not word.startswith(("\n", "\r"))]
    numbers = np.arange(len(kept) * dims, dtype=np.float32).reshape(len(kept), dims)
    if kept:
        (folder / "b").write_bytes(binary(kept, numbers, end=b""))
        found = StaticVectors(str(folder / "b"), case="as-is")
        os.utime(folder / "b", ns=(0, hash(tuple(kept)) % 10**15))
        np.testing.assert_array_equal(found.vectors(kept), numbers)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=80),
    st.sampled_from([b"", b"3 2\n", b"2 1\n", b"9 9\n", b"a 1 2\n", b"\x1f\x8b", b"\x93NUMPY"]),
)
def test_any_bytes_are_vectors_or_a_clear_error(folder, what, start):
    path = folder / "anything"
    path.write_bytes(start + what)
    with suppress(BackendError):
        if start == b"\x93NUMPY":
            vector_files.read_matrix(vector_files.Files(path, path))
        else:
            assert all(np.isfinite(block.vectors).all() for block in vector_files.read_blocks(path))


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (
            b"",
            "neither word2vec nor GloVe; these begin with two whole numbers, or with a word and its numbers",
        ),
        (b"tea\n", "but this with: tea"),
        (b"<html> \x1b[2J</html>\n", r"but this with: <html> \\x1b\[2J</html>\\n"),
        (b"3 0\n", r"announces vectors of 0 numbers; 1 to 100,000 are supported\."),
        (b"3 999999999999\n", r"announces vectors of 999,999,999,999 numbers; 1 to 100,000 are supported\."),
        (
            b"999999999999 2\n" + binary()[4:],
            r"ends at byte \d+, before the end of word [67] of the 999,999,999,999",
        ),
        (
            binary()[:-8],
            r"ends at byte 91, before the end of word 5 of the 5 that the first line announces\.",
        ),
        (
            binary(end=b"") + b"x",
            r", byte 94: there are more than the 5 words that the first line announces\.",
        ),
        (
            b"2 2\n" + b"\x01" * 100_000,
            r", byte 4: word 1 of the 2 that the first line announces should begin here\.",
        ),
        (text() + b"more 1 2 3\n", r"the first line announces 5 words, but 6 follow\."),
        (text(WORDS[:2], NUMBERS[:2])[:-30], r"line 3: 3 numbers should follow a word, but only \d do\."),
        (
            b"2 3\ntea one 2 3\n",
            "line 2: 3 numbers should follow a word; could not convert string to float: .*one",
        ),
        (glove() + b"cake 1 2 three\n", "line 6: 3 numbers should follow a word; could not convert .*three"),
        (glove() + b"1\n", r"line 6: 3 numbers should follow a word, but only 0 do\."),
        (
            glove() + b"cake\x07 1 nan 3\n",
            r"the vector of 'cake\\x07' contains a number that is not finite\.",
        ),
        (glove() + b"cake 1 1e99 3\n", r"the vector of 'cake' contains a number that is not finite\."),
        (binary(["a"], np.array([[np.inf]])), r"the vector of 'a' contains a number that is not finite\."),
        (b"0 3\n", r"contains no words\."),
        (b"tea " + b"1" * 2**22, r"line 1: longer than 4,194,304 bytes, so no word vector\."),
        (gzip.compress(glove())[:-20], "cannot be read: Compressed file ended before"),
        (gzip.compress(glove())[:20] + b"\xff" * 30, "cannot be read: "),
    ],
)
def test_what_is_wrong_with_a_file_is_said(folder, what, message):
    with pytest.raises(BackendError, match=message) as error:
        written(folder / "v", what).vectors(["tea"])
    assert str(folder / "v") in str(error.value)
    assert {path.suffix for path in (folder / "cache" / "vectors").iterdir()} == {".lock"}


def object_matrix(place):
    np.save(place / "m.npy", np.array([{}], dtype=object), allow_pickle=True)


def cut_matrix(place):
    (place / "m.npy").write_bytes((place / "m.npy").read_bytes()[:140])


def huge_matrix(place):
    header = (place / "m.npy").read_bytes()[:128]
    (place / "m.npy").write_bytes(header.replace(b"(5, 3)", b"(9999999999, 3)").replace(b" " * 9, b"", 1))


def flat_matrix(place):
    np.save(place / "m.npy", np.ones(5, np.float32))


def whole_numbers(place):
    np.save(place / "m.npy", np.ones((5, 3), int))


def no_columns(place):
    np.save(place / "m.npy", np.ones((5, 0), np.float32))


def undefined(place):
    numbers = NUMBERS.copy()
    numbers[3, 1] = np.nan
    np.save(place / "m.npy", numbers)


def no_rows(place):
    np.save(place / "m.npy", np.ones((0, 3), np.float32))
    (place / "m.txt").write_bytes(b"")


def too_few_words(place):
    (place / "m.txt").write_bytes(b"tea\nmilk")


def no_words(place):
    (place / "m.txt").unlink()


def several_words(place):
    (place / "m.txt").rename(place / "one.txt")
    (place / "two.json").write_text("[]")


def several_matrices(place):
    np.save(place / "other.npy", NUMBERS)


def no_json(place):
    (place / "m.txt").unlink()
    (place / "m.json").write_text("{")


def deep_json(place):
    (place / "m.txt").unlink()
    (place / "m.json").write_text("[" * 200_000)


def wrong_json(place):
    (place / "m.txt").unlink()
    (place / "m.json").write_text('{"a": 0, "b": 0, "c": 1.0, "d": true, "e": 4}')


def no_table(place):
    (place / "m.txt").unlink()
    (place / "m.parquet").write_bytes(b"PAR1 nothing PAR1")


def table_without_text(place):
    (place / "m.txt").unlink()
    pq.write_table(pa.table({"row": [1, 2, 3, 4, 5]}), place / "m.parquet")


def only_text(place):
    (place / "m.npy").unlink()
    (place / "other.txt").write_text("")


def nothing(place):
    (place / "m.npy").unlink()
    (place / "m.txt").unlink()


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (object_matrix, "cannot be read as a matrix of numbers: "),
        (cut_matrix, "cannot be read as a matrix of numbers: "),
        (huge_matrix, "cannot be read as a matrix of numbers: "),
        (flat_matrix, r"one row per word; this is float32 of shape \(5,\)\."),
        (whole_numbers, r"one row per word; this is int64 of shape \(5, 3\)\."),
        (no_columns, r"one row per word; this is float32 of shape \(5, 0\)\."),
        (undefined, r"row 3 \(counted from 0\) contains a number that is not finite\."),
        (no_rows, r"contains no words\."),
        (too_few_words, r"m\.txt has 2 words, but .*m\.npy has 5 rows\."),
        (
            no_words,
            r"needs one file with its words in the same folder .* found none\. Call it m\.txt, with a word",
        ),
        (several_words, r"found one\.txt, two\.json\."),
        (
            several_matrices,
            r"which file contains the word vectors\? Found m\.npy, other\.npy\. Name the file itself\.",
        ),
        (no_json, "m.json: not JSON: "),
        (deep_json, "m.json: not JSON: "),
        (
            wrong_json,
            "a vocabulary is a list of words, or an object that maps each word to its row",
        ),
        (no_table, "cannot be read as a table: "),
        (table_without_text, r"a vocabulary needs a column of text, but has \['row'\]"),
        (only_text, r"Found m\.txt, other\.txt\."),
        (nothing, r"Found none\."),
    ],
)
def test_what_is_wrong_with_a_matrix_or_its_words_is_said(folder, harm, message):
    place = npy(folder / "glove")
    (place / "m.txt").write_text("\n".join(WORDS))
    harm(place)
    with pytest.raises(BackendError, match=message):
        StaticVectors(str(place)).vectors(["tea"])


def test_a_place_that_is_not_there_is_an_error():
    message = (
        r"There is no file or folder 'glov\\x1b', and no asset of that name \(glove-50d, word2vec-300d\)\."
    )
    with pytest.raises(BackendError, match=message):
        StaticVectors("glov\x1b").vectors(["tea"])


def test_an_asset_of_another_kind_is_not_even_fetched(folder):
    message = (
        r"The asset 'smollm2' is not a set of word vectors; its kind is: language model\. "
        r"These can be used: .*glove-50d"
    )
    with pytest.raises(BackendError, match=message):
        StaticVectors("smollm2").vectors(["tea"])
    assert not (folder / "cache").exists()


def test_a_place_that_cannot_be_read_is_an_error(folder):
    with pytest.raises(BackendError, match=r"gone cannot be read: No such file or directory\."):
        vector_files.find_files(folder / "gone")


def test_an_unknown_case_is_an_error():
    with pytest.raises(BackendError, match="case must be one of as-is, lower, either, not 'upper'"):
        StaticVectors(case="upper")


def test_a_cache_that_cannot_be_written_is_an_error(folder, monkeypatch):
    (folder / "file").write_text("")
    monkeypatch.setenv("DIALOSCOPE_CACHE", str(folder / "file"))
    message = "cannot be prepared in .*Not a directory.*Set DIALOSCOPE_CACHE to a writable folder"
    with pytest.raises(BackendError, match=message):
        written(folder / "v", glove()).vectors(["tea"])


def test_the_second_start_reads_what_the_first_prepared(folder, monkeypatch):
    found = written(folder / "v", glove())
    found.vectors(["tea"])
    vectors._load_table.cache_clear()
    monkeypatch.setattr(vectors, "read_blocks", lambda path: pytest.fail("it was prepared"))
    np.testing.assert_array_equal(found.vectors(["tea"]), NUMBERS[:1])


@pytest.mark.parametrize(
    "part", ["about.json", "letters.npy", "starts.npy", "hashes.npy", "row.npy", "vectors.f32"]
)
@pytest.mark.parametrize(
    "harm", [lambda path: path.unlink(), lambda path: path.write_bytes(path.read_bytes()[:-5])]
)
def test_what_was_prepared_and_is_damaged_is_prepared_anew(folder, part, harm):
    found = written(folder / "v", glove())
    found.vectors(["tea"])
    vectors._load_table.cache_clear()
    (prepared,) = (folder / "cache" / "vectors").glob("*-1")
    harm(prepared / part)
    np.testing.assert_array_equal(found.vectors(WORDS), NUMBERS)


def test_parts_that_do_not_belong_together_are_prepared_anew(folder):
    found = written(folder / "v", glove())
    found.vectors(["tea"])
    vectors._load_table.cache_clear()
    (prepared,) = (folder / "cache" / "vectors").glob("*-1")
    np.save(prepared / "row.npy", np.arange(3))
    np.testing.assert_array_equal(found.vectors(WORDS), NUMBERS)


def test_a_changed_file_is_noticed(folder):
    found = written(folder / "v", glove())
    before = found.fingerprint
    found.vectors(["tea"])
    (folder / "v").write_bytes(glove(WORDS, NUMBERS + 1))
    os.utime(folder / "v", ns=(1, 1))
    assert found.fingerprint != before
    np.testing.assert_array_equal(found.vectors(["tea"]), NUMBERS[:1] + 1)


def test_the_fingerprint_is_that_of_the_content_wherever_it_lies(folder):
    one, other = written(folder / "v", glove()), written(folder / "w", glove())
    assert one.fingerprint == other.fingerprint
    assert len(one.fingerprint) == 32


def test_the_hash_of_a_large_file_is_noted_and_a_damaged_note_is_not_believed(folder, monkeypatch):
    monkeypatch.setattr(content, "_NOTED", 1)
    found = written(folder / "v", glove())
    right = found.fingerprint
    (note,) = (folder / "cache" / "hashes").iterdir()
    content._find_hash.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(content, "_compute_hash", lambda files: pytest.fail("it was noted"))
        assert found.fingerprint == right
    for wrong in (b"", b"\xff", b"0" * 32, b"0" * 32 + b" " + b"0" * 32):
        note.write_bytes(wrong)
        content._find_hash.cache_clear()
        assert found.fingerprint == right


def test_a_hash_that_cannot_be_noted_is_worked_out(folder, monkeypatch):
    monkeypatch.setattr(content, "_NOTED", 1)
    (folder / "cache").write_text("in the way")
    assert len(written(folder / "v", glove()).fingerprint) == 32


def test_preparing_a_large_file_is_told(folder, monkeypatch, capsys):
    monkeypatch.setattr(vectors, "_LARGE", 1)
    written(folder / "news.bin", binary()).vectors(["tea"])
    assert capsys.readouterr().err == "Preparing news.bin for fast loading; this is done once.\n"


def test_several_processes_prepare_at_once(folder):
    words = [f"w{number}" for number in range(3000)]
    (folder / "v").write_bytes(glove(words, np.ones((3000, 20), np.float32)))
    program = (
        "import sys; from dialoscope.models.vectors import StaticVectors; "
        "assert StaticVectors(sys.argv[1]).vectors(['w7', 'w2999']).sum() == 40"
    )
    command = [sys.executable, "-c", program, str(folder / "v")]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    shown = {process.communicate(timeout=60)[1] for process in processes}
    assert shown <= {"", "Waiting for another process that is preparing v.\n"}
    assert sorted(path.suffix for path in (folder / "cache" / "vectors").iterdir()) == ["", ".lock"]


def test_what_another_process_prepares_is_waited_for_and_taken(folder):
    found = written(folder / "v", glove())
    place = folder / "cache" / "vectors" / f"{found.fingerprint}-1"
    place.parent.mkdir(parents=True)
    program = (
        "import sys; from dialoscope.models import vectors; vectors.read_blocks = None; "
        "print(vectors.StaticVectors(sys.argv[1]).vectors(['tea']).shape)"
    )
    command = [sys.executable, "-c", program, str(folder / "v")]
    with lock(place.with_name(f"{place.name}.lock"), ""):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stderr.readline() == "Waiting for another process that is preparing v.\n"
        vectors._write_table(place, vectors._find_source(found.model).files)
    assert process.communicate(timeout=60) == ("(1, 3)\n", "")


def test_what_was_prepared_is_on_the_disk_before_it_is_in_its_place(folder, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_ino))
    written(folder / "v", glove()).vectors(["tea"])
    (prepared,) = (folder / "cache" / "vectors").glob("*-1")
    assert {path.stat().st_ino for path in (prepared, *prepared.iterdir())} == set(synced)


def test_it_signs_itself_and_a_path_is_as_good_as_its_text():
    assert signature(StaticVectors()) == "static-vectors|model:glove-50d|case:either|v:1"
    assert StaticVectors(Path("a") / "b") == StaticVectors("a/b")


def test_the_glove_asset():
    glove_50d = StaticVectors()
    assert glove_50d.dims == 50
    found = glove_50d.vectors(["the", "The", "tea", "qwertzuiop12"])
    np.testing.assert_allclose(found[0, :3], [0.418, 0.24968, -0.41242])
    np.testing.assert_array_equal(found[0], found[1])
    assert np.isnan(found[3]).all()
    near = glove_50d.vectors(["coffee", "carburetor"])
    assert near[0] @ found[2] > near[1] @ found[2]


def test_the_word2vec_asset_has_the_numbers_that_gensim_reads():
    found = StaticVectors("word2vec-300d", case="as-is").vectors(["tea", "the"])
    gensim = [
        [-0.06273789703845978, 0.03928450122475624, -0.01487830001860857, 0.09967699646949768],
        [0.07468529790639877, 0.09791059792041779, 0.046450600028038025, 0.049866098910570145],
    ]
    np.testing.assert_array_equal(found[:, :4], np.array(gensim, np.float32))
