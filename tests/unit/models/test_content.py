"""Hashes of files: they follow the content, whatever the times of the files say."""

import errno
import os

import pytest

from dialoscope.core.errors import BackendError
from dialoscope.models import content
from dialoscope.models.content import content_hash


@pytest.fixture
def noting(monkeypatch, tmp_path):
    """Every hash is noted on the disk, as those of large files are."""
    monkeypatch.setenv("DIALOSCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(content, "_NOTED", 0)


def changed_unseen(path, text):
    """Other content of the same size with the same time."""
    state = path.stat()
    path.write_text(text)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def test_a_change_that_keeps_size_and_time_is_seen(noting, tmp_path):
    path = tmp_path / "file"
    path.write_text("one")
    before = content_hash([path])
    changed_unseen(path, "two")
    assert content_hash([path]) != before
    changed_unseen(path, "one")
    assert content_hash([path]) == before


def test_another_file_in_its_place_is_seen(noting, tmp_path):
    (tmp_path / "file").write_text("one")
    link = tmp_path / "link"
    link.symlink_to("file")
    before = content_hash([link])
    (tmp_path / "other").write_text("two")
    link.unlink()
    link.symlink_to("other")
    assert content_hash([link]) != before


def test_names_count_where_there_are_several_files(tmp_path):
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("same")
    files = {name: tmp_path / name for name in ("a", "b", "c")}
    assert content_hash([files["a"], files["b"]]) != content_hash([files["a"], files["c"]])
    assert content_hash([files["a"]]) == content_hash([files["b"]])


def test_the_folder_does_not_count(tmp_path):
    for folder in ("here", "there"):
        (tmp_path / folder / "below").mkdir(parents=True)
        (tmp_path / folder / "one").write_text("1")
        (tmp_path / folder / "below" / "two").write_text("2")
    here, there = (
        content_hash([tmp_path / folder / "one", tmp_path / folder / "below" / "two"])
        for folder in ("here", "there")
    )
    assert here == there


def test_the_same_bytes_divided_otherwise_are_another_content(tmp_path):
    paths = [tmp_path / "one", tmp_path / "two"]
    hashes = set()
    for first, second in (("ab", "c"), ("a", "bc")):
        paths[0].write_text(first)
        paths[1].write_text(second)
        hashes.add(content_hash(paths))
    assert len(hashes) == 2


def test_of_no_files_there_is_a_hash():
    assert content_hash([]) == content_hash(())


def test_a_disk_that_fails_midway_is_an_error(tmp_path, monkeypatch):
    def fail(files):
        raise OSError(errno.EIO, "Input/output error")

    (tmp_path / "file").write_text("one")
    content._find_hash.cache_clear()
    monkeypatch.setattr(content, "_compute_hash", fail)
    with pytest.raises(BackendError, match=r"^A file cannot be read: Input/output error\."):
        content_hash([tmp_path / "file"])


def test_a_folder_that_cannot_be_listed_is_named(tmp_path):
    def listed():
        yield from (tmp_path / "gone").iterdir()

    with pytest.raises(BackendError, match=r"gone cannot be read: No such file or directory\."):
        content_hash(listed())


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BackendError, match=r"missing cannot be read: No such file or directory\."):
        content_hash([tmp_path / "missing"])
