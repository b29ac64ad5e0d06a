"""Where assets are looked for, and what is said about them."""

import json
import os
import shutil
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from dialoscope.core.errors import AssetError
from dialoscope.models import registry as assets
from dialoscope.models.registry import asset_table as catalogue
from dialoscope.models.registry import folder
from dialoscope.models.registry import lookup as store
from dialoscope.models.registry.folder import file_states, find_damage
from dialoscope.models.registry.places import cache_folder, is_offline, user_assets_folder
from tests.unit.models.registry import toys

SHIPPED = [name for name, asset in assets.ASSETS.items() if asset.shipped]


def put(folder, name, manifest=True):
    """Files of the right sizes, for those who look at sizes only."""
    asset = assets.ASSETS[name]
    for file in asset.files:
        path = folder / name / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as stream:
            stream.truncate(file.size)
    if manifest:
        (folder / name / "asset.json").write_text(json.dumps({"fingerprint": asset.fingerprint}))
    return folder / name


def test_the_cache_lies_where_the_platform_keeps_such_things(monkeypatch, tmp_path):
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("DIALOSCOPE_CACHE")
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == Path("/home/me/.cache/dialoscope")
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/mine")
    assert cache_folder() == Path("/var/mine/dialoscope")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == Path("/home/me/.cache/dialoscope")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache_folder() == Path("/home/me/Library/Caches/dialoscope")
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", "/users/me/local")
    assert cache_folder() == Path("/users/me/local/dialoscope")
    monkeypatch.setenv("DIALOSCOPE_CACHE", "~/c")
    assert cache_folder() == Path("/home/me/c")


def test_without_a_home_it_is_said_what_to_set(monkeypatch):
    monkeypatch.delenv("DIALOSCOPE_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError))
    with pytest.raises(AssetError, match=r"No home folder is known\. Set DIALOSCOPE_CACHE to a folder"):
        cache_folder()


@pytest.mark.parametrize(
    ("value", "meant"), [("1", True), ("yes", True), ("0", False), ("", False), ("No", False)]
)
def test_offline_is_what_people_write(monkeypatch, value, meant):
    monkeypatch.setenv("DIALOSCOPE_OFFLINE", value)
    assert is_offline() is meant


def note(name):
    """As if every byte of what is in the cache had been looked at."""
    asset = assets.ASSETS[name]
    (cache_folder() / "checked").mkdir()
    (cache_folder() / "checked" / name).write_text(repr(file_states(asset, cache_folder() / "assets" / name)))


def test_the_users_folder_goes_before_the_cache(monkeypatch, tmp_path):
    cached = put(cache_folder() / "assets", "minilm")
    note("minilm")
    assert assets.locate("minilm") == cached
    assert user_assets_folder() is None
    monkeypatch.setenv("DIALOSCOPE_ASSETS", str(tmp_path / "lab"))
    assert assets.locate("minilm") == cached
    ready = put(tmp_path / "lab", "minilm", manifest=False)
    assert assets.locate("minilm") == assets.present("minilm") == ready
    assert assets.fetch(["minilm", "minilm"]) == [ready, ready]


def test_what_was_changed_in_the_cache_is_not_believed():
    """Even where it has the right size and the old time."""
    cached = put(cache_folder() / "assets", "minilm")
    assert assets.status(["minilm"])[0].folder == cached
    with pytest.raises(AssetError, match="minilm could not be fetched"):
        assets.locate("minilm")
    note("minilm")
    assert assets.locate("minilm") == cached
    file, times = cached / "vocab.txt", (cached / "vocab.txt").stat()
    file.write_bytes(b"1" * times.st_size)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(AssetError, match="minilm could not be fetched"):
        assets.locate("minilm")


@pytest.fixture
def cached(monkeypatch):
    """The folder of a small asset that lies in the cache, with its real content."""
    asset = toys.toy(files=(toys.file("weights.bin", b"right"), toys.file("config.json", b"{}")))
    monkeypatch.setattr(store, "ASSETS", {"toy": asset})
    folder = cache_folder() / "assets" / "toy"
    folder.mkdir(parents=True)
    (folder / "weights.bin").write_bytes(b"right")
    (folder / "config.json").write_bytes(b"{}")
    (folder / "asset.json").write_text(json.dumps({"fingerprint": asset.fingerprint}))
    return folder


def test_offline_what_is_damaged_is_called_damaged(monkeypatch, cached):
    monkeypatch.setenv("DIALOSCOPE_OFFLINE", "1")
    assert assets.locate("toy") == cached
    (cached / "weights.bin").write_bytes(b"wrong")
    os.utime(cached / "weights.bin", ns=(1, 1))  # two writes within a tick of the clock would look the same
    with pytest.raises(AssetError) as damaged:
        assets.locate("toy")
    assert str(damaged.value).startswith(
        f"toy is damaged: the SHA-256 of weights.bin is {sha256(b'wrong').hexdigest()}, but should be "
        f"{sha256(b'right').hexdigest()} ({cached}). Fetch it again: dialoscope assets remove toy && "
        "dialoscope assets fetch toy. DIALOSCOPE_OFFLINE prevents fetching. Unset it, or fetch it where "
    )
    (cached / "asset.json").unlink()
    (cached / "weights.bin").write_bytes(b"right")
    with pytest.raises(AssetError, match=r"toy is damaged: asset\.json is missing"):
        assets.locate("toy")


def test_status_hashes_what_was_touched_and_nothing_else(monkeypatch, cached):
    hashed = []
    digest = folder._content_problem
    monkeypatch.setattr(
        folder, "_content_problem", lambda file, path: hashed.append(file.path) or digest(file, path)
    )
    assert [assets.status(["toy"])[0].problem for _ in range(3)] == ["", "", ""]
    assert hashed == ["weights.bin", "config.json"]
    (cached / "weights.bin").write_bytes(b"wrong")
    os.utime(cached / "weights.bin", ns=(1, 1))
    (found,) = assets.status(["toy"])
    assert found.folder == cached
    assert found.problem.startswith("the SHA-256 of weights.bin is ")


def test_what_is_nowhere_is_fetched():
    with pytest.raises(AssetError, match=r"minilm could not be fetched:\n.*Connection refused"):
        assets.locate("minilm")


def test_a_users_folder_with_other_content_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("DIALOSCOPE_ASSETS", str(tmp_path))
    folder = put(tmp_path, "minilm")
    (folder / "vocab.txt").write_text("a")
    with pytest.raises(AssetError) as told:
        assets.locate("minilm")
    assert str(told.value) == (
        f"{folder} is not the asset minilm: vocab.txt has 1 bytes, but should have 231,508. "
        "Copy it there again, or move it away."
    )
    (folder / "vocab.txt").unlink()
    with pytest.raises(AssetError, match=r"vocab\.txt is missing"):
        assets.locate("minilm")


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        ("{", "asset.json cannot be read"),
        ("[]", "cannot be read"),
        ('{"fingerprint": "1"}', "it is a different version"),
    ],
)
def test_a_manifest_of_something_else_is_not_believed(monkeypatch, tmp_path, manifest, told):
    cached = put(cache_folder() / "assets", "minilm")
    (cached / "asset.json").write_text(manifest)
    assert assets.present("minilm") is None
    monkeypatch.setenv("DIALOSCOPE_ASSETS", str(cached.parent))
    with pytest.raises(AssetError, match=told):
        assets.present("minilm")


