"""Hostile archives."""

import io
import stat
import tarfile
import zipfile

import pytest

from dialoscope.models.registry import IndexFiles
from dialoscope.models.registry.download import Unavailable
from dialoscope.models.registry.unpack import unpack
from tests.unit.models.registry.toys import file, piece, tarred, zipped


def unpacked(tmp_path, archive, wanted=b"good", inner=""):
    path = tmp_path / "archive.part"
    path.write_bytes(archive)
    folder = tmp_path / "out"
    folder.mkdir()
    unpack([path], IndexFiles((piece(archive, inner=inner),), "in/"), [file("a", wanted)], folder)
    return {found.name: found.read_bytes() for found in folder.iterdir()}


def test_only_what_is_named_is_taken(tmp_path):
    hostile = {"in/a": b"good", "in/b": b"bad", "../../escaped": b"bad", "/tmp/escaped": b"bad"}  # noqa: S108
    assert unpacked(tmp_path, zipped(hostile)) == {"a": b"good"}
    assert not (tmp_path.parent / "escaped").exists()


@pytest.mark.parametrize("make", [zipped, tarred])
@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({"in/b": b"good"}, "the archive does not contain in/a"),
        ({"in/a": b"good" * 1000}, "in/a in the archive is larger than expected"),
        ({"in/a": b"evil"}, "a has the wrong content: its SHA-256 is b5c1.*, but should be 770e"),
        ({"in/a": b"goo"}, "a has the wrong content"),
    ],
)
def test_other_content_is_refused(tmp_path, make, members, told):
    with pytest.raises(Unavailable, match=told):
        unpacked(tmp_path, make(members))


def test_links_in_a_zip_are_refused(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        link = zipfile.ZipInfo("in/a")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(Unavailable, match="in/a in the archive is not a regular file"):
        unpacked(tmp_path, buffer.getvalue())


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.CHRTYPE])
def test_links_and_devices_in_a_tar_are_refused(tmp_path, kind):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        link = tarfile.TarInfo("in/a")
        link.type = kind
        link.linkname = "/etc/passwd"
        archive.addfile(link)
    with pytest.raises(Unavailable, match="in/a in the archive is not a regular file"):
        unpacked(tmp_path, buffer.getvalue())


def test_an_archive_that_lies_about_sizes_writes_no_more_than_one_byte_too_many(tmp_path):
    bomb = bytearray(zipped({"in/a": b"\0" * 10_000_000}))
    for at in (bomb.find(b"PK\x03\x04") + 22, bomb.find(b"PK\x01\x02") + 24):
        bomb[at : at + 4] = (4).to_bytes(4, "little")
    with pytest.raises(Unavailable):
        unpacked(tmp_path, bytes(bomb))
    assert (tmp_path / "out" / "a").stat().st_size <= 5


def test_an_inner_archive_may_not_grow_without_bound(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner.zip", b"\0" * 5_000_000)
    with pytest.raises(Unavailable, match=r"inner\.zip in the archive is larger than expected"):
        unpacked(tmp_path, buffer.getvalue(), inner="inner.zip")


@pytest.mark.parametrize(
    "archive", [b"no archive at all", zipped({"in/a": b"good"})[:-30], tarred({"in/a": b"x"})[:40]]
)
def test_what_is_no_archive_is_told(tmp_path, archive):
    with pytest.raises(Unavailable, match=r"archive.part is damaged \("):
        unpacked(tmp_path, archive)


def test_an_encrypted_member_is_refused(tmp_path):
    locked = bytearray(zipped({"in/a": b"good"}))
    for at in (locked.find(b"PK\x03\x04") + 6, locked.find(b"PK\x01\x02") + 8):
        locked[at] |= 1
    with pytest.raises(Unavailable, match="in/a in the archive is not a regular file"):
        unpacked(tmp_path, bytes(locked))
