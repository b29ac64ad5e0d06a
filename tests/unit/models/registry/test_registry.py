"""The registry itself, and the document that is made from it."""

import re
from dataclasses import FrozenInstanceError
from pathlib import PurePosixPath

import pytest

from dialoscope.models import registry as assets
from dialoscope.models.registry import HubFiles, IndexFiles, folder, places
from dialoscope.models.registry import asset_table as catalogue
from tests.conftest import ROOT

EVERY = pytest.mark.parametrize("asset", assets.ASSETS.values(), ids=list(assets.ASSETS))


def test_nothing_can_be_changed():
    with pytest.raises(TypeError):
        assets.ASSETS["minilm"] = None
    with pytest.raises(FrozenInstanceError):
        assets.ASSETS["minilm"].licence = "mine"


@EVERY
def test_everything_is_said(asset):
    assert assets.ASSETS[asset.name] is asset
    assert re.fullmatch(r"[a-z0-9-]+", asset.name)
    assert asset.kind
    assert asset.about
    assert asset.licence
    assert set(asset.suites) <= set(assets.SUITES)
    assert asset.size > 0
    if asset.shipped:
        assert not asset.base or asset.base in assets.ASSETS
        assert asset.size < 8e6
        assert (places.shipped_folder(asset.name) / "card.md").is_file()
        assert not folder.find_damage(asset, places.shipped_folder(asset.name), hashes=True)
        return
    assert isinstance(asset.sources[-1], IndexFiles), "the package index is enough"
    assert asset.download_size > 0


@EVERY
def test_all_content_is_pinned_and_stays_in_its_folder(asset):
    pieces = [piece for source in asset.sources if isinstance(source, IndexFiles) for piece in source.pieces]
    for file in (*asset.files, *asset.carried, *pieces):
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        assert file.size > 0
    for file in (*asset.files, *asset.carried):
        path = PurePosixPath(file.path)
        assert not path.is_absolute()
        assert ".." not in path.parts
        assert path.name != "asset.json"
        assert not re.search(r"\.(pkl|pickle|pt|pth|py)$", file.path), "nothing that runs code when loaded"


@EVERY
def test_what_states_no_licence_is_fetched_only_by_name(asset):
    assert not (asset.suites and "not stated" in asset.licence)


@EVERY
def test_the_hub_is_pinned_to_a_commit(asset):
    for source in asset.sources:
        if isinstance(source, HubFiles):
            assert re.fullmatch(r"[0-9a-f]{40}", source.revision)
            assert asset.conversion is None


def test_the_document_has_the_table_of_the_registry():
    text = (ROOT / "docs" / "assets.md").read_text(encoding="utf-8")
    assert catalogue.as_markdown() in text, "paste what asset_table.as_markdown() gives"
    for suite, about in assets.SUITES.items():
        assert f"- `{suite}`: {about}" in text
