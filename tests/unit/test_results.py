import json
import math
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest

import dialoscope as ds
from dialoscope.printable import printable
from dialoscope.results import resampling, store
from dialoscope.results.table import number


@pytest.fixture(scope="module")
def result(sample):
    return ds.evaluate(ds.read(sample), ds.suite("lexical"))


@pytest.fixture
def run(result, tmp_path):
    return result.save(tmp_path / "runs" / "monday")


def test_a_saved_run_comes_back_the_same(result, run):
    again = ds.Result.load(run)
    assert again == result
    assert again.provenance == result.provenance
    assert again.table() == result.table()
    assert np.array_equal(again.ratings.value, result.ratings.value)
    assert (again.ratings.aspect, again.ratings.rater) == (result.ratings.aspect, result.ratings.rater)
    assert str(again) == str(result)


def test_the_run_folder_is_what_it_says(result, run):
    assert sorted(path.name for path in run.iterdir()) == [
        "manifest.json",
        "ratings.parquet",
        "replies.parquet",
        "statistics.parquet",
    ]
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["metrics"][3]["signature"].startswith("bleu|order:4|tokenizer:13a")
    assert manifest["provenance"]["data"].startswith("sha256:")
    assert manifest["provenance"]["seed"] == 0
    assert {"dialoscope", "numpy", "python"} <= manifest["provenance"]["versions"].keys()
    assert len(manifest["table"]) == len(result.metrics) * 4
    replies = pq.read_table(run / "replies.parquet")
    assert replies.num_rows == 176
    assert replies["bleu-4"].to_pylist() == result.values("bleu-4").tolist()
    assert [path for path in run.parent.iterdir() if path != run] == []


def test_undefined_is_null_on_disk_and_nan_in_memory(tmp_path):
    found = ds.evaluate(
        [ds.Example("1", "s", "hi"), ds.Example("2", "s", "how are you")], ["distinct-2", "repetition-2"]
    )
    assert math.isnan(found.values("repetition-2")[0])
    run = found.save(tmp_path / "run")
    assert pq.read_table(run / "replies.parquet")["repetition-2"].to_pylist() == [None, 0.0]
    assert ds.Result.load(run) == found
    cell = found.table().cell("s", "repetition-2")
    assert (cell.replies, cell.undefined, cell.value) == (2, 1, 0.0)
    assert "repetition-2 is undefined for 1 of 2 replies of s." in found.table().notes()
    assert found.to_polars()["repetition-2"].to_list() == [None, 0.0]


def test_data_frames_hold_the_replies(result):
    frame = result.to_pandas()
    assert list(frame.columns[:3]) == ["id", "system", "bleu-1"]
    assert "self-bleu-4" not in frame.columns
    assert frame.shape[0] == result.to_polars().shape[0] == 176
    assert frame[frame.system == "parrot"]["copying-2"].mean() == pytest.approx(
        result.score("copying-2", "parrot")
    )


def test_a_taken_name_is_refused_and_replaced_only_when_asked(result, run):
    with pytest.raises(ds.RunError, match=r"exists already. Choose another name, or add --overwrite"):
        result.save(run)
    result.save(run, overwrite=True)
    assert ds.Result.load(run) == result
    foreign = run.parent / "thesis"
    foreign.mkdir()
    (foreign / "chapter1.txt").write_text("precious")
    with pytest.raises(ds.RunError, match="is not a run, so it is not replaced"):
        result.save(foreign, overwrite=True)
    assert (foreign / "chapter1.txt").exists()