def test_a_cached_folder_without_a_manifest_is_not_believed():
    put(cache_folder() / "assets", "minilm", manifest=False)
    assert assets.present("minilm") is None


def test_unknown_names_are_told_with_a_guess():
    with pytest.raises(AssetError, match=r"There is no asset 'mini-lm'\. Did you mean 'minilm'\?"):
        assets.locate("mini-lm")
    with pytest.raises(AssetError, match=r"There is no asset 'xyz'\. There are: smollm2, minilm, mpnet, "):
        assets.fingerprint("xyz")
    with pytest.raises(
        AssetError, match=r"There is no suite of assets 'defaults'\. Did you mean 'default'\?"
    ):
        assets.suite("defaults")


def test_suites_are_what_they_say():
    models = [
        "smollm2",
        "minilm",
        "mpnet",
        "glove-50d",
        "wordnet",
        "spacy-tagger",
        "smollm2-dialog",
        "smollm2-chat",
        "nli",
        "ruber-unreferenced",
    ]
    assert assets.suite("default") == models
    assert assets.suite("data") == ["snli", "chitchat"]


def test_the_fingerprint_is_of_the_content_and_of_nothing_else(monkeypatch, tmp_path):
    before = assets.fingerprint("minilm")
    assert len(before) == 64
    monkeypatch.setenv("DIALOSCOPE_CACHE", str(tmp_path / "elsewhere"))
    assert assets.fingerprint("minilm") == before
    assert len({assets.fingerprint(name) for name in assets.ASSETS}) == len(assets.ASSETS)


