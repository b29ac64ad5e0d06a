"""What fuzzing found: files read as JSON or by numpy that somebody made by accident, or to do harm."""

import gzip
import hashlib
import io
import json
import shutil

import numpy as np
import pytest

import dialoscope as ds
from dialoscope.core.errors import BackendError, RunError, TrainingError
from dialoscope.metrics.shared import combination
from dialoscope.models import vector_files
from dialoscope.models.bilinear import BilinearRegressor
from dialoscope.models.checkpoints import Checkpoint
from dialoscope.models.locations import configuration
from dialoscope.models.vector_files import find_files, read_blocks, read_matrix
from tests.conftest import ROOT

DEEP = "[" * 100_000


@pytest.mark.parametrize(
    ("load", "error"),
    [(combination.load, TrainingError), (Checkpoint.load, TrainingError), (configuration, BackendError)],
    ids=["composite", "checkpoint", "configuration"],
)
def test_json_that_is_nested_too_deep_is_refused(tmp_path, load, error):
    for name in ("spec.json", "config.json"):
        (tmp_path / name).write_text(DEEP)
    with pytest.raises(error, match="maximum recursion depth"):
        load(tmp_path)


@pytest.mark.parametrize("header", [b"{'shape': (9", b"  {\n   9", b"{'descr': '<f4', 'shape': (9L, 2L)"])
def test_a_matrix_whose_header_is_no_expression_is_refused(tmp_path, header):
    out = io.BytesIO()
    np.save(out, np.ones((2, 2), np.float32))
    content = out.getvalue()
    start = content.index(b"{")
    padded = header.ljust(len(content) - start - 17) + b"\n"
    (tmp_path / "a.npy").write_bytes(content[:start] + padded + content[-16:])
    (tmp_path / "a.txt").write_text("a\nb\n")
    with pytest.raises(BackendError, match="cannot be read as a matrix of numbers"):
        read_matrix(find_files(tmp_path))


def test_a_composite_with_a_number_beyond_doubles_is_refused(tmp_path):
    shutil.copytree(ROOT / "dialoscope/models/registry/trained/composite", tmp_path / "composite")
    path = tmp_path / "composite" / "spec.json"
    spec = json.loads(path.read_text())
    spec["combination"]["scales"][0]["values"][-1] = 10**400
    path.write_text(json.dumps(spec))
    with pytest.raises(TrainingError, match="holds no whole combination"):
        combination.load(path.parent)


@pytest.mark.parametrize("turns", ["Infinity", "1e999"])
def test_a_checkpoint_for_infinitely_many_turns_is_refused(tmp_path, turns):
    (tmp_path / "weights.safetensors").touch()
    (tmp_path / "spec.json").write_text(
        f'{{"recipe": "adem", "settings": {{"turns": {turns}, "model": "fake"}}, "model": "", "hash": ""}}'
    )
    with pytest.raises(BackendError, match="is damaged"):
        _ = BilinearRegressor(str(tmp_path)).fingerprint


def test_word_vectors_in_a_damaged_gzip_are_refused(tmp_path):
    content = bytearray(gzip.compress(b"".join(b"word%d 0.1 0.2\n" % row for row in range(2000))))
    content[10:40] = bytes(30)
    (tmp_path / "a.txt.gz").write_bytes(content)
    with pytest.raises(BackendError, match="cannot be read: Error -3 while decompressing"):
        list(read_blocks(tmp_path / "a.txt.gz"))


@pytest.fixture
def run(tmp_path):
    path = tmp_path / "replies.jsonl"
    path.write_text("".join(json.dumps({"id": str(at), "response": "hi you"}) + "\n" for at in range(3)))
    return ds.evaluate(ds.read(path), ["words", "distinct-1"]).save(tmp_path / "run")


def seal(run, change):
    """Change a manifest, and seal it again, as anybody can."""
    manifest = json.loads((run / "manifest.json").read_text())
    del manifest["seal"]
    change(manifest)
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"))
    manifest["seal"] = f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
    (run / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seed", {}),
        ("seed", -1),
        ("seed", None),
        ("replies", "3"),
        ("warnings", [1]),
        ("source", []),
        ("models", None),
        ("seconds", "soon"),
        ("lacking", 3),
        ("licences", "MIT"),
        ("licences", {"minilm": "MIT"}),
    ],
)
def test_a_run_whose_provenance_is_of_other_types_is_refused(run, name, value):
    seal(run, lambda manifest: manifest["provenance"].update({name: value}))
    for read in (ds.Result.load, ds.verify):
        with pytest.raises(RunError, match="is not a whole run"):
            read(run)


@pytest.mark.parametrize(
    "change",
    [
        lambda manifest: manifest.pop("table"),
        lambda manifest: manifest.update(table={"cells": "none"}),
        lambda manifest: manifest["table"]["cells"].append({}),
        lambda manifest: manifest["table"]["cells"][0].update(metric=1.5),
        lambda manifest: manifest["table"]["cells"][0].update(value="much"),
        lambda manifest: manifest["table"]["cells"][0].update(value=10**400),
    ],
    ids=["none", "text", "empty cell", "metric", "value", "number"],
)
def test_a_run_whose_table_is_none_cannot_be_verified(run, change):
    seal(run, change)
    with pytest.raises(RunError, match="is not a whole run"):
        ds.verify(run)


def test_a_run_whose_statistics_have_no_name_is_refused(run):
    seal(run, lambda manifest: manifest["metrics"][0].update(statistics=2**63))
    with pytest.raises(RunError, match="is not a whole run"):
        ds.Result.load(run)


def test_a_run_whose_metric_has_the_statistics_of_another_is_refused(run):
    def swap(manifest):
        manifest["metrics"][0]["statistics"] = manifest["metrics"][1]["statistics"]

    seal(run, swap)
    with pytest.raises(RunError, match=r"statistics of the kind ReplyValues have a column of another shape"):
        ds.Result.load(run)


def test_a_number_beyond_64_bits_in_a_table_is_not_the_metrics(run):
    seal(run, lambda manifest: manifest["table"]["cells"][0].update(value=2**70))
    assert any("the manifest says words" in one for one in ds.verify(run).differences)


def test_a_score_of_a_system_that_the_run_does_not_have_is_a_difference(run):
    seal(run, lambda manifest: manifest["table"]["cells"][0].update(system="b\u2069ot"))
    (difference,) = ds.verify(run).differences
    assert difference == r"the manifest has a score of b\u2069ot, which the run does not have"


def test_a_hash_with_control_characters_is_shown_without(run):
    seal(run, lambda manifest: manifest["provenance"].update(data="sha256:\x06\ufffe"))
    (difference,) = ds.verify(run).differences
    assert difference.isprintable()


def test_a_flood_of_blank_lines_among_word_vectors_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(vector_files, "_MAX_BLANK", 10)
    (tmp_path / "a.txt").write_bytes(b"2 2\n" + b"\n" * 10 + b"a 1 2\nb 3 4\n")
    assert [len(block.words) for block in read_blocks(tmp_path / "a.txt")] == [2]
    (tmp_path / "a.txt").write_bytes(b"2 2\n" + b"\n" * 11 + b"a 1 2\nb 3 4\n")
    with pytest.raises(BackendError, match="more than 10 blank lines"):
        list(read_blocks(tmp_path / "a.txt"))