def test_a_write_that_fails_leaves_nothing_behind(result, tmp_path, monkeypatch):
    def full(path, table):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "_write", full)
    with pytest.raises(ds.RunError, match="cannot be written: No space left on device"):
        result.save(tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_named(result, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ds.RunError, match="file/run cannot be written"):
        result.save(tmp_path / "file" / "run")


def damage(run, how):
    manifest = run / "manifest.json"
    text = manifest.read_text()
    if how == "no folder":
        shutil.rmtree(run)
    elif how == "no manifest":
        manifest.unlink()
    elif how == "not json":
        manifest.write_text(text[:100])
    elif how == "foreign":
        manifest.write_text('{"name": "my-app"}')
    elif how == "list":
        manifest.write_text("[]")
    elif how == "newer":
        manifest.write_text(text.replace('"version": 1,', '"version": 99,', 1))
    elif how == "missing file":
        (run / "statistics.parquet").unlink()
    elif how == "flipped byte":
        content = bytearray((run / "replies.parquet").read_bytes())
        content[len(content) // 2] ^= 1
        (run / "replies.parquet").write_bytes(content)
    elif how == "truncated":
        (run / "replies.parquet").write_bytes((run / "replies.parquet").read_bytes()[:-10])
    elif how == "no files listed":
        manifest.write_text(json.dumps({**json.loads(text), "files": {}}))
    elif how == "other version of a metric":
        manifest.write_text(text.replace("|v:1", "|v:0"))
    elif how == "keys missing":
        manifest.write_text(
            json.dumps({key: value for key, value in json.loads(text).items() if key != "metrics"})
        )


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("no folder", "There is no run at"),
        ("no manifest", "is not a run: it has no manifest.json"),
        ("not json", "manifest.json cannot be read"),
        ("foreign", "its manifest.json was written by something else"),
        ("list", "its manifest.json was written by something else"),
        ("newer", "has run format 99, this Dialoscope reads 1"),
        ("missing file", "damaged: statistics.parquet is missing"),
        ("flipped byte", r"replies.parquet has the hash sha256:\w+, the manifest says sha256:\w+"),
        ("truncated", "damaged or was changed: replies.parquet"),
        ("no files listed", "does not list the run's files"),
        ("other version of a metric", r"holds bleu\|.*v:0, but this Dialoscope makes bleu\|.*v:1"),
        ("keys missing", "is not a whole run"),
    ],
)
def test_a_damaged_or_foreign_run_is_refused_in_words(run, how, message):
    damage(run, how)
    with pytest.raises(ds.RunError, match=message):
        ds.Result.load(run)


def test_asking_for_what_is_not_there_is_answered_with_what_is(result):
    with pytest.raises(ds.DialoscopeError, match="no system 'bot' in this run; it has: attentive, generic"):
        result.score("bleu", "bot")
    with pytest.raises(ds.DialoscopeError, match="This run has no bleu-5; it has: bleu-1"):
        result.score("bleu-5", "generic")


def test_intervals_are_seeded_and_hold_the_value(result, sample):
    assert all(cell.low <= cell.value <= cell.high for cell in result.table().cells)
    again = ds.evaluate(ds.read(sample), ["bleu", "distinct"])
    other = ds.evaluate(ds.read(sample), ["bleu", "distinct"], seed=1)
    assert again.interval("bleu", "parrot") == result.interval("bleu", "parrot")
    assert other.interval("bleu", "parrot") != result.interval("bleu", "parrot")


def test_the_interval_of_a_mean_is_the_textbook_one():
    rng = np.random.default_rng(3)
    lengths = rng.integers(1, 30, 400)
    found = ds.evaluate([ds.Example(str(i), "s", "w " * n) for i, n in enumerate(lengths)], ["words"])
    low, high = found.interval("words", "s", draws=4000)
    half = 1.96 * lengths.std(ddof=1) / 20
    assert (low, high) == pytest.approx((lengths.mean() - half, lengths.mean() + half), abs=0.15)


def test_many_items_are_resampled_in_blocks_without_changing_the_width():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(20_000, 1))
    blocks = resampling.blocks_of(np.arange(20_000), resampling.MOST_BLOCKS, seed=0)
    assert len(np.unique(blocks)) == resampling.MOST_BLOCKS
    sums = resampling.block_sums(values, blocks, resampling.MOST_BLOCKS)
    drawn = resampling.bootstrap_sums(sums, 2000, seed=0)[:, 0] / 20_000
    low, high = resampling.percentile_interval(drawn, 0.95)
    assert high - low == pytest.approx(2 * 1.96 / math.sqrt(20_000), rel=0.08)


def test_replies_to_one_context_are_resampled_together():
    """Two hundred copies of ten different items are worth ten observations, not two thousand."""
    alone = [ds.Example(f"{i}", "s", "w " * (i + 1), (f"context {i}",)) for i in range(10)]
    copies = [
        ds.Example(f"{i}-{j}", "s", "w " * (i + 1), (f"context {i}",)) for i in range(10) for j in range(200)
    ]
    narrow, wide = (ds.evaluate(examples, ["words"]).interval("words", "s") for examples in (copies, alone))
    assert (narrow.low, narrow.high) == pytest.approx((wide.low, wide.high), abs=1e-9)


def test_one_item_has_no_interval():
    found = ds.evaluate([ds.Example("1", "s", "hello there")], ["words", "distinct-1", "self-bleu"])
    assert all(math.isnan(found.interval(metric, "s").low) for metric in found.metrics)
    assert "2.000" in str(found)
    assert math.isnan(found.score("self-bleu", "s"))