def test_other_content_of_the_same_sizes_in_the_users_folder_has_no_fingerprint(monkeypatch, tmp_path):
    right, wrong = b"right", b"wrong"
    asset = toys.toy(files=(toys.file("weights.bin", right),))
    monkeypatch.setattr(store, "ASSETS", {"toy": asset})
    monkeypatch.setenv("DIALOSCOPE_ASSETS", str(tmp_path))
    (tmp_path / "toy").mkdir()
    weights = tmp_path / "toy" / "weights.bin"
    weights.write_bytes(right)
    assert assets.fingerprint("toy") == asset.fingerprint
    weights.write_bytes(wrong)
    os.utime(weights, ns=(1, 1))  # two writes within a tick of the clock would look the same
    with pytest.raises(AssetError) as told:
        assets.fingerprint("toy")
    assert str(told.value) == (
        f"{tmp_path / 'toy'} is not the asset toy: the SHA-256 of weights.bin is "
        f"{sha256(wrong).hexdigest()}, but should be {sha256(right).hexdigest()}. "
        "Copy it there again, or move it away."
    )
    weights.write_bytes(right)
    os.utime(weights, ns=(2, 2))
    assert assets.fingerprint("toy") == asset.fingerprint
    weights.unlink()
    with pytest.raises(AssetError, match=r"weights\.bin is missing"):
        assets.fingerprint("toy")


def test_the_users_folder_is_hashed_once_while_it_stays_as_it_is(monkeypatch, tmp_path):
    asset = toys.toy(files=(toys.file("weights.bin", b"once"),))
    monkeypatch.setattr(store, "ASSETS", {"toy": asset})
    monkeypatch.setenv("DIALOSCOPE_ASSETS", str(tmp_path))
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "weights.bin").write_bytes(b"once")
    before = store._content_problem.cache_info()
    for _ in range(3):
        assets.fingerprint("toy")
    after = store._content_problem.cache_info()
    assert (after.misses - before.misses, after.hits - before.hits) == (1, 2)


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    (tmp_path / "weights.bin").mkdir()
    size = (tmp_path / "weights.bin").stat().st_size
    asset = toys.toy(files=(assets.File("weights.bin", size, "0" * 64),))
    assert find_damage(asset, tmp_path, hashes=True) == "weights.bin cannot be read (Is a directory)"


def test_verify_looks_at_every_byte(monkeypatch, tmp_path):
    cached = put(cache_folder() / "assets", "movie-dialogues")
    note("movie-dialogues")
    (quick,) = assets.status(["movie-dialogues"])
    assert (quick.folder, quick.problem) == (cached, "")
    (thorough,) = assets.verify(["movie-dialogues"])
    assert "the SHA-256 of moviedialog.csv is " in thorough.problem
    assert thorough.problem.endswith(
        "but should be bc95e2afac986b03cc9fd9dbb6271b434c8ff322460f8a7305dfd28c399cc181"
    )
    sound, damaged = catalogue.verify_assets()
    assert [line.split()[0] for line in sound] == SHIPPED
    assert damaged[0].endswith(
        "dialoscope assets remove movie-dialogues && dialoscope assets fetch movie-dialogues"
    )
    shutil.move(cached.parent, tmp_path / "lab")
    assert not catalogue.verify_assets().damaged
    monkeypatch.setenv("DIALOSCOPE_ASSETS", str(tmp_path / "lab"))
    (complaint,) = catalogue.verify_assets(["movie-dialogues"]).damaged
    assert complaint.endswith(
        f"Copy it to {tmp_path / 'lab' / 'movie-dialogues'} again, or move that folder away."
    )


def test_removing_leaves_the_users_folder_alone(monkeypatch, tmp_path):
    monkeypatch.setenv("DIALOSCOPE_ASSETS", str(tmp_path / "lab"))
    ready = put(tmp_path / "lab", "minilm")
    put(cache_folder() / "assets", "mpnet")
    assert assets.remove(["minilm", "mpnet"]) == ["mpnet"]
    assert assets.present("minilm") == ready
    assert assets.present("mpnet") is None


def test_what_the_package_carries_is_there_and_refused_where_it_is_damaged(monkeypatch, tmp_path):
    here = assets.locate("nli")
    assert (here / "card.md").is_file()
    assert assets.present("nli") == here
    copy = tmp_path / "nli"
    shutil.copytree(here, copy)
    monkeypatch.setattr(store, "shipped_folder", lambda name: copy)
    assert assets.fingerprint("nli") == assets.ASSETS["nli"].fingerprint
    (copy / "config.json").write_text("{}")
    with pytest.raises(
        AssetError, match=r"nli is damaged: config\.json has 2 bytes.*Install dialoscope again\."
    ):
        assets.locate("nli")
    with pytest.raises(AssetError, match="Install dialoscope again"):
        assets.fingerprint("nli")
    (found,) = assets.status(["nli"])
    assert catalogue.repair_advice(found) == "Install dialoscope again."


def test_what_an_asset_was_trained_on_top_of_is_fetched_with_it(monkeypatch):
    asked = []
    monkeypatch.setattr(store, "_fetch", lambda asset: asked.append(asset.name) or Path())
    assets.fetch(["nli"])
    assert asked == ["mpnet"]