def test_a_draw_without_a_defined_reply_is_undefined_not_zero():
    examples = [ds.Example(str(i), "s", "good day to you") for i in range(3)]
    examples += [ds.Example("9", "s", "good day to you", (), ("good day to you all",))]
    found = ds.evaluate(examples, ["bleu", "rouge-l"], lacking="undefined")
    assert all(math.isnan(found.interval(metric, "s").low) for metric in found.metrics)
    assert found.table().cell("s", "bleu-4").undefined == 3


def systems(gap: int, items: int = 60):
    rng = np.random.default_rng(1)
    base = rng.integers(5, 15, items)
    return [
        ds.Example(str(i), name, " ".join(f"{name}{j}" if j > 2 else "same" for j in range(n + extra)))
        for name, extra in (("a", 0), ("b", gap))
        for i, n in enumerate(base + rng.integers(0, 3, items) if name == "b" else base)
    ]


@pytest.mark.parametrize("metric", ["words", "distinct-1:level=reply", "entropy-1"])
def test_a_clear_difference_is_significant_and_none_is_not(metric):
    apart = ds.evaluate(systems(gap=4), [metric])
    assert apart.significance(metric, "a", "b") < 0.01
    twins = [ds.Example(ex.id, name, ex.response) for name in ("a", "b") for ex in systems(0)[:60]]
    assert ds.evaluate(twins, [metric]).significance(metric, "a", "b") == 1.0


def test_the_test_of_a_mean_is_the_textbook_one():
    """Against the exact sign-flip distribution of eight pairs, all 256 of them."""
    differences = np.array([3, 1, -1, 2, 4, 1, 2, -2])
    examples = [ds.Example(str(i), "a", "w " * 10) for i in range(8)]
    examples += [ds.Example(str(i), "b", "w " * int(10 + d)) for i, d in enumerate(differences)]
    signs = np.array(np.meshgrid(*[[-1, 1]] * 8)).reshape(8, -1)
    exact = np.mean(np.abs(signs.T @ differences) >= abs(differences.sum()))
    found = ds.evaluate(examples, ["words"]).significance("words", "a", "b", draws=20_000)
    assert found == pytest.approx(exact, abs=0.01)


def test_systems_without_common_items_cannot_be_compared():
    examples = [ds.Example(f"{name}{i}", name, "hello there " * (i + 1)) for name in "ab" for i in range(5)]
    found = ds.evaluate(examples, ["words", "distinct-1"])
    assert math.isnan(found.significance("words", "a", "b"))
    assert math.isnan(found.significance("distinct-1", "a", "b"))


def test_the_table_is_tested_against_the_best_on_request(result):
    table = result.table(significance=True)
    best = [cell for cell in table.cells if cell.metric == "rouge-l" and cell.best]
    assert [cell.system for cell in best] == ["attentive"]
    assert best[0].p is None
    assert all(0 < cell.p < 0.01 for cell in table.cells if cell.metric == "rouge-l" and not cell.best)
    assert all(cell.p is None for cell in table.cells if cell.metric == "words")
    assert "p=" not in str(result)
    assert "p<.001" in table.text()


def test_a_table_too_wide_for_the_screen_goes_on_below(result):
    whole, cut = result.table().text().splitlines(), result.table().text(width=70).splitlines()
    assert max(map(len, cut)) <= 70 < max(map(len, whole))
    assert len(cut) == 2 * len(whole) + 1
    assert str(result.table()) == result.table().text()
    assert len(result.table().text(width=5).splitlines()) == 4 * len(whole) + 3


def test_tables_escape_what_systems_are_called():
    hostile = "evil|bot\x1b[2J\n<b>"
    found = ds.evaluate([ds.Example("1", hostile, "hello"), ds.Example("2", hostile, "hello you")], ["words"])
    table = found.table()
    assert "\x1b" not in table.text() + table.markdown()
    assert "evil\\|bot\\x1b[2J\\n" in table.markdown()
    lines = table.markdown().splitlines()
    assert len(lines) == 3
    assert len({line.replace("\\|", "").count("|") for line in lines}) == 1
    assert json.loads(table.json())[0]["system"] == hostile


@pytest.mark.parametrize(
    ("value", "text"), [(0.12345, "0.123"), (12.345, "12.3"), (math.nan, "–"), (-3.0, "-3.000")]
)
def test_numbers_have_enough_digits(value, text):
    assert number(value) == text


def test_printable_text_stays_and_the_rest_is_escaped():
    assert printable("naïve 你好 😀") == "naïve 你好 😀"
    assert printable("a\x1b[31m\x07\u202e\r\n") == "a\\x1b[31m\\x07\\u202e\\r\\n"
